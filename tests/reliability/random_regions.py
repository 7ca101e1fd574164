"""Random known constraints, and proposals under them: used here and in benchmarks/reliability/known_constraints.py.

A problem is known by its seed. Its constraints are linear, ring-shaped, disconnected or thin, in spaces of real
parameters or of all kinds, as text, as functions or as SciPy's. Each comes with a plain function that judges a point
without the package.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint

from tcgp import Categorical, Integer, Real, Space
from tcgp.maximize.rank import rank
from tcgp.region import Region
from tcgp.space import Point

KINDS = ("linear", "ring", "disconnected", "thin", "mixed", "function")
ROUNDING = 1e-12  # by which a plain function may judge otherwise at a limit


@dataclass(frozen=True)
class RandomRegion:
    """A space with constraints, and the largest violation of a point, computed without the package."""

    seed: int
    kind: str
    space: Space
    constraints: list
    violation: Callable[[Point], float]


@dataclass(frozen=True)
class Waves:
    """A cheap criterion with many maxima."""

    frequency: np.ndarray
    phase: np.ndarray

    def __call__(self, X: np.ndarray) -> np.ndarray:
        return self.value_and_gradient(X)[0]

    def value_and_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        angle = X @ self.frequency.T + self.phase
        return np.sin(angle).sum(axis=1), np.cos(angle) @ self.frequency


def draw(seed: int) -> RandomRegion:
    """The problem with this seed."""
    kind = KINDS[seed % len(KINDS)]
    space, constraints, violation = globals()[f"draw_{kind}"](np.random.default_rng(seed))
    return RandomRegion(seed, kind, space, constraints, violation)


def proposals(problem: RandomRegion, n_sample: int, n_design: int, n_criteria: int) -> list[Point]:
    """Points of a sample, of a design, and of searches with random criteria."""
    rng = np.random.default_rng(problem.seed)
    region = Region(problem.space, problem.constraints)
    codes = [region.sample(n_sample, rng), region.design(n_design, rng)]
    anchors = codes[0][:30]
    for _ in range(n_criteria):
        scale = 10.0 ** rng.uniform(-1.0, 1.5)
        criterion = Waves(rng.normal(0.0, scale, (6, problem.space.dim)), rng.uniform(0.0, 6.0, 6))
        codes.append(rank(criterion, region, anchors=anchors, rng=rng))
    return problem.space.decode(np.concatenate(codes))


def violations(problem: RandomRegion, points: list[Point]) -> list[Point]:
    """The points that are not allowed, as the region judges exactly or a plain function up to rounding."""
    allowed = Region(problem.space, problem.constraints).allows(points)
    return [x for x, good in zip(points, allowed, strict=True) if not good or problem.violation(x) > ROUNDING]


# ---- the kinds ----


def draw_linear(rng: np.random.Generator) -> tuple[Space, list, Callable]:
    """Random half-spaces around a random point, in 2 to 8 dimensions, sometimes of a millionth of the box."""
    d, k = int(rng.integers(2, 9)), int(rng.integers(1, 6))
    A = rng.normal(size=(k, d)).round(3)
    b = A @ rng.uniform(0.1, 0.9, d) + 10.0 ** rng.uniform(-3.0, 0.0)
    texts = [
        " + ".join(f"{a!r} * x{j}" for j, a in enumerate(row)) + f" <= {limit!r}"
        for row, limit in zip(A.tolist(), b.tolist(), strict=True)
    ]
    constraints = texts if rng.random() < 0.5 else [LinearConstraint(A, -np.inf, b)]
    return Space([(0.0, 1.0)] * d), constraints, lambda x: float(np.max(A @ x - b))


def draw_ring(rng: np.random.Generator) -> tuple[Space, list, Callable]:
    """A shell around a centre, of a width down to a hundred-thousandth."""
    d = int(rng.integers(2, 5))
    center = rng.uniform(-1.0, 1.0, d).round(3)
    inner = float(rng.uniform(0.3, 1.0))
    outer = inner + 10.0 ** rng.uniform(-5.0, -0.5)
    squares = " + ".join(f"(x{j} - ({c!r})) ** 2" for j, c in enumerate(center.tolist()))

    def violation(x: Point) -> float:
        radius = math.sqrt(sum((v - c) ** 2 for v, c in zip(x, center, strict=True)))
        return max(inner - radius, radius - outer)

    text = f"{inner!r} <= sqrt({squares}) <= {outer!r}"
    number = NonlinearConstraint(lambda x: np.sqrt(np.sum((x - center) ** 2)), inner, outer)
    wide = outer - inner > 1e-2
    return Space([(-2.0, 2.0)] * d), [number if wide and rng.random() < 0.3 else text], violation


def draw_disconnected(rng: np.random.Generator) -> tuple[Space, list, Callable]:
    """Two to five balls of radii down to a thousandth, and a half-space."""
    d, k = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    centers = rng.uniform(0.1, 0.9, (k, d)).round(3)
    left = float(centers[0, 0]) - 0.5
    radii = 10.0 ** rng.uniform(-3.0, -0.5, k)
    parts = [
        "(" + " + ".join(f"(x{j} - {c!r}) ** 2" for j, c in enumerate(row)) + f") / {r * r!r}"
        for row, r in zip(centers.tolist(), radii.tolist(), strict=True)
    ]

    def violation(x: Point) -> float:
        inside = (
            min(np.sum((np.array(x) - c) ** 2) / (r * r) for c, r in zip(centers, radii, strict=True)) - 1.0
        )
        return max(inside, left - x[0])

    return (
        Space([(0.0, 1.0)] * d),
        [f"min({', '.join(parts)}) <= 1", f"x0 >= {left!r}"],
        violation,
    )


def draw_thin(rng: np.random.Generator) -> tuple[Space, list, Callable]:
    """Slabs and curved bands of a width down to a ten-millionth."""
    d = int(rng.integers(2, 6))
    a = rng.normal(size=d).round(3)
    width = 10.0 ** rng.uniform(-7.0, -2.0)
    middle = float(a @ rng.uniform(0.3, 0.7, d))
    bend = float(rng.choice([0.0, 0.5]))
    text = " + ".join(f"{c!r} * x{j}" for j, c in enumerate(a.tolist())) + f" + {bend!r} * x0 * x1"

    def value(x: Point) -> float:
        return sum(c * v for c, v in zip(a.tolist(), x, strict=True)) + bend * x[0] * x[1]

    low, high = middle - width, middle + width
    return (
        Space([(0.0, 1.0)] * d),
        [f"{low!r} <= {text} <= {high!r}"],
        lambda x: max(low - value(x), value(x) - high),
    )


def draw_mixed(rng: np.random.Generator) -> tuple[Space, list, Callable]:
    """Real, logarithmic, integer and categorical parameters that limit each other."""
    most, limit, ratio = (
        int(rng.integers(5, 60)),
        10.0 ** rng.uniform(-2.5, 0.0),
        float(rng.uniform(0.05, 1.0)),
    )
    space = Space(
        {
            "rate": Real(1e-4, 1.0, log=True),
            "odd name": Real(-1.0, 3.0),
            "n": Integer(1, 40),
            "m": Integer(1, 1000, log=True),
            "order": Categorical([1, 2, 4]),
            "scheme": Categorical(["explicit", "implicit"]),
        }
    )

    def stable(x: dict) -> bool:
        return x["scheme"] == "implicit" or x["rate"] <= 0.1

    def violation(x: Point) -> float:
        rate, width, n, m, order, scheme = x
        refused = scheme == "explicit" and rate > 0.1
        return max(n + m - most, rate * n * order - limit, width - ratio * n, math.inf if refused else 0.0)

    texts = [f"n + m <= {most}", f"rate * n * order <= {limit!r}", f"`odd name` <= {ratio!r} * n"]
    return space, [*texts, stable], violation


def draw_function(rng: np.random.Generator) -> tuple[Space, list, Callable]:
    """A function that says yes or no about a ring, beside a linear limit."""
    center = rng.uniform(0.2, 0.8, 2)
    inner = float(rng.uniform(0.1, 0.3))
    outer = inner + 10.0 ** rng.uniform(-2.0, -0.5)

    def on_ring(x: np.ndarray) -> bool:
        return inner <= math.hypot(x[0] - center[0], x[1] - center[1]) <= outer

    def violation(x: Point) -> float:
        return max(x[2] - x[0] - 0.2, 0.0 if on_ring(np.array(x)) else math.inf)

    return Space([(0.0, 1.0)] * 3), [on_ring, "x2 <= x0 + 0.2"], violation
