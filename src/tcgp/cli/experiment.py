"""``tcgp experiment``: list the experiments, run them, report on them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import Any

__all__ = ["add_parser"]

EPILOG = """\
examples:
  tcgp experiment list
  tcgp experiment run methods --replicates 2 --iterations 10     a first look, in about a minute
  tcgp experiment run table1 table2                              the two tables, 100 data sets a function
  tcgp experiment run methods --shard 3/8                        the third of eight shares, for a batch queue
  tcgp experiment run methods --scheduler tcp://node1:8786       on a Dask cluster
  tcgp experiment run methods --methods +peer:botorch            BoTorch beside the paper's methods
  tcgp experiment run methods --problems bbob:f8:d5:i1           a BBOB function instead of the paper's
  tcgp experiment coco methods --problems bbob:f8:d5:i1          its runs, for COCO's post-processing
  tcgp experiment report methods                                 what came of it, as far as it has come

Give the same command again to go on after a stop: what is there is not computed twice.
"""


def add_parser(subparsers: Any) -> None:
    """Add ``experiment`` to the commands of ``tcgp``; each of its commands sets ``run``."""
    parser = subparsers.add_parser(
        "experiment",
        help="the paper's tables and figures: list, run, report",
        description="Run the paper's experiments, and compare what comes out with what it says.",
        epilog=EPILOG,
    )
    commands = parser.add_subparsers(dest="experiment_command", metavar="COMMAND", required=True)

    listing = commands.add_parser("list", help="the experiments, and what each of them reproduces")
    listing.set_defaults(run=_friendly(_list))

    running = commands.add_parser("run", help="compute what is missing of some experiments", epilog=EPILOG)
    running.add_argument("names", nargs="+", metavar="NAME", help="experiments (see list)")
    _add_choices(running)
    running.add_argument("--jobs", type=_count, metavar="N", help="processes (default: one per processor)")
    running.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler to use instead of processes")
    running.add_argument(
        "--shard", type=_shard, default=(1, 1), metavar="i/N", help="take the i-th of N shares of the work"
    )
    running.add_argument("--quiet", action="store_true", help="show no progress")
    running.set_defaults(run=_friendly(_run))

    reporting = commands.add_parser("report", help="figures, tables and a page with what the data support")
    reporting.add_argument("names", nargs="+", metavar="NAME", help="experiments (see list)")
    _add_choices(reporting)
    reporting.add_argument(
        "--output", default="report", metavar="DIR", help="where the pages and pictures go (default report)"
    )
    reporting.set_defaults(run=_friendly(_report))

    exporting = commands.add_parser("coco", help="runs on BBOB functions, for COCO's post-processing")
    exporting.add_argument("names", nargs="+", metavar="NAME", help="experiments (see list)")
    _add_choices(exporting)
    exporting.add_argument("--output", default="exdata", metavar="DIR", help="default exdata")
    exporting.set_defaults(run=_friendly(_export))


def _add_choices(parser: argparse.ArgumentParser) -> None:
    """Options by which a plan is changed."""
    parser.add_argument(
        "--results", default="results", metavar="DIR", help="directory of the results (default results)"
    )
    parser.add_argument("--replicates", type=_count, metavar="N", help="instead of the plan's number")
    parser.add_argument("--iterations", type=_count, metavar="N", help="instead of the plan's number")
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="instead of the plan's functions")
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="instead of the plan's: its labels, tcgp:delta=0.1, peer:botorch; +METHOD adds to the plan's",
    )


def _list(options: argparse.Namespace) -> int:
    from tcgp.experiments.plans import PLANS

    rows = [["name", "tasks", "what"]]
    rows += [
        [plan.name, str(len(list(plan.tasks()))), f"{plan.mirrors}: {plan.title}"] for plan in PLANS.values()
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(2)]
    print(*(f"{a.ljust(widths[0])}  {b.rjust(widths[1])}  {c}" for a, b, c in rows), sep="\n")
    return 0


def _run(options: argparse.Namespace) -> int:
    from tcgp.cli.console import DONE, WITHOUT_SUCCESS, note, signals_interrupt
    from tcgp.experiments.runner import run
    from tcgp.experiments.store import Store

    with signals_interrupt():
        outcome = run(
            _plans(options),
            Store(options.results),
            jobs=options.jobs,
            scheduler=options.scheduler,
            shard=options.shard,
            progress=not options.quiet,
        )
    if not options.quiet:
        note(f"{outcome.n_computed} results computed, {outcome.n_present} were there, in {options.results}")
    if outcome.failures:
        path, reason = outcome.failures[0]
        note(f"{len(outcome.failures)} tasks failed, the first, {path}, because: {reason}")
        return WITHOUT_SUCCESS
    return DONE


def _report(options: argparse.Namespace) -> int:
    from tcgp.experiments.report import write_report
    from tcgp.experiments.store import Store

    page = write_report(_plans(options), Store(options.results), options.output)
    print(page)
    return 0


def _export(options: argparse.Namespace) -> int:
    from tcgp.experiments.bbob import export
    from tcgp.experiments.store import Store

    print(*export(_plans(options), Store(options.results), options.output), sep="\n")
    return 0


def _plans(options: argparse.Namespace) -> list[Any]:
    from tcgp.experiments import plans

    return [
        plans.get(
            name,
            replicates=options.replicates,
            iterations=options.iterations,
            problems=None if options.problems is None else tuple(options.problems),
            methods=None if options.methods is None else tuple(options.methods),
        )
        for name in options.names
    ]


def _friendly(command: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """Turn what the user can mend into the command line's own error, which is one sentence."""

    def friendly(options: argparse.Namespace) -> int:
        from tcgp.cli.console import UsageError
        from tcgp.experiments.errors import ExperimentError

        try:
            return command(options)
        except ExperimentError as error:
            raise UsageError(str(error)) from error

    return friendly


def _count(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not {text.strip()!r}")
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"a share is i/N with i from 1 to N, not {text!r}")
    return int(match[1]), int(match[2])
