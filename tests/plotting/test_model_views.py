"""Pictures of a model show the numbers that the scores are made of."""

from __future__ import annotations

import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from tcgp import plotting
from tcgp.laws import Normal
from tcgp.methods.fit import fit_model
from tcgp.problems import get
from tcgp.scoring import ks_pit, leave_one_out_prediction, loo_scores, thresholded_pit

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def model():
    problem = get("goldstein-price")
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (40, 2))
    return fit_model(X, problem.fun(X), "tcgp", bounds=problem.bounds, delta=0.25)


def curve(ax, label):
    """Data of the line whose label begins so."""
    (line,) = [line for line in ax.get_lines() if str(line.get_label()).startswith(label)]
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def step_value(u, share, at):
    """Value of the drawn step function, right-continuous."""
    return share[np.searchsorted(u, at, side="right") - 1]


def test_pit_curves_are_the_weighted_distribution_functions(model):
    ax = plotting.plot_pit(model)
    for law, label in ((Normal(), "GP"), (model.law, "tcGP")):
        prediction = leave_one_out_prediction(model, law)
        pit = prediction.cdf(model.y)
        u, share = curve(ax, label)
        for at in (0.1, 0.35, 0.5, 0.8):
            assert step_value(u, share, at) == pytest.approx(model.weights[pit <= at].sum(), abs=1e-12)
        (text,) = [t.get_text() for t in ax.get_legend().get_texts() if t.get_text().startswith(label)]
        assert f"{ks_pit(prediction, model.y, model.weights):.2f}" in text


def test_tpit_curves_are_those_of_the_points_below_the_threshold(model):
    ax = plotting.plot_tpit(model)
    below = model.y <= model.threshold
    weights = model.weights[below] / model.weights[below].sum()
    for law, label in ((Normal(), "GP"), (model.law, "tcGP")):
        pit = thresholded_pit(leave_one_out_prediction(model, law), model.y, model.threshold)[below]
        u, share = curve(ax, label)
        for at in (0.2, 0.5, 0.9):
            assert step_value(u, share, at) == pytest.approx(weights[pit <= at].sum(), abs=1e-12)
        (text,) = [t.get_text() for t in ax.get_legend().get_texts() if t.get_text().startswith(label)]
        assert f"{loo_scores(model, law=law).tks_pit:.2f}" in text
    assert f"{below.sum()} points" in ax.get_title()


def test_a_plain_gp_has_one_curve():
    X = np.linspace(0.0, 1.0, 15)[:, None]
    ax = plotting.plot_pit(fit_model(X, np.sin(7.0 * X[:, 0]), "gp"))
    assert [line.get_label().split(" (")[0] for line in ax.get_lines()] == ["calibrated", "GP"]


def test_leave_one_out_shows_every_point_with_its_interval(model):
    ax = plotting.plot_leave_one_out(model, level=0.8)
    prediction = leave_one_out_prediction(model)
    lower, upper = prediction.interval(0.8)
    drawn = np.concatenate([np.column_stack(c.lines[0].get_data()) for c in ax.containers])
    expected = np.column_stack((model.y, prediction.mean))
    np.testing.assert_allclose(drawn[np.lexsort(drawn.T)], expected[np.lexsort(expected.T)])
    ends = np.concatenate([np.array(c.lines[2][0].get_segments())[:, :, 1] for c in ax.containers])
    # The bars are stored as differences from the mean: rounding of values up to 1e6.
    np.testing.assert_allclose(np.sort(ends[:, 0]), np.sort(lower), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(np.sort(ends[:, 1]), np.sort(upper), rtol=1e-9, atol=1e-6)
    hits = np.count_nonzero((lower <= model.y) & (model.y <= upper))
    assert f"hold {hits} of 40 values" in ax.get_title()
    np.testing.assert_array_equal(curve(ax, "threshold t")[0], model.threshold)


def test_views_draw_into_given_axes(model):
    ax = Figure().subplots()
    for view in (plotting.plot_pit, plotting.plot_tpit, plotting.plot_leave_one_out):
        assert view(model, ax=ax) is ax


def test_pyplot_keeps_no_figure(model):
    import matplotlib.pyplot as plt

    plt.close("all")
    plotting.plot_pit(model)
    assert plt.get_fignums() == []


def test_figures_can_be_saved(model, tmp_path):
    path = tmp_path / "pit.png"
    plotting.plot_tpit(model).figure.savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_importing_the_views_does_not_import_matplotlib():
    code = "import sys, tcgp.plotting; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_missing_matplotlib_is_named_with_its_mend(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plotting.plot_pit(model)
