"""tcgp: Bayesian optimization of expensive, deterministic functions, calibrated in the lower tail.

>>> import tcgp
>>> problem = tcgp.problems.get("goldstein-price")
>>> result = tcgp.minimize(problem, problem.bounds, n_evals=25, rng=0)
>>> result.nfev
25
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

if TYPE_CHECKING:
    from tcgp import (
        calibration,
        criteria,
        laws,
        maximize,
        plotting,
        problems,
        report,
        sampling,
        scoring,
    )
    from tcgp.gp import GaussianProcess, LeaveOneOut, RelaxedGaussianProcess
    from tcgp.methods.fit import fit_model
    from tcgp.models import Model, Prediction
    from tcgp.optimizer import JournalError, Optimizer, SpaceExhausted
    from tcgp.running.minimize import minimize
    from tcgp.space import Categorical, Integer, Real, Space

# Where each public name lives. Names are imported when they are first used, so that `import tcgp` and the
# command line start at once.
_HOMES = {
    "GaussianProcess": "tcgp.gp",
    "RelaxedGaussianProcess": "tcgp.gp",
    "LeaveOneOut": "tcgp.gp",
    "Model": "tcgp.models",
    "Prediction": "tcgp.models",
    "fit_model": "tcgp.methods.fit",
    "JournalError": "tcgp.optimizer",
    "Optimizer": "tcgp.optimizer",
    "SpaceExhausted": "tcgp.optimizer",
    "minimize": "tcgp.running.minimize",
    "Space": "tcgp.space",
    "Real": "tcgp.space",
    "Integer": "tcgp.space",
    "Categorical": "tcgp.space",
}
_MODULES = (
    "calibration",
    "criteria",
    "laws",
    "maximize",
    "plotting",
    "problems",
    "report",
    "sampling",
    "scoring",
)

__all__ = [
    "Categorical",
    "GaussianProcess",
    "Integer",
    "JournalError",
    "LeaveOneOut",
    "Model",
    "Optimizer",
    "Prediction",
    "Real",
    "RelaxedGaussianProcess",
    "Space",
    "SpaceExhausted",
    "__version__",
    "calibration",
    "criteria",
    "fit_model",
    "laws",
    "maximize",
    "minimize",
    "plotting",
    "problems",
    "report",
    "sampling",
    "scoring",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"tcgp.{name}")
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'tcgp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
