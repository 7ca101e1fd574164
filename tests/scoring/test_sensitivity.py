"""Sobol' indices: known ones come out, of a function and of a model fitted to it."""

from __future__ import annotations

import numpy as np
import pytest

import tcgp
from tcgp.scoring import sensitivity
from tcgp.scoring.sensitivity import indices, indices_over

# Ishigami: sin(a) + 7 sin(b)^2 + 0.1 c^4 sin(a) on [-pi, pi]^3, with indices known in closed form.
PI4, PI8 = np.pi**4, np.pi**8
V1, V2, V13 = 0.5 * (1.0 + 0.1 * PI4 / 5.0) ** 2, 49.0 / 8.0, 0.01 * PI8 * (1.0 / 18.0 - 1.0 / 50.0)
FIRST = np.array([V1, V2, 0.0]) / (V1 + V2 + V13)
TOTAL = np.array([V1 + V13, V2, V13]) / (V1 + V2 + V13)


def ishigami(X):
    return np.sin(X[:, 0]) + 7.0 * np.sin(X[:, 1]) ** 2 + 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])


def test_ishigami_has_the_indices_of_the_closed_form():
    first, total = indices(lambda shares: ishigami(np.pi * (2.0 * shares.T - 1.0)), 3, 4096, 0)
    np.testing.assert_allclose(first, FIRST, atol=0.02)  # quasi-random: the error falls almost like 1 / n
    np.testing.assert_allclose(total, TOTAL, atol=0.02)


def test_a_model_of_ishigami_has_them_as_nearly_as_it_fits():
    X = np.pi * (2.0 * np.random.default_rng(0).random((150, 3)) - 1.0)
    box = [(-np.pi, np.pi)] * 3
    found = sensitivity(tcgp.fit_model(X, ishigami(X), "gp", bounds=box), box)
    np.testing.assert_allclose(found.total, TOTAL, atol=0.08)
    np.testing.assert_allclose(found.first, FIRST, atol=0.08)


def test_parameters_of_all_kinds_are_counted_once_each():
    space = {
        "rate": tcgp.Real(1e-3, 1e3, log=True),
        "kind": tcgp.Categorical(["a", "b", "c", "d"]),
        "idle": (0.0, 1.0),
        "fixed": 3.0,
    }
    height = {"a": 0.0, "b": 1.0, "c": 2.0, "d": 3.0}
    result = tcgp.minimize(
        lambda p: np.log10(p["rate"]) + height[p["kind"]], space, n_evals=40, n_initial=39, method="gp", rng=0
    )
    found = sensitivity(result.optimizer.fit_model())
    assert found.names == ("rate", "kind", "idle", "fixed")
    # Variances of log10(rate), uniform on [-3, 3], and of 0, 1, 2, 3: 3 and 1.25.
    np.testing.assert_allclose(found.total, [3.0 / 4.25, 1.25 / 4.25, 0.0, 0.0], atol=0.06)
    text = str(found).splitlines()
    assert [line.split()[0] for line in text] == [
        "parameter",
        "rate",
        "kind",
        *[line.split()[0] for line in text[3:]],
    ]
    assert text[1].count("#") > text[2].count("#") > 0


def test_a_constant_model_depends_on_nothing():
    first, total = indices(lambda shares: np.full(shares.shape[1], 4.2), 2, 64, 0)
    assert first.tolist() == total.tolist() == [0.0, 0.0]


def test_a_single_parameter_explains_everything():
    first, total = indices(lambda shares: shares[0] ** 2, 1, 64, 0)
    assert first.tolist() == total.tolist() == [1.0]


def test_the_default_box_is_that_of_the_data():
    X = np.random.default_rng(1).random((25, 2)) * [2.0, 5.0]
    model = tcgp.fit_model(X, X[:, 0] + X[:, 1], "gp")
    expected = sensitivity(model, list(zip(X.min(axis=0), X.max(axis=0), strict=True)))
    np.testing.assert_array_equal(sensitivity(model).total, expected.total)
    assert sensitivity(model).total == pytest.approx([4.0 / 29.0, 25.0 / 29.0], abs=0.05)


def test_a_share_of_a_parameter_is_converted_once(monkeypatch):
    """With 40 parameters a report took 14 seconds, because each share was converted in every point that has it."""
    d, n, calls, quantile = 40, 64, 0, tcgp.Real.quantile

    def counting(dimension, share):
        nonlocal calls
        calls += 1
        return quantile(dimension, share)

    X = np.random.default_rng(0).random((20, d))
    space = tcgp.Space([(0.0, 2.0)] * d)
    model = tcgp.fit_model(X, X[:, 0] ** 2 + X[:, 1], "gp", bounds=[(0.0, 1.0)] * d)
    monkeypatch.setattr(tcgp.Real, "quantile", counting)
    direct = sensitivity(model.over(space), n=n)
    assert calls == 0  # a share of a range is its code
    found = sensitivity(model.over(space), space, n=n)
    assert 0 < calls <= 4 * n * d  # n (d + 2) points of d shares each
    monkeypatch.undo()
    np.testing.assert_allclose(found.total, direct.total, atol=1e-9)
    np.testing.assert_allclose(found.total, sensitivity(model, [(0.0, 1.0)] * d, n=n).total, atol=1e-9)


def test_shares_of_logarithmic_and_other_ranges_are_codes_or_become_them():
    space = tcgp.Space(
        {"a": tcgp.Real(0.01, 10.0, log=True), "b": (0, 9), "c": tcgp.Real(0.0, 1.0, step=0.25)}
    )

    def fun(U):
        return U[:, 0] ** 2 + U[:, 1] * U[:, 2]

    fast, slow = indices_over(space, fun, 256), indices_over(space, fun, 256, codes=space)
    np.testing.assert_allclose(fast.total, slow.total, atol=1e-12)


def test_ranges_of_other_parameters_than_the_models_are_refused():
    X = np.random.default_rng(0).random((10, 2))
    model = tcgp.fit_model(X, X[:, 0], "gp", bounds=[(0.0, 1.0)] * 2)
    inside = model.over(tcgp.Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}))
    with pytest.raises(ValueError, match="bounds must have the 2 parameters of the model, got 3"):
        sensitivity(inside, [(0.0, 1.0)] * 3)
    with pytest.raises(ValueError, match=r"parameter 'b': .* is not a number between"):
        sensitivity(inside, [(0.0, 1.0), (0.5, 2.0)])


def test_ranges_go_by_the_names_of_parameters_in_whatever_order():
    X = np.random.default_rng(0).random((20, 2))
    model = tcgp.fit_model(X, 3.0 * X[:, 0] + X[:, 1] ** 2, "gp", bounds=[(0.0, 1.0)] * 2)
    inside = model.over(tcgp.Space({"a": (0.0, 1.0), "b": (0.0, 1.0)}))
    found = sensitivity(inside, {"b": (0.0, 1.0), "a": (0.0, 0.1)})
    assert found.names == ("a", "b")
    np.testing.assert_array_equal(found.total, sensitivity(inside, [(0.0, 0.1), (0.0, 1.0)]).total)
    with pytest.raises(
        ValueError, match=r"bounds must have the parameters of the model, \['a', 'b'\], got \['a', 'c'\]"
    ):
        sensitivity(inside, {"a": (0.0, 1.0), "c": (0.0, 1.0)})
