"""The generator of the gest-api: its contract, and runs inside the hosts that are installed."""

from __future__ import annotations

import copy
import logging
import pickle

import numpy as np
import pytest

import tcgp

gest_api = pytest.importorskip("gest_api", reason="needs gest-api: pip install gest-api")

from gest_api.tests import test_generator as theirs  # noqa: E402
from gest_api.vocs import VOCS, ContinuousVariable  # noqa: E402

from tcgp.integrations.gest import TailCalibratedGenerator  # noqa: E402

BOUNDS = {"x1": [0.0, 1.0], "x2": [0.0, 10.0]}


def _vocs(**changes):
    given = {
        "variables": BOUNDS,
        "objectives": {"f": "MINIMIZE"},
        "constraints": {"c": ["GREATER_THAN", 0.5]},
    }
    return VOCS(**{**given, **changes})


SEVERAL = _vocs(objectives={"f": "MINIMIZE", "c": "MAXIMIZE"}, constraints={"c": ["LESS_THAN", 0.9]})


def _evaluate(point):
    """A bowl whose minimum, at (0.3, 5), the constraint x1 >= 0.5 excludes."""
    return {"f": (point["x1"] - 0.3) ** 2 + (point["x2"] / 10.0 - 0.5) ** 2, "c": point["x1"]}


def _run(generator, n, evaluate=_evaluate):
    for _ in range(n):
        generator.ingest([{**point, **evaluate(point)} for point in generator.suggest(1)])


@pytest.mark.parametrize(
    "test",
    [
        theirs.test_gen_fails_without_variable,
        theirs.test_gen_fails_without_objective,
        theirs.test_gen_has_constant_alpha,
        theirs.test_suggest_default_single_point,
    ],
)
def test_the_tests_of_gest_api_that_are_not_about_their_own_generator_pass(monkeypatch, test):
    monkeypatch.setattr(theirs, "RandomGenerator", TailCalibratedGenerator)
    test()


def test_finds_the_minimum_that_keeps_the_constraint():
    generator = TailCalibratedGenerator(_vocs(), rng=0)
    _run(generator, 20)
    result = generator.optimizer.result()
    assert result.success
    assert result.fun == pytest.approx(0.04, abs=2e-3)
    assert result.outputs["c"] >= 0.5


def test_maximizing_is_minimizing_the_negative():
    low = TailCalibratedGenerator(_vocs(), rng=0)
    high = TailCalibratedGenerator(_vocs(objectives={"f": "MAXIMIZE"}), rng=0)
    _run(low, 9)
    _run(high, 9, lambda point: {**_evaluate(point), "f": -_evaluate(point)["f"]})
    assert [e.x for e in low.optimizer.evaluations] == [e.x for e in high.optimizer.evaluations]


def test_several_objectives_have_a_front_that_keeps_the_constraint():
    goals = {"objectives": {"f": "MINIMIZE", "BEAM:SIZE": "MAXIMIZE"}}
    generator = TailCalibratedGenerator(_vocs(**goals), rng=0)
    _run(generator, 12, lambda point: {**_evaluate(point), "BEAM:SIZE": point["x2"]})
    front = generator.optimizer.result().front
    assert len(front) >= 4
    assert all(point.outputs["c"] >= 0.5 for point in front)


def test_gives_exactly_as_many_points_as_are_wanted_with_constants():
    generator = TailCalibratedGenerator(_vocs(constants={"alpha": 0.55}), rng=0)
    points = [*generator.suggest(3), *generator.suggest()]
    assert len({(point["x1"], point["x2"]) for point in points}) == 4
    assert {point["alpha"] for point in points} == {0.55}
    assert not TailCalibratedGenerator.returns_id
    with pytest.raises(ValueError, match="num_points must be a positive integer"):
        generator.suggest(0)


def test_a_finite_space_that_has_too_few_points_left_keeps_them():
    vocs = VOCS(variables={"k": {1, 2, 3}}, objectives={"f": "MINIMIZE"})
    generator = TailCalibratedGenerator(vocs, rng=0)
    with pytest.raises(ValueError, match="every point"):
        generator.suggest(4)
    assert sorted(point["k"] for point in generator.suggest(3)) == [1, 2, 3]


def test_failures_are_recorded_and_avoided_with_their_reason():
    generator = TailCalibratedGenerator(_vocs(), rng=0)
    a, b, c = generator.suggest(3)
    generator.ingest(
        [
            {**a, "f": np.nan, "c": 1.0, "xopt_error": np.bool_(False)},
            {**b, "xopt_error": True, "xopt_error_str": "the magnet quenched"},
            {**c, "c": 1.0},
        ]
    )
    reasons = [evaluation.reason for evaluation in generator.optimizer.evaluations]
    assert reasons == ["the output 'f': the value is nan", "the magnet quenched", "the output 'f' is missing"]
    assert generator.optimizer.pending == []


def test_takes_points_that_it_did_not_suggest_and_leaves_those_outside_out(caplog):
    generator = TailCalibratedGenerator(_vocs(), rng=0)
    with caplog.at_level(logging.WARNING, "tcgp"):
        generator.ingest([{"x1": x, "x2": 1.0, "f": x, "c": x} for x in (0.6, 1.5)])
    assert [evaluation.x for evaluation in generator.optimizer.evaluations] == [(0.6, 1.0)]
    assert "outside of the bounds: {'x1': 1.5, 'x2': 1.0}" in caplog.text


def test_variables_of_all_kinds_names_with_colons_and_constraints_between_variables():
    vocs = VOCS(
        variables={
            "QUAD:K1": [1.0, 3.0],
            "n": ContinuousVariable(domain=[0.5, 4.5], dtype=int),
            "mode": {"pulsed", "continuous"},
            "size": {8, 1, 64},
        },
        objectives={"BEAM:SIZE": "MINIMIZE"},
        constraints={"BEAM:CHARGE": ["BOUNDS", 1.0, 2.0]},
        observables=["note"],
    )
    generator = TailCalibratedGenerator(vocs, rng=0, constraints=["`QUAD:K1` <= n"], n_initial=4)
    points = []
    for _ in range(8):
        points += generator.suggest(1)
        size = points[-1]["size"] / (1.0 + points[-1]["n"])
        generator.ingest(
            [{**points[-1], "BEAM:SIZE": size, "BEAM:CHARGE": points[-1]["QUAD:K1"], "note": "fine"}]
        )
    assert all(point["QUAD:K1"] <= point["n"] for point in points)
    assert {type(point["n"]) for point in points} == {int}
    assert {point["mode"] for point in points} <= {"pulsed", "continuous"}
    assert {point["size"] for point in points} <= {1, 8, 64}
    assert generator.optimizer.space.dimensions[3] == tcgp.Categorical([1, 8, 64], ordered=True)


@pytest.mark.parametrize(
    ("changes", "settings", "message"),
    [
        ({"objectives": {}}, {}, "at least one objective"),
        ({"objectives": {f"f{i}": "MINIMIZE" for i in range(5)}}, {}, "at most 4"),
        ({"objectives": {"f": "EXPLORE"}}, {}, "EXPLORE"),
        ({"variables": {"x": "CONTEXTUAL"}}, {}, "contextual"),
        ({"variables": {"x": {None, (1, 2)}}}, {}, "choice"),
        ({}, {"method": "tcpg"}, "method"),
        ({}, {"constraints": ["x1 <="]}, "x1"),
    ],
)
def test_what_it_cannot_do_is_refused_at_the_start(changes, settings, message):
    with pytest.raises(ValueError, match=message):
        TailCalibratedGenerator(_vocs(**changes), **settings)


def test_a_setting_that_does_not_exist_is_refused():
    with pytest.raises(TypeError, match="has no argument 'n_inital'; did you mean 'n_initial'"):
        TailCalibratedGenerator(_vocs(), n_inital=4)
    with pytest.raises(TypeError, match="takes no 'maximize': the problem determines it"):
        TailCalibratedGenerator(_vocs(), maximize=True)


def test_a_campaign_goes_on_from_its_journal_as_if_it_had_not_been_stopped(tmp_path):
    whole = TailCalibratedGenerator(_vocs(), rng=0)
    _run(whole, 10)
    first = TailCalibratedGenerator(_vocs(), rng=0, journal=tmp_path / "run.jsonl")
    _run(first, 7)
    first.finalize()
    second = TailCalibratedGenerator(_vocs(), rng=0, journal=tmp_path / "run.jsonl")
    _run(second, 3)
    second.finalize()
    evaluations = tcgp.Optimizer.read(tmp_path / "run.jsonl").evaluations
    assert evaluations == whole.optimizer.evaluations
    with pytest.raises(tcgp.JournalError, match="cannot be continued with other goals"):
        TailCalibratedGenerator(_vocs(objectives={"g": "MINIMIZE"}), journal=tmp_path / "run.jsonl").suggest(
            1
        )


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))])
def test_a_copy_continues_by_itself_or_takes_the_journal_over(tmp_path, copied):
    original = TailCalibratedGenerator(_vocs(), rng=0)
    _run(original, 3)
    other = copied(original)
    assert other.suggest(1) == original.suggest(1)
    kept = TailCalibratedGenerator(_vocs(), rng=0, journal=tmp_path / "run.jsonl")
    _run(kept, 3)
    _run(copied(kept), 2)
    assert len(tcgp.Optimizer.read(tmp_path / "run.jsonl").evaluations) == 5


# ---- inside the hosts ----


def test_a_run_inside_xopt(tmp_path):
    xopt = pytest.importorskip("xopt", reason="needs Xopt: pip install xopt")

    def evaluate(point):
        if point["x2"] > 9.0:
            raise RuntimeError("the beam was lost")
        return _evaluate(point)

    def session(n):
        generator = TailCalibratedGenerator(_vocs(), rng=0, journal=tmp_path / "run.jsonl")
        run = xopt.Xopt(generator=generator, evaluator=xopt.Evaluator(function=evaluate), strict=False)
        for _ in range(n):
            run.step()
        run.generator.finalize()
        return run

    run = session(12)
    assert len(run.data) == 12
    again = session(8)
    told = tcgp.Optimizer.read(tmp_path / "run.jsonl")
    assert len(told.evaluations) == 20
    assert len(again.data) == 8
    errors = run.data["xopt_error"].sum() + again.data["xopt_error"].sum()
    assert errors == sum(e.failed for e in told.evaluations) > 0
    assert "the beam was lost" in next(e.reason for e in told.evaluations if e.failed)
    assert told.result().fun == pytest.approx(0.04, abs=5e-3)


def test_xopt_hands_over_the_data_of_an_earlier_session():
    xopt = pytest.importorskip("xopt", reason="needs Xopt: pip install xopt")
    run = xopt.Xopt(
        generator=TailCalibratedGenerator(_vocs(), rng=0),
        evaluator=xopt.Evaluator(function=_evaluate),
    )
    run.random_evaluate(5, seed=0)
    later = xopt.Xopt(generator=run.generator, evaluator=run.evaluator, data=run.data)
    later.step()
    assert len(later.generator.optimizer.evaluations) == 6


def _quenches(point):
    """The bowl, with a region where nothing comes out."""
    values = _evaluate(point)
    return dict.fromkeys(values, np.nan) if point["x2"] > 7.0 else values


def test_several_objectives_inside_xopt():
    xopt = pytest.importorskip("xopt", reason="needs Xopt: pip install xopt")
    run = xopt.Xopt(
        generator=TailCalibratedGenerator(SEVERAL, rng=0), evaluator=xopt.Evaluator(function=_evaluate)
    )
    for _ in range(12):
        run.step()
    _check_front(run.generator)


def _check_front(generator):
    front = generator.optimizer.result().front
    assert len(front) >= 4
    assert all(point.outputs["c"] <= 0.9 for point in front)


def _ensemble(generator, vocs, n):
    """What libEnsemble records of n evaluations."""
    from libensemble import Ensemble
    from libensemble.alloc_funcs.start_only_persistent import only_persistent_gens
    from libensemble.specs import AllocSpecs, ExitCriteria, GenSpecs, LibeSpecs, SimSpecs

    ensemble = Ensemble(
        libE_specs=LibeSpecs(comms="threads", nworkers=2, gen_on_manager=True, disable_log_files=True),
        gen_specs=GenSpecs(generator=generator, vocs=vocs, batch_size=2, initial_batch_size=4),
        sim_specs=SimSpecs(simulator=_quenches, vocs=vocs),
        alloc_specs=AllocSpecs(alloc_f=only_persistent_gens),
        exit_criteria=ExitCriteria(sim_max=n),
    )
    history, _, flag = ensemble.run()
    assert flag == 0
    return history[history["sim_ended"]]


def test_runs_inside_libensemble(tmp_path, monkeypatch):
    pytest.importorskip("libensemble", reason="needs libEnsemble: pip install libensemble")
    monkeypatch.chdir(tmp_path)

    def session(n):
        generator = TailCalibratedGenerator(_vocs(), rng=0, journal=tmp_path / "run.jsonl")
        return {(row["x1"], row["x2"]) for row in _ensemble(generator, _vocs(), n)}

    points = session(10) | session(8)
    told = tcgp.Optimizer.read(tmp_path / "run.jsonl").evaluations
    assert len(told) >= 18 - 2 * 2  # the last batch of a session need not come back
    assert {e.x for e in told} <= points
    assert any(e.failed for e in told)
    assert all(e.id is not None for e in told)  # each answers a suggestion


def test_several_objectives_inside_libensemble(tmp_path, monkeypatch):
    pytest.importorskip("libensemble", reason="needs libEnsemble: pip install libensemble")
    monkeypatch.chdir(tmp_path)
    vocs = _vocs(objectives=SEVERAL.objectives, constraints={})  # libEnsemble takes each output once
    generator = TailCalibratedGenerator(vocs, rng=0)
    _ensemble(generator, vocs, 14)
    assert len(generator.optimizer.result().front) >= 4


def _explore(generator, vocs, n, folder):
    """Let optimas make n evaluations."""
    from optimas.evaluators import FunctionEvaluator
    from optimas.explorations import Exploration
    from optimas.generators import ExternalGenerator

    def evaluate(inputs, outputs):
        for name, value in _quenches(inputs).items():
            outputs[name] = value

    Exploration(
        generator=ExternalGenerator(ext_gen=generator, vocs=vocs),
        evaluator=FunctionEvaluator(function=evaluate),
        max_evals=n,
        sim_workers=2,
        libe_comms="threads",
        exploration_dir_path=folder,
    ).run()


def test_runs_inside_optimas(tmp_path, monkeypatch):
    pytest.importorskip("optimas", reason="needs optimas: pip install optimas")

    def session(n, folder):
        generator = TailCalibratedGenerator(_vocs(), rng=0, journal=tmp_path / "run.jsonl")
        # optimas passes objectives and observables on: it has no constraints.
        _explore(generator, _vocs(observables=["c"]), n, folder)

    monkeypatch.chdir(tmp_path)
    session(8, "first")
    session(6, "second")
    told = tcgp.Optimizer.read(tmp_path / "run.jsonl").evaluations
    assert len(told) >= 14 - 2 * 2
    assert any(e.failed for e in told)
    assert all(e.id is not None for e in told)


def test_several_objectives_inside_optimas(tmp_path, monkeypatch):
    pytest.importorskip("optimas", reason="needs optimas: pip install optimas")
    monkeypatch.chdir(tmp_path)
    generator = TailCalibratedGenerator(SEVERAL, rng=0)
    _explore(generator, SEVERAL, 14, "front")
    _check_front(generator)
