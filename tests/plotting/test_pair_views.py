"""Pair plots show every evaluation, in the parameters' own units, and what the model predicts."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import tcgp
from tcgp import plotting
from tcgp.methods.fit import fit_model
from tcgp.plotting import pairs

matplotlib.use("Agg")

CHOICES = ["explicit", "implicit", "mixed"]


def cost(x):
    if x["order"] == 5:
        return float("nan")
    return (np.log10(x["step"]) + 2.0) ** 2 + 0.3 * (x["order"] - 3) ** 2 + CHOICES.index(x["scheme"])


@pytest.fixture(scope="module")
def mixed():
    space = tcgp.Space(
        {
            "step": tcgp.Real(1e-4, 1.0, log=True),
            "order": tcgp.Integer(1, 5),
            "scheme": tcgp.Categorical(CHOICES),
        }
    )
    return tcgp.minimize(cost, space, n_evals=24, n_initial=20, rng=1)


def panels(figure):
    """Axes without the colour bar, which comes last."""
    return figure.axes[:-1]


def offsets(ax, i=0):
    return np.asarray(ax.collections[i].get_offsets())


def test_samples_show_each_evaluation_at_its_place_and_order(mixed):
    axes = panels(plotting.plot_samples(mixed))
    assert len(axes) == 6
    ok = np.isfinite(mixed.func_vals)
    assert not ok.all()  # or nothing is tested of failures
    step = np.array([next(iter(x.values())) for x in mixed.x_iters])
    order = np.array([list(x.values())[1] for x in mixed.x_iters])
    scheme = np.array([CHOICES.index(list(x.values())[2]) for x in mixed.x_iters])
    columns = {0: (step, mixed.func_vals), 1: (step, order), 3: (step, scheme), 4: (order, scheme)}
    for i, (x, y) in columns.items():
        np.testing.assert_allclose(offsets(axes[i]), np.column_stack((x, y))[ok])
        np.testing.assert_array_equal(axes[i].collections[0].get_array(), 1 + np.flatnonzero(ok))
    np.testing.assert_allclose(offsets(axes[1], 1), np.column_stack((step, order))[~ok])
    best = np.nanargmin(mixed.func_vals)
    np.testing.assert_allclose(offsets(axes[1], 2)[0], [step[best], order[best]])


def test_axes_carry_the_names_scales_and_choices_of_the_parameters(mixed):
    axes = panels(plotting.plot_samples(mixed))
    assert [ax.get_xlabel() for ax in axes[3:]] == ["step", "order", "scheme"]
    assert axes[3].get_xscale() == "log"
    assert [text.get_text() for text in axes[3].get_yticklabels()] == CHOICES


def test_parameters_are_chosen_by_place_or_name(mixed):
    figure = plotting.plot_samples(mixed, parameters=["scheme", 0])
    axes = panels(figure)
    assert [ax.get_xlabel() for ax in axes] == ["", "scheme", "step"]
    for wrong in ("colour", 3, -1):
        with pytest.raises(ValueError, match="parameters must be places below 3 or names"):
            plotting.plot_samples(mixed, parameters=[wrong])
    with pytest.raises(ValueError, match="at least one"):
        plotting.plot_samples(mixed, parameters=[])


def test_many_parameters_are_cut_to_a_readable_number():
    rng = np.random.default_rng(0)
    result = OptimizeResult(x_iters=rng.random((5, 11)).tolist(), func_vals=rng.random(5))
    assert len(panels(plotting.plot_samples(result))) == 8 * 9 / 2


def test_partial_dependence_is_the_mean_prediction_over_the_other_parameters():
    def paraboloid(x):
        return float(x[0] ** 2 + 10.0 * x[1])

    result = tcgp.minimize(paraboloid, [(-1.0, 2.0), (0.0, 1.0)], n_evals=25, n_initial=20, rng=0)
    figure = plotting.plot_partial_dependence(result, n_grid=9, n_samples=200)
    x, curve = figure.axes[0].get_lines()[0].get_data()
    np.testing.assert_allclose(x, np.linspace(-1.0, 2.0, 9))
    # The function is additive: the curve is x² plus the mean of the rest over 200 points, of which every grid
    # point sees the same. The interpolation error of 25 points on a paraboloid is well below 0.05.
    np.testing.assert_allclose(curve - curve[0], x**2 - 1.0, atol=0.05)
    x, curve = figure.axes[2].get_lines()[0].get_data()
    np.testing.assert_allclose(curve - curve[0], 10.0 * x, atol=0.05)


def test_partial_dependence_agrees_with_a_loop(mixed):
    space = mixed.optimizer.space
    model = pairs.fit_to_run(mixed)
    ok = np.isfinite(mixed.func_vals)
    codes = space.encode([list(x.values()) for x, kept in zip(mixed.x_iters, ok, strict=True) if kept])
    same = fit_model(codes, mixed.func_vals[ok], "auto", bounds=[(0.0, 1.0)] * space.dim)
    shares = np.random.default_rng(3).random((7, 3))
    fast = pairs.partial_dependence(model, space, shares, {1: [0.1, 0.9], 2: [0.2, 0.8]})
    for value, (order, scheme) in zip(fast, ((1, "explicit"), (5, "mixed")), strict=True):
        points = [[point[0], order, scheme] for point in space.from_unit(shares)]
        assert value == pytest.approx(np.mean([same.predict(space.encode([p])).mean[0] for p in points]))


def test_partial_dependence_of_mixed_parameters_has_a_value_per_choice(mixed, tmp_path):
    figure = plotting.plot_partial_dependence(mixed, n_grid=5, n_samples=20)
    line = figure.axes[5].get_lines()[0]
    np.testing.assert_array_equal(line.get_xdata(), [0, 1, 2])
    # The third choice costs two more than the first, and the model has seen it.
    assert line.get_ydata()[2] > line.get_ydata()[0] + 0.5
    np.testing.assert_array_equal(figure.axes[2].get_lines()[0].get_xdata(), [1, 2, 3, 4, 5])
    figure.savefig(tmp_path / "dependence.png")


def test_partial_dependence_needs_a_space_and_data():
    bare = OptimizeResult(x_iters=[[0.0], [1.0]], func_vals=np.array([1.0, 0.5]))
    with pytest.raises(ValueError, match="must hold its optimizer"):
        plotting.plot_partial_dependence(bare)
    failed = tcgp.minimize(lambda x: float("nan"), [(0.0, 1.0)], n_evals=3, rng=0)
    with pytest.raises(ValueError, match="two successful evaluations"):
        plotting.plot_partial_dependence(failed)


def test_one_parameter_and_a_constant_function_are_drawn():
    constant = tcgp.minimize(lambda x: 1.0, [(0.0, 1.0)], n_evals=5, rng=0)
    assert len(plotting.plot_samples(constant).axes) == 2
    assert len(plotting.plot_partial_dependence(constant).axes) == 1
    flat = tcgp.minimize(lambda x: 1.0, [(0.0, 1.0)] * 2, n_evals=5, rng=0)
    plotting.plot_partial_dependence(flat).canvas.draw()


def test_names_and_choices_are_drawn_as_they_are_and_in_short():
    """A pair of dollar signs is a formula to matplotlib, an error if it makes no sense; long names leave no room."""
    space = {
        "price [$] of $\\none$": (0.0, 1.0),
        "file": tcgp.Categorical(["$\\a$", "meshes/" + 60 * "x"]),
        "line\nbreak": (0.0, 1.0),
    }
    result = tcgp.minimize(lambda p: p["line\nbreak"], space, n_evals=5, rng=0)
    figure = plotting.plot_samples(result)
    figure.canvas.draw()
    axes = panels(figure)
    assert [ax.get_xlabel() for ax in axes[3:]] == ["price [\\$] of \\$\\none\\$", "file", "line?break"]
    choices = [text.get_text() for text in axes[4].get_xticklabels()]
    assert choices == ["\\$\\a\\$", "meshes/xxxxxxxxxx..."]


@pytest.mark.parametrize(("n", "named"), [(10, 10), (11, 6), (60, 10)])
def test_an_axis_names_a_readable_number_of_choices(n, named):
    space = {"part": tcgp.Categorical([f"part {i}" for i in range(n)])}
    result = tcgp.minimize(lambda p: float(p["part"][5:]), space, n_evals=5, rng=0)
    (ax,) = panels(plotting.plot_samples(result))
    names = {
        int(tick): text.get_text() for tick, text in zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
    }
    assert names == {i: f"part {i}" for i in names}
    assert len(names) == named
