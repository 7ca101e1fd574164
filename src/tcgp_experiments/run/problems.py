"""The functions of the experiments, and the random numbers of each replicate."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from tcgp import problems as catalogue
from tcgp.problems import Problem
from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan.tasks import ROOT_SEED
from tcgp_experiments.run.bbob import bbob_problem, is_bbob

__all__ = ["Streams", "get", "streams", "uniform_points"]


def get(name: str) -> Problem:
    """The problem of that name: of `tcgp.problems`, or of the BBOB suite as in ``"bbob:f8:d5:i1"``."""
    if is_bbob(name):
        return bbob_problem(name)
    try:
        return catalogue.get(name)
    except (TypeError, ValueError) as error:
        raise ExperimentError(f"there is no problem {name!r}: {error}") from None


@dataclass(frozen=True)
class Streams:
    """Independent sources of randomness of one replicate, the same for every method.

    Attributes
    ----------
    design, method, levels, test : numpy.random.SeedSequence
        For the initial data, the method, subset simulation and the test points.
    """

    design: np.random.SeedSequence
    method: np.random.SeedSequence
    levels: np.random.SeedSequence
    test: np.random.SeedSequence


def streams(problem: str, replicate: int) -> Streams:
    """Sources of randomness that depend only on the problem and the replicate.

    Examples
    --------
    >>> from tcgp_experiments.run.problems import streams
    >>> streams("ackley4", 0).design.generate_state(1) == streams("ackley4", 0).design.generate_state(1)
    array([ True])
    """
    # Unlike Python's hash of a string, CRC-32 does not depend on the process.
    child = np.random.SeedSequence(ROOT_SEED, spawn_key=(zlib.crc32(problem.encode()), replicate))
    return Streams(*child.spawn(4))


def uniform_points(problem: Problem, n: int, seed: np.random.SeedSequence) -> FloatArray:
    """Points (n, d), uniform on the box of the problem."""
    low, high = problem.bounds.T
    return np.random.default_rng(seed).uniform(low, high, (n, problem.dim))
