"""Values that are taken to be exact, and look noisy: one sentence, and what to do."""

import logging

import numpy as np
import pytest

import tcgp
from tcgp.methods.detection import noise_in


def data_of_a_run(fun, noise, n=40, dim=2, seed=0):
    """A design, and points ever nearer to a minimum, as a run makes them."""
    rng = np.random.default_rng(seed)
    spread = np.repeat([1.0, 0.1, 0.01, 0.002], n // 4)[:, None]
    X = np.clip(0.4 + spread * rng.uniform(-0.4, 0.6, (n, dim)), 0.0, 1.0)
    return X, fun(X) + noise * rng.standard_normal(n)


def bowl(X):
    return ((X - 0.4) ** 2).sum(axis=1)


@pytest.mark.parametrize(
    "fun",
    [
        bowl,
        lambda X: np.abs(X - 0.4).sum(axis=1),  # a kink
        lambda X: np.sqrt(np.abs(X - 0.4)).sum(axis=1),  # a cusp
        lambda X: bowl(X) + 0.05 * np.cos(60.0 * X[:, 0]),  # ripples
    ],
)
def test_no_noise_is_seen_in_exact_values_smooth_or_not(fun):
    assert noise_in(*data_of_a_run(fun, 0.0)) is None


def test_a_run_that_looks_noisy_says_so_once_and_names_the_point_to_repeat(caplog):
    X, y = data_of_a_run(bowl, 0.01)
    optimizer = tcgp.Optimizer([(0.0, 1.0)] * 2, rng=0)
    optimizer.tell(X, y)
    with caplog.at_level(logging.WARNING, logger="tcgp"):
        for _ in range(2):
            optimizer.ask()
    said = [record.getMessage() for record in caplog.records if "look noisy" in record.getMessage()]
    assert len(said) == 1
    assert "continue with noise=True and the same journal" in said[0]
    assert repr(float(optimizer.result().x[0])) in said[0]
