"""Time of one iteration beside BoTorch, Optuna, egobox, scikit-optimize and SMT: same data, one thread, one process.

    python benchmarks/speed/peers.py run [--n 50 100 200 400] [--d 2 4 10] [--functions dixon-price ackley]
    python benchmarks/speed/peers.py report

`run` needs botorch, optuna, egobox, scikit-optimize and smt; gpmp-contrib is measured by peers_gpmp.py.

An iteration is what lies between two evaluations of the function: to learn the last value, fit, calibrate, maximise the
criterion. Each library is driven through its public interface (`tcgp_experiments.run.peers`): SMT's EGO as a whole,
since it has no ask and tell. Half of the n data are uniform points of the box, each other one lies near the best before
it, at a distance of 1e-3 to 0.3 of the box, as the points of a run do. Dixon-Price is smooth, Ackley rugged.

"warm" is the mean of the iterations after the first (3) and "cold" the first one. Ours search the lengthscales from
scratch in the first fit of each member, and look around for better ones each time the data have grown by a quarter.
Their "mean" is therefore that of all iterations while the data grow by a quarter, after the first few; "warm" are those
without a search, "cold" the others. BoTorch, scikit-optimize and SMT fit from scratch each time. Times are processor
time (wall time is kept too). A peer that needs more than ``--limit`` seconds for an iteration is stopped, and not tried
with more data. Each measurement goes to ``--store`` at once; one that is there already is not repeated.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib
import os
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

os.environ.update(
    dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
)

import numpy as np

import tcgp
from stopwatch import Place, stopwatch
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.gp.relaxed import RelaxedLikelihood
from tcgp.methods import fit, members
from tcgp.problems import Problem
from tcgp_experiments.run.peers import PEERS, Peer

OURS = ("gp", "tcgp", "regp", "auto")
STORE = Path(__file__).parent / "results" / "peers.csv"
PICTURE = Path(__file__).parents[2] / "docs" / "images" / "peers.png"
COLUMNS = (
    "optimizer", "function", "d", "n", "repeat", "kind", "iterations", "cpu", "wall",
    "fit", "calibration", "maximisation", "status",
)  # fmt: skip
NAMES = {
    "botorch": "BoTorch",
    "optuna": "Optuna",
    "egobox": "egobox",
    "skopt": "scikit-optimize",
    "smt": "SMT",
    "gpmp": "gpmp-contrib",
}
N_FIRST = 8  # iterations of ours within which every member has its first fit
Row = dict[str, str]


class TooSlow(BaseException):
    """An iteration has used up its time; no library catches this."""


# ---- data and optimizers ----


def state(function: str, d: int, n: int, repeat: int = 0) -> tuple[Problem, np.ndarray, np.ndarray]:
    """A function of d variables, and n points and values as a run might have left them."""
    problem = tcgp.problems.get(f"{function}{d}")
    low, high = np.asarray(problem.bounds, dtype=float).T
    rng = np.random.default_rng([repeat, d, n])
    U = rng.random((n, d))
    y = np.empty(n)
    for i in range(n):
        if i >= n // 2:
            step = rng.standard_normal(d) * 10.0 ** rng.uniform(-3.0, -0.5) / np.sqrt(d)
            U[i] = 1.0 - np.abs(1.0 - np.abs(U[np.argmin(y[:i])] + step))  # reflected at the faces
            U[i] = np.clip(U[i], 0.0, 1.0)
        y[i] = problem.fun(low + U[i] * (high - low))
    return problem, low + U * (high - low), y


def ours(method: str) -> Peer:
    """One of our methods, in the form of a peer."""

    def optimize(problem, X, y, iterations, seed):
        optimizer = tcgp.Optimizer(problem.bounds, method=method, n_initial=1, rng=seed)
        optimizer.tell(X.tolist(), y.tolist())
        for _ in range(iterations):
            x = optimizer.ask()
            value = problem.fun(x)
            optimizer.tell(x, value)
            yield np.array(x), value

    return optimize


def places(optimizer: str) -> dict[str, Place]:
    """The parts of an iteration that are timed apart."""
    if optimizer in OURS:
        return {
            "fit and calibration": (members, "fit_model"),
            "calibration": (fit, "calibrate"),
            "search": (ConcentratedLikelihood, "rough_value"),  # lengthscales from scratch
            "relaxed search": (RelaxedLikelihood, "rough_value"),
        }
    if optimizer == "botorch":
        return {
            "fit": (importlib.import_module("botorch.fit"), "fit_gpytorch_mll"),
            "maximisation": (importlib.import_module("botorch.optim"), "optimize_acqf"),
        }
    return {}


# ---- measurements ----


class Clock:
    """Times what a problem's optimizer does between two evaluations."""

    def __init__(self, problem: Problem, spent: Counter[str], limit: float) -> None:
        self.problem = replace(problem, formula=self._evaluate)
        self.iterations: list[dict[str, float]] = []
        self._formula, self._spent, self._limit = problem.formula, spent, limit
        self._start()

    def _start(self) -> None:
        self._before = self._spent.copy()
        # Not ITIMER_PROF: while one runs, Linux reads processor time off in ticks of milliseconds.
        signal.setitimer(signal.ITIMER_REAL, self._limit)
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def _evaluate(self, x: np.ndarray) -> np.ndarray:
        cpu, wall = time.process_time() - self._cpu, time.perf_counter() - self._wall
        parts = {key: seconds - self._before[key] for key, seconds in self._spent.items()}
        self.iterations.append({"cpu": cpu, "wall": wall, **parts})
        value = self._formula(x)
        self._start()
        return value


def measure(name: str, optimize: Peer, data: tuple, iterations: int, limit: float) -> Iterator[Row]:
    """The rows of one optimizer on one state."""
    problem, X, y = data
    signal.signal(signal.SIGALRM, _stop)
    with stopwatch(places(name)) as spent, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clock = Clock(problem, spent, limit)
        status = "ok"
        try:
            for _ in optimize(clock.problem, X, y, iterations + 1, 0):
                pass
        except TooSlow:
            status = f"over {limit:g} s"
        except Exception as error:  # a peer's trouble must not end the benchmark
            status = f"failed: {type(error).__name__}: {error}"[:200]
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    if status != "ok":
        cpu = f"{limit:g}" if status.startswith("over") else ""
        yield {"kind": "warm", "iterations": str(len(clock.iterations)), "cpu": cpu, "status": status}
    done = clock.iterations
    cold = [
        i == 0 or any(part.get(key, 0.0) for key in ("search", "relaxed search"))
        for i, part in enumerate(done)
    ]
    for kind in ("cold", "warm"):
        chosen = [
            iteration for iteration, is_cold in zip(done, cold, strict=True) if is_cold == (kind == "cold")
        ]
        if chosen and (status == "ok" or kind == "cold"):
            yield {"kind": kind, "iterations": str(len(chosen)), **_mean(chosen), "status": "ok"}
    if name in OURS and len(done) > N_FIRST:
        later = done[N_FIRST:]
        yield {"kind": "mean", "iterations": str(len(later)), **_mean(later), "status": "ok"}


def _stop(signum: int, frame: object) -> None:
    raise TooSlow


def _mean(iterations: Sequence[dict[str, float]]) -> dict[str, str]:
    """Mean seconds of the iterations and of their parts."""
    mean = {
        key: float(np.mean([i.get(key, 0.0) for i in iterations]))
        for key in {k for i in iterations for k in i}
    }
    if "fit and calibration" in mean:
        both = mean["fit and calibration"]
        mean |= {"fit": both - mean["calibration"], "maximisation": mean["cpu"] - both}
    return {key: f"{value:.6f}" for key, value in mean.items() if key in COLUMNS}


def run(arguments: argparse.Namespace, optimizers: dict[str, Peer]) -> None:
    """Make the measurements that the store lacks; the optimizers of one state follow each other."""
    with contextlib.suppress(ImportError):
        importlib.import_module("torch").set_num_threads(1)
    for name, optimize in optimizers.items():  # imports and tables are nobody's iteration
        *_, warm = measure(name, optimize, state("ackley", 2, 8), 1, arguments.limit)
        if warm["status"] != "ok":
            print(f"{name}: {warm['status']}", file=sys.stderr)
    rows = load(arguments.store)
    for repeat in range(arguments.repeats):
        for d in arguments.d:
            for function in arguments.functions:
                for n in sorted(arguments.n):
                    data = state(function, d, n, repeat)
                    for name, optimize in optimizers.items():
                        key = {
                            "optimizer": name,
                            "function": function,
                            "d": str(d),
                            "n": str(n),
                            "repeat": str(repeat),
                        }
                        if any(key.items() <= row.items() for row in rows):
                            continue
                        k = (
                            N_FIRST + int((fit.COLD_FIT_GROWTH - 1.0) * n)
                            if name in OURS
                            else arguments.iterations
                        )
                        slow = _too_slow_before(rows, key)
                        new = [slow] if slow else measure(name, optimize, data, k, arguments.limit)
                        added = [{**key, **row} for row in new]
                        rows += added
                        append(arguments.store, added)
                        print(
                            *key.values(),
                            *(f"{r['kind']} {r['cpu']} {r['status']}" for r in added),
                            flush=True,
                        )


def _too_slow_before(rows: Sequence[Row], key: Row) -> Row | None:
    """The verdict on fewer data, if that was too slow already."""
    same = {name: key[name] for name in ("optimizer", "function", "d")}
    over = (r for r in rows if same.items() <= r.items() and r["status"].startswith("over"))
    found = next((r for r in over if int(r["n"]) < int(key["n"])), None)
    return found and {"kind": "warm", "iterations": "0", "cpu": found["cpu"], "status": found["status"]}


def load(store: Path) -> list[Row]:
    if not store.exists():
        return []
    with store.open(newline="") as file:
        return list(csv.DictReader(file))


def append(store: Path, rows: Sequence[Row]) -> None:
    store.parent.mkdir(exist_ok=True)
    new = not store.exists()
    with store.open("a", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        if new:
            writer.writeheader()
        writer.writerows(rows)


# ---- report ----


class Times:
    """Medians over the repeats of what the store holds."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def seconds(self, optimizer: str, case: tuple, kind: str = "warm", part: str = "cpu") -> float:
        """NaN if it was not measured, infinite if it was too slow."""
        function, d, n = case
        key = {"optimizer": optimizer, "function": function, "d": str(d), "n": str(n), "kind": kind}
        rows = [r for r in self.rows if key.items() <= r.items()]
        if any(r["status"].startswith("over") for r in rows):
            return np.inf
        values = [float(r[part]) for r in rows if r["status"] == "ok" and r[part]]
        return float(np.median(values)) if values else np.nan

    def mean(self, optimizer: str, case: tuple) -> float:
        """Seconds of a mean iteration."""
        return self.seconds(optimizer, case, "mean" if optimizer in OURS else "warm")


def report(rows: Sequence[Row], picture: Path) -> str:
    """Markdown: ratios to the peers, the parts of our iteration, ratios between our methods."""
    times = Times(rows)
    cases = sorted({(r["function"], int(r["d"]), int(r["n"])) for r in rows})
    peers = [name for name in NAMES if any(r["optimizer"] == name for r in rows)]
    draw(times, cases, peers, picture)
    limit = max((float(r["cpu"]) for r in rows if r["status"].startswith("over")), default=np.inf)

    def ratio(a: str, case: tuple, b: str = "tcgp") -> str:
        mine, theirs = times.mean(b, case), times.mean(a, case)
        if np.isinf(theirs):
            return f"> {limit / mine:.0f}"
        return "–" if np.isnan(theirs / mine) else f"{theirs / mine:.3g}"

    def ms(*arguments: object) -> str:
        seconds = times.seconds(*arguments)
        return "–" if np.isnan(seconds) else f"{1e3 * seconds:.1f}"

    def row(case: tuple, *cells: str) -> str:
        return "| " + " | ".join([*map(str, case), *cells]) + " |"

    lines = _header("mean tcgp, ms", *(f"{NAMES[peer]} / tcgp" for peer in peers))
    lines += [row(c, f"{1e3 * times.mean('tcgp', c):.1f}", *(ratio(p, c) for p in peers)) for c in cases]
    parts = ("fit", "calibration", "maximisation")
    lines += _header(
        *(f"tcgp {kind} {part}, ms" for kind in ("warm", "cold") for part in parts),
        *(f"BoTorch {part}, ms" for part in parts[::2]),
        *(f"{method} / gp" for method in OURS[1:]),
    )
    for case in cases:
        mine = [ms("tcgp", case, kind, part) for kind in ("warm", "cold") for part in parts]
        theirs = [ms("botorch", case, "warm", part) for part in parts[::2]]
        lines.append(row(case, *mine, *theirs, *(ratio(method, case, "gp") for method in OURS[1:])))
    lines += ["", "Functions together, by geometric means:", ""]
    pairs = [(peer, method) for method in ("tcgp", "auto") for peer in peers]
    lines += _header(*(f"{NAMES[a]} / {b}" for a, b in pairs), first=())
    for d, n in sorted({case[1:] for case in cases}):
        same = [case for case in cases if case[1:] == (d, n)]
        ratios = ([times.mean(a, c) / times.mean(b, c) for c in same] for a, b in pairs)
        lines.append(row((d, n), *(f"{np.exp(np.mean(np.log(r))):.3g}" for r in ratios)))
    failed = {f"{r['optimizer']}: {r['status']}" for r in rows if r["status"].startswith("failed")}
    return "\n".join([*lines, "", *sorted(failed)])


def _header(*columns: str, first: Sequence[str] = ("function",)) -> list[str]:
    names = (*first, "d", "n", *columns)
    return ["", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]


def draw(times: Times, cases: Sequence[tuple], peers: Sequence[str], picture: Path) -> None:
    """Time of a mean iteration against n, functions together, one panel per d."""
    from matplotlib.figure import Figure

    dimensions = sorted({d for _, d, _ in cases})
    figure = Figure(figsize=(4.0 * len(dimensions), 3.6), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(dimensions), sharey=True))
    for ax, d in zip(axes, dimensions, strict=True):
        sizes = sorted({n for _, dim, n in cases if dim == d})
        ours = [name for name in OURS if any(row["optimizer"] == name for row in times.rows)]
        for name in (*ours, *peers):
            mean = [
                np.exp(np.mean([np.log(times.mean(name, c)) for c in cases if c[1:] == (d, n)]))
                for n in sizes
            ]
            style = "o-" if name in OURS else "s--"
            ax.plot(sizes, mean, style, ms=4, lw=1.5, label=NAMES.get(name, name))
        ax.set(xscale="log", yscale="log", title=f"d = {d}", xlabel="data")
        ax.set_xticks(sizes, map(str, sizes), minor=False)
        ax.minorticks_off()
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("processor seconds an iteration")
    axes[-1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=130)


def parse(description: str, optimizers: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "report"))
    parser.add_argument("--n", type=int, nargs="+", default=[50, 100, 200, 400])
    parser.add_argument("--d", type=int, nargs="+", default=[2, 4, 10])
    parser.add_argument("--functions", nargs="+", default=["dixon-price", "ackley"])
    parser.add_argument("--optimizers", nargs="+", default=list(optimizers), choices=list(optimizers))
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument(
        "--iterations",
        type=int,
        default=3,
        help="warm ones of a peer; ours are timed while data grow by a quarter",
    )
    parser.add_argument("--limit", type=float, default=60.0, help="seconds that an iteration may take")
    parser.add_argument("--store", type=Path, default=STORE)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    return parser.parse_args()


def main(description: str | None, optimizers: dict[str, Callable]) -> None:
    arguments = parse(description or "", list(optimizers))
    if arguments.command == "run":
        run(arguments, {name: optimizers[name] for name in arguments.optimizers})
    else:
        print(report(load(arguments.store), arguments.picture))


if __name__ == "__main__":
    main(__doc__, {method: ours(method) for method in OURS} | PEERS)
