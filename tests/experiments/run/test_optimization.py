"""One optimization run, and what is measured along it."""

import numpy as np
import pytest

from tcgp_experiments.plan.methods import PEER_NAMES, Method
from tcgp_experiments.plan.tasks import RunTask
from tcgp_experiments.run import optimization, peers, problems
from tcgp_experiments.run.optimization import Levels, optimize

GP, TCGP = Method("GP", "gp"), Method("tcGP", "tcgp")


def course(result):
    """Everything but the times."""
    return {
        name: value for name, value in result.items() if name not in ("seconds", "scores", "iterations", "x")
    }


@pytest.fixture(scope="module")
def run():
    return optimize(RunTask("branin", 0, TCGP, "ei", 4))


def test_a_longer_run_begins_with_the_shorter(run):
    longer = optimize(RunTask("branin", 0, TCGP, "ei", 6))
    for name, values in course(run).items():
        assert longer[name][: len(values)] == values, name


def test_scores_along_the_run_do_not_change_its_course(run):
    scored = optimize(RunTask("branin", 0, TCGP, "ei", 4, diagnostics=True))
    assert course(scored) == course(run)
    assert run["scores"] is None
    assert set(scored["scores"]) == {
        *("twcrps", "occurrence", "tks_pit"),
        *("twcrps_t", "occurrence_t", "tks_pit_t"),
    }
    assert all(len(values) == 4 for values in scored["scores"].values())
    assert all(0.0 <= value <= 1.0 for value in scored["scores"]["tks_pit"])


def test_best_values_start_at_the_design_and_never_rise(run):
    problem = problems.get("branin")
    design = problems.uniform_points(problem, 20, problems.streams("branin", 0).design)
    assert run["best"][0] == problem.fun(design).min()
    assert len(run["best"]) == len(run["log10_p"]) == 5
    assert (np.diff(run["best"]) <= 0.0).all()
    assert run["best"][-1] == min(run["best"][0], *run["y"])


def test_all_methods_start_from_the_same_design(run):
    assert optimize(RunTask("branin", 0, GP, "lcb", 1))["best"][0] == run["best"][0]
    assert optimize(RunTask("branin", 1, GP, "ei", 1))["best"][0] != run["best"][0]


def test_levels_equal_plain_frequencies():
    problem = problems.get("branin")
    values = np.sort(problem.fun(np.random.default_rng(3).uniform([-5, 0], [10, 15], (200_000, 2))))
    levels = Levels(problem, np.random.SeedSequence(1))
    for p in (0.1, 0.01, 0.001):
        # A thousand particles at p0 = 0.2 have a relative error of about sqrt(4 log(p)/log(0.2) / 1000).
        error = np.sqrt(4.0 * np.log(p) / np.log(0.2) / 1000.0) / np.log(10.0)
        assert levels.log10_probability(values[int(p * 200_000)]) == pytest.approx(
            np.log10(p), abs=4.0 * error
        )


def test_levels_can_go_back_up():
    problem = problems.get("branin")
    levels = Levels(problem, np.random.SeedSequence(1))
    high = levels.log10_probability(20.0)
    low = levels.log10_probability(2.0)
    assert levels.log10_probability(20.0) == high
    assert levels.log10_probability(2.0) == low
    assert levels.log10_probability(60.0) > high


def test_below_the_minimum_there_is_nothing():
    assert Levels(problems.get("branin"), np.random.SeedSequence(1)).log10_probability(0.3) is None


def test_every_peer_that_a_plan_may_name_can_run():
    assert set(peers.PEERS) == set(PEER_NAMES)


def test_a_peer_gets_the_same_design_and_budget(monkeypatch):
    given = {}

    def stroll(problem, X, y, iterations, seed):
        given.update(X=X, y=y, seed=seed)
        for i in range(iterations):
            x = X[i] + 0.01
            yield x, problem.fun(x)

    monkeypatch.setitem(peers.PEERS, "smt", stroll)
    result = optimize(RunTask("branin", 0, Method.parse("peer:smt"), "ei", 4))
    assert result["iterations"] == 4
    design = problems.uniform_points(problems.get("branin"), 20, problems.streams("branin", 0).design)
    np.testing.assert_array_equal(given["X"], design)
    assert result["best"][0] == given["y"].min()


def test_a_run_as_published_makes_the_paper_s_choices(monkeypatch):
    given = {}
    real = optimization.Optimizer

    def watched(*args, **kwargs):
        given.update(kwargs)
        return real(*args, **kwargs)

    monkeypatch.setattr(optimization, "Optimizer", watched)
    method = TCGP.as_published()
    result = optimize(RunTask("branin", 0, method, "ei", 2, diagnostics=True, maximizer="multistart"))
    assert given["options"] == {"as_published": True}
    assert given["maximizer"] == "multistart"
    again = optimize(RunTask("branin", 0, method, "ei", 2, diagnostics=True, maximizer="multistart"))
    assert again["scores"] == result["scores"]  # the particles are drawn, from a stream of the run
