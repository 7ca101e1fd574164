"""Copies of an optimizer and of what it hands out: none of them can spoil the run, its journal or another file."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tcgp import Categorical, Optimizer
from tcgp.record.journal import JournalError


def bowl(x: Any) -> float:
    return float((x[0] - 0.3) ** 2 + x[1] ** 2)


def by_pickle(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


COPIES = pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, by_pickle])
BOX = [(0.0, 1.0), (0.0, 1.0)]


@COPIES
def test_a_copy_of_an_optimizer_with_a_journal_refuses_to_ask_and_tell(
    duplicate: Callable[[Any], Any], tmp_path: Path
) -> None:
    journal = tmp_path / "run.jsonl"
    with Optimizer(BOX, n_initial=2, rng=0, journal=journal) as optimizer:
        x = optimizer.ask()
        optimizer.tell(x, bowl(x))
        pending = optimizer.ask()
        twin = duplicate(optimizer)
        before = journal.read_bytes()
        for call in (twin.ask, lambda: twin.ask(2), lambda: twin.tell(pending, 1.0)):
            with pytest.raises(
                JournalError, match=r"this is a copy, and the journal .* stays with the original"
            ):
                call()
        twin.close()
        assert journal.read_bytes() == before
        assert twin.result().fun == optimizer.result().fun  # looking is allowed
        assert (len(twin.evaluations), len(twin.pending)) == (1, 1)
        optimizer.tell(pending, bowl(pending))
    assert len(Optimizer.resume(journal).evaluations) == 2


def test_a_copy_of_a_resumed_optimizer_does_not_offer_its_pending_points(tmp_path: Path) -> None:
    journal = tmp_path / "run.jsonl"
    with Optimizer(BOX, rng=0, journal=journal) as optimizer:
        x = optimizer.ask()
    with Optimizer.resume(journal) as resumed:
        with pytest.raises(JournalError, match="this is a copy"):
            copy.deepcopy(resumed).ask()
        assert resumed.ask() == x


@COPIES
def test_a_copy_without_a_journal_goes_on_alike_and_on_its_own(duplicate: Callable[[Any], Any]) -> None:
    def drive(optimizer: Optimizer, n: int) -> list[Any]:
        points = [optimizer.ask() for _ in range(n)]
        optimizer.tell(points, [bowl(x) for x in points])
        return points

    original = Optimizer(BOX, n_initial=5, rng=0)
    drive(original, 6)
    original.ask()  # pending in both
    twin = duplicate(original)
    assert duplicate(original.result()).x_iters == original.result().x_iters
    expected = [drive(original, 1) for _ in range(4)]
    assert len(twin.evaluations) == 6
    assert [drive(twin, 1) for _ in range(4)] == expected
    assert twin.evaluations == original.evaluations
    assert twin.pending == original.pending


def test_a_copied_journal_refuses_whoever_writes_to_it(tmp_path: Path) -> None:
    optimizer = Optimizer(BOX, rng=0, journal=tmp_path / "run.jsonl")
    twin = copy.deepcopy(optimizer)
    assert twin.journal == optimizer.journal
    again = by_pickle(twin)  # a copy of a copy
    with pytest.raises(JournalError, match="this is a copy"):
        again.ask()


# ---- what is handed out ----


def test_a_point_changed_in_place_after_ask_does_not_stay_pending() -> None:
    optimizer = Optimizer([(0.0, 1.0), (0.0, 1.0)], n_initial=4, rng=0)
    x = optimizer.ask()
    asked = list(x)
    x[0] *= 1000.0  # the user's units
    assert optimizer.pending[0].x == tuple(asked)
    optimizer.tell(asked, 1.0)
    assert optimizer.pending == []
    batch = optimizer.ask(2)
    kept = [list(point) for point in batch]
    batch[0].clear()
    optimizer.tell(kept, [1.0, 2.0])
    assert optimizer.pending == []
    assert len(optimizer.evaluations) == 3


def test_points_told_can_be_changed_by_their_owner_and_those_kept_by_nobody() -> None:
    optimizer = Optimizer([(0.0, 1.0), (0.0, 1.0)], rng=0)
    mine = [0.25, 0.5]
    optimizer.tell(mine, 1.0)
    mine[0] = 0.75
    assert optimizer.evaluations[0].x == (0.25, 0.5)
    optimizer.evaluations.clear()
    assert len(optimizer.evaluations) == 1
    with pytest.raises(TypeError, match="does not support item assignment"):
        optimizer.evaluations[0].x[0] = 0.0
    optimizer.ask()
    with pytest.raises(TypeError, match="does not support item assignment"):
        optimizer.pending[0].x[0] = 0.0
    result = optimizer.result()
    result.x_iters[0][0] = 0.75
    assert optimizer.result().x_iters == [[0.25, 0.5]]


def test_points_of_mixed_spaces_are_handed_out_as_copies_too() -> None:
    optimizer = Optimizer({"size": (0.0, 1.0), "kind": Categorical(["a", "b"])}, n_initial=2, rng=0)
    argument = optimizer.space.as_argument(optimizer.propose().x)
    kept = dict(argument)
    argument["size"] = -1.0
    optimizer.tell(kept, 1.0)
    assert optimizer.pending == []
