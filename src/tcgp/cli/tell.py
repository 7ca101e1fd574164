"""``tcgp tell``: report the result at a point."""

from __future__ import annotations

import argparse
import difflib
import json
from collections.abc import Sequence
from dataclasses import replace

from tcgp.cli.campaigns import open_optimizer
from tcgp.cli.console import DONE, UsageError
from tcgp.goals import Goals
from tcgp.optimizer import Evaluation, Optimizer
from tcgp.optimizer.answer import Answer
from tcgp.programs.numerals import parse_number

__all__ = ["Told", "add_answer", "run"]

Told = float | dict[str, float] | None


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp tell``."""
    number, answer = _number_and_answer(options)
    with open_optimizer(options.journal) as optimizer:
        x = _point(options.x) if number is None else _proposed(optimizer, options.journal, number)
        try:
            history, before = optimizer.history, None
            if options.correct:
                _check_answer(answer, history.goals)
                which = (
                    number if history.goals.noisy and number is not None else x
                )  # a point may have several
                before = history.to_correct(which)
                optimizer.correct(which, answer, reason=options.failed, seconds=options.took)
            else:
                _add(optimizer, x, number, answer, options.failed, options.took, options.sd)
        except ValueError as error:
            raise UsageError(_with_way_out(str(error))) from None
        done = "noted" if before is None else f"corrected, it was {before.outcome()}"
        print(f"{done}; {_so_far(optimizer)}, {len(optimizer.pending)} pending")
    return DONE


def add_answer(optimizer: Optimizer, path: str, number: int, answer: Told, reason: str | None) -> str:
    """Add the outcome of a proposal, and describe the state of the campaign."""
    _add(optimizer, _proposed(optimizer, path, number), number, answer, reason)
    return f"{_so_far(optimizer)}, {len(optimizer.pending)} pending"


def _add(
    optimizer: Optimizer,
    x: object,
    number: int | None,
    answer: Told,
    reason: str | None,
    seconds: float | None = None,
    sd: float | None = None,
) -> None:
    history = optimizer.history
    _check_answer(answer, history.goals)
    told = Evaluation.of(history.check_told(x), answer, reason, seconds, history.goals, sd)
    # With noise a point may have several proposals.
    optimizer.add_evaluations([replace(told, id=number if history.goals.noisy else None)])


def _with_way_out(message: str) -> str:
    """An error of the optimizer, with the option that helps."""
    return message.replace("or correct it", "or correct it with --correct").replace(
        "to correct: tell it", "to correct: tell it without --correct"
    )


def _so_far(optimizer: Optimizer) -> str:
    history, answer = optimizer.history, Answer.of(optimizer)
    if answer.noise:
        low, high = answer.interval
        return f"the best is predicted to be {answer.value:.6g}, between {low:.6g} and {high:.6g}"
    if history.goals.has_several and len(history.data.front):
        return f"{len(history.data.front)} of {len(history.evaluations)} are on the front"
    if history.best is None:
        return (
            "no value so far"
            if history.least_violating is None
            else "no run satisfies all constraints so far"
        )
    if history.goals.limits:
        return f"the best of {int(history.data.feasible.sum())} that satisfy all constraints is {history.best.y!r}"
    return f"the best of {len(history.evaluations)} is {history.best.y!r}"


def _number_and_answer(options: argparse.Namespace) -> tuple[int | None, Told]:
    """The proposal (None with --x), and its value or outputs (None with --failed)."""
    rest = [text.strip() for text in options.rest]
    numbers = [] if options.x is not None else rest[:1]
    values = rest[len(numbers) :]
    outputs = len(values) > 0 and all("=" in text for text in values)
    enough = not values if options.failed is not None else len(values) == 1 or outputs
    if (options.x is None) != len(numbers) or not enough:
        form = ("" if options.x is not None else "ID ") + ("" if options.failed is not None else "VALUE")
        raise UsageError(
            f"after the journal, {form.strip() or 'nothing'} is expected, got {' '.join(rest) or 'nothing'}; "
            "see tcgp tell --help"
        )
    if numbers and not (numbers[0].isascii() and numbers[0].isdecimal()):
        raise UsageError(f"ID must be a number printed by tcgp ask, got {numbers[0]!r}")
    number = int(numbers[0]) if numbers else None
    if options.failed is not None:
        return number, None
    return number, _outputs(values) if outputs else _number("VALUE", values[0])


def _outputs(texts: Sequence[str]) -> dict[str, float]:
    """Outputs that were given as NAME=VALUE."""
    outputs: dict[str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        name = name.strip()
        if not name or name in outputs:
            raise UsageError(f"each output must be given once, as NAME=VALUE, got {text!r}")
        outputs[name] = _number(f"the output {name!r}", value.strip())
    return outputs


def _number(label: str, text: str) -> float:
    try:
        return parse_number(text)
    except ValueError:
        raise UsageError(f"{label} must be a number, got {text!r}; for a failed run use --failed") from None


def _check_answer(answer: Told, goals: Goals) -> None:
    """Refuse an answer of another form than the campaign's, or without an output that a goal needs."""
    if answer is None:
        return
    if goals.objective is None:
        if isinstance(answer, dict):
            raise UsageError(f"the campaign has one value and no outputs: give VALUE, got {_pairs(answer)}")
        return
    needed = goals.needed(answer if isinstance(answer, dict) else ())
    form = " ".join(f"{name}=VALUE" for name in needed)
    if not isinstance(answer, dict):
        raise UsageError(f"the campaign has outputs: give them as {form}, got {answer!r}")
    for name in needed:
        if name not in answer:
            close = difflib.get_close_matches(name, set(answer) - set(needed), n=1)
            hint = (
                f"; did you mean {close[0]!r}?" if close else "; report a run without it with --failed REASON"
            )
            raise UsageError(f"the output {name!r} must be given, as {form}, got {_pairs(answer)}{hint}")


def _pairs(outputs: dict[str, float]) -> str:
    return " ".join(f"{name}={value!r}" for name, value in outputs.items())


def _point(text: str) -> object:
    try:
        point: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f'--x must be JSON such as {{"a": 1.5}}, got {text!r} ({error})') from None
    return point


def _proposed(optimizer: Optimizer, path: str, number: int) -> object:
    """The proposal with a number, answered or not."""
    proposals, pending = optimizer.history.proposals, optimizer.history.pending
    if number >= len(proposals):
        waiting = ", ".join(map(str, pending)) or "none"
        raise UsageError(f"no point {number} was proposed in {path!r}; pending are: {waiting}")
    return proposals[number].x
