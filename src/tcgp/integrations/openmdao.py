"""Tail-calibrated Bayesian optimization as a driver of OpenMDAO."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from tcgp import minimize
from tcgp.integrations._host import flat, flat_all, interval, limits_on
from tcgp.optimizer.result import Result
from tcgp.record.settings import wanted_outputs
from tcgp.space import Integer, Real

try:
    from openmdao.core.driver import Driver, RecordingDebugging
except ImportError as error:
    raise ImportError(
        "tcgp.integrations.openmdao needs OpenMDAO 3.45 or later: pip install 'openmdao>=3.45'"
    ) from error

__all__ = ["TailCalibratedDriver"]

# All but what the model determines, and what would evaluate it elsewhere.
ARGUMENTS = {
    name: parameter.default
    for name, parameter in inspect.signature(minimize).parameters.items()
    if name not in ("fun", "bounds", "objective", "maximize", "x0", "y0", "workers", "n_parallel", "timeout")
}
UNBOUNDED = {"lower": -np.inf, "upper": np.inf}


class TailCalibratedDriver(Driver):
    """Driver of OpenMDAO based on Gaussian processes with tail calibration.

    Parameters
    ----------
    options
        Options of the driver: ``n_evals``, the number of all evaluations, and the arguments of `tcgp.minimize` that the
        model does not determine, such as ``journal="run.jsonl"``, ``rng=0`` or ``method="tcgp"``.

    Attributes
    ----------
    optimum : Result or None
        What `tcgp.minimize` returned, with all evaluations.

    Notes
    -----
    Design variables need bounds, and may be integers. Their elements are parameters, named ``x`` or ``z[0]``, ``z[1]``.
    Values are those of the model, in the units that were given: scaling changes nothing but the sense of an objective
    with a negative scaler, which is maximized.

    The first point is the model's present one, if it lies within the bounds. The model is left at the best point, or
    with several objectives at the knee of the front.

    An `AnalysisError`, and any other exception, is a failed evaluation: the outputs that the model had before are
    restored, so that solvers do not start from what is not finite.

    Examples
    --------
    >>> import openmdao.api as om
    >>> from tcgp.integrations.openmdao import TailCalibratedDriver
    >>> problem = om.Problem(reports=False)
    >>> problem.model.add_subsystem("bowl", om.ExecComp("f = (x - 1) ** 2"), promotes=["*"])
    'bowl' <class ExecComp>
    >>> problem.model.add_design_var("x", lower=-2.0, upper=2.0)
    >>> problem.model.add_objective("f")
    >>> problem.driver = TailCalibratedDriver(n_evals=12, rng=0)
    >>> problem.setup().run_driver().success
    True
    >>> abs(problem.get_val("x").item() - 1.0) < 0.05
    True
    """

    def __init__(self, **options: Any) -> None:
        self.optimum: Result | None = None
        self._outcome: dict[str, Any] = {}
        self._last: Mapping[str, Any] = {}
        super().__init__(**options)
        for name in (
            "optimization",
            "inequality_constraints",
            "two_sided_constraints",
            "multiple_objectives",
        ):
            self.supports[name] = True
        self.supports["distributed_design_vars"] = False
        self.supports._read_only = True

    def _declare_options(self) -> None:
        for name, default in ARGUMENTS.items():
            known = {} if default is inspect.Parameter.empty else {"default": default}
            self.options.declare(name, desc="See tcgp.minimize.", recordable=False, **known)

    def _setup_comm(self, comm: Any) -> Any:
        if comm is not None and comm.size > 1:
            raise RuntimeError(f"{type(self).__name__} runs in one process, got {comm.size} of MPI")
        return super()._setup_comm(comm)

    def _get_name(self) -> str:
        return type(self).__name__

    def _get_recorder_metadata(self, case_name: str) -> dict[str, Any]:
        return {**super()._get_recorder_metadata(case_name), **self._outcome}

    def run(self) -> bool:
        """Search, leave the model at the best point, and return whether there is none."""
        self.result.reset()
        self.iter_count, self._last = 0, {}
        self._check_for_missing_objective()
        self._check_for_invalid_desvar_values()
        space, start = self._space(), flat_all(self.get_design_var_values(driver_scaling=False))
        options = {name: self.options[name] for name in ARGUMENTS}
        constraints = options.pop("constraints")
        given = [constraints] if isinstance(constraints, str) else list(constraints)
        inside = all(d.low <= start[name] <= d.high for name, d in space.items())
        self.optimum = found = minimize(
            self._evaluate,
            space,
            constraints=[*self._limits(), *given],
            x0=start if inside else None,
            **{**options, **self._goals()},
        )
        best = found.knee().x if "front" in found and found.success else found.x
        if best is not None and best != self._last:
            self._evaluate(best)
        return not found.success

    def _evaluate(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Run the model at a point, and return its objectives and constraints."""
        outputs = self._problem().model._outputs
        before = outputs.asarray(copy=True)
        for name, present in self.get_design_var_values(driver_scaling=False).items():
            self._set_design_var(name, np.array([values[element] for element in flat(name, present)]))
        self._outcome = {"success": 0, "msg": ""}
        try:
            with RecordingDebugging(self._get_name(), self.iter_count, self):
                self.iter_count += 1
                try:
                    self._run_solve_nonlinear()
                    self._outcome["success"] = 1
                except Exception as error:
                    self._outcome["msg"] = f"{type(error).__name__}: {error}"
                    raise
        except Exception:
            outputs.set_val(before)
            raise
        self._last = values
        limited = self.get_constraint_values(driver_scaling=False)
        return flat_all({**limited, **self.get_objective_values(driver_scaling=False)})

    def _space(self) -> dict[str, Real | Integer]:
        """The elements of all design variables."""
        space: dict[str, Real | Integer] = {}
        for name, present in self.get_design_var_values(driver_scaling=False).items():
            discrete = name in self._designvars_discrete
            bounds = _bounds(self._designvars[name], present)
            for element, (low, high) in zip(flat(name, present), bounds, strict=True):
                space[element] = interval(element, low, high, discrete)
        return space

    def _goals(self) -> dict[str, Any]:
        """What is minimized, and what is maximized because its scaler is negative."""
        names = {
            name: list(flat(name, value))
            for name, value in self.get_objective_values(driver_scaling=False).items()
        }
        high = [
            e for name, elements in names.items() if self._objs[name]["total_scaler"] < 0.0 for e in elements
        ]
        objectives = [element for elements in names.values() for element in elements]
        return wanted_outputs(objectives, high, self.options["reference"])

    def _limits(self) -> list[str]:
        """The bounds of all elements of constraints, as texts."""
        found = []
        for name, value in self.get_constraint_values(driver_scaling=False).items():
            meta = self._cons[name]
            if meta["equals"] is not None:
                raise ValueError(
                    f"the constraint {name!r} must have a lower and an upper bound, not an equality"
                )
            for element, bounds in zip(flat(name, value), _bounds(meta, value), strict=True):
                found += limits_on(element, *bounds)
        return found


def _bounds(meta: Mapping[str, Any], value: Any) -> list[tuple[float, float]]:
    """Lower and upper bound of each element of a variable."""
    lower, upper = (meta[key] if meta[key] is not None else unbounded for key, unbounded in UNBOUNDED.items())
    n = np.size(value)
    return list(zip(*(np.broadcast_to(bound, n).tolist() for bound in (lower, upper)), strict=True))
