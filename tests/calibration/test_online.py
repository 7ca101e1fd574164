"""onGP's recalibration map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcgp.calibration import online_law, online_recalibration_map

LEVELS = np.arange(1, 100) / 100


def test_map_is_near_the_identity_on_calibrated_residuals() -> None:
    for seed in range(20):
        pits = np.random.default_rng(seed).random(400)
        # The recursion with step 0.05 fluctuates with a standard deviation of about sqrt(0.05 / 8) = 0.08 at
        # the median; 0.3 is more than three of them.
        assert np.abs(online_recalibration_map(pits) - LEVELS).max() < 0.3


def test_map_converges_to_the_quantiles_of_the_transforms_as_the_step_goes_to_zero() -> None:
    pits = np.random.default_rng(0).beta(2.0, 5.0, size=50_000)
    # Bias of the start: the recursion has seen 50000 · 0.002 = 100 times its step.
    np.testing.assert_allclose(
        online_recalibration_map(pits, eta=0.002), np.quantile(pits, LEVELS), atol=0.06
    )


def test_recursion_is_the_one_of_the_pinball_loss() -> None:
    pits = np.random.default_rng(1).random(30)
    q = {p: p for p in (0.25, 0.5, 0.75)}
    for u in pits:
        for p, value in q.items():
            q[p] = value - 0.05 * ((1.0 if u <= value else 0.0) - p)
    expected = list(q.values())
    assert expected == sorted(expected)  # no crossing: the isotonic regression leaves it alone
    np.testing.assert_allclose(online_recalibration_map(pits, levels=3), expected, rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(0.0, 1.0), max_size=60),
    st.integers(1, 120),
    st.floats(1e-4, 2.0),
)
def test_map_is_monotone_and_inside_the_unit_interval(pits: list[float], levels: int, eta: float) -> None:
    values = online_recalibration_map(pits, levels=levels, eta=eta)
    assert values.shape == (levels,)
    assert np.all(np.diff(values) >= 0.0)
    assert np.all((values >= 1e-3) & (values <= 1.0 - 1e-3))


def test_no_data_leave_the_identity() -> None:
    np.testing.assert_array_equal(online_recalibration_map([]), LEVELS)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "residuals",
    [
        [],
        [0.0],
        [0.3, -2.0],
        np.zeros(50),
        np.full(50, 1e200),
        np.full(50, -1e200),
        [np.inf, -np.inf],
        [5.0] * 500,
    ],
)
def test_every_set_of_residuals_gets_a_usable_law(residuals: np.ndarray) -> None:
    law = online_law(residuals)
    r = np.array([-1e3, -3.0, 0.0, 3.0, 1e3])
    assert np.all(np.diff(law.cdf(r)) >= 0.0)
    assert np.isfinite(law.logcdf(r)).all()
    assert np.isfinite(law.log_improvement(r)).all()
    assert law.variance() > 0.0


def test_overconfident_predictions_get_a_wider_law() -> None:
    residuals = 3.0 * np.random.default_rng(0).standard_normal(300)
    assert online_law(residuals).variance() > 1.5


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="levels must be at least 1"):
        online_recalibration_map([0.5], levels=0)
    with pytest.raises(ValueError, match="eta must be positive"):
        online_recalibration_map([0.5], eta=0.0)
    with pytest.raises(ValueError, match="pits must have shape"):
        online_recalibration_map([[0.5]])
