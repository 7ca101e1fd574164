"""``tcgp experiment``: list the experiments, run them, report on them."""

from __future__ import annotations

import argparse

from tcgp.cli.console import DONE, WITHOUT_SUCCESS, UsageError, note, signals_interrupt
from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan import plans
from tcgp_experiments.run.runner import run as run_plans
from tcgp_experiments.run.store import Store

__all__ = ["run"]


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp experiment``."""
    commands = {"list": _list, "run": _run, "report": _report, "coco": _export}
    try:
        return commands[options.experiment_command](options)
    except ExperimentError as error:
        raise UsageError(str(error)) from error


def _list(options: argparse.Namespace) -> int:
    rows = [["name", "tasks", "what"]]
    rows += [
        [plan.name, str(len(list(plan.tasks()))), f"{plan.mirrors}: {plan.title}"]
        for plan in plans.PLANS.values()
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    print(*(f"{a.ljust(widths[0])}  {b.rjust(widths[1])}  {c}" for a, b, c in rows), sep="\n")
    return DONE


def _run(options: argparse.Namespace) -> int:
    with signals_interrupt():
        summary = run_plans(
            _plans(options),
            Store(options.results),
            jobs=options.jobs,
            scheduler=options.scheduler,
            shard=options.shard,
            progress=not options.quiet,
        )
    if not options.quiet:
        note(f"{summary.n_computed} results computed, {summary.n_present} were there, in {options.results}")
    if summary.failures:
        path, reason = summary.failures[0]
        note(f"{len(summary.failures)} tasks failed, the first, {path}, because: {reason}")
        return WITHOUT_SUCCESS
    return DONE


# The report is imported where it is used: SciPy's statistics, which it needs, take 0.8 s to load, as long as all
# that the other commands need.


def _report(options: argparse.Namespace) -> int:
    from tcgp_experiments.report.writer import write_report

    print(write_report(_plans_as_run(options), Store(options.results), options.output))
    return DONE


def _export(options: argparse.Namespace) -> int:
    from tcgp_experiments.report.coco import export

    print(*export(_plans_as_run(options), Store(options.results), options.output), sep="\n")
    return DONE


def _plans(options: argparse.Namespace) -> list[plans.Plan]:
    return [
        plans.get(
            name,
            replicates=options.replicates,
            iterations=options.iterations,
            problems=None if options.problems is None else tuple(options.problems),
            methods=None if options.methods is None else tuple(options.methods),
            as_published=options.as_published,
            maximizer=options.maximizer,
        )
        for name in (plans.PLANS if options.names == ["all"] else options.names)
    ]


def _plans_as_run(options: argparse.Namespace) -> list[plans.Plan]:
    """The plans; where ``--iterations`` is not given, with as many as the stored runs have."""
    from tcgp_experiments.report.curves import as_far_as_run

    if options.iterations is not None:
        return _plans(options)
    return [as_far_as_run(plan, Store(options.results)) for plan in _plans(options)]
