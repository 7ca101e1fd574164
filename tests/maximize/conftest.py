"""Analytic criteria that count their evaluations and refuse points outside the unit cube."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest


class Recorded:
    """A criterion made of a function of rows and its gradient."""

    def __init__(self, value: Callable, gradient: Callable) -> None:
        self.value, self.gradient = value, gradient
        self.n_evaluations = self.n_gradients = 0

    def __call__(self, X: np.ndarray) -> np.ndarray:
        assert ((X >= 0.0) & (X <= 1.0)).all()
        self.n_evaluations += len(X)
        return self.value(X)

    def value_and_gradient(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.n_gradients += len(X)
        return self(X), self.gradient(X)


@pytest.fixture
def recorded() -> type[Recorded]:
    return Recorded
