"""`examples/small_tcgp.py` is tcGP as the package has it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import tcgp
from tcgp import problems
from tcgp.calibration import design_weights, selection_criterion, tail_problem
from tcgp.laws import GeneralizedNormal

PATH = Path(__file__).parents[2] / "examples" / "small_tcgp.py"


@pytest.fixture(scope="module")
def small():
    spec = importlib.util.spec_from_file_location("small_tcgp", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data(small):
    X = np.random.default_rng(3).random((40, 2))
    return X, np.array([small.goldstein_price(4.0 * x - 2.0) for x in X])


def test_it_is_short_and_needs_numpy_and_scipy_alone(small):
    text = PATH.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 250
    imported = {
        line.split()[1].split(".")[0] for line in text.splitlines() if line.startswith(("from ", "import "))
    }
    assert imported - sys.stdlib_module_names == {"numpy", "scipy"}


def test_its_function_is_that_of_the_package(small):
    problem = problems.get("goldstein-price")
    x = np.array([0.3, -1.2])
    assert small.goldstein_price(x) == pytest.approx(problem(x))


def test_its_gaussian_process_is_that_of_the_package(small, data):
    X, Z = data
    model = tcgp.fit_model(X, Z, "gp", bounds=[(0, 1), (0, 1)], rng=0)
    starts = np.log([[0.3, 0.3], [1.0, 1.0], [0.1, 1.0], [1.0, 0.1]])
    gp = small.fit(X, Z, starts)
    assert gp.rho == pytest.approx(model.lengthscales, rel=1e-3)

    gp = small.condition(X, Z, model.lengthscales)
    x = np.random.default_rng(4).random((50, 2))
    mean, sd = gp.predict(x)
    expected, near = model.predict(x), 1e-4 * Z.std()  # a nugget of 1e-10 is seen where lengthscales are long
    assert mean == pytest.approx(expected.mean, abs=near)
    assert sd == pytest.approx(expected.sd, abs=near)
    mean, sd = gp.leave_one_out()
    assert mean == pytest.approx(model.leave_one_out.mean, abs=near)
    assert sd == pytest.approx(model.leave_one_out.sd, abs=near)


def test_the_gradient_of_its_likelihood_is_right(small, data):
    X, Z = data
    at, step = np.log([0.3, 0.7]), 1e-5 * np.eye(2)
    slopes = [
        (small.negative_log_likelihood(at + e, X, Z)[0] - small.negative_log_likelihood(at - e, X, Z)[0])
        / 2e-5
        for e in step
    ]
    assert small.negative_log_likelihood(at, X, Z)[1] == pytest.approx(slopes, rel=1e-5)


@pytest.mark.parametrize(("beta", "scale"), [(2.0, 1.414), (0.4, 0.05), (1.3, 1.8), (8.0, 6.0)])
def test_its_criterion_and_its_improvement_are_those_of_the_package(small, data, beta, scale):
    X, Z = data
    gp, w, t = (
        small.condition(X, Z, np.array([0.4, 0.5])),
        small.design_weights(X),
        float(np.quantile(Z, 0.25)),
    )
    assert w == pytest.approx(design_weights(X))
    mean, sd = gp.leave_one_out()
    law = GeneralizedNormal(beta, scale)
    J = selection_criterion(tail_problem(mean, sd, Z, w, t), law)
    assert small.discrepancy(beta, scale, t, gp, w) == pytest.approx(float(J), rel=1e-9)
    a = np.array([-1.5, -0.2, 0.0, 0.7, 3.0])
    assert small.expected_improvement(a, scale, beta) == pytest.approx(
        np.exp(law.log_improvement(a)), rel=1e-6
    )


def test_it_calibrates_as_well_as_the_package(small, data):
    X, Z = data
    model = tcgp.fit_model(X, Z, "tcgp", bounds=[(0, 1), (0, 1)], delta=0.25, search="paper", rng=0)
    gp = small.condition(X, Z, model.lengthscales)
    found = small.calibrate(model.threshold, gp, model.weights, np.random.default_rng(0))
    of_package = (model.law.beta, model.law.scale)
    J = [small.discrepancy(*law, model.threshold, gp, model.weights) for law in (found, of_package)]
    assert J[0] == pytest.approx(J[1], abs=0.02)


def test_its_loop_finds_better_points_than_its_design(small):
    bounds = np.array([[-2.0, 2.0]] * 2)
    points, values = small.minimize(small.goldstein_price, bounds, budget=28, seed=3)
    assert points.shape == (28, 2)
    assert values[20:].min() < 0.5 * values[:20].min()
