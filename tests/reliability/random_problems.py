"""Random problems, as hostile as a user's, and what must hold on each: used here and in benchmarks/reliability/fuzz.py.

A problem is known by its seed. Its space, its design and its function are each drawn from a list of ways in which
data go wrong: clusters, duplicates, points on a line or a face, plateaus, steps, outliers, heavy tails, values near
the limits of float64, failures.
"""

from __future__ import annotations

import logging
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tcgp import Categorical, Integer, Optimizer, Real, Space
from tcgp.methods import METHODS, RECIPES
from tcgp.methods.fit import calibrate, fit_model
from tcgp.models import Model
from tcgp.optimizer import SpaceExhausted
from tcgp.record.history import SAME_POINT
from tcgp.space import Dimension, Point

CRITERIA = ("ei", "lcb")

SCALE = 300.0  # largest exponent of ten of bounds and values


@dataclass(frozen=True)
class RandomProblem:
    """A space, a design in it and the function to be minimized; None is a failed evaluation.

    Attributes
    ----------
    seed : int
    space : Space
    points : list of points
        The design, perhaps with repetitions.
    function : callable
        From a code of shape (dim,) to a value.
    bounds_known : bool
        Whether a fit without an optimizer is told the box.
    method, criterion : str
        Those of the iterations on this problem: all in turn.
    """

    seed: int
    method: str
    criterion: str
    kind: str
    space: Space
    points: list[Point]
    function: Callable[[np.ndarray], float | None]
    bounds_known: bool

    def value(self, point: Point) -> float | None:
        """The function at a point."""
        return self.function(self.space.encode([point])[0])


def draw(seed: int, method: str | None = None, criterion: str | None = None) -> RandomProblem:
    """The problem with this seed; for a given method and criterion, or those whose turn it is."""
    method = method or list(METHODS)[seed % len(METHODS)]
    criterion = criterion or CRITERIA[seed // len(METHODS) % len(CRITERIA)]
    rng = np.random.default_rng([9, seed])
    space = _draw_space(rng)
    n = round(10 ** rng.uniform(0.0, 1.5))
    kind, shares = _draw_design(rng, n, len(space))
    points = space.from_unit(shares)
    label, function = _draw_function(rng, space.dim)
    bounds_known = bool(rng.random() < 0.7)
    return RandomProblem(seed, method, criterion, f"{kind}, {label}", space, points, function, bounds_known)


def faults(problem: RandomProblem, n_iterations: int = 2) -> list[str]:
    """What goes wrong on a problem: one line each, none if all is well.

    Every method is fitted to the data and predicts (a portfolio only in its turn, for it fits its members); then the
    problem's own method and criterion, with a cold fit, make ``n_iterations`` of ask and tell.
    """
    found: list[str] = []
    logger = logging.getLogger("tcgp")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        for part in (_check_models(problem), _check_iterations(problem, n_iterations)):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error", RuntimeWarning)
                    found += part
            except Exception as error:  # whatever it is, the seed is wanted
                where = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{where.filename.rsplit('/', 1)[-1]}:{where.lineno}"
                found.append(f"{type(error).__name__}: {error} ({place})")
    finally:
        logger.setLevel(level)
    return found


# ---- what must hold ----


def _check_models(problem: RandomProblem) -> Iterator[str]:
    values = [problem.value(point) for point in problem.points]
    done = [(point, y) for point, y in zip(problem.points, values, strict=True) if y is not None]
    if not done or not problem.space.dim:
        return
    if problem.space.is_real:  # in user units
        X = np.array([point for point, _ in done])
        box = [(d.low, d.high) for d in problem.space.dimensions]
        fresh = np.array(problem.space.sample(5, np.random.default_rng(problem.seed)))
    else:
        X = problem.space.encode([point for point, _ in done])
        box = [(0.0, 1.0)] * problem.space.dim
        fresh = np.random.default_rng(problem.seed).random((5, problem.space.dim))
    y = np.array([value for _, value in done])
    bounds = box if problem.bounds_known else None
    fitted: dict[object, Model] = {}
    state = None  # the first fit is cold, and the others start from its lengthscales
    for method in METHODS:
        recipe = RECIPES.get(method)
        if recipe is None and method != problem.method:
            continue
        key = method if recipe is None else (recipe.relaxed, recipe.learns_nugget)
        if key in fitted:  # the same interpolator under another law
            model = calibrate(fitted[key].interpolator, method, rng=problem.seed)
        else:
            model = fit_model(X, y, method, bounds=bounds, rng=problem.seed, state=state)
            fitted.setdefault(key, model)
            state = state or {"lengthscales": model.lengthscales, "nugget": 1e-6}
        for trouble in _check_prediction(model, np.vstack([X, fresh])):
            yield f"{method}: {trouble}"


def _check_prediction(model: Model, points: np.ndarray) -> Iterator[str]:
    prediction = model.predict(points)
    best = float(model.y.min())
    if not np.isfinite(prediction.mean).all():
        yield "the mean is not finite"
    if not (np.isfinite(prediction.sd).all() and (prediction.sd >= 0.0).all()):
        yield "the sd is not finite or negative"
    if not np.isfinite(model.threshold):
        yield "the threshold is not finite"
    low, high = prediction.interval(0.9)
    if not (low <= high).all():
        yield "an interval is empty or NaN"
    for name, value in {
        "cdf": prediction.cdf(best),
        "logcdf": prediction.logcdf(best),
        "log EI": prediction.log_expected_improvement(best),
        "EI": prediction.expected_improvement(best),
        "LCB": prediction.lower_confidence_bound(),
        "leave-one-out": model.leave_one_out.residuals,
        "weights": model.weights,
    }.items():
        if np.isnan(value).any():
            yield f"NaN in {name}"


def _check_iterations(problem: RandomProblem, n_iterations: int) -> Iterator[str]:
    space = problem.space
    optimizer = Optimizer(
        space,
        method=problem.method,
        criterion=problem.criterion,
        n_initial=len(problem.points),
        rng=problem.seed,
    )
    known: list[Point] = []
    for point in problem.points:
        optimizer.tell(point, problem.value(point))
        known.append(point)
    label = f"{problem.method}, {problem.criterion}"
    for i in range(n_iterations):
        distinct = {tuple(point) for point in known}
        try:
            point = optimizer.ask()
        except SpaceExhausted:
            if len(distinct) < space.size:
                yield f"{label}: exhausted with {len(distinct)} of {space.size} points known"
            return
        try:
            inside = space.check(point) == point
        except ValueError:
            inside = False
        if not inside:
            yield f"{label}: proposal {point!r} outside the space"
        if tuple(point) in distinct:
            yield f"{label}: proposal {point!r} repeats a point"
        elif np.isinf(space.size):
            gaps = np.abs(space.encode(known) - space.encode([point])).max(axis=1)
            if gaps.min() <= SAME_POINT:
                yield f"{label}: proposal {point!r} is {gaps.min():.1e} from a point"
        known.append(point)
        if i % 2 == 0:  # every second proposal stays pending
            optimizer.tell(point, problem.value(point))


# ---- how problems are drawn ----


def _draw_space(rng: np.random.Generator) -> Space:
    dim = int(rng.choice([1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 8, 12]))
    kind = rng.choice(["real", "mixed", "finite"], p=[0.7, 0.2, 0.1])
    if kind == "real":
        return Space([_draw_real(rng) for _ in range(dim)])
    dimensions: list[Dimension] = []
    for _ in range(min(dim, 4)):
        choice = rng.integers(3 if kind == "mixed" else 2)
        if choice == 0:
            low = int(rng.integers(1, 10))
            dimensions.append(Integer(low, low + int(10 ** rng.uniform(0, 3)), log=bool(rng.random() < 0.3)))
        elif choice == 1:
            dimensions.append(Categorical([f"c{k}" for k in range(rng.integers(1, 6))]))
        else:
            dimensions.append(_draw_real(rng))
    return Space(dimensions)


def _draw_real(rng: np.random.Generator) -> Real:
    choice = rng.random()
    if choice < 0.5:
        return Real(0.0, 1.0) if choice < 0.2 else Real(-5.0, 10.0)
    width = 10 ** (rng.uniform(-SCALE, SCALE) if choice < 0.65 else rng.uniform(-6, 6))
    if choice < 0.8:
        low = width * rng.choice([0.0, -0.5, 1.0, -1e3, 1e6])
        return Real(low, low + width)
    low = 10 ** rng.uniform(-8, 3)
    return Real(low, low * 10 ** rng.uniform(0.1, 9), log=True)


def _draw_design(rng: np.random.Generator, n: int, width: int) -> tuple[str, np.ndarray]:
    kind = str(rng.choice(["uniform", "cluster", "line", "faces", "grid", "duplicates", "flat"]))
    U = rng.random((n, width))
    if kind == "cluster":
        centres = rng.random((int(rng.integers(1, 4)), width))
        spread = 10 ** rng.uniform(-12, -1)
        U = centres[rng.integers(len(centres), size=n)] + spread * rng.normal(size=(n, width))
    elif kind == "line":
        U = rng.random(width) + np.outer(rng.uniform(-1, 1, n), rng.normal(size=width))
        U += 10 ** rng.uniform(-16, -2) * rng.normal(size=(n, width))
    elif kind == "faces":
        U = np.where(rng.random((n, width)) < 0.5, np.round(U), U)
    elif kind == "grid":
        U = np.round(4 * U) / 4
    elif kind == "duplicates":
        U = U[rng.integers(n, size=n)]
    elif kind == "flat":
        U[:, rng.integers(width)] = rng.random()
    return kind, np.clip(U, 0.0, 1.0)


def _draw_function(rng: np.random.Generator, dim: int) -> tuple[str, Callable[[np.ndarray], float | None]]:
    kind = str(
        rng.choice(
            ["bowl", "waves", "plateau", "steps", "outlier", "spike", "noise", "constant", "exponential"]
        )
    )
    centre, stretch = rng.random(dim), 10 ** rng.uniform(-2, 1, dim)
    frequency, key = rng.uniform(1, 30), int(rng.integers(2**31))
    power = int(rng.integers(1, 13))
    scale = 10 ** (rng.uniform(-SCALE, SCALE) if rng.random() < 0.3 else rng.uniform(-6, 6))
    offset = float(rng.choice([0.0, 0.0, 1.0, -1e3, 1e8, 1e14])) if rng.random() < 0.5 else 0.0
    share_failed = float(rng.choice([0.0, 0.0, 0.0, 0.2, 0.7]))
    edge = rng.random()

    def shape(u: np.ndarray) -> float:
        r2 = float(np.sum(stretch * (u - centre) ** 2))
        if kind == "waves":
            return r2 + float(np.sum(np.sin(frequency * u)))
        if kind == "plateau":
            return max(r2, 0.1 * edge)
        if kind == "steps":
            return float(np.floor(5.0 * r2))
        if kind == "outlier":
            return r2 + (10.0**power if _uniform(u, key) > 0.9 else 0.0)
        if kind == "spike":
            return r2 - (10.0**power if _uniform(u, key) > 0.9 else 0.0)
        if kind == "noise":
            return _uniform(u, key)
        if kind == "constant":
            return 0.0
        if kind == "exponential":
            return float(np.exp(min(power * r2, 600.0)))
        return r2

    def function(u: np.ndarray) -> float | None:
        if _uniform(u, key + 1) < share_failed:
            return None
        with np.errstate(all="ignore"):
            value = float(np.float64(scale) * (offset + shape(u)))
        return value if np.isfinite(value) else None

    return f"{kind} x {scale:.0e} + {offset:.0e}", function


def _uniform(u: np.ndarray, key: int) -> float:
    """A number in [0, 1) that looks random and depends on the point alone."""
    return float(np.random.default_rng([key, *np.frombuffer(u.tobytes(), dtype=np.uint32).tolist()]).random())
