"""Functions that scatter: runs with noise, from the first evaluation to the answer."""

import json

import numpy as np
import pytest

import tcgp
from tcgp.optimizer.front import Front
from tcgp.report import State, report_data

BOUNDS = [(0.0, 1.0), (0.0, 1.0)]
NOISE = 0.1


def truth(x):
    return (x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2


class Scattered:
    """The function with noise: the k-th call always has the same."""

    def __init__(self, noise=NOISE):
        self.noise, self.calls = noise, 0

    def __call__(self, x):
        self.calls += 1
        return truth(x) + self.noise * np.random.default_rng(self.calls).standard_normal()


def test_the_answer_is_a_prediction_and_not_the_luckiest_value():
    result = tcgp.minimize(Scattered(), BOUNDS, n_evals=30, rng=0, noise=True)
    assert result.best_observed == min(result.func_vals) < result.fun
    assert abs(result.fun - truth(result.x)) < 0.5 * NOISE
    low, high = result.interval
    assert low < result.fun < high
    assert high - low < 2.0 * NOISE
    assert 0.5 * NOISE < result.noise < 2.0 * NOISE
    assert "interval" in repr(result)


def test_points_are_evaluated_again_and_each_value_is_kept():
    result = tcgp.minimize(Scattered(), BOUNDS, n_evals=20, rng=0, noise=NOISE, confirm=4)
    points = [tuple(x) for x in result.x_iters]
    assert len(points) == len(result.func_vals) == 20
    assert all(points[-k] in points[:-k] for k in range(1, 5))
    assert [p.source for p in result.optimizer.history.proposals[-4:]] == ["repeat"] * 4


def test_a_maximum_with_noise():
    fun = Scattered()
    result = tcgp.minimize(lambda x: 5.0 - fun(x), BOUNDS, n_evals=20, rng=0, noise=True, maximize=True)
    low, high = result.interval
    assert low < result.fun < high < 5.5
    assert result.best_observed == max(result.func_vals)


def test_an_exact_function_is_modelled_as_one():
    """One repeat says that it repeats itself; the minimum is then found as without noise."""
    result = tcgp.minimize(truth, BOUNDS, n_evals=20, rng=0, noise=True)
    assert result.noise == 0.0
    assert result.interval == (result.fun, result.fun)
    assert result.fun < 1e-6
    assert len(set(map(tuple, result.x_iters))) == 19


@pytest.mark.parametrize("fun", [truth, lambda x: abs(x[0] - 0.3) + np.sin(30.0 * x[1])])
def test_one_equal_repeat_makes_the_run_that_of_an_exact_function(fun):
    exact = tcgp.minimize(fun, BOUNDS, n_evals=15, rng=0)
    result = tcgp.minimize(fun, BOUNDS, n_evals=16, rng=0, noise=True)
    proposals = result.optimizer.history.proposals
    assert [p.source for p in proposals].count("repeat") == 1
    others = [tuple(x) for x, p in zip(result.x_iters, proposals, strict=True) if p.source != "repeat"]
    assert others == [tuple(x) for x in exact.x_iters]


def test_repeats_that_are_equal_do_not_hide_noise():
    """The noise of an adapted mesh is the same whenever a point is evaluated again."""

    def fun(x):
        return truth(x) + 0.2 * np.random.default_rng(np.array(x).view(np.uint64)).standard_normal()

    result = tcgp.minimize(fun, BOUNDS, n_evals=34, rng=3, noise=True)
    assert 0.1 < result.noise < 0.4
    assert [p.source for p in result.optimizer.history.proposals].count("repeat") == 1


@pytest.mark.parametrize("sd", [1e-3, 0.3])
def test_models_of_exact_functions_choose_points_while_noise_is_little_and_take_turns_then(sd):
    """The answer always knows of the noise."""
    result = tcgp.minimize(Scattered(sd), BOUNDS, n_evals=16, rng=0, noise=True)
    methods = [trace["method"] for trace in result.optimizer.trace]
    assert "tcgp" in methods[:4]
    assert "gp" in methods[-3:]
    assert set(methods[-3:]) != {"gp"}
    assert 0.2 * sd < result.noise < 3.0 * sd
    assert result.interval[0] < truth(result.x) < result.interval[1]
    assert result.optimizer.model.noise > 0.0


@pytest.mark.parametrize("noise", [1e-4, NOISE])
def test_a_resumed_run_goes_on_as_if_it_had_not_stopped(tmp_path, noise):
    whole = tcgp.minimize(Scattered(noise), BOUNDS, n_evals=16, rng=0, noise=True)
    fun, journal = Scattered(noise), tmp_path / "run.jsonl"
    tcgp.minimize(fun, BOUNDS, n_evals=11, rng=0, noise=True, journal=journal)
    rest = tcgp.minimize(fun, BOUNDS, n_evals=16, rng=0, noise=True, journal=journal)
    assert rest.x_iters == whole.x_iters
    assert rest.func_vals.tolist() == whole.func_vals.tolist()
    assert (rest.fun, rest.interval) == (whole.fun, whole.interval)


def test_values_told_again_are_one_more_evaluation_unless_they_were_told_already():
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0, noise=True)
    table = [[[0.2], [0.2], [0.2], [0.7]], [1.0, 1.5, 1.0, 2.0]]
    optimizer.tell(*table)
    optimizer.tell(*table)  # the script that imports them is run again
    assert [e.y for e in optimizer.evaluations] == [1.0, 1.5, 1.0, 2.0]
    optimizer.tell([0.2], 1.25)
    assert len(optimizer.evaluations) == 5


def test_noise_that_is_known_of_each_evaluation_weighs_them(tmp_path):
    """One precise value outweighs many rough ones, also after a resume."""
    journal = tmp_path / "run.jsonl"
    points = [[x] for x in np.linspace(0.0, 1.0, 6)]
    with tcgp.Optimizer([(0.0, 1.0)], rng=0, noise=True, journal=journal) as optimizer:
        optimizer.tell(points, [abs(x - 0.4) for (x,) in points], sd=0.01)
        optimizer.tell([0.4], -5.0, sd=4.0)
        fun = optimizer.result().fun
        assert optimizer.result().x == pytest.approx([0.4])
    assert abs(fun) < 0.1
    assert json.loads(journal.read_text().splitlines()[-1])["sd"] == 4.0
    with tcgp.Optimizer.resume(journal) as again:
        assert again.result().fun == fun


def test_outputs_may_say_their_noise_and_limits_may_be_noisy():
    rng = np.random.default_rng(0)

    def simulate(p):
        stress = 1.0 - p["x"] + 0.05 * rng.standard_normal()
        mass_sd = 0.02 + 0.1 * p["y"]
        mass = p["x"] + p["y"] + mass_sd * rng.standard_normal()
        return {"mass": mass, "mass_sd": mass_sd, "stress": stress}

    result = tcgp.minimize(
        simulate,
        {"x": (0.0, 1.0), "y": (0.0, 1.0)},
        n_evals=25,
        objective="mass",
        constraints=["stress <= 0.5"],
        noise={"mass": True, "stress": 0.05},
        rng=0,
    )
    assert result.success
    assert result.x["x"] > 0.45  # the limit as it is, not as luck has it
    assert result.fun < 0.75


def test_a_batch_may_have_one_point_twice_and_failures_have_no_say():
    fun = Scattered(0.5)
    optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0, noise=0.5, n_initial=3)
    for _ in range(6):
        batch = optimizer.ask(4)
        values = [fun([*x, 0.6]) if x[0] < 0.8 else None for x in batch]
        optimizer.tell(batch, values)
    assert len(optimizer.evaluations) == 24
    assert len(optimizer.pending) == 0
    assert abs(optimizer.result().x[0] - 0.3) < 0.3


def test_a_space_of_few_points_is_never_exhausted_by_noise():
    fun = Scattered()
    space = {"k": tcgp.Integer(0, 2)}
    result = tcgp.minimize(
        lambda p: fun([0.3 + 0.4 * p["k"], 0.6]), space, n_evals=15, rng=0, noise=True, n_initial=5
    )
    assert result.nfev == 15
    assert result.x == {"k": 0}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": -1.0}, "noise must be False, True or a standard deviation above 0, got -1.0"),
        ({"noise": {"mass": True}}, "noise must name outputs in use"),
        ({"noise": True, "method": "regp"}, "method must be one of .* for noisy evaluations"),
        ({"confirm": 3}, "confirm needs noise"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        tcgp.minimize(truth, BOUNDS, n_evals=5, **arguments)


def test_a_standard_deviation_needs_noise():
    with pytest.raises(ValueError, match="sd needs noise, which is False"):
        tcgp.Optimizer([(0.0, 1.0)]).tell([0.5], 1.0, sd=0.1)


def test_a_run_that_was_thought_exact_goes_on_as_a_noisy_one(tmp_path):
    """Without a new journal: one repeat differs, and the user says so."""
    journal, fun = tmp_path / "run.jsonl", Scattered()
    tcgp.minimize(fun, BOUNDS, n_evals=8, rng=0, journal=journal)
    with tcgp.Optimizer.resume(journal) as optimizer:
        x = optimizer.evaluations[3].x
        with pytest.raises(ValueError, match="evaluations are exact"):
            optimizer.tell(x, fun(x))
        optimizer.change_goals(noise=True)
        optimizer.tell(x, fun(x))
    result = tcgp.minimize(fun, BOUNDS, n_evals=14, rng=0, journal=journal, noise=True)
    assert (result.nfev, len(result.func_vals)) == (14, 15)
    assert 0.3 * NOISE < result.noise < 3.0 * NOISE
    with pytest.raises(tcgp.optimizer.JournalError, match="noise must not be False"):
        tcgp.minimize(fun, BOUNDS, n_evals=15, rng=0, journal=journal)


def test_the_interval_allows_for_the_choice_of_what_looks_best():
    """Of points that are all alike, the best-looking one has a low error: the upper end must be farther away."""
    rng = np.random.default_rng(0)
    optimizer = tcgp.Optimizer(BOUNDS, rng=0, noise=1.0)
    points = rng.random((40, 2))
    optimizer.tell(points, np.sin(40.0 * points[:, 0]) + rng.standard_normal(40))
    result = optimizer.result()
    low, high = result.interval
    assert high - result.fun > 1.1 * (result.fun - low)


def test_the_report_says_what_is_predicted_and_how_well_it_is_known():
    result = tcgp.minimize(Scattered(), BOUNDS, n_evals=14, rng=0, noise=True)
    said = report_data(result.optimizer, State(running=False, text="done"))["answer"]
    assert (said["low"], said["high"]) == pytest.approx(result.interval)
    assert (said["value"], said["noise"]) == pytest.approx((result.fun, result.noise))
    assert result.x_iters[said["row"]] == list(result.x)


def test_a_lucky_value_reaches_no_target():
    """The lowest value of the function is 0: values below the target are luck."""
    result = tcgp.minimize(Scattered(), BOUNDS, n_evals=16, rng=0, noise=NOISE, target=-0.05)
    assert min(result.func_vals) < -0.05
    assert result.nfev == 16


def test_patience_counts_predictions():
    result = tcgp.minimize(
        Scattered(0.02), BOUNDS, n_evals=60, rng=0, noise=0.02, patience=8, min_improvement=0.01
    )
    assert result.status == 10
    assert result.nfev < 60


# ---- several objectives ----


def beam(p):
    return {"mass": p["width"] + p["height"] ** 2, "sag": 1.0 / (p["width"] + 0.2) + (p["height"] - 0.3) ** 2}


class ScatteredBeam:
    """The second objective and the limit have noise; the first one is exact."""

    def __init__(self):
        self.calls = 0

    def __call__(self, p):
        self.calls += 1
        noise = np.random.default_rng(self.calls).standard_normal(2)
        outputs = beam(p)
        return {**outputs, "sag": outputs["sag"] + 0.1 * noise[0], "height": p["height"] + 0.01 * noise[1]}


BEAM = {"width": (0.1, 2.0), "depth": (0.0, 1.0)}
SEVERAL = {
    "objective": ["mass", "sag"],
    "constraints": ["height >= 0.1"],
    "noise": {"sag": True, "height": 0.01},
    "rng": 0,
}


def true_sag(point):
    return beam({"width": point.x["width"], "height": point.x["depth"]})["sag"]


def run_beam(n_evals, **options):
    fun = ScatteredBeam()
    fun.calls = options.pop("calls", 0)
    return tcgp.minimize(
        lambda p: fun({"width": p["width"], "height": p["depth"]}),
        BEAM,
        n_evals=n_evals,
        **SEVERAL,
        **options,
    )


def test_the_front_of_noisy_objectives_has_predicted_values_and_repeated_points(tmp_path):
    journal = tmp_path / "run.jsonl"
    whole = run_beam(24, journal=journal)
    assert whole.noise["mass"] == 0.0
    assert 0.05 < whole.noise["sag"] < 0.2
    assert "noise:       sag = " in repr(whole)
    assert len({tuple(x.values()) for x in whole.x_iters}) < 24
    assert len({tuple(point.x.values()) for point in whole.front}) == len(whole.front) > 5
    lucky = Front(whole.optimizer.history)  # by the values as they were told
    optimism = [
        np.mean([true_sag(point) - point.values["sag"] for point in front]) for front in (whole.front, lucky)
    ]
    assert optimism[0] < 0.8 * optimism[1]
    assert (np.diff([point.values["mass"] for point in whole.front]) > 0.0).all()
    assert (np.diff([point.values["sag"] for point in whole.front]) < 0.0).all()

    lines = journal.read_text().splitlines(keepends=True)
    fifteenth = [i for i, line in enumerate(lines) if '"event": "tell"' in line][14]
    journal.write_text("".join(lines[: fifteenth + 1]))
    resumed = run_beam(24, journal=journal, calls=15)
    assert resumed.x_iters == whole.x_iters
    assert [p.values for p in resumed.front] == [p.values for p in whole.front]


def test_repeats_confirm_a_front():
    result = run_beam(14, confirm=3)
    assert [p.source for p in result.optimizer.history.proposals[-3:]] == ["repeat"] * 3
