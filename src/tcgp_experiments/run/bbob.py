"""Functions of the BBOB suites, with and without constraints; from ``coco-experiment`` (module ``cocoex``)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tcgp.problems import Problem
from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.errors import ExperimentError, require

__all__ = [
    "ConstrainedProblem",
    "bbob_problem",
    "cocoex",
    "constrained_bbob_problem",
    "is_bbob",
    "is_constrained_bbob",
    "open_bbob",
]

PATTERN = re.compile(r"(bbob|bbob-constrained):f(\d+):d(\d+):i(\d+)")


class ConstrainedProblem(NamedTuple):
    """A function with the outputs f, g1, g2, ..., to be minimized where ``constraints`` hold.

    Attributes
    ----------
    name : str
    fun : callable
        From a point (d,) to a mapping of outputs.
    bounds : array of shape (d, 2)
    constraints : tuple of str
        ``"g1 <= 0"`` and so on.
    """

    name: str
    fun: Callable[[FloatArray], dict[str, float]]
    bounds: FloatArray
    constraints: tuple[str, ...]


def is_bbob(name: str) -> bool:
    """Whether a problem is one of the BBOB suite."""
    return name.startswith("bbob:")


def is_constrained_bbob(name: str) -> bool:
    """Whether a problem is one of the suite with constraints."""
    return name.startswith("bbob-constrained:")


def bbob_problem(name: str) -> Problem:
    """A BBOB function by name: function, dimension and instance, as in ``"bbob:f8:d5:i1"``.

    Returns
    -------
    Problem
        Its minimum and minimizer are NaN, because COCO does not provide them.
    """
    problem = open_bbob(name)
    bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])
    return Problem(name, functools.partial(_evaluate, name), bounds, np.nan, np.full(len(bounds), np.nan))


def constrained_bbob_problem(name: str) -> ConstrainedProblem:
    """A function of COCO's suite with constraints by name, as in ``"bbob-constrained:f8:d5:i1"``.

    Returns
    -------
    ConstrainedProblem
        For ``tcgp.minimize(problem.fun, problem.bounds, objective="f", constraints=problem.constraints, ...)``.
    """
    problem = open_bbob(name)
    bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])
    limits = tuple(f"g{i + 1} <= 0" for i in range(problem.number_of_constraints))
    return ConstrainedProblem(name, functools.partial(_outputs, name), bounds, limits)


def open_bbob(name: str) -> Any:
    """A new problem object of COCO."""
    match = PATTERN.fullmatch(name)
    if match is None:
        raise ExperimentError(
            f"a BBOB function is named as in 'bbob:f8:d5:i1' or 'bbob-constrained:f8:d5:i1', not {name!r}"
        )
    suite = match[1]
    function, dimension, instance = (int(number) for number in match.groups()[1:])
    try:
        problem = _suite(suite, function, dimension, instance).get_problem(0)
    except ExperimentError:
        raise
    except Exception as error:  # COCO may raise any exception
        raise ExperimentError(f"COCO has no function {name!r} ({error})") from error
    # COCO replaces unknown functions by known ones.
    if problem.id != f"{suite}_f{function:03d}_i{instance:02d}_d{dimension:02d}":
        raise ExperimentError(f"COCO has no function {name!r}, and would give {problem.id} instead")
    return problem


def cocoex() -> Any:
    """COCO's own module."""
    return require("cocoex", "BBOB functions need COCO", "coco-experiment")


@functools.cache
def _suite(suite: str, function: int, dimension: int, instance: int) -> Any:
    """A suite of one function; kept, because a problem without its suite crashes the interpreter."""
    options = f"dimensions:{dimension} function_indices:{function}"
    return cocoex().Suite(suite, f"instances:{instance}", options)


_opened = functools.lru_cache(maxsize=32)(open_bbob)


def _evaluate(name: str, points: FloatArray) -> FloatArray:
    """Values at one point or at many; COCO takes one at a time."""
    problem = _opened(name)
    if points.ndim == 1:
        return np.asarray(problem(points))
    return np.array([problem(x) for x in points])


def _outputs(name: str, x: FloatArray) -> dict[str, float]:
    """The objective and the constraints at one point."""
    problem = _opened(name)
    limits = {f"g{i + 1}": float(g) for i, g in enumerate(problem.constraint(x))}
    return {"f": float(problem(x)), **limits}
