"""The report of an Optuna study."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import optuna
import pytest

from tcgp.cli import main
from tcgp.report import report_from_study

optuna.logging.set_verbosity(optuna.logging.ERROR)


def objective(trial: Any) -> float:
    x, n = trial.suggest_float("x", -2.0, 2.0), trial.suggest_int("n", 2, 9)
    step, kind = trial.suggest_float("s", 0.0, 1.0, step=0.25), trial.suggest_categorical("k", ["a", None])
    trial.suggest_float("fixed", 1.0, 1.0)
    if trial.number == 3:
        raise optuna.TrialPruned
    return float((x - 1.0) ** 2 + n + step + (kind == "a"))


def embedded(path: Path) -> dict[str, Any]:
    match = re.search(r'id="data">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    data: dict[str, Any] = json.loads(match[1])
    return data


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_trials_are_shown_in_the_units_of_the_study(tmp_path: Path, direction: str) -> None:
    study = optuna.create_study(direction=direction, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=15)
    report_from_study(study, tmp_path / "study.html", title="trials")
    data = embedded(tmp_path / "study.html")
    names = [p["name"] for p in data["parameters"]]
    assert sorted(names) == ["k", "n", "s", "x"]
    assert len(data["evaluations"]["y"]) == 15
    assert data["evaluations"]["y"][3] is None
    assert data["failures"][0]["reason"] == "pruned"
    assert float(data["best"][0]["y"]) == study.best_value
    assert data["goals"]["maximize"] == (direction == "maximize")
    best = dict(zip(names, data["best"][0]["x"], strict=True))
    assert float(best["x"]) == study.best_params["x"]
    assert int(best["n"]) == study.best_params["n"]
    assert float(best["s"]) == study.best_params["s"]
    assert best["k"] == str(study.best_params["k"])
    assert data["slices"] is not None


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_best_trial_keeps_the_constraints_of_the_study(tmp_path: Path, direction: str) -> None:
    def with_constraints(trial: optuna.Trial) -> float:
        # Names that the report would give to the outputs.
        x, y = trial.suggest_float("value", 0.0, 1.0), trial.suggest_float("constraint_1", 0.0, 1.0)
        trial.set_user_attr("limits", (x + y - 1.2, 0.8 - x - y))
        if trial.number == 5:
            raise optuna.TrialPruned
        return x + y

    sampler = optuna.samplers.GPSampler(
        seed=0, n_startup_trials=30, constraints_func=lambda trial: trial.user_attrs.get("limits")
    )
    study = optuna.create_study(direction=direction, sampler=sampler)
    study.optimize(with_constraints, n_trials=30)
    report_from_study(study, tmp_path / "study.html")
    data = embedded(tmp_path / "study.html")
    assert [c["text"] for c in data["constraints"]] == ["constraint_0 <= 0", "constraint_1_ <= 0"]
    assert float(data["best"][0]["y"]) == study.best_value
    assert study.best_value != {"minimize": min, "maximize": max}[direction](
        trial.value for trial in study.trials if trial.value is not None
    )
    assert data["failures"][0]["reason"] == "pruned"


def test_failures_have_their_reasons_on_the_page_and_nowhere_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", 0.0, 1.0)
        if trial.number == 1:
            raise optuna.TrialPruned
        if trial.number == 2:
            raise ValueError
        return float("inf") if trial.number == 3 else x

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(failing, n_trials=8, catch=(ValueError,))
    report_from_study(study, tmp_path / "study.html")
    reasons = [failure["reason"] for failure in embedded(tmp_path / "study.html")["failures"]]
    assert reasons == ["pruned", "fail", "the value is inf"]
    assert not [record for record in caplog.records if record.name == "tcgp"]


def test_study_of_several_objectives_is_refused(tmp_path: Path) -> None:
    study = optuna.create_study(directions=["minimize", "minimize"])
    with pytest.raises(ValueError, match="one objective"):
        report_from_study(study, tmp_path / "study.html")


def test_the_command_reports_a_study_in_a_storage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path / 'trials.db'}"
    study = optuna.create_study(storage=url, study_name="wing", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=8)
    assert main(["report", url]) == 0
    assert embedded(tmp_path / "study.html")["title"] == "wing"
    assert main(["report", url, "--study", "tail"]) == 2
    assert "the storage has no study 'tail'; there are 'wing'" in capsys.readouterr().err
    assert main(["report", "run.jsonl", "--study", "wing"]) == 2
    assert main(["report", url, "--refresh", "5"]) == 2


@pytest.mark.parametrize("command", [["report"], ["import", "run.jsonl", "--spec", "spec.toml"]])
def test_a_database_that_is_not_there_is_not_created(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text("[parameters]\nx = {low = 0.0, high = 1.0}\n")
    assert main([*command, "sqlite:///trails.db", "--study", "wing"]) == 2
    assert "there is no database 'trails.db'; correct its name" in capsys.readouterr().err
    assert not (tmp_path / "trails.db").exists()


def test_a_study_without_trials_cannot_be_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    optuna.create_study(storage="sqlite:///trials.db", study_name="wing")
    assert main(["report", "sqlite:///trials.db"]) == 2
    assert "cannot be shown: study must have complete trials" in capsys.readouterr().err
