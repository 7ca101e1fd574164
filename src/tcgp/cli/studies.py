"""Studies of Optuna, which commands read and never create."""

from __future__ import annotations

import os
import re
from typing import Any

from tcgp.cli.console import UsageError

__all__ = ["load_study"]


def load_study(url: str, name: str | None) -> tuple[Any, list[Any]]:
    """The study of this name in a storage, or the only one there, and its trials.

    What is wrong is said without the URL, which may hold a password.
    """
    try:
        import optuna
    except ImportError:
        raise UsageError("a study needs Optuna: pip install optuna") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    file = re.match(r"sqlite(?:\+\w+)?:///([^?]+)", url)
    if file and not file[1].startswith((":memory:", "file:")) and not os.path.exists(file[1]):
        # SQLite would create it.
        raise UsageError(f"the study cannot be read: there is no database {file[1]!r}; correct its name")
    try:
        names = sorted(optuna.get_all_study_names(url))
        if name is not None and name not in names:
            there = f"there are {', '.join(map(repr, names))}" if names else "it has none"
            raise UsageError(f"the study cannot be read: the storage has no study {name!r}; {there}")
        study = optuna.load_study(study_name=name, storage=url)
        return study, study.get_trials(deepcopy=False)
    except UsageError:
        raise
    except Exception as error:  # of the storage: a missing driver, a refused password, several studies
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"the study cannot be read: {reason[:300]}") from None
