"""Scales of limited outputs: increasing, the limit at 0, slopes that are derivatives, data of any size."""

import numpy as np
import pytest

from tcgp.methods.scales import AS_IT_IS, Scale, scales_of
from tcgp.methods.surrogate import Surrogate

SCALES = [AS_IT_IS, Scale("log", 250.0), Scale("log", -250.0), Scale("both", 3.0), Scale("both", 1e-200)]
X = np.random.default_rng(0).random((12, 2))


@pytest.mark.parametrize("scale", SCALES)
def test_the_limit_stays_where_it_is_and_order_is_kept(scale):
    excess = np.sort(np.append(np.random.default_rng(1).uniform(-240.0, 240.0, 50), 0.0))
    values = scale(excess)
    assert values[excess == 0.0] == 0.0
    assert np.all(np.diff(values) > 0.0)


@pytest.mark.parametrize("scale", SCALES[:4])
def test_the_slope_is_the_derivative(scale):
    excess, h = np.array([-200.0, -3.0, -0.1, 0.0, 0.1, 5.0, 240.0]), 1e-4
    slope = (scale(excess + h) - scale(excess - h)) / (2.0 * h)
    np.testing.assert_allclose(np.exp(scale.log_slope(excess)), slope, rtol=1e-6)


def test_an_output_on_the_other_side_of_zero_than_its_bound_has_no_logarithm():
    assert np.isnan(Scale("log", 250.0)(np.array([-250.0, -300.0]))).all()
    assert "log" in scales_of(X, np.linspace(-249.0, 10.0, 12), 250.0)
    assert "log" not in scales_of(X, np.linspace(-251.0, 10.0, 12), 250.0)
    assert "log" not in scales_of(X, np.linspace(-251.0, 10.0, 12), 0.0)
    assert "log" in scales_of(X, np.linspace(-10.0, 249.0, 12), -250.0)  # -stress <= -250


def test_scales_follow_the_unit_of_an_output():
    excess = np.random.default_rng(1).normal(size=12) ** 3
    before, after = scales_of(X, excess, 1.0), scales_of(X, 1e6 * excess, 1e6)
    assert before.keys() == after.keys()
    for name in before.keys() - {"plain"}:
        np.testing.assert_allclose(before[name](excess), after[name](1e6 * excess), rtol=1e-12)


def test_points_close_together_count_as_one_in_the_unit():
    excess = np.append(np.linspace(1.0, 2.0, 12), np.full(40, 1e-9))
    crowded = np.vstack([X, X[0] + 1e-9 * np.random.default_rng(2).random((40, 2))])
    assert scales_of(crowded, excess, 0.0)["both 1"].unit > 0.5


@pytest.mark.parametrize(
    "excess",
    [
        np.zeros(12),
        np.full(12, 5.0),
        np.repeat([-1.0, 1.0], 6),
        np.linspace(-1e300, 1e300, 12),
        np.geomspace(1e-300, 1e300, 12),
        -np.geomspace(1e-3, 1.7e308, 12),
        np.append(np.zeros(11), 1e-320),
        np.linspace(-1.0, 1.0, 12) * 1e-300,
    ],
)
def test_a_model_of_any_data_predicts_numbers(excess):
    surrogate = Surrogate("gp", {"selection": "pooled"}, bound=1.0)
    model, record = surrogate.fit(X, excess, turn=0, seed=np.random.SeedSequence(0))
    surrogate.remember(record)
    probability = model.predict(np.random.default_rng(3).random((9, 2))).cdf(0.0)
    assert np.all((probability >= 0.0) & (probability <= 1.0))
    assert surrogate.updated(np.vstack([X, [[0.5, 0.5]]]), np.append(excess, excess[0])) is not None


def test_a_model_of_one_value():
    surrogate = Surrogate("gp", {"selection": "pooled"}, bound=1.0)
    model, _ = surrogate.fit(X[:1], np.array([3.0]), turn=0, seed=np.random.SeedSequence(0))
    assert model.predict(X[1:]).cdf(0.0).max() < 1.0


def test_powers_are_modelled_on_a_logarithmic_scale_and_sums_as_they_are():
    points = np.random.default_rng(4).random((20, 2))
    power, total = 250.0 * np.exp(4.0 * points @ [1.0, -2.0]), points @ [1.0, -2.0]
    surrogate = Surrogate("gp", {}, bound=250.0)
    model, _ = surrogate.fit(points, power - 250.0, turn=0, seed=np.random.SeedSequence(0))
    assert surrogate.scale == Scale("log", 250.0)
    assert model.X is not None
    surrogate = Surrogate("gp", {}, bound=2.5)
    surrogate.fit(points, total - 0.1, turn=0, seed=np.random.SeedSequence(0))
    assert surrogate.scale == AS_IT_IS


def test_states_bring_back_the_scale_and_the_model():
    rng = np.random.default_rng(5)
    points = rng.random((31, 2))
    excess = 250.0 * np.exp(4.0 * points @ [1.0, -2.0] + 0.3 * np.sin(9.0 * points[:, 0])) - 250.0
    whole = Surrogate("gp", {"selection": "pooled"}, bound=250.0)
    for n in range(8, 31):
        resumed = Surrogate("gp", {"selection": "pooled"}, bound=250.0)
        resumed.states += whole.states
        fits = []
        for surrogate in (whole, resumed):
            seed = np.random.SeedSequence([0, n])
            model, record = surrogate.fit(points[:n], excess[:n], turn=0, seed=seed)
            fits.append((surrogate.scale, model.state, record, surrogate.updated(points, excess).state))
        assert fits[0] == fits[1]
        whole.remember(record)
    names = {state.get("scale", "plain") for _, state in whole.states}
    assert {"plain", "log"} < names
    n_fits = np.unique([n for n, _ in whole.states], return_counts=True)[1]
    assert 1 in n_fits  # not every datum calls for a comparison
    assert n_fits[0] > 1


def test_a_value_that_is_not_on_the_scale_waits_for_the_next_fit():
    surrogate = Surrogate("gp", {}, bound=250.0)
    excess = 250.0 * np.exp(4.0 * X @ [1.0, -2.0]) - 250.0
    model, record = surrogate.fit(X, excess, turn=0, seed=np.random.SeedSequence(0))
    surrogate.remember(record)
    more, told = np.vstack([X, [[0.5, 0.5]]]), np.append(excess, -300.0)
    assert surrogate.scale.name == "log"
    assert len(surrogate.updated(more, told).X) == len(model.X)
    surrogate.fit(more, told, turn=0, seed=np.random.SeedSequence(0))
    assert surrogate.scale.name != "log"


def test_equal_repeats_of_an_output_that_may_be_noisy_count_once():
    surrogate = Surrogate("gp", {"selection": "pooled"}, bound=1.0, noisy=True)
    X, y = np.array([[0.0], [0.3], [1.0], [0.3]]), np.array([3.0, 1.0, 30.0, 1.0])
    model, _ = surrogate.fit(X, y - 1.0, turn=0, seed=np.random.SeedSequence(0))
    assert model.predict([[0.3]]).mean[0] == pytest.approx(surrogate.scale(0.0), abs=1e-6)
