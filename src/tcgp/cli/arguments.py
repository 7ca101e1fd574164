"""Arguments of the command and their help; nothing heavy is imported here."""

from __future__ import annotations

import argparse
import itertools
import math
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from tcgp import __version__
from tcgp._text import did_you_mean
from tcgp.cli.console import UNUSABLE, complain, parse_duration

__all__ = ["COMMANDS", "arrange", "build_parser", "words"]

_Argument: TypeAlias = tuple[str, dict[str, Any]]

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
command continues exactly as if it had not been stopped. The first Ctrl-C waits for the runs in progress; a second one,
or SIGTERM, leaves them running, and the same command adopts them.

If the first three runs all fail in the same way, the search stops. If only their values were not found, correct the
spec: the same command then reads them from these runs.
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
  tcgp minimize spec.toml --retry-failed     repeat all failed runs, after a fix
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
Import runs made elsewhere: a CSV file, an older journal, or an Optuna study. Columns are matched with parameters and
outputs by name. All rows are imported or none; those that the journal has already are skipped.
"""

IMPORT_EPILOG = """\
A CSV file has a header and one row per run, its cells separated by commas, semicolons or tabs. A row without a value is
left out, unless a column 'reason' says why the run failed. Parameters that are fixed in the spec need no column.

examples:
  tcgp import run.jsonl --spec spec.toml old.csv                  begin or continue a journal with old runs
  tcgp import run.jsonl old.csv --objective drag                  the values are in the column 'drag'
  tcgp import spec.tcgp/journal.jsonl --spec spec.toml old.jsonl  then: tcgp minimize spec.toml
  tcgp import run.jsonl sqlite:///trials.db --study wing          the trials of an Optuna study
"""

STATUS_EPILOG = """\
examples:
  tcgp status run.jsonl
  tcgp status spec.toml                          or spec.tcgp: also while tcgp minimize is running
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
  tcgp report spec.tcgp/journal.jsonl --output /tmp/a.html    also while tcgp minimize is running
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

COMPLETION_EPILOG = """\
add one line to the startup file of your shell:
  ~/.bashrc                    eval "$(tcgp completion bash)"
  ~/.zshrc, after compinit     eval "$(tcgp completion zsh)"
  ~/.config/fish/config.fish   tcgp completion fish | source
"""


@dataclass(frozen=True)
class _Command:
    """A command: the module that carries it out, which is imported only then, and its texts and arguments."""

    module: str
    help: str
    description: str | None
    epilog: str | None
    arguments: Sequence[_Argument]
    usage: str | None = None


def _value(name: str, metavar: str, help: str, **options: Any) -> _Argument:
    return name, {"metavar": metavar, "help": help, **options}


def _flag(name: str, help: str, **options: Any) -> _Argument:
    return name, {"action": "store_true", "help": help, **options}


def _count(text: str) -> int:
    if not text.strip().isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number >= 1, got {text.strip()!r}")
    return int(text)


def _positive(text: str) -> float:
    if not _is_number(text) or not 0.0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"must be a number above 0, got {text.strip()!r}")
    return float(text)


def _duration(text: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _shard(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"must be i/N with i from 1 to N, got {text!r}")
    return int(match[1]), int(match[2])


CAMPAIGN = "journal, directory or spec of the campaign"
JOURNAL = _value("journal", "JOURNAL", "file that keeps the campaign")
SPEC = _value("--spec", "SPEC.toml", "parameters; needed to begin a journal")
FORCE = _flag("--force", "also replace files that tcgp did not write, never journals or specs")
QUIET = _flag("--quiet", "show no progress")

COMMANDS = {
    "demo": _Command(
        "demo",
        "compare a plain GP, tcGP and auto on Goldstein-Price, in a minute",
        "Minimize the Goldstein-Price function with a plain Gaussian process, with tcGP, and with the default, auto, "
        "and show how fast they converge.",
        DEMO_EPILOG,
        [
            _value("--seeds", "N", "number of repetitions (default 5)", type=_count, default=5),
            _value("--n-evals", "N", "evaluations per run (default 60)", type=_count, default=60),
            _value("--output", "FILE", "picture (default demo.png)", default="demo.png"),
            FORCE,
        ],
    ),
    "init": _Command(
        "init",
        "write a spec from the answers to a few questions",
        "Ask for the command, its parameters and outputs, and write a spec for tcgp minimize.",
        None,
        [_value("spec", "SPEC.toml", "file to write (default spec.toml)", nargs="?", default="spec.toml")],
    ),
    "minimize": _Command(
        "minimize",
        "minimize the output of a program",
        MINIMIZE_DESCRIPTION,
        MINIMIZE_EPILOG,
        [
            _value("spec", "SPEC.toml", "spec file", nargs="?"),
            _value("--workers", "N", "number of parallel runs (default 1)", type=_count),
            _value("--budget", "N", "number of runs, instead of the spec's", type=_count),
            _value("--journal", "FILE", "journal (default SPEC.tcgp/journal.jsonl); runs/ is next to it"),
            _value("--max-time", "TIME", "stop after this many seconds, or 10m, 2h, 1d", type=_duration),
            _value("--report", "FILE", "HTML page to watch the run, such as run.html"),
            _flag("--no-plots", "do not draw pictures at the end"),
            FORCE,
            QUIET,
            _flag("--json", "print the outcome as one JSON object, as tcgp status does"),
            _flag("--dry-run", "check the spec and show the first command, without running it"),
            _flag("--try", "make one run and show what is read from it; a value is kept", dest="try_once"),
            _value("--verify", "K", "at the end, run the best design K more times and compare", type=_count),
            _value(
                "--retry-failed",
                "TEXT",
                "first repeat failed runs: all of them, or those whose reason contains this text",
                nargs="?",
                const="",
            ),
            _flag("--example", "print a spec with every key explained"),
        ],
    ),
    "ask": _Command(
        "ask",
        "propose points for runs made by hand or by a scheduler",
        "Print the next points to evaluate, as JSON lines with an id each.",
        ASK_EPILOG,
        [
            JOURNAL,
            SPEC,
            _value("-n", "N", "number of points (default 1)", type=_count, default=1),
            _flag(
                "--confirm",
                "with noise: evaluated points that are most worth repeating",
            ),
        ],
    ),
    "tell": _Command(
        "tell",
        "report a result",
        "Report the result at a point: its value, its outputs, or that it failed.",
        TELL_EPILOG,
        [
            JOURNAL,
            _value("rest", "ID VALUE", "id printed by ask, and the value or outputs", nargs="*"),
            _value("--x", "JSON", "parameters of a point that was not asked for"),
            _value("--failed", "REASON", "the run failed, and why"),
            _flag("--correct", "correct an earlier report; the journal keeps both"),
            _value(
                "--took", "TIME", "how long the run took, for the report: seconds, or 10m, 2h", type=_duration
            ),
            _value(
                "--sd", "SD", "with noise: standard deviation of the value, where it is known", type=_positive
            ),
        ],
        "tcgp tell [-h] JOURNAL (ID | --x JSON) (VALUE | NAME=VALUE ... | --failed REASON) [--took TIME] "
        "[--sd SD] [--correct]",
    ),
    "import": _Command(
        "import_data",
        "import results from elsewhere into a journal",
        IMPORT_DESCRIPTION,
        IMPORT_EPILOG,
        [
            JOURNAL,
            _value("data", "DATA", "CSV file, journal, or URL of an Optuna storage"),
            SPEC,
            _value(
                "--objective",
                "COLUMN",
                "column of the values, or output of a journal, if there are several or its name differs here",
            ),
            _value("--study", "NAME", "study in that storage, if there are several"),
            _flag("--skip", "leave out rows that cannot be used, and say which"),
        ],
    ),
    "status": _Command(
        "status",
        "show the best value so far, and pending points",
        "Show the state of a campaign, and whether a process is working on it.",
        STATUS_EPILOG,
        [
            _value("journal", "CAMPAIGN", CAMPAIGN),
            _flag("--json", "as one JSON object"),
            _value("--top", "K", "also list the K best runs", type=_count),
            _value("--csv", "FILE", "also write every run to a CSV file"),
            FORCE,
        ],
    ),
    "whatif": _Command(
        "whatif",
        "show the effect of other limits, without a run",
        "Show the best recorded design and the one that the models predict, for other limits on outputs, and the "
        "gain from relaxing each of them. Nothing is run, and nothing is changed.",
        WHATIF_EPILOG,
        [
            _value("journal", "CAMPAIGN", "spec, directory or journal of the campaign"),
            _value(
                "--limit",
                "TEXT",
                'a limit such as "deflection <= 1.2"; it replaces a limit on the same output, or is added',
                action="append",
                default=[],
            ),
        ],
    ),
    "tradeoff": _Command(
        "tradeoff",
        "show what a tighter or looser limit would cost",
        "For several values of a limit on an output, show the best value among the recorded runs and the best that "
        "the models of all runs predict. Nothing is run.",
        TRADEOFF_EPILOG,
        [
            _value("journal", "CAMPAIGN", CAMPAIGN),
            _value("--limit", "OUTPUT", "an output with a constraint, or its text", required=True),
            _value("-n", "N", "how many values of the limit (default: 7)", type=_count, default=7),
            _flag("--json", "as one JSON list"),
        ],
    ),
    "report": _Command(
        "report",
        "write a report as an HTML page",
        "Write a report as an HTML page. It needs no server and no network.",
        REPORT_EPILOG,
        [
            _value("journal", "CAMPAIGN", "journal, directory or spec of the campaign"),
            _value("--output", "FILE", "page to write (default: next to the journal, with suffix .html)"),
            FORCE,
            _value(
                "--refresh",
                "TIME",
                "keep running and update the page at this interval; stop with Ctrl-C",
                type=_duration,
            ),
        ],
    ),
    "diagnose": _Command(
        "diagnose",
        "check whether a GP is overconfident about low values",
        DIAGNOSE_DESCRIPTION,
        DIAGNOSE_EPILOG,
        [
            _value(
                "data", "DATA.csv", "table of runs; or a journal, the directory of a campaign, or its spec"
            ),
            _value("--objective", "COLUMN", "column of the values (default: the last)"),
            _value("--ignore", "COLUMN", "columns to leave out", nargs="+", default=[]),
            ("--method", {"choices": METHODS, "help": "default: that of the journal, or tcgp"}),
            _value("--delta", "P", "level of the quantile used as threshold (default 0.05)", type=float),
            _value(
                "--bounds",
                "NAME=LOW:HIGH",
                "box of the parameters (default: the range of the data); NAME=LOW:HIGH:log for a logarithmic scale",
                nargs="+",
                default=[],
            ),
            (
                "--rank",
                {
                    "choices": ("objective", "limits", "both"),
                    "default": "both",
                    "help": "rank the parameters of a run by their importance for the objective or the limits "
                    "(default: both)",
                },
            ),
            _value("--plot", "FILE", "picture to write, such as calibration.png"),
            _value(
                "--output", "NAME", "draw how this output or objective of a run depends on the parameters"
            ),
            FORCE,
        ],
    ),
    "mcp": _Command(
        "mcp",
        "serve a directory of campaigns to an assistant",
        "Serve the campaigns of a directory over standard input and output, by the Model Context Protocol. The only "
        "program that can be run is that of the spec given with --run.",
        MCP_EPILOG,
        [
            _value("directory", "DIRECTORY", "directory of journals and specs"),
            _flag("--read-only", "do not allow proposals or reports"),
            _value("--run", "SPEC.toml", "a spec whose program may be run, within its budget"),
        ],
    ),
    "completion": _Command(
        "completion",
        "print a script for shell completion",
        "Print a shell script that completes the commands and options of tcgp.",
        COMPLETION_EPILOG,
        [_value("shell", "SHELL", "bash, zsh or fish", choices=("bash", "zsh", "fish"))],
    ),
    "experiment": _Command(
        "experiment",
        "reproduce the paper's tables and figures: list, run, report",
        "Run the paper's experiments, and compare the results with the published ones.",
        EXPERIMENT_EPILOG,
        [],
    ),
}


def _plan(iterations: str) -> list[_Argument]:
    """Names of experiments, and options by which their plans are changed."""
    return [
        _value("names", "NAME", "experiments (see list), or all", nargs="+"),
        _value("--results", "DIR", "directory of the results (default results)", default="results"),
        _value("--replicates", "N", "instead of the plan's number", type=_count),
        _value("--iterations", "N", iterations, type=_count),
        _value("--problems", "NAME", "instead of the plan's functions", nargs="+"),
        _value(
            "--methods",
            "METHOD",
            "instead of the plan's: its labels, tcgp:delta=0.1, peer:botorch; +METHOD adds to the plan's",
            nargs="+",
        ),
        _flag("--as-published", "make every choice as the paper does; such results are kept apart"),
        (
            "--maximizer",
            {
                "choices": ("multistart", "smc"),
                "help": "of the criterion (default: multistart, but the paper's with --as-published, fifty times as "
                "slow)",
            },
        ),
    ]


EXPERIMENT_COMMANDS: dict[str, tuple[str, Sequence[_Argument]]] = {
    "list": ("list the experiments and what they reproduce", []),
    "run": (
        "run experiments, or continue them",
        [
            *_plan(iterations="instead of the plan's number"),
            _value("--jobs", "N", "processes (default: one per processor)", type=_count),
            _value("--scheduler", "ADDRESS", "Dask scheduler to use instead of processes"),
            _value("--shard", "i/N", "run the i-th of N parts", type=_shard, default=(1, 1)),
            QUIET,
        ],
    ),
    "report": (
        "write figures, tables and a page of results",
        [
            *_plan(iterations="default: that of most runs"),
            _value("--output", "DIR", "directory for pages and pictures (default report)", default="report"),
        ],
    ),
    "coco": (
        "export runs on BBOB functions for COCO's post-processing",
        [
            *_plan(iterations="default: that of most runs"),
            _value("--output", "DIR", "default exdata", default="exdata"),
        ],
    ),
}


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
    for name, command in COMMANDS.items():
        added = commands.add_parser(
            name,
            usage=command.usage,
            help=command.help,
            description=command.description,
            epilog=command.epilog,
        )
        _add(added, command.arguments)
        added.set_defaults(module=f"tcgp.cli.{command.module}")
    parts = commands.choices["experiment"].add_subparsers(
        dest="experiment_command", metavar="COMMAND", required=True
    )
    for name, (words, arguments) in EXPERIMENT_COMMANDS.items():
        _add(
            parts.add_parser(name, help=words, epilog=EXPERIMENT_EPILOG if name == "run" else None), arguments
        )
    parser.commands = commands.choices
    return parser


def words() -> dict[str, dict[str, str]]:
    """The commands, and the words that may follow each: its options and commands, with their help."""
    found = {name: _options(command.arguments) for name, command in COMMANDS.items()}
    for name, (text, arguments) in EXPERIMENT_COMMANDS.items():
        found["experiment"] |= {name: text, **_options(arguments)}
    return found


def _options(arguments: Iterable[_Argument]) -> dict[str, str]:
    return {name: options["help"] for name, options in arguments if name.startswith("--")}


def _add(parser: argparse.ArgumentParser, arguments: Iterable[_Argument]) -> None:
    for name, options in arguments:
        parser.add_argument(name, **options)


class _Parser(argparse.ArgumentParser):
    """A parser that keeps the line breaks of its texts, and does not guess abbreviated options."""

    commands: Collection[str] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options["allow_abbrev"] = False
        super().__init__(*args, **options)

    def error(self, message: str) -> NoReturn:
        """Say in one sentence what is wrong, and refer to the help."""
        if unknown := re.match(r"argument COMMAND: invalid choice: '(.*?)' ", message):
            message = f"there is no command {unknown[1]!r}{did_you_mean(unknown[1], self.commands)}"
        complain(f"{message}; see {self.prog} --help")
        self.exit(UNUSABLE)


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
