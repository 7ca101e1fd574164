"""Arguments of the command, and the help that teaches them; nothing heavy is imported here."""

from __future__ import annotations

import argparse
import itertools
import math
import re
from collections.abc import Collection
from typing import Any, NoReturn

from tcgp import __version__
from tcgp._text import did_you_mean
from tcgp.cli.console import UNUSABLE, complain, parse_duration

__all__ = ["arrange", "build_parser"]

METHODS = (
    "auto",
    "gp",
    "tcgp",
    "tcgp-occ",
    "tcgp-thres",
    "bcrgp",
    "ongp",
    "regp",
    "tcregp",
    "gp-nugget",
    "tcgp-additive",
    "tcgp-rotated",
)

MAIN_EPILOG = """\
start here:
  tcgp demo                              see what tail calibration gains, in a minute
  tcgp init                              answer a few questions: they become spec.toml
  tcgp minimize spec.toml                run it; repeat the same command to continue

exit codes:
  0 success   1 no value, or could not continue   2 bad usage, spec or file   130 interrupted
"""

DEMO_EPILOG = """\
examples:
  tcgp demo
  tcgp demo --seeds 3 --n-evals 40 --output /tmp/demo.png
"""

MINIMIZE_DESCRIPTION = """\
Minimize the output of a program. The spec defines the parameters, the command to run, and the number of runs.
Every run has its own directory, which keeps its input and output. A run that crashes, takes too long or prints
no valid number counts as failed, and the search continues elsewhere.

Everything is kept in a journal, synced to disk after each run: stop whenever you like (Ctrl-C), and the same
command goes on exactly as if it had not been stopped. The first Ctrl-C waits for the runs under way; a second one,
or SIGTERM, leaves them running for the same command to adopt.

If the first three runs all fail in one way, the search stops. If they ended normally, say where the value is, and the
same command reads it from the runs that were made.
"""

MINIMIZE_EPILOG = """\
a spec, spec.toml:
  command = ["./simulate", "--width={width}", "{layers}", "{alloy}"]
  budget = 60                      # total number of runs, failures included
  timeout = "10m"                  # for each run

  [parameters]
  width = {low = 0.1, high = 10.0, log = true}
  layers = {type = "integer", low = 1, high = 8}
  alloy = {choices = ["steel", "brass"]}

  The value is the last number that the program prints. Use maximize = true to maximize it. For a program with
  several outputs, set objective = "mass", constraints = ["stress <= 250"] and a table [outputs] that says where
  they are. The program is started without a shell. A path such as ./simulate is relative to the spec, and
  {spec_dir} is the directory of the spec: command = ["python3", "{spec_dir}/simulate.py", "{width}"].

files, next to the spec:
  spec.tcgp/journal.jsonl          every proposal and every value, as text
  spec.tcgp/runs/0007/             parameters.json, stdout.txt, stderr.txt, outcome.json, the program's files
  spec.tcgp/convergence.png        pictures, if matplotlib is installed

examples:
  tcgp minimize --example > spec.toml        a spec with every key explained
  tcgp minimize spec.toml --dry-run          show what would be run
  tcgp minimize spec.toml --try              make one run, and show what is read from it
  tcgp minimize spec.toml --workers 4        four runs at a time
  tcgp minimize spec.toml --report run.html  a page to watch the run in a browser
  tcgp minimize spec.toml --budget 100       continue with a larger budget
  tcgp minimize spec.toml --retry-failed     make all failed runs again, after a repair
  tcgp minimize spec.toml --retry-failed "no module"     those that failed for this reason
"""

ASK_EPILOG = """\
For runs made by hand or by a scheduler: ask for points, run them, and report the results.

examples:
  tcgp ask run.jsonl --spec spec.toml -n 4       begin: four points to evaluate, one JSON object per line
  tcgp tell run.jsonl 0 12.7                     the value at point 0 is 12.7
  tcgp tell run.jsonl 1 --failed "mesh broke"    point 1 failed
  tcgp tell run.jsonl 2 mass=12.7 stress=210     point 2, if the spec's objective is an output
  tcgp ask run.jsonl                             the next point, given all results and pending points
  tcgp status run.jsonl                          the best value so far, and pending points

The spec only needs [parameters] here, and objective, constraints and maximize if you use them.
A point stays pending until its result is reported; it is not proposed again.
"""

TELL_EPILOG = """\
examples:
  tcgp tell run.jsonl 3 12.7
  tcgp tell run.jsonl 3 12.7 --took 6h                           with the time it took, for the report
  tcgp tell run.jsonl 3 mass=12.7 stress=210                     all outputs, if the objective is one of them
  tcgp tell run.jsonl 3 --failed "did not converge"
  tcgp tell run.jsonl --x '{"width": 0.5, "layers": 3}' 12.7     a run made earlier, never asked for
  tcgp tell run.jsonl 3 --correct 1.27                           12.7 was wrong; the journal keeps both
"""

IMPORT_DESCRIPTION = """\
Bring runs along that were made elsewhere: a CSV file, an older journal, or an Optuna study. Parameters and outputs go
by the names of the columns. Either all rows are taken or none, and what the journal has already is not taken twice.
"""

IMPORT_EPILOG = """\
A CSV file has a header and one row per run, its cells separated by commas, semicolons or tabs. A row without a value is
left out, unless a column 'reason' says why the run failed. Parameters that are fixed in the spec need no column.

examples:
  tcgp import run.jsonl --spec spec.toml old.csv                  begin or continue a journal with old runs
  tcgp import run.jsonl old.csv --objective drag                  the values stand in the column 'drag'
  tcgp import spec.tcgp/journal.jsonl --spec spec.toml old.jsonl  then: tcgp minimize spec.toml
  tcgp import run.jsonl sqlite:///trials.db --study wing          the trials of an Optuna study
"""

STATUS_EPILOG = """\
examples:
  tcgp status run.jsonl
  tcgp status spec.toml                          or spec.tcgp: also while tcgp minimize is at work
  tcgp status run.jsonl --top 5                  the five best runs
  tcgp status run.jsonl --csv runs.csv           every run as a table
"""

WHATIF_EPILOG = """\
examples:
  tcgp whatif spec.toml                                   where the optimum is predicted, and which limits cost most
  tcgp whatif spec.toml --limit "deflection <= 1.2"       a tighter or looser limit, or a new one
"""

TRADEOFF_EPILOG = """\
examples:
  tcgp tradeoff spec.toml --limit deflection
  tcgp tradeoff run.jsonl --limit "stress <= 250" -n 12 --json
"""

REPORT_EPILOG = """\
examples:
  tcgp report run.jsonl                                       writes run.html
  tcgp report spec.tcgp/journal.jsonl --output /tmp/a.html    also while tcgp minimize is at work
  tcgp report run.jsonl --refresh 30                          for a campaign with tcgp ask and tell

tcgp minimize SPEC.toml --report run.html updates such a page during the run.
"""

MCP_EPILOG = """\
examples:
  tcgp mcp campaigns                             propose points and report results
  tcgp mcp campaigns --read-only                 look, and change nothing
  tcgp mcp campaigns --run campaigns/wing.toml   also run the program of this spec
"""

DIAGNOSE_DESCRIPTION = """\
Check whether a Gaussian process is over- or underconfident about low values on your data, with and without tail
calibration, by leave-one-out. No new runs are needed.
"""

DIAGNOSE_EPILOG = """\
DATA.csv has a header and one row per run: a column for each parameter and one for the value (the last, unless
--objective names another). Rows without a value are left out. You can also pass a journal, or a table written by
tcgp status --csv.

examples:
  tcgp diagnose runs.csv
  tcgp diagnose runs.csv --objective drag --bounds width=0.1:10:log angle=-5:5 --delta 0.1
  tcgp diagnose spec.tcgp/journal.jsonl --plot calibration.png
"""

EXPERIMENT_EPILOG = """\
examples:
  tcgp experiment list
  tcgp experiment run methods --replicates 2 --iterations 10     a first look, in about a minute
  tcgp experiment run table1 table2                              the two tables, 100 data sets per function
  tcgp experiment run table1 --as-published                      every choice as the paper makes it
  tcgp experiment run methods --shard 3/8                        the third of eight parts, for a batch queue
  tcgp experiment run methods --scheduler tcp://node1:8786       on a Dask cluster
  tcgp experiment run methods --methods +peer:botorch            also BoTorch
  tcgp experiment run methods --problems bbob:f8:d5:i1           a BBOB function instead of the paper's
  tcgp experiment coco methods --problems bbob:f8:d5:i1          export its runs for COCO's post-processing
  tcgp experiment report methods                                 the results so far

Repeat the same command to continue after a stop; finished tasks are not computed again.
"""


def build_parser() -> argparse.ArgumentParser:
    """The parser; each command names the module that carries it out, which is imported only then."""
    parser = _Parser(
        "tcgp",
        description="Bayesian optimization of expensive simulations and experiments, with Gaussian processes "
        "calibrated where it matters: in the lower tail.",
        epilog=MAIN_EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"tcgp {__version__}")
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title="commands", parser_class=_Parser
    )
    _add_demo(commands)
    _add_init(commands)
    _add_minimize(commands)
    _add_ask(commands)
    _add_tell(commands)
    _add_import(commands)
    _add_status(commands)
    _add_whatif(commands)
    _add_tradeoff(commands)
    _add_report(commands)
    _add_diagnose(commands)
    _add_mcp(commands)
    _add_experiment(commands)
    parser.commands = commands.choices
    return parser


class _Parser(argparse.ArgumentParser):
    """A parser that keeps the line breaks of its texts, and does not guess abbreviated options."""

    commands: Collection[str] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options["allow_abbrev"] = False
        super().__init__(*args, **options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one sentence, and where the usage stands."""
        if unknown := re.match(r"argument COMMAND: invalid choice: '(.*?)' ", message):
            message = f"there is no command {unknown[1]!r}{did_you_mean(unknown[1], self.commands)}"
        complain(f"{message}; see {self.prog} --help")
        self.exit(UNUSABLE)


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="compare a plain GP, tcGP and auto on Goldstein-Price, in a minute",
        description="Minimize the Goldstein-Price function with a plain Gaussian process, with tcGP, and with "
        "the default, auto, and show how fast they converge.",
        epilog=DEMO_EPILOG,
    )
    parser.add_argument(
        "--seeds", type=_count, default=5, metavar="N", help="number of repetitions (default 5)"
    )
    parser.add_argument(
        "--n-evals", type=_count, default=60, metavar="N", help="evaluations per run (default 60)"
    )
    parser.add_argument("--output", default="demo.png", metavar="FILE", help="picture (default demo.png)")
    _add_force(parser)
    parser.set_defaults(module="tcgp.cli.demo")


def _add_init(commands: Any) -> None:
    parser = commands.add_parser(
        "init",
        help="write a spec from the answers to a few questions",
        description="Ask for the command, its parameters and outputs, and write a spec for tcgp minimize.",
    )
    parser.add_argument(
        "spec", metavar="SPEC.toml", nargs="?", default="spec.toml", help="file to write (default spec.toml)"
    )
    parser.set_defaults(module="tcgp.cli.init")


def _add_minimize(commands: Any) -> None:
    parser = commands.add_parser(
        "minimize",
        help="minimize the output of a program",
        description=MINIMIZE_DESCRIPTION,
        epilog=MINIMIZE_EPILOG,
    )
    parser.add_argument("spec", metavar="SPEC.toml", nargs="?", help="spec file")
    parser.add_argument("--workers", type=_count, metavar="N", help="number of parallel runs (default 1)")
    parser.add_argument("--budget", type=_count, metavar="N", help="number of runs, instead of the spec's")
    parser.add_argument(
        "--journal", metavar="FILE", help="journal (default SPEC.tcgp/journal.jsonl); runs/ is next to it"
    )
    parser.add_argument(
        "--max-time", type=_duration, metavar="TIME", help="stop after this many seconds, or 10m, 2h, 1d"
    )
    parser.add_argument("--report", metavar="FILE", help="HTML page to watch the run, such as run.html")
    parser.add_argument("--no-plots", action="store_true", help="do not draw pictures at the end")
    _add_force(parser)
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--json", action="store_true", help="print the outcome as one JSON object, as tcgp status does"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="check the spec and show the first command, without running it"
    )
    parser.add_argument(
        "--try",
        dest="try_once",
        action="store_true",
        help="make one run and show what is read from it; a value is kept",
    )
    parser.add_argument(
        "--verify", type=_count, metavar="K", help="in the end, run the best design K times again and compare"
    )
    parser.add_argument(
        "--retry-failed",
        metavar="TEXT",
        nargs="?",
        const="",
        help="make failed runs again first: all of them, or those whose reason has this text",
    )
    parser.add_argument("--example", action="store_true", help="print a spec with every key explained")
    parser.set_defaults(module="tcgp.cli.minimize")


def _add_ask(commands: Any) -> None:
    parser = commands.add_parser(
        "ask",
        help="propose points for runs made by hand or by a scheduler",
        description="Print the next points to evaluate, as JSON lines with an id each.",
        epilog=ASK_EPILOG,
    )
    parser.add_argument("journal", metavar="JOURNAL", help="file that keeps the campaign")
    parser.add_argument("--spec", metavar="SPEC.toml", help="parameters; needed to begin a journal")
    parser.add_argument("-n", type=_count, default=1, metavar="N", help="number of points (default 1)")
    parser.add_argument(
        "--confirm",
        action="store_true",
        help="with noise: points that have been evaluated, where one more evaluation tells most",
    )
    parser.set_defaults(module="tcgp.cli.ask")


def _add_tell(commands: Any) -> None:
    parser = commands.add_parser(
        "tell",
        help="report a result",
        description="Report the result at a point: its value, its outputs, or that it failed.",
        epilog=TELL_EPILOG,
        usage="tcgp tell [-h] JOURNAL (ID | --x JSON) (VALUE | NAME=VALUE ... | --failed REASON) [--took TIME] "
        "[--sd SD] [--correct]",
    )
    parser.add_argument("journal", metavar="JOURNAL", help="file that keeps the campaign")
    parser.add_argument(
        "rest", metavar="ID VALUE", nargs="*", help="id printed by ask, and the value or outputs"
    )
    parser.add_argument("--x", metavar="JSON", help="parameters of a point that was not asked for")
    parser.add_argument("--failed", metavar="REASON", help="the run failed, and why")
    parser.add_argument(
        "--correct",
        action="store_true",
        help="correct what was reported of the point; the journal keeps both",
    )
    parser.add_argument(
        "--took",
        type=_duration,
        metavar="TIME",
        help="how long the run took, for the report: seconds, or 10m, 2h",
    )
    parser.add_argument(
        "--sd",
        type=_positive,
        metavar="SD",
        help="with noise: standard deviation of the value, where it is known",
    )
    parser.set_defaults(module="tcgp.cli.tell")


def _add_import(commands: Any) -> None:
    parser = commands.add_parser(
        "import",
        help="import results from elsewhere into a journal",
        description=IMPORT_DESCRIPTION,
        epilog=IMPORT_EPILOG,
    )
    parser.add_argument("journal", metavar="JOURNAL", help="file that keeps the campaign")
    parser.add_argument("data", metavar="DATA", help="CSV file, journal, or URL of a storage of Optuna")
    parser.add_argument("--spec", metavar="SPEC.toml", help="parameters; needed to begin a journal")
    parser.add_argument(
        "--objective",
        metavar="COLUMN",
        help="column, or output of a journal, that has the values, if it is not the only one or has another name here",
    )
    parser.add_argument("--study", metavar="NAME", help="study in that storage, if there are several")
    parser.add_argument(
        "--skip", action="store_true", help="leave out rows that cannot be used, and say which"
    )
    parser.set_defaults(module="tcgp.cli.import_data")


def _add_status(commands: Any) -> None:
    parser = commands.add_parser(
        "status",
        help="show the best value so far, and pending points",
        description="Say how a campaign stands, and whether a process is at work on it.",
        epilog=STATUS_EPILOG,
    )
    parser.add_argument(
        "journal",
        metavar="CAMPAIGN",
        help="its journal, its directory, or the spec that tcgp minimize was given",
    )
    parser.add_argument("--json", action="store_true", help="as one JSON object")
    parser.add_argument("--top", type=_count, metavar="K", help="also list the K best runs")
    parser.add_argument("--csv", metavar="FILE", help="also write every run to a CSV file")
    _add_force(parser)
    parser.set_defaults(module="tcgp.cli.status")


def _add_whatif(commands: Any) -> None:
    parser = commands.add_parser(
        "whatif",
        help="what other limits would mean, without a run",
        description="Show the best recorded design and the one that the models predict, for other limits on outputs, "
        "and what relaxing each of them would buy. Nothing is run, and nothing is changed.",
        epilog=WHATIF_EPILOG,
    )
    parser.add_argument("journal", metavar="CAMPAIGN", help="its spec, its directory or its journal")
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="TEXT",
        help='a limit such as "deflection <= 1.2"; it takes the place of one on the same output, or is added',
    )
    parser.set_defaults(module="tcgp.cli.whatif")


def _add_tradeoff(commands: Any) -> None:
    parser = commands.add_parser(
        "tradeoff",
        help="show what a tighter or looser limit would cost",
        description="For several values of a limit on an output, show the best value among the recorded runs and the "
        "best that the models of all runs predict. Nothing is run.",
        epilog=TRADEOFF_EPILOG,
    )
    parser.add_argument(
        "journal",
        metavar="CAMPAIGN",
        help="its journal, its directory, or the spec that tcgp minimize was given",
    )
    parser.add_argument(
        "--limit", metavar="OUTPUT", required=True, help="an output with a constraint, or its text"
    )
    parser.add_argument(
        "-n", type=_count, metavar="N", default=7, help="how many values of the limit (default: 7)"
    )
    parser.add_argument("--json", action="store_true", help="as one JSON list")
    parser.set_defaults(module="tcgp.cli.tradeoff")


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="write a report as an HTML page",
        description="Write a report as an HTML page. It needs no server and no network.",
        epilog=REPORT_EPILOG,
    )
    parser.add_argument(
        "journal",
        metavar="CAMPAIGN",
        help="its journal, its directory or its spec",
    )
    parser.add_argument(
        "--output", metavar="FILE", help="page to write (default: next to the journal, with suffix .html)"
    )
    _add_force(parser)
    parser.add_argument(
        "--refresh",
        type=_duration,
        metavar="TIME",
        help="keep running and update the page at this interval; stop with Ctrl-C",
    )
    parser.set_defaults(module="tcgp.cli.report")


def _add_diagnose(commands: Any) -> None:
    parser = commands.add_parser(
        "diagnose",
        help="check whether a GP is overconfident about low values",
        description=DIAGNOSE_DESCRIPTION,
        epilog=DIAGNOSE_EPILOG,
    )
    parser.add_argument(
        "data",
        metavar="DATA.csv",
        help="table of runs; or a journal, the directory of a campaign, or its spec",
    )
    parser.add_argument("--objective", metavar="COLUMN", help="column of the values (default: the last)")
    parser.add_argument("--ignore", nargs="+", default=[], metavar="COLUMN", help="columns to leave out")
    parser.add_argument("--method", choices=METHODS, help="default: that of the journal, or tcgp")
    parser.add_argument(
        "--delta", type=float, metavar="P", help="level of the quantile used as threshold (default 0.05)"
    )
    parser.add_argument(
        "--bounds",
        nargs="+",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="box of the parameters (default: the range of the data); NAME=LOW:HIGH:log for a logarithmic scale",
    )
    parser.add_argument("--plot", metavar="FILE", help="picture, such as calibration.png")
    _add_force(parser)
    parser.set_defaults(module="tcgp.cli.diagnose")


def _add_mcp(commands: Any) -> None:
    parser = commands.add_parser(
        "mcp",
        help="serve a directory of campaigns to an assistant",
        description="Serve the campaigns of a directory over standard input and output, by the Model Context Protocol. "
        "No program is run but that of the spec given with --run.",
        epilog=MCP_EPILOG,
    )
    parser.add_argument("directory", metavar="DIRECTORY", help="where journals and specs are")
    parser.add_argument("--read-only", action="store_true", help="let nothing be proposed or reported")
    parser.add_argument(
        "--run", metavar="SPEC.toml", help="a spec whose program may be run, within its budget"
    )
    parser.set_defaults(module="tcgp.cli.mcp")


def _add_experiment(commands: Any) -> None:
    parser = commands.add_parser(
        "experiment",
        help="reproduce the paper's tables and figures: list, run, report",
        description="Run the paper's experiments, and compare the results with the published ones.",
        epilog=EXPERIMENT_EPILOG,
    )
    parser.set_defaults(module="tcgp.cli.experiment")
    parts = parser.add_subparsers(dest="experiment_command", metavar="COMMAND", required=True)
    parts.add_parser("list", help="list the experiments and what they reproduce")

    running = parts.add_parser("run", help="run experiments, or continue them", epilog=EXPERIMENT_EPILOG)
    _add_plan_choices(running, iterations="instead of the plan's number")
    running.add_argument("--jobs", type=_count, metavar="N", help="processes (default: one per processor)")
    running.add_argument("--scheduler", metavar="ADDRESS", help="Dask scheduler to use instead of processes")
    running.add_argument(
        "--shard", type=_shard, default=(1, 1), metavar="i/N", help="run the i-th of N parts"
    )
    running.add_argument("--quiet", action="store_true", help="show no progress")

    reporting = parts.add_parser("report", help="write figures, tables and a page of results")
    _add_plan_choices(reporting, iterations="default: as many as most of the runs have")
    reporting.add_argument(
        "--output", default="report", metavar="DIR", help="directory for pages and pictures (default report)"
    )

    exporting = parts.add_parser("coco", help="export runs on BBOB functions for COCO's post-processing")
    _add_plan_choices(exporting, iterations="default: as many as most of the runs have")
    exporting.add_argument("--output", default="exdata", metavar="DIR", help="default exdata")


def _add_plan_choices(parser: argparse.ArgumentParser, iterations: str) -> None:
    """Names of experiments, and options by which their plans are changed."""
    parser.add_argument("names", nargs="+", metavar="NAME", help="experiments (see list), or all")
    parser.add_argument(
        "--results", default="results", metavar="DIR", help="directory of the results (default results)"
    )
    parser.add_argument("--replicates", type=_count, metavar="N", help="instead of the plan's number")
    parser.add_argument("--iterations", type=_count, metavar="N", help=iterations)
    parser.add_argument("--problems", nargs="+", metavar="NAME", help="instead of the plan's functions")
    parser.add_argument(
        "--methods",
        nargs="+",
        metavar="METHOD",
        help="instead of the plan's: its labels, tcgp:delta=0.1, peer:botorch; +METHOD adds to the plan's",
    )
    parser.add_argument(
        "--as-published",
        action="store_true",
        help="make every choice as the paper does; such results are kept apart",
    )
    parser.add_argument(
        "--maximizer",
        choices=("multistart", "smc"),
        help="of the criterion (default: multistart, but the paper's with --as-published, fifty times as slow)",
    )


def _add_force(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--force",
        action="store_true",
        help="also replace files that tcgp did not write, never journals or specs",
    )


def arrange(arguments: list[str]) -> list[str]:
    """Arguments in a form that argparse understands as a user does.

    A number such as -1e-5 or -inf gets a space in front, or it would be taken for an option; and the options
    of ``tell`` move behind its positional arguments, of which argparse sees only those before an option.

    Examples
    --------
    >>> from tcgp.cli.arguments import arrange
    >>> arrange(["tell", "run.jsonl", "--x", "[0.5]", "-1e-5"])
    ['tell', 'run.jsonl', ' -1e-5', '--x', '[0.5]']
    """
    protected = [f" {text}" if text.startswith("-") and _is_number(text) else text for text in arguments]
    if protected[:1] != ["tell"]:
        return protected
    front, back = [], []
    rest = iter(protected)
    for text in rest:
        if text == "--correct" or text.startswith(("--x=", "--failed=", "--took=", "--sd=")):
            back.append(text)
        elif text in ("--x", "--failed", "--took", "--sd"):
            back += [text, *itertools.islice(rest, 1)]
        else:
            front.append(text)
    return front + back


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _count(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a whole number of at least 1 is needed, not {text.strip()!r}")
    return int(text)


def _positive(text: str) -> float:
    if not _is_number(text) or not 0.0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"a number above 0 is needed, not {text.strip()!r}")
    return float(text)


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"a share is i/N with i from 1 to N, not {text!r}")
    return int(match[1]), int(match[2])
