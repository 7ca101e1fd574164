"""Tail-calibrated optimization in Optuna. Several processes may work on one study.

python examples/optuna_sampler.py                                    (in memory)
python examples/optuna_sampler.py --storage sqlite:///example.db     (start it twice, or stop and repeat)
"""

from __future__ import annotations

import argparse

import optuna

from tcgp.integrations.optuna import TailCalibratedSampler


def objective(trial: optuna.Trial) -> float:
    """A stand-in for an expensive simulation with parameters of all kinds."""
    step = trial.suggest_float("step", 1e-4, 1.0, log=True)
    order = trial.suggest_int("order", 1, 5)
    scheme = trial.suggest_categorical("scheme", ["explicit", "implicit"])
    error = step**order + 1e-6 / step
    cost = order / step * (3.0 if scheme == "implicit" else 1.0)
    unstable = 50.0 * max(step - 0.1, 0.0) if scheme == "explicit" else 0.0
    return 1e3 * error + 1e-2 * cost + unstable


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--storage", default=None)
    parser.add_argument("--n-trials", type=int, default=40)
    args = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        study_name="example",
        storage=args.storage,
        sampler=TailCalibratedSampler(seed=0),  # the line that changes
        load_if_exists=True,
    )
    study.optimize(objective, n_trials=args.n_trials)
    print(f"best value {study.best_value:.4g} at {study.best_params}")
    for trial in study.trials[-3:]:
        print(f"trial {trial.number}:", trial.user_attrs)


if __name__ == "__main__":
    main()
