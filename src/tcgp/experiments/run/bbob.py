"""Functions of the BBOB suite as problems; they come from ``coco-experiment`` (module ``cocoex``)."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np

from tcgp._typing import FloatArray
from tcgp.experiments.errors import ExperimentError, require
from tcgp.problems import Problem

__all__ = ["bbob_problem", "cocoex", "is_bbob", "open_bbob"]

PATTERN = re.compile(r"bbob:f(\d+):d(\d+):i(\d+)")


def is_bbob(name: str) -> bool:
    """Whether a problem is one of the BBOB suite."""
    return name.startswith("bbob:")


def bbob_problem(name: str) -> Problem:
    """A BBOB function by name: function, dimension and instance, as in ``"bbob:f8:d5:i1"``.

    Parameters
    ----------
    name : str

    Returns
    -------
    Problem
        Its minimum and minimizer are NaN: COCO does not tell them.
    """
    problem = open_bbob(name)
    bounds = np.column_stack([problem.lower_bounds, problem.upper_bounds])
    return Problem(name, functools.partial(_evaluate, name), bounds, np.nan, np.full(len(bounds), np.nan))


def open_bbob(name: str) -> Any:
    """A new problem object of COCO."""
    match = PATTERN.fullmatch(name)
    if match is None:
        raise ExperimentError(f"a BBOB function is named as in 'bbob:f8:d5:i1', not {name!r}")
    function, dimension, instance = (int(number) for number in match.groups())
    try:
        problem = _suite(function, dimension, instance).get_problem(0)
    except ExperimentError:
        raise
    except Exception as error:  # COCO raises what it likes
        raise ExperimentError(f"COCO has no function {name!r} ({error})") from error
    # COCO replaces what it does not know by what it does.
    if problem.id != f"bbob_f{function:03d}_i{instance:02d}_d{dimension:02d}":
        raise ExperimentError(f"COCO has no function {name!r}, and would give {problem.id} instead")
    return problem


def cocoex() -> Any:
    """COCO's own module."""
    return require("cocoex", "BBOB functions need COCO", "coco-experiment")


@functools.cache
def _suite(function: int, dimension: int, instance: int) -> Any:
    """A suite of one function; kept, because a problem whose suite is gone brings down the interpreter."""
    options = f"dimensions:{dimension} function_indices:{function}"
    return cocoex().Suite("bbob", f"instances:{instance}", options)


_opened = functools.lru_cache(maxsize=32)(open_bbob)


def _evaluate(name: str, points: FloatArray) -> FloatArray:
    """Values at one point or at many; COCO takes one at a time."""
    problem = _opened(name)
    if points.ndim == 1:
        return np.asarray(problem(points))
    return np.array([problem(x) for x in points])
