"""The paper's first figure shows what the paper says of it."""

from __future__ import annotations

import numpy as np

from tcgp.methods.fit import fit_model
from tcgp.problems import get
from tcgp_experiments.report.figure1 import plot_figure1


def curve(ax, label):
    """Data of the line whose label begins so."""
    line = next(line for line in ax.get_lines() if str(line.get_label()).startswith(label))
    return np.asarray(line.get_xdata()), np.asarray(line.get_ydata())


def test_figure1_shows_what_the_paper_tells():
    figure = plot_figure1()
    predictions, improvement, ei = figure.axes
    problem = get("forrester")
    x_star = float(problem.minimizer[0])
    evaluated, _ = curve(predictions, "evaluations")
    assert len(evaluated) == 10
    # The design has no point near the global minimizer.
    assert np.abs(evaluated - x_star).min() > 0.1
    x, gp = curve(improvement, "GP")
    _, tcgp = curve(improvement, "tcGP")
    gap = (x > evaluated[evaluated < x_star].max()) & (x < evaluated[evaluated > x_star].min())
    # Calibration raises the probability of improvement there, and with it EI, which now has its maximum there.
    assert tcgp[gap].max() > 5.0 * gp[gap].max()
    _, ei_gp = curve(ei, "GP")
    _, ei_tcgp = curve(ei, "tcGP")
    assert ei_gp.max() == ei_tcgp.max() == 1.0
    assert not gap[ei_gp.argmax()]
    assert gap[ei_tcgp.argmax()]


def test_figure1_draws_the_models_it_speaks_of():
    figure = plot_figure1(seed=5, delta=0.4)
    problem = get("forrester")
    X = np.random.default_rng(5).uniform(0.0, 1.0, (10, 1))
    y = problem.fun(X)
    for method, label in (("gp", "GP"), ("tcgp", "tcGP")):
        model = fit_model(X, y, method, bounds=problem.bounds, delta=0.4)
        x, drawn = curve(figure.axes[1], label)
        np.testing.assert_allclose(drawn, model.predict(x[:, None]).cdf(y.min()), atol=1e-12)
        x, drawn = curve(figure.axes[2], label)
        ei = model.predict(x[:, None]).expected_improvement(y.min())
        np.testing.assert_allclose(drawn, ei / ei.max(), atol=1e-12)
