"""Pictures of a run show its values, its best so far and its calibration."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import tcgp
from tcgp import plotting

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def result():
    return tcgp.minimize(
        lambda x: float(np.sum(np.square(x))),
        [(-1.0, 2.0)] * 2,
        n_evals=14,
        n_initial=8,
        method="tcgp",
        rng=0,
    )


def test_convergence_is_the_running_minimum(result):
    ax = plotting.plot_convergence(result)
    line = ax.get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 15))
    np.testing.assert_array_equal(line.get_ydata(), np.minimum.accumulate(result.func_vals))
    assert line.get_label() == "tcGP"
    assert ax.get_lines()[1].get_xdata()[0] == 8


def test_a_noisy_run_shows_the_predicted_value_and_the_best_observed_one(capsys):
    noise = np.random.default_rng(1)
    result = tcgp.minimize(
        lambda x: float((x[0] - 0.3) ** 2 + 0.05 * noise.standard_normal()),
        [(0.0, 1.0)],
        n_evals=16,
        noise=True,
        rng=0,
        progress=True,
    )
    assert result.noise > 0.0
    line = plotting.plot_convergence(result).get_lines()[0]
    assert line.get_label() == "best observed"
    assert line.get_ydata()[-1] == result.best_observed < result.fun
    figure = plotting.plot_samples(result)
    star = figure.axes[0].collections[-1].get_offsets()[0]
    assert star[0] == result.x[0]
    last = capsys.readouterr().err.splitlines()[-1]
    assert f"predicted, {result.best_observed:.6g} observed" in last


def test_failed_evaluations_do_not_count():
    ax = plotting.plot_convergence([np.nan, 3.0, np.nan, 4.0, 1.0])
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [np.nan, 3.0, 3.0, 3.0, 1.0])


def test_a_known_minimum_gives_differences_on_a_logarithmic_scale():
    ax = plotting.plot_convergence(np.array([3.0, 2.0, 2.5]), minimum=1.5)
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [1.5, 0.5, 0.5])
    assert ax.get_yscale() == "log"


def test_a_sequence_of_runs_has_a_line_for_each(result):
    ax = plotting.plot_convergence([result, result.func_vals[:5]], labels=["same", "same"])
    assert len(ax.get_lines()) == 2
    np.testing.assert_array_equal(ax.get_lines()[1].get_ydata(), np.minimum.accumulate(result.func_vals[:5]))
    with pytest.raises(ValueError, match="labels must name each of the 2 runs"):
        plotting.plot_convergence([result, result], labels=["one"])


def test_repeated_runs_are_drawn_as_median_and_quartiles():
    runs = [[5.0, 1.0], [4.0, 4.0], [3.0, 2.0], [9.0, 0.0]]
    ax = plotting.plot_convergence({"tcGP": runs, "GP": np.array([2.0, 1.5])})
    best = np.minimum.accumulate(runs, axis=1)
    np.testing.assert_allclose(ax.get_lines()[0].get_ydata(), np.median(best, axis=0))
    (band,) = ax.collections
    edges = band.get_paths()[0].vertices[:, 1]
    assert edges.min() == pytest.approx(np.quantile(best, 0.25, axis=0).min())
    assert edges.max() == pytest.approx(np.quantile(best, 0.75, axis=0).max())


def test_the_gp_is_black_and_tcgp_red_in_any_order():
    colours = [
        {line.get_label(): line.get_color() for line in plotting.plot_convergence(runs).get_lines()}
        for runs in ({"GP": [1.0], "tcGP": [1.0]}, {"tcGP": [1.0], "GP": [1.0]})
    ]
    assert colours[0] == colours[1]
    assert colours[0]["GP"] == "#000000"


def test_shorter_runs_keep_their_last_value():
    ax = plotting.plot_convergence({"a": [[4.0, 2.0, 1.0], [3.0]]})
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), [3.5, 2.5, 2.0])


@pytest.mark.parametrize("runs", [np.zeros((2, 0)), [[[1.0]]]])
def test_what_is_not_a_run_is_refused(runs):
    with pytest.raises(ValueError, match="a run must be a result or an array"):
        plotting.plot_convergence(runs)


def test_calibration_history_is_the_trace(result):
    figure = plotting.plot_calibration_history(result)
    values, beta, scale = figure.axes
    trace = result.optimizer.trace
    assert len(trace) == 6
    n = [step["n"] for step in trace]
    for ax, i, key in ((values, 0, "threshold"), (values, 1, "best"), (beta, 0, "beta"), (scale, 0, "scale")):
        np.testing.assert_array_equal(ax.get_lines()[i].get_xdata(), n)
        np.testing.assert_array_equal(ax.get_lines()[i].get_ydata(), [step[key] for step in trace])


def test_calibration_history_leaves_out_what_is_unknown():
    trace = [
        {"n": 3, "beta": 1.0, "scale": None, "best": 2.0},
        {"n": 4, "threshold": 5.0},
        {"n": 6, "beta": 0.4},
    ]
    values, beta, scale = plotting.plot_calibration_history(trace).axes
    np.testing.assert_array_equal(beta.get_lines()[0].get_xydata(), [[3.0, 1.0], [6.0, 0.4]])
    assert scale.get_lines()[0].get_xydata().shape == (0, 2)
    np.testing.assert_array_equal(values.get_lines()[0].get_xydata(), [[4.0, 5.0]])


def test_a_result_draws_itself(result, tmp_path):
    figure = result.plot(minimum=0.0)
    # Convergence; threshold, beta and lambda; three panels of samples and the colour bar.
    assert len(figure.axes) == 1 + 3 + 4
    figure.savefig(tmp_path / "run.png")


def test_a_result_without_an_optimizer_draws_what_it_has():
    bare = OptimizeResult(x_iters=[[0.0, 1.0], [1.0, 2.0]], func_vals=np.array([1.0, 0.5]))
    assert len(plotting.plot_result(bare).axes) == 1 + 4
    assert plotting.plot_calibration_history(SimpleNamespace(func_vals=[1.0])).axes


@pytest.fixture(scope="module")
def compromise():
    def fun(p):
        return {"near": p[0] ** 2 + p[1] ** 2, "far": (p[0] - 1.0) ** 2, "gain": p[1]}

    goals = {"objective": ["near", "far"], "maximize": ["gain"], "constraints": ["gain <= 0.9"]}
    return tcgp.minimize(fun, [(0.0, 1.0)] * 2, n_evals=8, rng=0, **goals)


def test_front_is_drawn_for_each_pair_of_objectives(compromise):
    figure = compromise.plot()
    panels = [(ax.get_xlabel(), ax.get_ylabel()) for ax in figure.axes[:3]]
    assert panels == [("near", "far"), ("near", "gain"), ("far", "gain")]
    chosen = plotting.plot_front(compromise, weights={"near": 1.0}).axes[0].get_lines()[-1]
    best = compromise.choose({"near": 1.0}).values
    assert (chosen.get_xdata()[0], chosen.get_ydata()[0]) == (best["near"], best["far"])


def test_growth_ends_at_the_present_volume(compromise):
    growth = compromise.plot().axes[3].get_lines()[0].get_ydata()
    np.testing.assert_allclose(growth, compromise.hypervolume / compromise.hypervolume[-1])


def test_other_views_show_one_of_several_objectives(compromise):
    figure = plotting.plot_samples(compromise, output="gain")
    star = figure.axes[0].collections[-1].get_offsets()[0]
    assert star[1] == max(compromise.func_vals[compromise.feasible, 2])
    assert len(plotting.plot_partial_dependence(compromise, output="far", n_samples=4, n_grid=5).axes) == 4
    with pytest.raises(ValueError, match="output must be one of"):
        plotting.plot_samples(compromise, output="fra")
