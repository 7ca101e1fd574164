"""Problems with several objectives for `fronts.py`, written down before any run.

Most are those of BoTorch's test functions, with its reference points. Kursawe's function, RE21 (a truss of four bars)
and RE31 (a truss of two) are written out here, after Tanabe and Ishibuchi, "An easy-to-use real-world multi-objective
optimization problem suite", Applied Soft Computing 89 (2020). ``biobj-F-D`` is function F of COCO's bbob-biobj with D
parameters and COCO's own indicator. All objectives are minimized, and a limit is kept up to 0. In ``disc-brake`` the
number of friction surfaces is an integer, as where it comes from. In ``vessel``, a pressure vessel of least cost and
largest volume, the walls are multiples of 1/16 inch.
"""

from __future__ import annotations

import math
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["BIOBJ", "TUNING", "VALIDATION", "VOLUMES", "Problem", "get"]

TUNING = ("branin-currin", "zdt1-5", "dtlz2-5", "re21")
VALIDATION = (
    "zdt2-6",
    "zdt3-6",
    "dtlz7-6",
    "kursawe",
    "re31",
    "penicillin",
    "vehicle-safety",
    "dtlz2-6-3",
    "car-side-impact",
    "welded-beam",
    "disc-brake",
    "vessel",
    "c2dtlz2-4",
    "osy",
)

BIOBJ = tuple(f"biobj-{function}-{dim}" for dim in (2, 5, 10) for function in range(1, 56, 6))

# Where BoTorch's reference points lie so far out that every front has nearly the whole volume.
CLOSER = {"zdt1": (1.1, 1.1), "zdt2": (1.1, 1.1), "zdt3": (1.1, 1.1), "dtlz7": (0.95, 4.2)}

# Volumes of whole fronts that are known: by BoTorch, by integration of f2 over f1, and as the unit of COCO's shares.
VOLUMES = {
    **dict.fromkeys(BIOBJ, 1.0),
    "branin-currin": 59.36011874867746,
    "zdt1-5": 1.1**2 - 1.0 / 3.0,
    "zdt2-6": 1.1**2 - 2.0 / 3.0,
    "dtlz2-5": 1.1**2 - math.pi / 4.0,
    "c2dtlz2-4": 0.3996406303723544,
}


@dataclass(frozen=True)
class Problem:
    """A problem.

    Attributes
    ----------
    fun : callable
        From a point (d,) to the objectives, and then the excesses over limits.
    bounds : array of shape (d, 2)
    reference : array of shape (m,)
        Up to where volumes count.
    integers : tuple of int
        Parameters that take integers.
    volumes : callable, optional
        From the number of evaluations made to the volumes after each, where the problem itself knows them.
    """

    fun: Callable[[np.ndarray], np.ndarray]
    bounds: np.ndarray
    reference: np.ndarray
    n_limits: int = 0
    integers: tuple[int, ...] = ()
    volumes: Callable[[int], np.ndarray] | None = None

    @property
    def dim(self) -> int:
        return len(self.bounds)


def get(name: str) -> Problem:
    """The problem of this name."""
    if name.startswith("biobj"):
        return _biobj(*map(int, name.split("-")[1:]))
    own = {"kursawe": _kursawe, "re21": _re21, "re31": _re31, "vessel": _vessel}
    return own[name]() if name in own else _of_botorch(name)


def _of_botorch(name: str) -> Problem:
    import torch
    from botorch.test_functions import multi_objective as functions

    kind, *sizes = name.split("-") if name[-1].isdigit() else (name,)
    dim, m = (*map(int, sizes), 2)[:2] if sizes else (0, 2)
    made = {
        "branin-currin": lambda: functions.BraninCurrin(),
        "zdt1": lambda: functions.ZDT1(dim),
        "zdt2": lambda: functions.ZDT2(dim),
        "zdt3": lambda: functions.ZDT3(dim),
        "dtlz2": lambda: functions.DTLZ2(dim, num_objectives=m),
        "dtlz7": lambda: functions.DTLZ7(dim, num_objectives=m),
        "penicillin": lambda: functions.Penicillin(),
        "vehicle-safety": lambda: functions.VehicleSafety(),
        "car-side-impact": lambda: functions.CarSideImpact(),
        "welded-beam": lambda: functions.WeldedBeam(),
        "disc-brake": lambda: functions.DiscBrake(),
        "c2dtlz2": lambda: functions.C2DTLZ2(dim, num_objectives=m),
        "osy": lambda: functions.OSY(),
    }[kind]().double()
    n_limits = getattr(made, "num_constraints", 0)
    sign = 1.0 if kind == "welded-beam" else -1.0  # BoTorch's slacks of the beam are excesses, as in pymoo

    def fun(x: np.ndarray) -> np.ndarray:
        X = torch.tensor(x, dtype=torch.double)[None]
        with torch.no_grad():
            values = made.evaluate_true(X)[0].numpy()
            slacks = made.evaluate_slack_true(X)[0].numpy() if n_limits else np.empty(0)
        return np.concatenate([values, sign * slacks])

    bounds, integers = made.bounds.T.numpy(), (3,) if kind == "disc-brake" else ()
    reference = CLOSER.get(kind, made._ref_point)
    return Problem(fun, bounds, np.array(reference, dtype=float), n_limits, integers)


def _biobj(function: int, dim: int) -> Problem:
    """A problem of COCO, whose observer is asked for the share of the volume of the best known front.

    While no point is better than the nadir point, it is negative: a distance. It is logged after some evaluations only,
    among them 5 d, 10 d and 20 d.
    """
    import cocoex

    suite = cocoex.Suite("bbob-biobj", "", f"dimensions:{dim} function_indices:{function} instance_indices:1")
    problem, folder = next(iter(suite)), tempfile.mkdtemp()
    bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])

    def fun(x: np.ndarray, suite: object = suite) -> np.ndarray:  # a problem does not outlive its suite
        if not problem.evaluations:
            problem.observe_with(cocoex.Observer("bbob-biobj", f"outer_folder: {folder} result_folder: runs"))
        return np.array(problem(x))

    def volumes(n: int) -> np.ndarray:
        problem.free()
        (log,) = Path(folder).rglob("*_hyp.tdat")
        (whole,) = re.findall(r"reference value = (\S+)", log.read_text())
        places, differences = np.loadtxt(log, comments="%", ndmin=2).T
        shutil.rmtree(folder)
        shares = 1.0 - differences / float(whole)
        return shares[np.searchsorted(places, np.arange(1, n + 1), side="right") - 1]

    return Problem(fun, bounds, problem.largest_fvalues_of_interest, volumes=volumes)


def _kursawe() -> Problem:
    def fun(x: np.ndarray) -> np.ndarray:
        first = -10.0 * np.exp(-0.2 * np.hypot(x[:-1], x[1:])).sum()
        return np.array([first, (np.abs(x) ** 0.8 + 5.0 * np.sin(x**3)).sum()])

    return Problem(fun, np.array([[-5.0, 5.0]] * 3), np.array([-14.0, 1.0]))


def _re21() -> Problem:
    load, modulus, length, stress = 10.0, 2e5, 200.0, 10.0
    a, root = load / stress, math.sqrt(2.0)

    def fun(x: np.ndarray) -> np.ndarray:
        volume = length * (2.0 * x[0] + root * x[1] + math.sqrt(x[2]) + x[3])
        bending = load * length / modulus * (2.0 / x[0] + 2.0 * root / x[1] - 2.0 * root / x[2] + 2.0 / x[3])
        return np.array([volume, bending])

    bounds = np.array([[a, 3.0 * a], [root * a, 3.0 * a], [root * a, 3.0 * a], [a, 3.0 * a]])
    return Problem(fun, bounds, np.array([3200.0, 0.055]))


def _re31() -> Problem:
    """The truss of two bars: volume, and the stresses in both, which are to stay below a bound."""

    def fun(x: np.ndarray) -> np.ndarray:
        a, b, y = x
        volume = a * math.sqrt(16.0 + y**2) + b * math.sqrt(1.0 + y**2)
        left = 20.0 * math.sqrt(16.0 + y**2) / (a * y)
        right = 80.0 * math.sqrt(1.0 + y**2) / (b * y)
        return np.array([volume, max(left, right), volume - 0.1, left / 1e5 - 1.0, right / 1e5 - 1.0])

    return Problem(fun, np.array([[1e-5, 0.01], [1e-5, 0.01], [1.0, 3.0]]), np.array([0.06, 1e5]), 3)


def _vessel() -> Problem:
    def fun(x: np.ndarray) -> np.ndarray:
        shell, head, radius, length = x[0] / 16.0, x[1] / 16.0, x[2], x[3]
        cost = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
        cost += 3.1661 * shell**2 * length + 19.84 * shell**2 * radius
        volume = math.pi * radius**2 * length + 4.0 / 3.0 * math.pi * radius**3
        return np.array([cost, -volume / 1e6, 0.0193 * radius - shell, 0.00954 * radius - head])

    bounds = np.array([[1.0, 32.0], [1.0, 32.0], [10.0, 100.0], [10.0, 240.0]])
    return Problem(fun, bounds, np.array([30000.0, 0.0]), 2, (0, 1))
