"""``tcgp import``: import runs made elsewhere into a journal."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tcgp.cli.campaigns import open_optimizer, read
from tcgp.cli.console import DONE, UsageError, note, show
from tcgp.cli.spec import load_spec
from tcgp.cli.studies import load_study
from tcgp.cli.tables import Table, bookkeeping, column_of, is_missing, number, parse_cell, read_usable_rows
from tcgp.goals import Goals, parameter_names
from tcgp.optimizer import Evaluation, History, Optimizer
from tcgp.record.journal import is_journal
from tcgp.running.arguments import point_of_row

__all__ = ["run"]

MOST_TOLD = 3  # rows that cannot be used, of which the message has the reasons


@dataclass(frozen=True)
class _Run:
    """A run made elsewhere: its place in the file, its parameters by name, its result, and how it ended."""

    label: str
    parameters: Mapping[str, Any]
    answer: Any  # a number, a mapping of outputs, or None
    reason: str | None = None
    seconds: float | None = None


@dataclass
class _Found:
    """What is usable, and what is wrong with the rest."""

    evaluations: dict[object, tuple[str, Evaluation]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp import``."""
    spec = None if options.spec is None else load_spec(options.spec)
    if spec is not None:
        Path(options.journal).absolute().parent.mkdir(parents=True, exist_ok=True)
    with open_optimizer(options.journal, spec) as optimizer:
        found = _Found()
        for item in _runs(options, optimizer, found):
            _check(item, optimizer, found)
        _report_problems(found.problems, options)
        evaluations = [evaluation for _, evaluation in found.evaluations.values()]
        try:
            n_new = optimizer.add_evaluations(evaluations)
        except ValueError as error:
            raise UsageError(str(error)) from None
        n_failed = sum(e.failed for e in evaluations)
        known = len(evaluations) - n_new
        show(
            f"imported {n_new} evaluations"
            + (f"; {known} were there already" if known else "")
            + (f"; {n_failed} of all are failures" if n_failed else "")
        )
        show(f"the journal has {len(optimizer.evaluations)}, {_standing(optimizer.history)}")
    return DONE


def _standing(history: History) -> str:
    """The best of all evaluations, in words."""
    if history.goals.has_several:
        return f"of which {len(history.data.front)} are on the front"
    as_observed = " as observed" if history.goals.noisy else ""
    return f"the best is {'none' if history.best is None else repr(history.best.y)}{as_observed}"


def _check(item: _Run, optimizer: Optimizer, found: _Found) -> None:
    """Sort a run into what is usable and what is not."""
    history = optimizer.history
    try:
        x = point_of_row(history.space, item.parameters)
        evaluation = Evaluation.of(x, item.answer, item.reason, item.seconds, history.goals)
    except ValueError as error:
        found.problems.append(f"{item.label}: {error}")
        return
    if (
        evaluation.failed and item.reason is None
    ):  # a run that went well has not failed because an output is missing
        found.problems.append(f"{item.label}: {evaluation.reason}")
        return
    known = history.find_near(x) or history.find_outside(x)
    if history.goals.noisy:  # another value is one more evaluation
        if known is not None:
            same = (
                e for e in history.evaluations if e.x == known.x and e.same_outcome(evaluation, rounded=True)
            )
            evaluation = next(same, replace(evaluation, x=known.x))
        found.evaluations[item.label] = (item.label, replace(evaluation, id=None))
        return
    if known is not None and not known.same_outcome(evaluation, rounded=True):
        found.problems.append(
            f"{item.label}: the journal has {known.outcome()} at this point, and not {evaluation.outcome()}"
        )
        return
    evaluation = known or evaluation  # the journal has all digits, and a spreadsheet may have dropped some
    label, earlier = found.evaluations.setdefault(tuple(evaluation.x), (item.label, evaluation))
    if not earlier.same_outcome(evaluation):
        found.problems.append(
            f"{item.label} repeats the point of {label}, which gave {earlier.outcome()} and not "
            f"{evaluation.outcome()}"
        )


def _report_problems(problems: list[str], options: argparse.Namespace) -> None:
    """Refuse rows that cannot be used; leave them out with --skip."""
    if not problems:
        return
    more = f"; and {len(problems) - MOST_TOLD} more" if len(problems) > MOST_TOLD else ""
    text = "; ".join(problems[:MOST_TOLD]) + more
    if not options.skip:
        raise UsageError(f"nothing was imported from {options.data!r}: {text}; --skip leaves such rows out")
    note(f"left out of {options.data!r}: {text}")


# ---- where runs come from ----


def _runs(options: argparse.Namespace, optimizer: Optimizer, found: _Found) -> Iterator[_Run]:
    """The runs of a CSV file, a journal or a study; what cannot be read as a run is noted among the problems."""
    if options.objective is not None and optimizer.history.goals.has_several:
        raise UsageError(
            "--objective names the values of one objective, but the campaign has several, which are read by their names"
        )
    if "://" in options.data:
        return _runs_of_study(options, optimizer)
    if options.study is not None:
        raise UsageError("--study is for the URL of an Optuna storage, such as sqlite:///trials.db")
    if is_journal(options.data):
        return _runs_of_journal(options.data, options.objective, optimizer)
    return _runs_of_table(read_usable_rows(options.data), optimizer, options.objective, found)


def _runs_of_journal(path: str, objective: str | None, optimizer: Optimizer) -> Iterator[_Run]:
    """The evaluations of another journal, without pending ones."""
    campaign, goals = read(path), optimizer.history.goals
    history = campaign.history
    names = parameter_names(campaign.space)
    _note_left_out("the journal", names, optimizer)
    _check_objective(path, objective, history, goals)
    if history.pending:
        note(
            f"points that are pending in {path!r} and not imported: {len(history.pending)}; import it again once "
            "their results are reported there, by tcgp minimize with its own spec or by tcgp tell"
        )
    for i, e in enumerate(history.told, start=1):
        which = f"evaluation {i}" if e.id is None else f"run {e.id}"
        x, answer = dict(zip(names, e.x, strict=True)), _answer_of(e, objective, goals)
        yield _Run(f"{which} of {path!r}", x, answer, e.reason, e.seconds)


def _answer_of(evaluation: Evaluation, objective: str | None, goals: Goals) -> Any:
    """The result of an evaluation in another journal, for the goals here; its objective may have another name."""
    outputs, y = dict(evaluation.outputs or {}), evaluation.y
    if outputs and objective is not None:
        y = outputs.pop(objective, None)
        outputs[objective if goals.objective is None else goals.objectives[0].text] = y
    if goals.objective is None:
        return y
    if not outputs and y is not None:  # one value there, and outputs here
        return {goals.objectives[0].text: y}
    return outputs or None


def _check_objective(path: str, objective: str | None, history: History, goals: Goals) -> None:
    """Refuse a journal that does not have the output to minimize, as after its name was changed."""
    there = history.output_names
    ours = [name for names in goals.outputs_of_objectives(there).values() for name in names]
    for name in (ours if objective is None else [objective]) if there else ():
        if name not in there:
            hint = "" if goals.has_several else "say with --objective which of its outputs has the values: "
            raise UsageError(
                f"the journal {path!r} has no output {name!r}; {hint or 'it has '}{', '.join(there)}"
            )


def _note_left_out(where: str, names: Iterable[str], optimizer: Optimizer) -> None:
    """Name the parameters that the campaign does not have: runs that differ only in them count as repeats."""
    known = parameter_names(optimizer.space)
    others = [name for name in dict.fromkeys(names) if name not in known]
    if others:
        note(f"parameters of {where} that the campaign does not have, left out: {', '.join(others)}")


def _runs_of_study(options: argparse.Namespace, optimizer: Optimizer) -> Iterator[_Run]:
    """The finished trials of a study; those that failed or were pruned are failures."""
    study, trials = load_study(options.data, options.study)
    goals = optimizer.history.goals
    names, wanted = zip(
        *((q.text, "minimize" if q.sign > 0.0 else "maximize") for q in goals.objectives), strict=True
    )
    theirs = tuple(direction.name.lower() for direction in study.directions)
    if len(theirs) != len(wanted):
        count = "one objective" if len(wanted) == 1 else f"{len(wanted)} objectives"
        raise UsageError(f"the study must have {count}, got one with {len(theirs)}")
    if theirs != wanted:
        ours, study_does = (", ".join(f"{word}s" for word in words) for words in (wanted, theirs))
        raise UsageError(f"the study {study_does} and the campaign {ours}; set 'maximize' in the spec")
    _note_left_out("the study", (name for trial in trials for name in trial.params), optimizer)
    for trial in trials:
        if not trial.state.is_finished():
            continue
        done = trial.state.name == "COMPLETE"
        answer: Any = trial.values[0] if done else None
        if done and goals.objective is not None:
            answer = {**_numbers(trial.user_attrs), **dict(zip(names, trial.values, strict=True))}
        seconds = None if trial.duration is None else trial.duration.total_seconds()
        why = None if done else str(trial.system_attrs.get("fail_reason") or trial.state.name.lower())
        yield _Run(f"trial {trial.number}", trial.params, answer, why, seconds)


def _numbers(attributes: Mapping[str, Any]) -> dict[str, float]:
    return {k: v for k, v in attributes.items() if isinstance(v, int | float) and not isinstance(v, bool)}


def _runs_of_table(
    table: Table, optimizer: Optimizer, objective: str | None, found: _Found
) -> Iterator[_Run]:
    """The rows of a CSV file; a row without a value is a failure if a column 'reason' says why, else it is left out."""
    history = optimizer.history
    parameters = dict(zip(parameter_names(history.space), history.space.dimensions, strict=True))
    others = bookkeeping(table.header, {*parameters, *history.goals.outputs, objective})
    columns = _value_columns(table, [*parameters, *others.values()], history.goals, objective)
    found.problems += [f"line {line} {trouble}" for line, trouble in table.uneven]
    n_left_out = 0
    for line, row in table.rows:
        cells = {name: table.cell(row, name) for name in table.header}
        answers = {
            name: None if is_missing(cells[column]) else cells[column] for name, column in columns.items()
        }
        reason = cells.get(others["reason"]) or None
        wanted = [answers[name] for name in history.goals.needed(columns)] or list(answers.values())
        if any(value is None for value in wanted) and reason is None:
            n_left_out += 1
            continue
        label = f"line {line}"
        try:
            x = {name: parse_cell(d, cells[name]) for name, d in parameters.items() if name in cells}
            outputs = {name: _value(columns[name], text) for name, text in answers.items()}
        except ValueError as error:
            found.problems.append(f"{label}, {error}")
            continue
        answer = outputs if history.goals.objective is not None else next(iter(outputs.values()))
        took = number(cells.get(others["seconds"], ""))
        yield _Run(label, x, answer, reason if None in wanted else None, took)
    if n_left_out:
        note(f"rows of {table.path!r} without a value, left out: {n_left_out}")


def _value_columns(
    table: Table, no_values: Collection[str], goals: Goals, objective: str | None
) -> dict[str, str]:
    """For each output, or for the one value, the column that has it."""
    others = [name for name in table.header if name not in no_values]
    if objective is not None and objective not in table.header:
        raise UsageError(f"{table.path!r} has no column {objective!r}; there are {', '.join(table.header)}")
    if goals.objective is None:
        if objective is None and len(others) > 1 and (value := column_of("value", table.header)) in others:
            objective = value
        if objective is None and len(others) != 1:
            raise UsageError(
                f"name the column of {table.path!r} that has the values with --objective; besides the parameters "
                f"there are: {', '.join(others) or 'none'}"
            )
        ignored = [name for name in others if name != (objective or others[0])]
        if ignored:
            note(f"columns of {table.path!r} that are not parameters, left out: {', '.join(ignored)}")
        return {"value": objective or others[0]}
    columns = {name: name for name in others}
    if objective is not None:
        columns[goals.objectives[0].text] = objective
    wanted = goals.needed(columns)
    for name in wanted:
        if name not in columns:
            raise UsageError(
                f"{table.path!r} has no column for the output {name!r}; there are {', '.join(table.header)}"
            )
    numeric = [
        name
        for name in columns
        if all(_is_number_or_missing(table.cell(row, columns[name])) for _, row in table.rows)
    ]
    return {name: columns[name] for name in columns if name in wanted or name in numeric}


def _is_number_or_missing(text: str) -> bool:
    return is_missing(text) or number(text) is not None


def _value(column: str, text: str | None) -> float | None:
    if text is None:
        return None
    value = number(text)
    if value is None:
        raise ValueError(f"column {column!r}: must be a number, got {text[:40]!r}")
    return value
