"""Corrections: what was told wrongly is corrected, the journal keeps both, and the run goes on as if resumed."""

from __future__ import annotations

import json

import pytest

import tcgp
from tcgp.optimizer import JournalError, read_campaign


def bowl(x):
    return (x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2


def started(journal=None, n=12):
    """A run of which value number 3 was told wrongly, by far too low."""
    optimizer = tcgp.Optimizer([(0.0, 1.0), (0.0, 1.0)], n_initial=5, rng=0, journal=journal)
    for i in range(n):
        x = optimizer.ask()
        optimizer.tell(x, bowl(x) - (50.0 if i == 3 else 0.0), seconds=2.0)
    return optimizer


def test_the_corrected_value_is_the_one_in_use_and_the_wrong_one_is_kept(tmp_path):
    optimizer = started(tmp_path / "run.jsonl")
    wrong = optimizer.history.best
    assert wrong.id == 3
    optimizer.correct(3, bowl(wrong.x))
    right = optimizer.evaluations[3]
    assert (right.y, right.id, right.seconds) == (bowl(wrong.x), 3, 2.0)
    assert optimizer.result().fun == min(bowl(e.x) for e in optimizer.evaluations)
    assert optimizer.history.data.successes[1].min() >= 0.0
    assert [(c.before, c.after) for c in optimizer.history.corrections] == [(wrong, right)]
    kinds = [json.loads(line).get("event") for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert kinds.count("tell") == 12
    assert kinds[-1] == "correct"


def test_models_forget_what_was_wrong():
    """The next point is the one of a run that was resumed after the correction, and its model knows the right data."""
    optimizer = started()
    optimizer.ask()
    optimizer.correct(3, bowl(optimizer.evaluations[3].x))
    optimizer.ask()
    # The models of auto may compress what is above the median; low values are as they are.
    assert optimizer.model.y.min() == pytest.approx(optimizer.result().fun)


@pytest.mark.parametrize(("wrong", "right"), [(None, 1.5), (1.5, None), (2.5, float("nan"))])
def test_failures_and_values_are_corrected_both_ways(wrong, right, tmp_path):
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0, journal=tmp_path / "run.jsonl")
    optimizer.tell([0.25], 7.0)
    optimizer.tell([0.5], wrong)
    optimizer.correct([0.5], right, reason="misread")
    for now in (optimizer.evaluations[1], read_campaign(tmp_path / "run.jsonl").history.evaluations[1]):
        assert now.failed == (right != 1.5)
        assert now.reason == ("misread" if now.failed else None)
    assert optimizer.result().fun == (1.5 if right == 1.5 else 7.0)
    assert len(optimizer.history.data.failures) == (right != 1.5)


@pytest.mark.parametrize(
    ("y", "why"),
    [
        ({"s": 0.5}, "the output 'm' is missing"),
        ({"m": "hi", "s": 1.0}, "'hi' is not a number"),
        (1.5, "no output 'm'"),
    ],
)
def test_a_correction_without_an_output_is_refused(y, why, tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = tcgp.Optimizer({"a": (0.0, 1.0)}, objective="m", constraints=["s <= 1"], rng=0, journal=path)
    optimizer.tell({"a": 0.5}, {"m": 1.0, "s": 2.0})
    before = path.read_bytes()
    with pytest.raises(ValueError, match=rf"outputs \['m', 's'\], or None for a failure, got .*{why}"):
        optimizer.correct({"a": 0.5}, y)
    assert path.read_bytes() == before
    optimizer.correct({"a": 0.5}, y, reason="the solver diverged")
    assert optimizer.evaluations[0].reason == "the solver diverged"


def test_a_correction_to_a_text_is_refused():
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    optimizer.tell([0.5], 1.0)
    with pytest.raises(ValueError, match="y must be a number, or None for a failure, got 'low'"):
        optimizer.correct([0.5], "low")


def test_a_rounded_copy_of_the_point_will_do():
    optimizer = started()
    x = optimizer.evaluations[2].x
    optimizer.correct([round(v, 9) for v in x], 0.123)
    assert optimizer.evaluations[2].y == 0.123
    assert optimizer.evaluations[2].x == x


@pytest.mark.parametrize(
    ("y", "told", "corrected"),
    [(5.0, {"seconds": 10.0}, {"seconds": 7200.0}), (None, {"reason": "licence"}, {"reason": "disk full"})],
)
def test_a_duration_or_a_reason_alone_is_corrected(y, told, corrected, tmp_path):
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0, journal=tmp_path / "run.jsonl")
    optimizer.tell([0.5], y, **told)
    optimizer.correct([0.5], y, **corrected)
    for history in (optimizer.history, read_campaign(tmp_path / "run.jsonl").history):
        (now,) = history.evaluations
        assert {name: getattr(now, name) for name in corrected} == corrected
        assert len(history.corrections) == 1
        assert history.former(now) == []  # the outcome is what it was


def test_a_failure_keeps_its_reason_unless_another_is_given():
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    optimizer.tell([0.5], None, reason="disk full")
    optimizer.correct([0.5], None, seconds=7200.0)
    (now,) = optimizer.evaluations
    assert (now.reason, now.seconds) == ("disk full", 7200.0)


def test_the_wrong_value_told_again_is_refused_with_the_way_out():
    optimizer = started()
    x, y = optimizer.evaluations[3].x, optimizer.evaluations[3].y
    optimizer.correct(3, 1.0)
    with pytest.raises(ValueError, match=r"gave 1\.0 and now .*correct it"):
        optimizer.tell(x, y)


@pytest.mark.parametrize("which", [99, [0.123, 0.456]])
def test_what_was_not_told_cannot_be_corrected(which):
    optimizer = started()
    with pytest.raises(ValueError, match="no value to correct: tell it"):
        optimizer.correct(which, 1.0)


def test_a_pending_point_has_nothing_to_correct():
    optimizer = started()
    optimizer.ask()
    with pytest.raises(ValueError, match="proposal 12 has no value to correct"):
        optimizer.correct(12, 1.0)


def test_a_repeated_line_counts_once_and_a_correction_of_nothing_is_damage(tmp_path):
    path = tmp_path / "run.jsonl"
    optimizer = started(path)
    optimizer.correct(3, 1.0)
    optimizer.close()
    last = path.read_text().splitlines()[-1]
    path.write_text(path.read_text() + last + "\n")
    assert len(read_campaign(path).history.corrections) == 1
    event = {**json.loads(last), "id": 7}
    path.write_text(path.read_text() + json.dumps(event) + "\n")
    with pytest.raises(JournalError, match="line 28 cannot be used"):
        read_campaign(path)
