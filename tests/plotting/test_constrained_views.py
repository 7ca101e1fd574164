"""Pictures of runs with constraints, and of runs that maximize."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

import tcgp
from tcgp import plotting

matplotlib.use("Agg")


def beam(parameters):
    width, height = parameters["width"], parameters["height"]
    return {"mass": width * height, "stress": 1.0 / (width * height**2)}


@pytest.fixture(scope="module")
def constrained():
    bounds = {"width": (0.1, 2.0), "height": (0.1, 2.0)}
    return tcgp.minimize(beam, bounds, n_evals=14, objective="mass", constraints=["stress <= 2"], rng=0)


@pytest.fixture(scope="module")
def highest():
    def gain(x):
        return 5.0 - (x[0] - 0.3) ** 2 - x[1] ** 2

    return tcgp.minimize(
        gain, [(-1.0, 1.0)] * 2, n_evals=12, n_initial=8, method="tcgp", maximize=True, rng=0
    )


def test_convergence_is_that_of_the_best_that_keeps_all_constraints(constrained):
    assert 0 < constrained.feasible.sum() < 14
    ax = plotting.plot_convergence(constrained)
    values = np.where(constrained.feasible, constrained.func_vals, np.nan)
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), np.fmin.accumulate(values))
    (marked,) = [line for line in ax.get_lines() if line.get_label() == "violates a constraint"]
    np.testing.assert_array_equal(marked.get_xdata(), 1 + np.flatnonzero(~constrained.feasible))
    np.testing.assert_array_equal(marked.get_ydata(), constrained.func_vals[~constrained.feasible])


def test_samples_tell_apart_what_violates_a_constraint_and_star_the_best_that_does_not(constrained):
    figure = plotting.plot_samples(constrained)
    ax = figure.axes[0]
    widths, ok = np.array([next(iter(x.values())) for x in constrained.x_iters]), constrained.feasible
    for collection, which in zip(ax.collections, (ok, ~ok), strict=False):
        expected = np.column_stack((widths, constrained.func_vals))[which]
        np.testing.assert_allclose(np.asarray(collection.get_offsets()), expected)
    star = np.asarray(ax.collections[-1].get_offsets())[0]
    np.testing.assert_allclose(star, [constrained.x["width"], constrained.fun])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "satisfies all constraints",
        "violates a constraint",
    ]


def test_dependence_and_samples_of_any_output(constrained):
    figure = plotting.plot_partial_dependence(constrained, output="stress", n_grid=9, n_samples=50)
    assert figure.axes[0].get_title(loc="right") == "mean stress"
    _, curve = figure.axes[0].get_lines()[0].get_data()
    assert curve[0] > curve[-1]  # a wider beam has less stress, and more mass
    ax = plotting.plot_samples(constrained, output="stress").axes[0]
    star = np.asarray(ax.collections[-1].get_offsets())[0]
    assert star[1] == pytest.approx(constrained.outputs["stress"])  # that of the best design, not the lowest
    with pytest.raises(ValueError, match=r"output must be one of \['mass', 'stress'\], got 'stres'"):
        plotting.plot_samples(constrained, output="stres")


def test_without_a_feasible_point_there_is_no_star(constrained):
    bare = tcgp.minimize(
        beam,
        {"width": (0.1, 2.0), "height": (0.1, 2.0)},
        n_evals=5,
        objective="mass",
        constraints=["stress <= 0"],
        rng=0,
    )
    assert not bare.feasible.any()
    assert len(plotting.plot_samples(bare).axes[0].collections) == 2
    assert np.isnan(plotting.plot_convergence(bare).get_lines()[0].get_ydata()).all()
    bare.plot()


def test_a_maximum_goes_up_and_keeps_its_sign(highest):
    ax = plotting.plot_convergence(highest)
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), np.maximum.accumulate(highest.func_vals))
    ax = plotting.plot_convergence(highest, minimum=5.0)
    difference = 5.0 - np.maximum.accumulate(highest.func_vals)
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), difference)
    assert ax.get_ylabel() == "maximum − best value"
    star = np.asarray(plotting.plot_samples(highest).axes[0].collections[-1].get_offsets())[0]
    np.testing.assert_allclose(star, [highest.x[0], highest.fun])


def test_the_history_and_the_dependence_of_a_maximum_keep_its_sign(highest):
    values = plotting.plot_calibration_history(highest).axes[0]
    np.testing.assert_array_equal(
        values.get_lines()[1].get_ydata(), [-step["best"] for step in highest.optimizer.trace]
    )
    assert values.get_lines()[1].get_ydata()[-1] > 0.0
    curve = (
        plotting.plot_partial_dependence(highest, n_grid=9, n_samples=20).axes[0].get_lines()[0].get_ydata()
    )
    # The mean over the other parameter is 5 - (x - 0.3)**2 - 1/3; twenty points and a model know it roughly.
    np.testing.assert_allclose(curve, 14.0 / 3.0 - (np.linspace(-1.0, 1.0, 9) - 0.3) ** 2, atol=0.3)


def test_a_constrained_run_draws_itself(constrained, tmp_path):
    constrained.plot().savefig(tmp_path / "run.png")
    plotting.plot_partial_dependence(constrained, n_grid=9, n_samples=20).savefig(tmp_path / "dependence.png")
