"""The functions that `auto.py` tunes on and, apart, those it validates on: two rounds of both."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from tcgp import problems
from tcgp.experiments.run.bbob import bbob_problem, is_bbob, open_bbob
from tcgp.problems import Problem

__all__ = [
    "MANY_PARAMETERS",
    "MANY_TUNING",
    "SECOND_TUNING",
    "SECOND_VALIDATION",
    "TUNING",
    "VALIDATION",
    "bbob_minimizer",
    "get",
]

TUNING = (
    "goldstein-price",
    "dixon-price4",
    "rosenbrock6",
    "ackley4",
    "hartmann6",
    "michalewicz4",
    "cross-in-tray",
    "shekel10",
)

# Chosen before any run: of BBOB at least one function of each of its five groups in each dimension.
VALIDATION = (
    "branin",
    "six-hump-camel",
    "levy5",
    "griewank5",
    "styblinski-tang5",
    "schwefel2",
    "rastrigin4",
    "borehole",
    "piston",
    "otl-circuit",
    "robot-arm",
    "wing-weight",
    "bbob:f4:d2:i1",
    "bbob:f7:d2:i1",
    "bbob:f13:d2:i1",
    "bbob:f17:d2:i1",
    "bbob:f21:d2:i1",
    "bbob:f2:d5:i1",
    "bbob:f8:d5:i1",
    "bbob:f11:d5:i1",
    "bbob:f15:d5:i1",
    "bbob:f22:d5:i1",
    "bbob:f1:d10:i1",
    "bbob:f6:d10:i1",
    "bbob:f14:d10:i1",
    "bbob:f20:d10:i1",
)

# The second round, written down before its work began. Nothing is chosen on its validation functions: BBOB's fourth
# instances, and ten classics that are in no other set.
SECOND_TUNING = (*TUNING, *(f"bbob:f{k}:d3:i{i}" for i in (1, 2) for k in range(1, 25)))
SECOND_VALIDATION = (
    *(f"bbob:f{k}:d{d}:i4" for d in (2, 5, 10) for k in range(1, 25)),
    "alpine5",
    "beale",
    "colville",
    "drop-wave",
    "eggholder",
    "holder-table",
    "powell4",
    "salomon5",
    "trid6",
    "zakharov5",
)

# Many parameters, written down before any of these runs: three functions of all of them, three of a few.
MANY_PARAMETERS = (
    *(f"{name}{d}" for d in (20, 50) for name in ("ackley", "levy", "rosenbrock")),
    *(f"{name}:among{d}" for d in (20, 50) for name in ("branin", "hartmann6", "styblinski-tang5")),
)

# For choices about many parameters.
MANY_TUNING = (
    "ackley10",
    "levy10",
    *(f"bbob:f{k}:d10:i2" for k in (2, 6, 8, 10, 13, 15, 17, 20, 21, 24)),
    "griewank20",
    "rastrigin20",
    "dixon-price20",
    *(f"bbob:f{k}:d20:i1" for k in (8, 17, 24)),
    *(
        f"{name}:among20"
        for name in ("ackley4", "dixon-price4", "goldstein-price", "michalewicz4", "shekel10")
    ),
)


def borehole(x: np.ndarray) -> np.ndarray:
    """Flow of water through a borehole (Morris, Mitchell and Ylvisaker, 1993)."""
    rw, r, Tu, Hu, Tl, Hl, L, Kw = np.moveaxis(x, -1, 0)
    log_ratio = np.log(r / rw)
    return (
        2.0 * np.pi * Tu * (Hu - Hl) / (log_ratio * (1.0 + 2.0 * L * Tu / (log_ratio * rw**2 * Kw) + Tu / Tl))
    )


def piston(x: np.ndarray) -> np.ndarray:
    """Cycle time of a piston (Kenett and Zacks, 1998)."""
    M, S, V0, k, P0, Ta, T0 = np.moveaxis(x, -1, 0)
    A = P0 * S + 19.62 * M - k * V0 / S
    V = S / (2.0 * k) * (np.sqrt(A**2 + 4.0 * k * P0 * V0 / T0 * Ta) - A)
    return 2.0 * np.pi * np.sqrt(M / (k + S**2 * P0 * V0 / T0 * Ta / V**2))


def otl_circuit(x: np.ndarray) -> np.ndarray:
    """Midpoint voltage of a push-pull circuit without output transformer (Ben-Ari and Steinberg, 2007)."""
    Rb1, Rb2, Rf, Rc1, Rc2, beta = np.moveaxis(x, -1, 0)
    Vb1 = 12.0 * Rb2 / (Rb1 + Rb2)
    gain = beta * (Rc2 + 9.0)
    return (
        (Vb1 + 0.74) * gain / (gain + Rf) + 11.35 * Rf / (gain + Rf) + 0.74 * Rf * gain / ((gain + Rf) * Rc1)
    )


def robot_arm(x: np.ndarray) -> np.ndarray:
    """Distance of a four-segment robot arm's end from its shoulder (An and Owen, 2001)."""
    angles, lengths = np.cumsum(x[..., :4], axis=-1), x[..., 4:]
    u, v = (lengths * np.cos(angles)).sum(axis=-1), (lengths * np.sin(angles)).sum(axis=-1)
    return np.hypot(u, v)


def wing_weight(x: np.ndarray) -> np.ndarray:
    """Weight of a light aircraft's wing (Forrester, Sobester and Keane, 2008)."""
    Sw, Wfw, A, sweep, q, taper, tc, Nz, Wdg, Wp = np.moveaxis(x, -1, 0)
    c = np.cos(np.deg2rad(sweep))
    fraction = (100.0 * tc / c) ** -0.3
    size = Sw**0.758 * Wfw**0.0035 * (A / c**2) ** 0.6
    return 0.036 * size * q**0.006 * taper**0.04 * fraction * (Nz * Wdg) ** 0.49 + Sw * Wp


def alpine(x: np.ndarray) -> np.ndarray:
    """Alpine: many minima with kinks."""
    return np.abs(x * np.sin(x) + 0.1 * x).sum(axis=-1)


def beale(x: np.ndarray) -> np.ndarray:
    """Beale (1958): a curved valley with walls."""
    x1, x2 = np.moveaxis(x, -1, 0)
    return sum((c - x1 + x1 * x2**k) ** 2 for k, c in ((1, 1.5), (2, 2.25), (3, 2.625)))


def colville(x: np.ndarray) -> np.ndarray:
    """Colville (1968): two valleys, coupled."""
    x1, x2, x3, x4 = np.moveaxis(x, -1, 0)
    valleys = 100.0 * (x1**2 - x2) ** 2 + (x1 - 1.0) ** 2 + 90.0 * (x3**2 - x4) ** 2 + (x3 - 1.0) ** 2
    return valleys + 10.1 * ((x2 - 1.0) ** 2 + (x4 - 1.0) ** 2) + 19.8 * (x2 - 1.0) * (x4 - 1.0)


def drop_wave(x: np.ndarray) -> np.ndarray:
    """Drop-wave: rings around the minimum."""
    r2 = (x**2).sum(axis=-1)
    return -(1.0 + np.cos(12.0 * np.sqrt(r2))) / (0.5 * r2 + 2.0)


def eggholder(x: np.ndarray) -> np.ndarray:
    """Eggholder: many deep minima, the best on a face."""
    x1, x2 = np.moveaxis(x, -1, 0)
    first = (x2 + 47.0) * np.sin(np.sqrt(np.abs(0.5 * x1 + x2 + 47.0)))
    return -first - x1 * np.sin(np.sqrt(np.abs(x1 - x2 - 47.0)))


def holder_table(x: np.ndarray) -> np.ndarray:
    """Hölder table: four equal minima near the corners, kinks."""
    x1, x2 = np.moveaxis(x, -1, 0)
    return -np.abs(np.sin(x1) * np.cos(x2) * np.exp(np.abs(1.0 - np.hypot(x1, x2) / np.pi)))


def powell(x: np.ndarray) -> np.ndarray:
    """Powell (1962): a minimum at which the Hessian is singular."""
    a, b, c, d = np.moveaxis(x, -1, 0)
    return (a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2 + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4


def salomon(x: np.ndarray) -> np.ndarray:
    """Salomon (1996): rings that deepen towards the centre."""
    r = np.sqrt((x**2).sum(axis=-1))
    return 1.0 - np.cos(2.0 * np.pi * r) + 0.1 * r


def trid(x: np.ndarray) -> np.ndarray:
    """Trid (Neumaier): an ill-conditioned paraboloid."""
    return ((x - 1.0) ** 2).sum(axis=-1) - (x[..., 1:] * x[..., :-1]).sum(axis=-1)


def zakharov(x: np.ndarray) -> np.ndarray:
    """Zakharov: a paraboloid with a steep wall."""
    s = 0.5 * (np.arange(1, x.shape[-1] + 1) * x).sum(axis=-1)
    return (x**2).sum(axis=-1) + s**2 + s**4


# Formula, box and a minimizer, to a few digits where it has no closed form.
_CLASSICS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], list[tuple[float, float]], list[float]]] = {
    "alpine5": (alpine, [(-10.0, 10.0)] * 5, [0.0] * 5),
    "beale": (beale, [(-4.5, 4.5)] * 2, [3.0, 0.5]),
    "colville": (colville, [(-10.0, 10.0)] * 4, [1.0] * 4),
    "drop-wave": (drop_wave, [(-5.12, 5.12)] * 2, [0.0, 0.0]),
    "eggholder": (eggholder, [(-512.0, 512.0)] * 2, [512.0, 404.2319]),
    "holder-table": (holder_table, [(-10.0, 10.0)] * 2, [8.05502, 9.66459]),
    "powell4": (powell, [(-4.0, 5.0)] * 4, [0.0] * 4),
    "salomon5": (salomon, [(-100.0, 100.0)] * 5, [0.0] * 5),
    "trid6": (trid, [(-36.0, 36.0)] * 6, [6.0, 10.0, 12.0, 12.0, 10.0, 6.0]),
    "zakharov5": (zakharov, [(-5.0, 10.0)] * 5, [0.0] * 5),
}

_ENGINEERING: dict[str, tuple[Callable[[np.ndarray], np.ndarray], list[tuple[float, float]]]] = {
    "borehole": (
        borehole,
        [
            (0.05, 0.15),
            (100, 50000),
            (63070, 115600),
            (990, 1110),
            (63.1, 116),
            (700, 820),
            (1120, 1680),
            (9855, 12045),
        ],
    ),
    "piston": (
        piston,
        [(30, 60), (0.005, 0.020), (0.002, 0.010), (1000, 5000), (90000, 110000), (290, 296), (340, 360)],
    ),
    "otl-circuit": (otl_circuit, [(50, 150), (25, 70), (0.5, 3), (1.2, 2.5), (0.25, 1.2), (50, 300)]),
    "robot-arm": (robot_arm, [(0, 2 * np.pi)] * 4 + [(0, 1)] * 4),
    "wing-weight": (
        wing_weight,
        [
            (150, 200),
            (220, 300),
            (6, 10),
            (-10, 10),
            (16, 45),
            (0.5, 1),
            (0.08, 0.18),
            (2.5, 6),
            (1700, 2500),
            (0.025, 0.08),
        ],
    ),
}


@functools.cache
def get(name: str) -> Problem:
    """A function of one of the sets, with its minimum."""
    few, among, d = name.partition(":among")
    if among:
        return _among(get(few), int(d))
    if name in _ENGINEERING:
        return _engineering(name)
    if name in _CLASSICS:
        return _classic(name)
    if is_bbob(name):
        problem = bbob_problem(name)
        x = bbob_minimizer(name)
        return Problem(name, problem.formula, np.array(problem.bounds), float(problem.fun(x)), x)
    return problems.get(name)


def _among(problem: Problem, dim: int) -> Problem:
    """The same function of ``dim`` parameters, evenly spread among others on which nothing depends."""
    places = np.linspace(0, dim - 1, problem.dim).astype(int)
    bounds, minimizer = np.tile([0.0, 1.0], (dim, 1)), np.full(dim, 0.5)
    bounds[places], minimizer[places] = problem.bounds, problem.minimizer
    formula = functools.partial(_of_some, problem.formula, places)
    return Problem(f"{problem.name}:among{dim}", formula, bounds, problem.minimum, minimizer)


def _of_some(formula: Callable[[np.ndarray], np.ndarray], places: np.ndarray, x: np.ndarray) -> np.ndarray:
    return formula(x[..., places])


def _engineering(name: str) -> Problem:
    """An engineering function; its minimum by local searches from a Sobol' set (robot arm: known, 0)."""
    formula, pairs = _ENGINEERING[name]
    bounds = np.array(pairs, dtype=float)
    low, width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
    starts = qmc.Sobol(len(bounds), rng=0).random_base2(6)
    cube = [(0.0, 1.0)] * len(bounds)
    found = [minimize(lambda u: formula(low + width * u), u, bounds=cube) for u in starts]
    best = min(found, key=lambda result: result.fun)
    minimum = 0.0 if name == "robot-arm" else float(best.fun)
    return Problem(name, formula, bounds, minimum, low + width * best.x)


def _classic(name: str) -> Problem:
    """A classic function, its minimizer polished."""
    formula, pairs, x = _CLASSICS[name]
    bounds = np.array(pairs)
    found = minimize(formula, x, method="Nelder-Mead", bounds=pairs, options={"xatol": 1e-12, "fatol": 1e-14})
    minimizer = np.array(x) if float(formula(np.array(x))) <= found.fun + 1e-9 else found.x
    return Problem(name, formula, bounds, float(formula(minimizer)), minimizer)


def bbob_minimizer(name: str) -> np.ndarray:
    """The minimizer of a BBOB function, which COCO tells only in a file in the working directory."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            open_bbob(name)._best_parameter("print")
            return np.loadtxt("._bbob_problem_best_parameter.txt")
        finally:
            os.chdir(here)
