"""``as_published``: the paper's choices where ours differ, each seen where it matters."""

from __future__ import annotations

import numpy as np
import pytest

import tcgp
from tcgp.calibration import design_weights, tail_law
from tcgp.maximize.maximum import Maximum
from tcgp.maximize.mixed import rank_everywhere
from tcgp.methods import RECIPES
from tcgp.methods.published import OURS, PAPER, choices_of
from tcgp.optimizer import Settings
from tcgp.record.history import SAME_POINT, History
from tcgp.record.streams import Streams
from tcgp.region import Region
from tcgp.search.acquisition import SPACING, Acquisition

THE_PAPER = ("gp", "tcgp", "tcgp-occ", "tcgp-thres", "bcrgp", "ongp", "regp")
PUBLISHED = {"as_published": True}


def branin_data(n=30):
    problem = tcgp.problems.get("branin")
    X = np.random.default_rng(0).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (n, 2))
    return problem, X, problem.fun(X)


def test_the_methods_of_the_paper_have_it_and_ours_do_not():
    assert tuple(name for name, recipe in RECIPES.items() if "as_published" in recipe.options) == THE_PAPER
    with pytest.raises(ValueError, match="method 'auto' has no option 'as_published'"):
        Settings(method="auto", options=PUBLISHED)


def test_every_choice_differs_from_ours():
    assert all(getattr(PAPER, name) != getattr(OURS, name) for name in vars(OURS))
    assert choices_of({"as_published": False}) is choices_of({}) is OURS


def test_the_paper_s_maximizer_is_the_default_and_another_may_be_given():
    assert Settings(method="tcgp").maximizer == "multistart"
    assert Settings(method="tcgp", options=PUBLISHED).maximizer == "smc"
    assert Settings(method="tcgp", options=PUBLISHED, maximizer="multistart").maximizer == "multistart"


def test_an_option_that_contradicts_it_is_refused():
    problem, X, y = branin_data()
    message = "search must be 'paper' with as_published=True, got 'fast'"
    with pytest.raises(ValueError, match=message):
        Settings(method="tcgp", options={"search": "fast", **PUBLISHED})
    with pytest.raises(ValueError, match=message):
        tcgp.fit_model(X, y, "tcgp", bounds=problem.bounds, search="fast", **PUBLISHED)


@pytest.mark.parametrize(("method", "criterion"), [("tcgp", "joint"), ("tcgp-thres", "thres")])
def test_the_law_is_that_of_the_paper_s_search_supremum_and_ratio(method, criterion):
    problem, X, y = branin_data()
    model = tcgp.fit_model(X, y, method, bounds=problem.bounds, rng=3, **PUBLISHED)
    loo = model.leave_one_out
    given = {"criterion": criterion, "search": "paper", "supremum": "samples", "ratio": "plain"}
    weights = design_weights(model.interpolator.unit_points())
    fit = tail_law(loo.mean, loo.sd, y, weights, model.threshold, **given, rng=3)
    assert model.law == fit.law
    assert model.law != tcgp.fit_model(X, y, method, bounds=problem.bounds, rng=3, search="paper").law


@pytest.mark.parametrize("options", [{}, PUBLISHED])
def test_lengthscales_are_selected_at_every_datum_however_many(options):
    x = np.linspace(0.0, 1.0, 300)
    state = {"lengthscales": [0.3], "n": 299, "threshold": -0.9}
    model = tcgp.fit_model(x[:, None], np.sin(12.0 * x), "gp", bounds=[(0, 1)], state=state, **options)
    assert model.n_selected == (300 if options else 299)


@pytest.mark.parametrize("snaps", [True, False])
def test_points_beside_a_face_stay_there(snaps):
    beside = np.array([[1e-6, 0.5]])
    space = tcgp.Space([(0.0, 1.0)] * 2)

    def maximize(criterion, dim, **rest):
        return Maximum(beside[0], 0.0, 1, beside, np.zeros(1))

    found = rank_everywhere(None, space, maximize=maximize, anchors=beside, rng=None, snaps=snaps)
    assert found[0].tolist() == [0.0 if snaps else 1e-6, 0.5]


def test_proposals_are_maximizers_as_they_are(monkeypatch):
    def refuse(*args):
        raise AssertionError("a proposal was moved")

    monkeypatch.setattr("tcgp.search.acquisition.spread_inert", refuse)
    monkeypatch.setattr("tcgp.maximize.mixed.snap", refuse)
    optimizer = tcgp.Optimizer(
        [(0.0, 1.0)], method="gp", n_initial=4, rng=0, options=PUBLISHED, maximizer="multistart"
    )
    for _ in range(6):
        x = optimizer.ask()
        optimizer.tell(x, (x[0] - 0.3) ** 2)


@pytest.mark.parametrize(("options", "spacing"), [({}, SPACING), (PUBLISHED, SAME_POINT)])
def test_only_repetitions_are_ruled_out(options, spacing):
    space = tcgp.Space([(0.0, 1.0)])
    settings = Settings(method="gp", options=options, n_initial=4)
    acquisition = Acquisition(settings, History(space), Streams(0), Region(space))
    assert acquisition.spacing == spacing


def test_a_run_goes_on_as_published_from_its_journal(tmp_path):
    problem = tcgp.problems.get("forrester")
    given = {"method": "tcgp", "n_initial": 5, "options": {**PUBLISHED, "delta": 0.25}, "rng": 1}
    whole = tcgp.minimize(problem, problem.bounds, n_evals=8, **given)
    journal = tmp_path / "run.jsonl"
    tcgp.minimize(problem, problem.bounds, n_evals=6, journal=journal, **given)
    resumed = tcgp.minimize(problem, problem.bounds, n_evals=8, journal=journal, **given)
    np.testing.assert_array_equal(resumed.x_iters, whole.x_iters)
    assert resumed.optimizer.settings.maximizer == "smc"
    with pytest.raises(tcgp.JournalError, match="belongs to another run"):
        tcgp.minimize(problem, problem.bounds, n_evals=9, journal=journal, **{**given, "options": {}})
