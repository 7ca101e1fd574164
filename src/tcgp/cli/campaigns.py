"""Open and read journals, compare them with a spec, and describe their contents."""

from __future__ import annotations

import itertools
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tcgp._files import short_name
from tcgp._text import printable, shorten
from tcgp.cli.console import UsageError
from tcgp.cli.spec import Spec
from tcgp.goals import parameter_names
from tcgp.optimizer import Campaign, Evaluation, JournalError, JournalInUse, Optimizer, Retry, read_campaign
from tcgp.optimizer.answer import LEVEL, Answer
from tcgp.record.settings import GOALS
from tcgp.running.opening import take_goals
from tcgp.space import Point, on_bounds

__all__ = [
    "JOURNAL",
    "answer_of",
    "check_spec",
    "default_journal",
    "describe_answer",
    "describe_corrections",
    "describe_counts",
    "describe_failures",
    "describe_front",
    "describe_goals_at",
    "describe_missing",
    "describe_retries",
    "describe_value",
    "failures_by_reason",
    "find_journal",
    "labelled",
    "named",
    "open_optimizer",
    "read",
    "spec_copy",
]

JOURNAL = "journal.jsonl"
PATIENCE = 60.0  # seconds to wait for a journal in use: jobs of a scheduler may all end at once
LONGEST_LIST = 12  # of reasons, and of run numbers after a reason


def read(path: str | os.PathLike[str]) -> Campaign:
    """The campaign in a journal, read-only; a UsageError if it cannot be read."""
    try:
        return read_campaign(path)
    except OSError as error:
        raise UsageError(f"the journal {str(path)!r} cannot be read: {error.strerror}") from None
    except JournalError as error:
        raise UsageError(str(error)) from None


def find_journal(path: str | os.PathLike[str]) -> Path:
    """Find a journal by its name, by the directory of its campaign, or by the spec next to it."""
    place = Path(path)
    if place.suffix == ".toml" and place.is_file():
        return _that_exists(default_journal(place), f"the spec {str(path)!r} has no campaign yet")
    if not place.is_dir():
        return place
    found = [place / JOURNAL] if (place / JOURNAL).exists() else sorted(place.glob(f"*.tcgp/{JOURNAL}"))
    if len(found) > 1:
        names = ", ".join(str(journal.parent) for journal in found)
        raise UsageError(f"the directory {str(path)!r} holds several campaigns: name one of {names}")
    return _that_exists(found[0] if found else None, f"the directory {str(path)!r} holds no campaign")


def default_journal(spec: Path) -> Path:
    """Default place of the journal of a spec."""
    return spec.with_suffix(".tcgp") / JOURNAL


def spec_copy(journal: Path) -> Path:
    """Place of the copy of the spec with which values were last read; each journal in a directory has its own."""
    return (
        journal.parent
        / "runs"
        / ("spec.toml" if journal.name == JOURNAL else f"spec-{short_name(journal.name, 10)}.toml")
    )


def _that_exists(journal: Path | None, otherwise: str) -> Path:
    if journal is None or not journal.exists():
        raise UsageError(f"{otherwise}: name its journal")
    return journal


def named(campaign: Campaign, x: Point) -> dict[str, Any]:
    """A point as a mapping from the names of the parameters."""
    return dict(zip(parameter_names(campaign.space), x, strict=True))


def failures_by_reason(campaign: Campaign) -> dict[str, list[Evaluation]]:
    """Failed evaluations by reason, in order of appearance."""
    groups: dict[str, list[Evaluation]] = {}
    for evaluation in campaign.history.evaluations:
        if evaluation.failed:
            groups.setdefault(evaluation.reason or "no reason given", []).append(evaluation)
    return groups


def describe_counts(campaign: Campaign) -> str:
    """How many evaluations there are, and of which kind."""
    history = campaign.history
    n, n_failed = len(history.evaluations), len(history.data.failures)
    text = f"{n}: {n - n_failed} succeeded, {n_failed} failed"
    if history.goals.limits:
        text += f"; {int(history.data.feasible.sum())} satisfy all constraints"
    text += f"; {len(history.pending)} pending" if history.pending else ""
    text += f"; {len(history.outside)} more outside the present bounds" if history.outside else ""
    return text + (f"; {len(history.given_up)} pending outside them" if history.given_up else "")


def answer_of(campaign: Campaign) -> Answer:
    """The best point of a campaign; with noise its value is a prediction."""
    return Answer.of(Optimizer.of(campaign))


def describe_answer(campaign: Campaign, answer: Answer) -> list[str]:
    """The best point of a noisy campaign, and how well its value is known: lines with a label in front."""
    (low, high), best, at = answer.interval, campaign.history.best, answer.evaluation
    n = sum(at is not None and e.x == at.x for e in campaign.history.evaluations)
    times = "once" if n == 1 else f"{n} times"
    return [
        f"best value   {answer.value:.6g}, predicted without noise",
        f"interval     {low:.6g} to {high:.6g}, with a probability of {LEVEL:g}",
        f"noise        {answer.noise:.3g}; this point was evaluated {times}",
        *labelled("observed", [] if best is None else [f"{best.y!r} at best, which is partly luck"]),
        *labelled("at", [] if at is None else [json.dumps(named(campaign, at.x))]),
    ]


def describe_goals_at(campaign: Campaign, evaluation: Evaluation) -> list[str]:
    """Outputs, constraints and active bounds at a point: labelled lines."""
    outputs = [f"{name} = {value!r}" for name, value in (evaluation.outputs or {}).items()]
    standing = campaign.history.data.described_margins(evaluation)
    bounds = on_bounds(campaign.space, evaluation.x)
    return [*labelled("outputs", outputs), *labelled("constraints", standing), *labelled("on bounds", bounds)]


def describe_value(campaign: Campaign, evaluation: Evaluation) -> str:
    """The value of an evaluation that succeeded; of several objectives each."""
    goals, e = campaign.history.goals, evaluation
    if not goals.has_several:
        return repr(e.y)
    return ", ".join(
        f"{text} = {value!r}" for text, value in goals.objective_values(e.x, e.y, e.outputs).items()
    )


def describe_front(campaign: Campaign, where: Callable[[Evaluation], str]) -> list[str]:
    """The ends of the front and its knee: lines with a label in front.

    Parameters
    ----------
    campaign : Campaign
    where : callable
        Gives the text that follows the values of an evaluation.
    """
    from tcgp.optimizer.front import Front  # loads NumPy's linear algebra

    data, objectives = campaign.history.data, campaign.history.goals.objectives
    front = Front(campaign.history)
    chosen = {
        f"{'least' if objective.sign > 0.0 else 'most'} {objective.text}": front.choose({objective.text: 1.0})
        for objective in objectives
    }
    lines = labelled("front", [f"{len(front)} points that no other dominates; of these"])
    for label, point in {**chosen, "knee": front.knee()}.items():
        evaluation = data.evaluations[point.index]
        at = json.dumps(named(campaign, evaluation.x))
        lines += labelled(
            "", [f"{label}: {describe_value(campaign, evaluation)}{where(evaluation)}", f"  at {at}"]
        )
    return lines


def describe_missing(campaign: Campaign) -> list[str]:
    """One line for each output that successful evaluations lack."""
    answers = [e.outputs for e in campaign.history.evaluations if not e.failed and e.outputs is not None]
    counts = {n: sum(a.get(n) is None for a in answers) for n in dict.fromkeys(n for a in answers for n in a)}
    return [f"{name} in {n} of {len(answers)} runs" for name, n in counts.items() if n]


def describe_corrections(campaign: Campaign) -> list[str]:
    """One line for each value that was corrected."""
    lines = []
    for correction in campaign.history.corrections[-LONGEST_LIST:]:
        before, after = correction.before, correction.after
        which = json.dumps(named(campaign, after.x)) if after.id is None else f"id {after.id}"
        is_detail = before.same_outcome(after)
        what = "in its reason or time" if is_detail else f"from {before.outcome()} to {after.outcome()}"
        lines.append(f"{which} {what}")
    n_more = len(campaign.history.corrections) - len(lines)
    return ([f"{n_more} earlier ones, in the journal"] if n_more else []) + lines


def labelled(label: str, lines: Sequence[str]) -> list[str]:
    """Lines in a column of their own, the first of them with a label in front."""
    return [f"{'' if i else label:<13}{printable(line)}" for i, line in enumerate(lines)]


def describe_failures(campaign: Campaign) -> list[str]:
    """One line for each reason."""
    groups = sorted(failures_by_reason(campaign).items(), key=lambda item: -len(item[1]))
    lines = [
        f"{len(group)} x {printable(shorten(reason, 200))}{_numbers(group)}"
        for reason, group in groups[:LONGEST_LIST]
    ]
    n_more = sum(len(group) for _, group in groups[LONGEST_LIST:])
    return lines + ([f"{n_more} x other reasons, in the journal"] if n_more else [])


def describe_retries(campaign: Campaign) -> list[str]:
    """One line for each reason why attempts failed and were made again."""
    groups: dict[str, list[Retry]] = {}
    for retry in campaign.history.retries:
        groups.setdefault(retry.reason or "no reason given", []).append(retry)
    return [
        f"{len(group)} x {printable(shorten(reason, 200))}{_numbers(group)}"
        for reason, group in list(groups.items())[:LONGEST_LIST]
    ]


def _numbers(group: Sequence[Evaluation | Retry]) -> str:
    numbers = list(dict.fromkeys(str(item.id) for item in group if item.id is not None))
    if not numbers:
        return ""
    shown = ", ".join(numbers[:LONGEST_LIST]) + (", ..." if len(numbers) > LONGEST_LIST else "")
    return f"   (run{'s' if len(numbers) > 1 else ''} {shown})"


@contextmanager
def open_optimizer(path: str, spec: Spec | None = None, *, reoffer: bool = False) -> Iterator[Optimizer]:
    """The optimizer of a journal; a new one if the spec is given and the journal is not there.

    Pending points stay pending, since they are being evaluated somewhere, unless they are to be offered again.
    """
    exists = os.path.exists(path) and os.path.getsize(path) > 0
    if not exists and spec is None:
        raise UsageError(
            f"there is no journal {path!r}; tcgp ask and tcgp import begin one with --spec SPEC.toml"
        )
    if exists and spec is not None:
        check_spec(spec, path)
    try:
        if exists or spec is None:
            space = None if spec is None else spec.space
            optimizer = _patiently(lambda: Optimizer.resume(path, reoffer=reoffer, space=space))
            if spec is not None:
                take_goals(optimizer, spec.settings)
        else:
            optimizer = Optimizer(spec.space, rng=spec.seed, journal=path, **asdict(spec.completed_settings))
        with optimizer:
            for x in () if spec is None else spec.x0:
                optimizer.enqueue(x)
            yield optimizer
    except JournalError as error:
        raise UsageError(str(error)) from None


def check_spec(spec: Spec, path: str | os.PathLike[str]) -> None:
    """Refuse to continue a journal that was begun with another spec; other bounds and goals are allowed."""
    campaign = read(path)
    for what, before, now in _differences(spec, campaign):
        names = itertools.chain(["NEW.jsonl"], (f"NEW-{i}.jsonl" for i in itertools.count(2)))
        new = next(name for name in names if not os.path.exists(name))  # this journal may be a NEW.jsonl
        raise UsageError(
            f"the journal {str(path)!r} was begun with another spec: {what} was {before} and is now {now}; "
            "undo that change, or import its values into a new journal with "
            + shlex.join(["tcgp", "import", new, "--spec", str(spec.path), str(path)])
        )


def _differences(spec: Spec, campaign: Campaign) -> Iterator[tuple[str, object, object]]:
    """What a journal and a spec disagree about: its name, the journal's value, the spec's."""
    before, now = list(campaign.space.names or ()), list(spec.space.names or ())
    if before != now:
        yield "the list of parameters", before, now
        return
    journaled = asdict(campaign.settings)
    for name, value in asdict(spec.settings).items():
        by_default = name == "initial_design" and value is None
        if journaled[name] != value and name not in GOALS and not by_default:
            yield f"{name!r}", _as_written(journaled[name]), _as_written(value)
    if spec.seed is not None and campaign.seed != spec.seed:
        yield "'seed'", campaign.seed, spec.seed


def _as_written(setting: object) -> str:
    """A setting as a spec has it: constraints are a list."""
    return repr(list(setting) if isinstance(setting, tuple) else setting)


def _patiently(open_journal: Callable[[], Optimizer]) -> Optimizer:
    """Wait for a while for a journal that another process holds."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return open_journal()
        except JournalInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
