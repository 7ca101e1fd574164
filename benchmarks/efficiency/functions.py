"""The functions that we tune on and, apart, those we validate on: three rounds of both.

`auto.py` runs the first two and those of many parameters, `first_evaluation.py` the third.
"""

from __future__ import annotations

import functools
import os
import tempfile
import zlib
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc

from tcgp import problems
from tcgp.problems import Problem
from tcgp_experiments.run.bbob import bbob_problem, is_bbob, open_bbob

__all__ = [
    "BBOB_GROUPS",
    "MANY_PARAMETERS",
    "MANY_TUNING",
    "SECOND_TUNING",
    "SECOND_VALIDATION",
    "THIRD_TUNING",
    "THIRD_VALIDATION",
    "TUNING",
    "VALIDATION",
    "bbob_minimizer",
    "get",
    "group_of",
    "random_regret",
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

# The third round, from the first evaluation; written down before any run of it. Seeds 20 to 23 are for tuning; seeds
# from 40 on are for validation, which is looked at once. No classic has its optimum in the centre of the box or at a
# point of a lattice: see `_shifted`. Of the paper's functions two had.
THIRD_TUNING = (
    "goldstein-price:shifted",
    "ackley4:shifted",
    *(name for name in TUNING if name not in ("goldstein-price", "ackley4")),
    *(f"bbob:f{k}:d{d}:i{i}" for d in (2, 3, 5) for i in (11, 12) for k in range(1, 25)),
)
THIRD_VALIDATION = (
    *(f"bbob:f{k}:d{d}:i{i}" for i in (13, 14) for d in (2, 5, 10) for k in range(1, 25)),
    "himmelblau:shifted",
    "three-hump-camel:shifted",
    "shubert:shifted",
    "helical-valley:shifted",
    "hartmann4:shifted",
    "qing5:shifted",
    "corrugated-spring5:shifted",
    "biggs6:shifted",
    "broyden8:shifted",
    "cosine-mixture10:shifted",
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


def himmelblau(x: np.ndarray) -> np.ndarray:
    """Himmelblau (1972): four equal minima."""
    a, b = np.moveaxis(x, -1, 0)
    return (a**2 + b - 11.0) ** 2 + (a + b**2 - 7.0) ** 2


def three_hump_camel(x: np.ndarray) -> np.ndarray:
    """Three-hump camel: three valleys between walls."""
    a, b = np.moveaxis(x, -1, 0)
    return 2.0 * a**2 - 1.05 * a**4 + a**6 / 6.0 + a * b + b**2


def shubert(x: np.ndarray) -> np.ndarray:
    """Shubert: hundreds of minima, of which many are equally deep."""
    i = np.arange(1.0, 6.0)
    return (i * np.cos((i + 1.0) * x[..., None] + i)).sum(axis=-1).prod(axis=-1)


def helical_valley(x: np.ndarray) -> np.ndarray:
    """Fletcher and Powell (1963): a valley that winds around an axis."""
    a, b, c = np.moveaxis(x, -1, 0)
    turns = np.arctan2(b, a) / (2.0 * np.pi)
    turns = np.where(turns < -0.25, turns + 1.0, turns)  # cut along the lower half of the second axis
    return 100.0 * ((c - 10.0 * turns) ** 2 + (np.hypot(a, b) - 1.0) ** 2) + c**2


def hartmann4(x: np.ndarray) -> np.ndarray:
    """Hartmann's function of four parameters (Picheny, Wagner and Ginsbourger, 2013)."""
    A = np.array([[10, 3, 17, 3.5], [0.05, 10, 17, 0.1], [3, 3.5, 1.7, 10], [17, 8, 0.05, 10]])
    P = np.array(
        [
            [0.1312, 0.1696, 0.5569, 0.0124],
            [0.2329, 0.4135, 0.8307, 0.3736],
            [0.2348, 0.1451, 0.3522, 0.2883],
            [0.4047, 0.8828, 0.8732, 0.5743],
        ]
    )
    inner = (A * (x[..., None, :] - P) ** 2).sum(axis=-1)
    return (1.1 - np.exp(-inner) @ np.array([1.0, 1.2, 3.0, 3.2])) / 0.839


def qing(x: np.ndarray) -> np.ndarray:
    """Qing (2006): 2^d equal minima."""
    return ((x**2 - np.arange(1, x.shape[-1] + 1)) ** 2).sum(axis=-1)


def corrugated_spring(x: np.ndarray) -> np.ndarray:
    """Deflected corrugated spring: a bowl with rings around its minimum."""
    r2 = ((x - 5.0) ** 2).sum(axis=-1)
    return 0.1 * r2 - np.cos(5.0 * np.sqrt(r2))


def biggs(x: np.ndarray) -> np.ndarray:
    """Biggs (1971): a sum of three exponentials fitted to thirteen data."""
    a, b, c, d, e, f = (coordinate[..., None] for coordinate in np.moveaxis(x, -1, 0))
    t = 0.1 * np.arange(1.0, 14.0)
    data = np.exp(-t) - 5.0 * np.exp(-10.0 * t) + 3.0 * np.exp(-4.0 * t)
    return ((c * np.exp(-t * a) - d * np.exp(-t * b) + f * np.exp(-t * e) - data) ** 2).sum(axis=-1)


def broyden(x: np.ndarray) -> np.ndarray:
    """Broyden's tridiagonal equations (1965), as least squares."""
    padded = np.concatenate([np.zeros_like(x[..., :1]), x, np.zeros_like(x[..., :1])], axis=-1)
    residuals = (3.0 - 2.0 * x) * x - padded[..., :-2] - 2.0 * padded[..., 2:] + 1.0
    return (residuals**2).sum(axis=-1)


def cosine_mixture(x: np.ndarray) -> np.ndarray:
    """Cosine mixture (Breiman and Cutler, 1993): a paraboloid with ripples."""
    return (x**2 - 0.1 * np.cos(5.0 * np.pi * x)).sum(axis=-1)


# The last function of each group of BBOB.
BBOB_GROUPS = {5: "separable", 9: "moderate", 14: "ill-conditioned", 19: "multimodal", 24: "weak structure"}

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
    "himmelblau": (himmelblau, [(-5.0, 5.0)] * 2, [3.0, 2.0]),
    "three-hump-camel": (three_hump_camel, [(-5.0, 5.0)] * 2, [0.0] * 2),
    "shubert": (shubert, [(-10.0, 10.0)] * 2, [-7.08350641, 4.85805688]),
    "helical-valley": (helical_valley, [(-10.0, 10.0)] * 3, [1.0, 0.0, 0.0]),
    "hartmann4": (hartmann4, [(0.0, 1.0)] * 4, [0.18739529, 0.19415143, 0.55791780, 0.26477972]),
    "qing5": (qing, [(-5.0, 5.0)] * 5, [1.0, 2.0**0.5, 3.0**0.5, 2.0, 5.0**0.5]),
    "corrugated-spring5": (corrugated_spring, [(0.0, 10.0)] * 5, [5.0] * 5),
    "biggs6": (biggs, [(0.0, 20.0)] * 6, [1.0, 10.0, 1.0, 5.0, 4.0, 3.0]),
    "broyden8": (broyden, [(-3.0, 3.0)] * 8, [-0.57] * 8),
    "cosine-mixture10": (cosine_mixture, [(-1.0, 1.0)] * 10, [0.0] * 10),
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
    if name.endswith(":shifted"):
        return _shifted(name, get(name.removesuffix(":shifted")))
    if name in _ENGINEERING:
        return _engineering(name)
    if name in _CLASSICS:
        return _classic(name)
    if is_bbob(name):
        problem = bbob_problem(name)
        x = bbob_minimizer(name)
        return Problem(name, problem.formula, np.array(problem.bounds), float(problem.fun(x)), x)
    return problems.get(name)


def _shifted(name: str, problem: Problem) -> Problem:
    """The same function in a box of the same size around its minimizer, which is in no special place of it.

    Of each coordinate, the minimizer divides the box at a random share between 0.15 and 0.85, at least 0.02 from every
    multiple of 1/8.
    """
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    shares = np.empty(problem.dim)
    for j in range(problem.dim):
        while True:
            shares[j] = rng.uniform(0.15, 0.85)
            if abs(shares[j] * 8.0 - round(shares[j] * 8.0)) >= 0.16:
                break
    widths = problem.bounds[:, 1] - problem.bounds[:, 0]
    low = problem.minimizer - shares * widths
    bounds = np.column_stack([low, low + widths])
    return Problem(name, problem.formula, bounds, problem.minimum, problem.minimizer)


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


@functools.cache
def random_regret(name: str) -> float:
    """Median regret of a random point: the unit in which regrets of different functions compare."""
    problem = get(name)
    X = np.random.default_rng(0).uniform(*problem.bounds.T, (1000, problem.dim))
    return float(np.median(problem.fun(X)) - problem.minimum)


def group_of(name: str) -> str:
    """The group of BBOB that a function belongs to; all others are classics."""
    if not name.startswith("bbob:"):
        return "classics"
    number = int(name.split(":")[1][1:])
    return next(group for last, group in BBOB_GROUPS.items() if number <= last)
