"""Time and memory of an iteration with many data, ours and BoTorch's, against one evaluation of the likelihood.

    python benchmarks/speed/growth.py [--n 1000 2000] [--iterations 20] [--botorch]      (needs torch==2.13.0, botorch)

Rosenbrock in d = 10, n uniform points, then iterations of tcGP on one thread, in processor time. The first fits from
scratch; of the others most keep the lengthscales and some refine them. Their mean is given, fit with calibration and
maximiser apart, in seconds and in evaluations of our likelihood with its gradient. BoTorch fits from scratch every
time: `SingleTaskGP`, `fit_gpytorch_mll`, LogEI, `optimize_acqf` with 10 restarts and 512 raw samples, one iteration.

Memory is the growth of the largest resident set while the iterations run, the first included, in units of n^2 doubles.
Each measurement has a process of its own, which first makes an iteration with few data, so that libraries are loaded;
Linux only.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"))

import numpy as np

import tcgp
from stopwatch import stopwatch
from tcgp.gp.likelihood import ConcentratedLikelihood
from tcgp.methods import surrogate
from tcgp_experiments.run.peers import PEERS

PROBLEM = tcgp.problems.get("rosenbrock10")
FEW = 30


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform points of the box, and their values."""
    X = np.random.default_rng(0).uniform(*PROBLEM.bounds.T, (n, PROBLEM.dim))
    return X, PROBLEM.fun(X)


def likelihood_seconds(n: int) -> float:
    """Processor seconds of one evaluation of the likelihood and its gradient, the fastest of three."""
    X, y = data(n)
    low, high = PROBLEM.bounds.T
    likelihood = ConcentratedLikelihood((X - low) / (high - low), (y - y.mean()) / y.std(), 2)
    times = []
    for _ in range(3):
        start = time.process_time()
        likelihood.value_and_gradient(np.zeros(PROBLEM.dim))
        times.append(time.process_time() - start)
    return min(times)


def ours(n: int, iterations: int) -> dict[str, float]:
    """Seconds of the first iteration and of its maximiser, and the means of the others."""
    optimizer = tcgp.Optimizer(PROBLEM.bounds, method="tcgp", n_initial=1, rng=0)
    X, y = data(n)
    optimizer.tell(X.tolist(), y.tolist())
    times = []  # of an iteration, and of its fit
    with stopwatch({"fit": (surrogate, "fit_model")}) as spent:
        for _ in range(iterations + 1):
            before, start = spent["fit"], time.process_time()
            x = optimizer.ask()
            times.append((time.process_time() - start, spent["fit"] - before))
            optimizer.tell(x, PROBLEM.fun(x))
    (first, first_fit), *others = times
    mean, mean_fit = np.mean(others, axis=0)
    return {
        "first fit": first_fit,
        "first maximiser": first - first_fit,
        "fit": mean_fit,
        "maximiser": mean - mean_fit,
    }


def botorch(n: int, iterations: int) -> dict[str, float]:
    """Seconds of the fit and of the maximiser of one iteration."""
    places = {
        "fit": (importlib.import_module("botorch.fit"), "fit_gpytorch_mll"),
        "maximiser": (importlib.import_module("botorch.optim"), "optimize_acqf"),
    }
    with stopwatch(places) as spent:
        list(PEERS["botorch"](PROBLEM, *data(n), 1, 0))
    return {"first fit": spent["fit"], "first maximiser": spent["maximiser"], **spent}


OPTIMIZERS = {"tcgp": ours, "botorch": botorch}


def in_own_process(name: str, n: int, iterations: int) -> dict[str, float]:
    """The seconds of an optimizer, and the bytes that its iterations needed."""
    command = [sys.executable, __file__, "--only", name, "--n", str(n), "--iterations", str(iterations)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def measure(name: str, n: int, iterations: int) -> dict[str, float]:
    """What `in_own_process` gives, in this process."""
    OPTIMIZERS[name](FEW, 1)
    Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on
    before = _peak()
    seconds = OPTIMIZERS[name](n, iterations)
    return {**seconds, "bytes": _peak() - before}


def _peak() -> int:
    """Largest resident set of this process, in bytes; getrusage would count the parent's too."""
    return 1024 * int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--n", type=int, nargs="+", default=[1000, 2000])
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--botorch", action="store_true")
    parser.add_argument("--only", choices=OPTIMIZERS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        print(json.dumps(measure(args.only, args.n[0], args.iterations)))
        return
    columns = (
        "n", "optimizer", "likelihood, s", "first fit, s", "first maximiser, s", "fit, s", "maximiser, s",
        "fit / likelihood", "maximiser / likelihood", "memory / n^2 doubles",
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for n in args.n:
        evaluation = likelihood_seconds(n)
        for name in ("tcgp", "botorch") if args.botorch else ("tcgp",):
            found = in_own_process(name, n, args.iterations)
            seconds = [found[key] for key in ("first fit", "first maximiser", "fit", "maximiser")]
            cells = [f"{s:.3g}" for s in (evaluation, *seconds)]
            cells += [f"{s / evaluation:.2f}" for s in seconds[2:]] + [f"{found['bytes'] / (8.0 * n**2):.1f}"]
            print(f"| {n} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
