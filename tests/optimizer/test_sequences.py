"""Any sequence of ask, tell and resume keeps the books straight."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tcgp import Categorical, Integer, Optimizer, Real, Space
from tcgp.optimizer import SpaceExhausted

SPACES = {
    "real": Space([Real(-1.0, 1.0), Real(0.1, 10.0, log=True)]),
    "mixed": Space([Real(0.0, 1.0), Integer(0, 3), Categorical(["a", "b", "c"])]),
    "finite": Space([Integer(0, 2), Categorical([True, False]), Categorical(["u", "v"])]),
}


class Campaign(RuleBasedStateMachine):
    """A user who asks, tells in any order, fails, tells points of his own, and is killed now and then."""

    @initialize(
        space=st.sampled_from(sorted(SPACES)),
        seed=st.integers(0, 100),
        criterion=st.sampled_from(["ei", "lcb"]),
    )
    def begin(self, space: str, seed: int, criterion: str) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "run.jsonl"
        self.optimizer = Optimizer(
            SPACES[space], method="gp", criterion=criterion, n_initial=3, rng=seed, journal=self.path
        )
        self.pending: list[list[Any]] = []
        self.told: dict[tuple[Any, ...], float | None] = {}

    def teardown(self) -> None:
        if hasattr(self, "directory"):
            self.optimizer.close()
            self.directory.cleanup()

    @rule(n=st.integers(1, 3))
    def ask(self, n: int) -> None:
        known = {*self.told, *map(tuple, self.pending)}
        try:
            points = self.optimizer.ask(n)
        except SpaceExhausted:
            assert len(known) == self.optimizer.space.size
            return
        assert len(points) == min(n, self.optimizer.space.size - len(known))
        for x in points:
            assert self.optimizer.space.check(x) == x
            assert tuple(x) not in known
            known.add(tuple(x))
        self.pending += points

    @precondition(lambda self: self.pending)
    @rule(data=st.data(), y=st.one_of(st.none(), st.floats(-1e6, 1e6)))
    def answer(self, data: st.DataObject, y: float | None) -> None:
        x = self.pending.pop(data.draw(st.integers(0, len(self.pending) - 1)))
        self.optimizer.tell(x, y)
        self.told[tuple(x)] = y

    @rule(data=st.data(), y=st.floats(-1e6, 1e6))
    def tell_a_point_of_ones_own(self, data: st.DataObject, y: float) -> None:
        shares = data.draw(st.lists(st.integers(0, 8), min_size=3, max_size=3))
        space = self.optimizer.space
        (x,) = space.from_unit([[share / 8 for share in shares[: len(space)]]])
        if tuple(x) in self.told:
            return
        self.optimizer.tell(x, y)
        self.told[tuple(x)] = y
        self.pending = [p for p in self.pending if p != x]

    @precondition(lambda self: self.told)
    @rule(data=st.data())
    def tell_again(self, data: st.DataObject) -> None:
        x = data.draw(st.sampled_from(sorted(self.told, key=repr)))
        self.optimizer.tell(list(x), self.told[x])
        with pytest.raises(ValueError, match="exact"):
            self.optimizer.tell(list(x), 12345678.0)

    @rule()
    def be_killed_and_resume(self) -> None:
        self.optimizer = Optimizer.resume(self.path, reoffer=False)

    @precondition(lambda self: self.pending)
    @rule()
    def be_killed_and_get_pending_points_again(self) -> None:
        self.optimizer = Optimizer.resume(self.path)
        assert self.optimizer.ask(len(self.pending)) == [list(p.x) for p in self.optimizer.pending]

    @invariant()
    def books_agree(self) -> None:
        if not hasattr(self, "optimizer"):
            return
        assert sorted(map(repr, self.pending)) == sorted(repr(list(p.x)) for p in self.optimizer.pending)
        assert {tuple(e.x): e.y for e in self.optimizer.evaluations} == self.told
        values = [y for y in self.told.values() if y is not None]
        fun = self.optimizer.result().fun
        assert fun == min(values) if values else math.isnan(fun)


TestCampaign = Campaign.TestCase
TestCampaign.settings = settings(
    max_examples=12,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
