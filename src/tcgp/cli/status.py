"""``tcgp status``: the state of a campaign."""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import os
import re
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tcgp._files import write_atomically
from tcgp.cli.campaigns import (
    answer_of,
    describe_answer,
    describe_corrections,
    describe_counts,
    describe_failures,
    describe_front,
    describe_goals_at,
    describe_retries,
    describe_value,
    failures_by_reason,
    find_journal,
    labelled,
    named,
    read,
)
from tcgp.cli.console import DONE, UsageError, show
from tcgp.cli.replacing import check_replaceable
from tcgp.optimizer import Campaign, Evaluation
from tcgp.optimizer.answer import Answer
from tcgp.record.file import is_in_use

__all__ = ["facts", "run"]


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp status``."""
    journal = find_journal(options.journal)
    campaign = read(journal)
    if options.csv is not None:
        _write_csv(campaign, options.csv, force=options.force)
    activity = _Activity.of(journal, campaign)
    if options.json:
        show(json.dumps({**facts(campaign), **asdict(activity)}))
        return DONE
    for line in [*labelled("state", [str(activity)]), *_in_words(campaign), *_top(campaign, options.top)]:
        show(line)
    return DONE


@dataclass(frozen=True)
class _Activity:
    """What is working on a campaign: a process that holds its journal, and programs of its runs."""

    at_work: bool
    programs: list[int]
    last_news: float  # seconds since the epoch

    @classmethod
    def of(cls, journal: Path, campaign: Campaign) -> _Activity:
        from tcgp.programs.crew import run_name
        from tcgp.programs.simulator import is_under_way

        history, runs = campaign.history, journal.absolute().parent / "runs"
        mark = campaign.header.get("campaign")
        asked = [*history.pending, *history.given_up]
        names = {number: run_name(number, history.n_retries(number)) for number in asked}
        running = [number for number, name in names.items() if is_under_way(runs, name, mark)]
        return cls(is_in_use(journal), running, journal.stat().st_mtime)

    def __str__(self) -> str:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.last_news))
        words = ("a" if self.at_work else "no") + f" process is working on it; last change {when}"
        if self.programs and not self.at_work:
            runs = ", ".join(map(str, self.programs))
            words += f"; still running, adopted by the next tcgp minimize: {runs}"
        return words


def _in_words(campaign: Campaign) -> list[str]:
    history = campaign.history
    lines = labelled("evaluations", [describe_counts(campaign), *describe_failures(campaign)])
    lines += labelled("corrected", describe_corrections(campaign))
    lines += labelled("tried again", describe_retries(campaign))
    answer = answer_of(campaign) if history.goals.noisy else None
    if history.goals.has_several and len(history.data.front):
        lines += describe_front(campaign, lambda e: _which(campaign, e))
    elif answer is not None and answer.noise:
        lines += describe_answer(campaign, answer)
    elif (best := history.best) is not None:
        lines += [f"best value   {best.y!r}{_which(campaign, best)}", *_around(campaign, best)]
    elif (nearest := history.least_violating) is not None:
        lines.append("best value   none: no run satisfies all constraints so far")
        value = describe_value(campaign, nearest)
        lines += [f"nearest      {value}{_which(campaign, nearest)}", *_around(campaign, nearest)]
    else:
        lines.append("best value   none so far")
    pending = [json.dumps({"id": p.id, "x": named(campaign, p.x)}) for p in history.pending.values()]
    return [*lines, *labelled("pending", pending)]


def _top(campaign: Campaign, most: int | None) -> list[str]:
    """The best evaluations, one line each: those that satisfy all constraints, and then those that come nearest."""
    data = campaign.history.data
    lines = []
    for row in data.ranking[: most or 0]:
        e = data.evaluations[row]
        broken = "" if data.feasible[row] else ", not all constraints are satisfied"
        which = _which(campaign, e)
        lines.append(f"{describe_value(campaign, e)}{which}{broken}   {json.dumps(named(campaign, e.x))}")
    return labelled("top", lines)


def _which(campaign: Campaign, evaluation: Evaluation) -> str:
    words = [] if evaluation.id is None else [f"id {evaluation.id}"]
    words += [f"corrected, it was {before.outcome()}" for before in campaign.history.former(evaluation)[-1:]]
    return f"   ({'; '.join(words)})" if words else ""


def _around(campaign: Campaign, evaluation: Evaluation) -> list[str]:
    """The point of an evaluation, and its other outputs."""
    return [
        f"at           {json.dumps(named(campaign, evaluation.x))}",
        *describe_goals_at(campaign, evaluation),
    ]


def facts(campaign: Campaign) -> dict[str, Any]:
    """The state of a campaign as plain numbers, texts, lists and mappings."""
    history, settings = campaign.history, campaign.settings
    best, nearest, data = history.best, history.least_violating, history.data
    some = data.feasible.any()
    front = (
        [_point(campaign, data.evaluations[row]) for row in data.front] if history.goals.has_several else None
    )
    answer = answer_of(campaign) if history.goals.noisy else None
    return {
        **({} if answer is None else {"predicted": _predicted(campaign, answer)}),
        "n_told": len(history.evaluations),
        "n_failed": len(history.data.failures),
        "n_outside": len(history.outside),
        "n_feasible": int(history.data.feasible.sum()),
        "objective": settings.objective,
        "maximize": settings.maximize,
        "best": None if best is None else _point(campaign, best),
        **({} if front is None else {"front": front}),
        "nearest": None if some or nearest is None else _point(campaign, nearest),
        "failures": {reason: [e.id for e in group] for reason, group in failures_by_reason(campaign).items()},
        "corrections": [
            {"id": c.after.id, "x": named(campaign, c.after.x), "before": c.before.y, "after": c.after.y}
            for c in history.corrections
        ],
        "retries": [{"id": r.id, "reason": r.reason, "seconds": r.seconds} for r in history.retries],
        "pending": [{"id": p.id, "x": named(campaign, p.x)} for p in history.pending.values()],
    }


def _predicted(campaign: Campaign, answer: Answer) -> dict[str, Any] | None:
    """The best point of a noisy campaign, by its prediction."""
    if answer.evaluation is None:
        return None
    x = named(campaign, answer.evaluation.x)
    return {"value": answer.value, "interval": list(answer.interval), "noise": answer.noise, "x": x}


def _point(campaign: Campaign, evaluation: Evaluation) -> dict[str, Any]:
    """An evaluation that succeeded, with its outputs and their distances from the limits."""
    e, data, goals = evaluation, campaign.history.data, campaign.history.goals
    several = {"values": goals.objective_values(e.x, e.y, e.outputs)}
    return {
        "id": evaluation.id,
        **(several if goals.has_several else {"value": evaluation.y}),
        "x": named(campaign, evaluation.x),
        "outputs": evaluation.outputs,
        "feasible": bool(data.feasible[data.evaluations.index(evaluation)]),
        "constraints": [
            {
                "text": m.limit.text,
                "value": m.value if math.isfinite(m.value) else None,
                "limit": m.bound,
                "kept": m.kept,
                "active": m.active,
            }
            for m in data.margins(evaluation)
        ],
    }


def _write_csv(campaign: Campaign, path: str, *, force: bool) -> None:
    """One row per evaluation; cells are empty where there is no value."""
    from tcgp.optimizer.result import columns_of, rows_of  # loads SciPy

    table = io.StringIO(newline="")
    writer = csv.writer(table)
    writer.writerow(columns_of(campaign.history))
    writer.writerows(row.values() for row in rows_of(campaign.history))
    try:
        if _is_output(path):
            print(table.getvalue(), end="")
        elif os.path.exists(path) and not os.path.isfile(path):  # a pipe, which must stay what it is
            Path(path).write_text(table.getvalue(), encoding="utf-8", newline="")
        else:
            check_replaceable(path, "--csv", _is_table, force=force)
            write_atomically(path, table.getvalue())
    except OSError as error:
        raise UsageError(f"{path!r} cannot be written: {error.strerror}") from None


def _is_output(path: str) -> bool:
    """Whether this is our standard output by one of its names, wherever that leads."""
    return path in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") and os.path.exists(path)


def _is_table(content: bytes) -> bool:
    """Whether this is a table that this command wrote."""
    return re.match(rb"id_*,[^\r\n]*,reason_*,seconds_*\r?\n", content) is not None
