"""What a worker process of the Optuna tests runs: it optimizes a shared study, or dies in mid-trial."""

from __future__ import annotations

import json
import os
import pathlib
import time

import optuna
from optuna.storages import JournalStorage, RDBStorage, RetryHeartbeatStaleTrialCallback
from optuna.storages.journal import JournalFileBackend
from optuna.study import MaxTrialsCallback
from optuna.trial import TrialState

from tcgp.integrations.optuna import TailCalibratedSampler

STUDY = "shared"
SIDE = 20


def open_storage(address, grace_period=600):
    """A storage from an address: a path is a journal file, anything else a database.

    A worker without a heartbeat counts as dead after ``grace_period`` seconds, which a busy machine may well let pass.
    """
    if "://" not in address:
        return JournalStorage(JournalFileBackend(address))
    retry = RetryHeartbeatStaleTrialCallback(max_retry=1)
    return RDBStorage(
        address, heartbeat_interval=1, grace_period=grace_period, heartbeat_stale_trial_callback=retry
    )


def open_study(address, **heartbeat):
    # One seed for all workers: that must not make them repeat each other.
    sampler = TailCalibratedSampler(seed=0, n_startup_trials=6, constraints_func=constraints)
    storage = open_storage(address, **heartbeat)
    return optuna.create_study(storage=storage, study_name=STUDY, sampler=sampler, load_if_exists=True)


def constraints(trial):
    return [trial.params["i"] + trial.params["j"] - 20.0]


def point(trial):
    # A grid: workers that do not see each other would often choose the very same point.
    return [trial.suggest_int("i", 0, SIDE), trial.suggest_int("j", 0, SIDE)]


def work(address, log, n_trials, start=None, **heartbeat):
    """Optimize until the study has ``n_trials`` completed trials; note each evaluation in a file."""
    study = _wait(address, start, **heartbeat)

    def objective(trial):
        x = point(trial)
        with pathlib.Path(log).open("a") as file:
            file.write(json.dumps([os.getpid(), trial.number, x]) + "\n")
        return (x[0] - 7) ** 2 + 0.5 * (x[1] - 11) ** 2

    stop = MaxTrialsCallback(n_trials, states=(TrialState.COMPLETE,))
    study.optimize(objective, callbacks=[stop])


def hang(address, ready, start):
    """Start a trial, say which point it has, and never finish."""
    study = _wait(address, start)

    def objective(trial):
        if "://" in address:  # Optuna's thread for it may not have begun
            open_storage(address).record_heartbeat(trial._trial_id)
        draft = pathlib.Path(ready).with_suffix(".draft")
        draft.write_text(json.dumps([trial.number, point(trial)]))
        draft.rename(ready)
        time.sleep(600.0)

    study.optimize(objective, n_trials=1)


def _wait(address, start, **heartbeat):
    """The study, once all workers are there."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = open_study(address, **heartbeat)
    if start is not None:
        start.wait(timeout=120.0)
    return study
