"""Test functions with their domain, minimum and minimizer: those of the paper, and other classics."""

from tcgp.problems.catalogue import get, names
from tcgp.problems.problem import Problem

__all__ = ["Problem", "get", "names"]
