"""Problems with learned constraints: classics of engineering and of the literature, and COCO's bbob-constrained.

Sets, written down before any run of the comparison:

- ``tuning``: the spring, the welded beam, G9 and G24, and of bbob-constrained each of the nine objective functions
  once, with 1 or with 3 active constraints in turn, instance 1, in d = 2 and 5;
- ``validation``: fourteen others, with 2 to 10 parameters and 1 to 11 limits; the pressure vessel and the speed
  reducer have integer parameters.

An output with a limit is divided by the median of its absolute value over the box, so that tolerances mean the same
to all methods. A point is feasible if no limit is exceeded by more than ``TOLERANCE`` in that unit.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

__all__ = ["SETS", "TOLERANCE", "Problem", "get", "is_feasible"]

TOLERANCE = 1e-6
N_SCALE = 2000  # random points that give the scale of an output


@dataclass(frozen=True)
class Problem:
    """A function with limits; ``fun`` gives the objective and how far outputs exceed their limits."""

    name: str
    fun: Callable[[np.ndarray], tuple[float, ...]]
    bounds: np.ndarray
    minimum: float
    integers: tuple[int, ...] = ()
    outputs: Callable[[np.ndarray], tuple[float, ...]] | None = (
        None  # the objective and the outputs as they are
    )
    limits: tuple[str, ...] = ()  # on these, as people state them: "<=250"

    @property
    def dim(self) -> int:
        return len(self.bounds)

    @functools.cached_property
    def _sample(self) -> np.ndarray:
        X = self.draw(np.random.default_rng(0), N_SCALE)
        return np.array([self.fun(x) for x in X], dtype=float)

    @functools.cached_property
    def scales(self) -> np.ndarray:
        """Unit of each limit: the median of its absolute value over the box."""
        return np.median(np.abs(self._sample[:, 1:]), axis=0)

    @functools.cached_property
    def random_gap(self) -> float:
        """Unit of regrets: the median distance to the minimum over the box, feasible or not."""
        return float(np.median(np.abs(self._sample[:, 0] - self.minimum)))

    @property
    def n_limits(self) -> int:
        return len(self.scales)

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Random points."""
        return self.round(rng.uniform(*self.bounds.T, (n, self.dim)))

    def round(self, X: np.ndarray) -> np.ndarray:
        """Points with integers where the problem has them."""
        X = np.array(X, dtype=float)
        X[..., self.integers] = np.round(X[..., self.integers])
        return X

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The objective and the limits, each in its unit: an array of shape (1 + n_limits,)."""
        f, *limits = self.fun(self.round(x))
        return np.array([f, *(np.array(limits) / self.scales)])


def is_feasible(values: np.ndarray) -> np.ndarray:
    """Whether rows of objective and limits keep all limits."""
    return np.all(np.atleast_2d(values)[:, 1:] <= TOLERANCE, axis=1)


# ---- classics ----


def spring(x: np.ndarray) -> tuple[float, ...]:
    """Weight of a tension spring: wire diameter, coil diameter, number of coils."""
    d, D, n = x
    return (
        (n + 2.0) * D * d**2,
        1.0 - D**3 * n / (71785.0 * d**4),
        (4.0 * D**2 - d * D) / (12566.0 * (D * d**3 - d**4)) + 1.0 / (5108.0 * d**2) - 1.0,
        1.0 - 140.45 * d / (D**2 * n),
        (d + D) / 1.5 - 1.0,
    )


def beam(x: np.ndarray) -> tuple[float, ...]:
    """Cost of a welded beam: weld thickness and length, bar height and thickness."""
    h, length, t, b = x
    load, span, young, shear = 6000.0, 14.0, 30e6, 12e6
    moment = load * (span + length / 2.0)
    radius = math.sqrt(length**2 / 4.0 + ((h + t) / 2.0) ** 2)
    polar = 2.0 * math.sqrt(2.0) * h * length * (length**2 / 12.0 + ((h + t) / 2.0) ** 2)
    first, second = load / (math.sqrt(2.0) * h * length), moment * radius / polar
    stress = math.sqrt(first**2 + first * second * length / radius + second**2)
    buckling = (
        4.013 * young * t * b**3 / 6.0 / span**2 * (1.0 - t / (2.0 * span) * math.sqrt(young / (4.0 * shear)))
    )
    return (
        1.10471 * h**2 * length + 0.04811 * t * b * (14.0 + length),
        stress - 13600.0,
        6.0 * load * span / (b * t**2) - 30000.0,
        h - b,
        4.0 * load * span**3 / (young * t**3 * b) - 0.25,
        load - buckling,
    )


def g4(x: np.ndarray) -> tuple[float, ...]:
    """Himmelblau's problem: five parameters, three outputs between two limits each."""
    a, b, c, d, e = x
    u = 85.334407 + 0.0056858 * b * e + 0.0006262 * a * d - 0.0022053 * c * e
    v = 80.51249 + 0.0071317 * b * e + 0.0029955 * a * b + 0.0021813 * c**2
    w = 9.300961 + 0.0047026 * c * e + 0.0012547 * a * c + 0.0019085 * c * d
    f = 5.3578547 * c**2 + 0.8356891 * a * e + 37.293239 * a - 40792.141
    return f, u - 92.0, -u, v - 110.0, 90.0 - v, w - 25.0, 20.0 - w


def g6(x: np.ndarray) -> tuple[float, ...]:
    """A sickle between two circles: a tiny feasible part."""
    a, b = x
    return (
        (a - 10.0) ** 3 + (b - 20.0) ** 3,
        100.0 - (a - 5.0) ** 2 - (b - 5.0) ** 2,
        (a - 6.0) ** 2 + (b - 5.0) ** 2 - 82.81,
    )


def g7(x: np.ndarray) -> tuple[float, ...]:
    """Hock and Schittkowski's problem 113: ten parameters, eight limits."""
    a, b, c, d, e, f, g, h, i, j = x
    return (
        a**2
        + b**2
        + a * b
        - 14 * a
        - 16 * b
        + (c - 10) ** 2
        + 4 * (d - 5) ** 2
        + (e - 3) ** 2
        + 2 * (f - 1) ** 2
        + 5 * g**2
        + 7 * (h - 11) ** 2
        + 2 * (i - 10) ** 2
        + (j - 7) ** 2
        + 45,
        -105 + 4 * a + 5 * b - 3 * g + 9 * h,
        10 * a - 8 * b - 17 * g + 2 * h,
        -8 * a + 2 * b + 5 * i - 2 * j - 12,
        3 * (a - 2) ** 2 + 4 * (b - 3) ** 2 + 2 * c**2 - 7 * d - 120,
        5 * a**2 + 8 * b + (c - 6) ** 2 - 2 * d - 40,
        a**2 + 2 * (b - 2) ** 2 - 2 * a * b + 14 * e - 6 * f,
        0.5 * (a - 8) ** 2 + 2 * (b - 4) ** 2 + 3 * e**2 - f - 30,
        -3 * a + 6 * b + 12 * (i - 8) ** 2 - 7 * j,
    )


def g8(x: np.ndarray) -> tuple[float, ...]:
    """A product of sines: a small feasible part with several minima."""
    a, b = x
    f = -(math.sin(2 * math.pi * a) ** 3) * math.sin(2 * math.pi * b) / (a**3 * (a + b))
    return f, a**2 - b + 1.0, 1.0 - a + (b - 4.0) ** 2


def g9(x: np.ndarray) -> tuple[float, ...]:
    """Hock and Schittkowski's problem 100."""
    a, b, c, d, e, f, g = x
    return (
        (a - 10) ** 2
        + 5 * (b - 12) ** 2
        + c**4
        + 3 * (d - 11) ** 2
        + 10 * e**6
        + 7 * f**2
        + g**4
        - 4 * f * g
        - 10 * f
        - 8 * g,
        -127 + 2 * a**2 + 3 * b**4 + c + 4 * d**2 + 5 * e,
        -282 + 7 * a + 3 * b + 10 * c**2 + d - e,
        -196 + 23 * a + b**2 + 6 * f**2 - 8 * g,
        4 * a**2 + b**2 - 3 * a * b + 2 * c**2 + 5 * f - 11 * g,
    )


def g24(x: np.ndarray) -> tuple[float, ...]:
    """Two disconnected feasible parts, in two dimensions."""
    a, b = x
    return (
        -a - b,
        -2 * a**4 + 8 * a**3 - 8 * a**2 + b - 2,
        -4 * a**4 + 32 * a**3 - 88 * a**2 + 96 * a + b - 36,
    )


def vessel(x: np.ndarray) -> tuple[float, ...]:
    """Cost of a pressure vessel: plates come in sixteenths of an inch."""
    shell, head, radius, length = 0.0625 * x[0], 0.0625 * x[1], x[2], x[3]
    cost = 0.6224 * shell * radius * length + 1.7781 * head * radius**2
    cost += 3.1661 * shell**2 * length + 19.84 * shell**2 * radius
    volume = math.pi * radius**2 * length + 4.0 / 3.0 * math.pi * radius**3
    return cost, 0.0193 * radius - shell, 0.00954 * radius - head, 1296000.0 - volume


def reducer(x: np.ndarray) -> tuple[float, ...]:
    """Weight of a speed reducer: seven parameters, one of them a number of teeth, eleven limits."""
    b, m, z, l1, l2, d1, d2 = x
    f = 0.7854 * b * m**2 * (3.3333 * z**2 + 14.9334 * z - 43.0934) - 1.508 * b * (d1**2 + d2**2)
    f += 7.4777 * (d1**3 + d2**3) + 0.7854 * (l1 * d1**2 + l2 * d2**2)
    return (
        f,
        27.0 / (b * m**2 * z) - 1.0,
        397.5 / (b * m**2 * z**2) - 1.0,
        1.93 * l1**3 / (m * z * d1**4) - 1.0,
        1.93 * l2**3 / (m * z * d2**4) - 1.0,
        math.sqrt((745.0 * l1 / (m * z)) ** 2 + 16.9e6) / (110.0 * d1**3) - 1.0,
        math.sqrt((745.0 * l2 / (m * z)) ** 2 + 157.5e6) / (85.0 * d2**3) - 1.0,
        m * z / 40.0 - 1.0,
        5.0 * m / b - 1.0,
        b / (12.0 * m) - 1.0,
        (1.5 * d1 + 1.9) / l1 - 1.0,
        (1.1 * d2 + 1.9) / l2 - 1.0,
    )


def gramacy(x: np.ndarray) -> tuple[float, ...]:
    """A linear objective and a wavy limit."""
    a, b = x
    wave = 1.5 - a - 2.0 * b - 0.5 * math.sin(2 * math.pi * (a**2 - 2.0 * b))
    return a + b, wave, a**2 + b**2 - 1.5


def gardner(x: np.ndarray) -> tuple[float, ...]:
    """Gardner and others' first simulation: bands of feasible points."""
    a, b = x
    return math.cos(2 * a) * math.cos(b) + math.sin(a), math.cos(a) * math.cos(b) - math.sin(a) * math.sin(
        b
    ) - 0.5


def keane(x: np.ndarray) -> tuple[float, ...]:
    """Keane's bump: many minima, the best of them on the limit of the product."""
    cosines = np.cos(x) ** 2
    weights = np.arange(1, len(x) + 1)
    f = -abs(np.sum(cosines**2) - 2.0 * np.prod(cosines)) / math.sqrt(np.sum(weights * x**2) + 1e-12)
    return float(f), 0.75 - float(np.prod(x)), float(np.sum(x)) - 7.5 * len(x)


def truss(x: np.ndarray) -> tuple[float, ...]:
    """Weight of a truss of three bars."""
    a, b = x
    root = math.sqrt(2.0)
    below = root * a**2 + 2.0 * a * b
    return (
        (2.0 * root * a + b) * 100.0,
        (root * a + b) / below * 2.0 - 2.0,
        b / below * 2.0 - 2.0,
        1.0 / (root * b + a) * 2.0 - 2.0,
    )


def mystery(x: np.ndarray) -> tuple[float, ...]:
    """Sasena's mystery function, with bands of feasible points."""
    a, b = x
    f = (
        2
        + 0.01 * (b - a**2) ** 2
        + (1 - a) ** 2
        + 2 * (2 - b) ** 2
        + 7 * math.sin(a / 2) * math.sin(0.7 * a * b)
    )
    return f, -math.sin(a - b - math.pi / 8)


def townsend(x: np.ndarray) -> tuple[float, ...]:
    """Townsend's function in a heart-shaped region."""
    a, b = x
    t = math.atan2(a, b)
    edge = 2 * math.cos(t) - math.cos(2 * t) / 2 - math.cos(3 * t) / 4 - math.cos(4 * t) / 8
    f = -(math.cos((a - 0.1) * b) ** 2) - a * math.sin(3 * a + b)
    return f, a**2 + b**2 - edge**2 - (2 * math.sin(t)) ** 2


def new_branin(x: np.ndarray) -> tuple[float, ...]:
    """Parr's problem: Branin's function is the limit, three islands are feasible."""
    a, b = x
    branin = (b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6) ** 2
    branin += 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10
    return -((a - 10) ** 2) - (b - 15) ** 2, branin - 5.0


def _box(*sides: tuple[float, float]) -> np.ndarray:
    return np.array(sides, dtype=float)


CLASSICS = {
    "spring": (spring, _box((0.05, 0.2), (0.25, 1.3), (2.0, 15.0)), 0.012665233),
    "beam": (beam, _box((0.125, 10.0), (0.1, 10.0), (0.1, 10.0), (0.1, 10.0)), 1.724852309),
    "g4": (g4, _box((78, 102), (33, 45), (27, 45), (27, 45), (27, 45)), -30665.538672),
    "g6": (g6, _box((13, 100), (0, 100)), -6961.813876),
    "g7": (g7, np.tile([-10.0, 10.0], (10, 1)), 24.306209),
    "g8": (g8, _box((1e-3, 10), (1e-3, 10)), -0.0958250414),
    "g9": (g9, np.tile([-10.0, 10.0], (7, 1)), 680.630057),
    "g24": (g24, _box((0, 3), (0, 4)), -5.508013272),
    "vessel": (vessel, _box((1, 99), (1, 99), (10, 200), (10, 200)), 6059.714335, (0, 1)),
    "reducer": (
        reducer,
        _box((2.6, 3.6), (0.7, 0.8), (17, 28), (7.3, 8.3), (7.3, 8.3), (2.9, 3.9), (5.0, 5.5)),
        2994.4710661,
        (2,),
    ),
    "gramacy": (gramacy, np.tile([0.0, 1.0], (2, 1)), 0.5997880520),
    "gardner": (gardner, np.tile([0.0, 6.0], (2, 1)), -2.0),
    "keane": (keane, np.tile([0.0, 10.0], (4, 1)), -0.6222810),
    "truss": (truss, np.tile([0.01, 1.0], (2, 1)), 263.8958434),
    "mystery": (mystery, np.tile([0.0, 5.0], (2, 1)), -1.1742741),
    "townsend": (townsend, _box((-2.25, 2.5), (-2.5, 1.75)), -2.0239884),
    "new_branin": (new_branin, _box((-5, 10), (0, 15)), -268.78848),
}


# ---- COCO ----

# Minima of the problems below, which COCO does not tell: the lowest that 200 runs of SLSQP found (`find_minimum`).
COCO_MINIMA = {
    "c1-2": 1030.319347,
    "c1-5": 1334.821165,
    "c8-2": 246.1297003,
    "c8-5": 756.4377644,
    "c13-2": 1011.356,
    "c13-5": 863.3875445,
    "c20-2": 379.9082523,
    "c20-5": 89.97286146,
    "c25-2": 86.45036896,
    "c25-5": 704.0445056,
    "c32-2": 12.03150191,
    "c32-5": 636.5503371,
    "c37-2": 32318.09323,
    "c37-5": 32318.41396,
    "c44-2": -3278.8,
    "c44-5": -3169.859052,
    "c49-2": 886.3999999,
    "c49-5": 1184.230069,
}


def bbob_constrained(name: str) -> Problem:
    """A problem of COCO's suite bbob-constrained in the box [-5, 5]^d: ``c8-5`` is function 8 in d = 5, instance 1."""
    import cocoex

    function, dim = map(int, name.removeprefix("c").split("-"))
    suite = cocoex.Suite(
        "bbob-constrained", "instances: 1", f"dimensions: {dim} function_indices: {function}"
    )
    problem = next(iter(suite))

    def fun(x: np.ndarray) -> tuple[float, ...]:
        return float(problem(x)), *map(float, problem.constraint(x))

    return Problem(name, fun, np.tile([-5.0, 5.0], (dim, 1)), COCO_MINIMA.get(name, math.nan))


def find_minimum(problem: Problem, n_starts: int = 200) -> float:
    """The lowest feasible value that SLSQP finds from random points."""
    low, high = problem.bounds.T
    limits = {"type": "ineq", "fun": lambda x: -np.array(problem.fun(x)[1:]) / problem.scales}
    best = math.inf
    for x in problem.draw(np.random.default_rng(1), n_starts):
        found = minimize(
            lambda x: problem.fun(x)[0],
            x,
            bounds=problem.bounds,
            constraints=[limits],
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        f, *excess = problem.fun(np.clip(found.x, low, high))
        if np.all(np.array(excess) / problem.scales <= 1e-9):
            best = min(best, f)
    return best


@functools.cache
def get(name: str) -> Problem:
    """The problem of a name."""
    if name in CLASSICS:
        return Problem(name, *CLASSICS[name])
    from engineering_problems import DESIGNS, design  # which is made of these

    return design(name) if name in DESIGNS else bbob_constrained(name)


COCO_FUNCTIONS = (
    1,
    8,
    13,
    20,
    25,
    32,
    37,
    44,
    49,
)  # each objective once, with 1 or 3 active constraints in turn
SETS = {
    "tuning": (
        *("spring", "beam", "g9", "g24"),
        *(f"c{function}-{dim}" for function in COCO_FUNCTIONS for dim in (2, 5)),
    ),
    "validation": (
        *("g4", "g6", "g7", "g8", "vessel", "reducer", "gramacy", "gardner"),
        *("keane", "truss", "mystery", "townsend", "new_branin"),
    ),
}


if __name__ == "__main__":
    for coco in SETS["tuning"][4:]:
        print(f'    "{coco}": {find_minimum(get(coco)):.10g},', flush=True)
