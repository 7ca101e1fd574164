"""Tail-calibrated Bayesian optimization as an optimizer of GEMSEO: the algorithm ``"TCGP"``."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from gemseo.algos.design_space import DesignSpace
from gemseo.algos.multiobjective_optimization_result import MultiObjectiveOptimizationResult
from gemseo.algos.opt.base_optimization_library import (
    BaseOptimizationLibrary,
    OptimizationAlgorithmDescription,
)
from gemseo.algos.opt.base_optimizer_settings import BaseOptimizerSettings
from gemseo.algos.optimization_problem import OptimizationProblem
from gemseo.algos.stop_criteria import TerminationCriterion
from pydantic import Field, create_model

import tcgp
from tcgp.integrations._host import (
    Campaign,
    Parameter,
    Parameters,
    Status,
    flat,
    flat_all,
    interval,
    limits_on,
)
from tcgp.optimizer import Evaluation, SpaceExhausted
from tcgp.record.settings import split_constraints, wanted_outputs

__all__ = ["TCGP_Settings", "TailCalibratedOptimization"]

ARGUMENTS = set(inspect.signature(tcgp.Optimizer).parameters) - {"space", "objective", "maximize"}
TCGP_Settings = create_model(
    "TCGP_Settings",
    __base__=BaseOptimizerSettings,
    __doc__="The settings of the algorithm: those of all optimizers, and the arguments of `tcgp.Optimizer`.",
    # The search scales by itself, and points that are not scaled back and forth are found in the database.
    normalize_design_space=(Literal[False], Field(default=False, description="The search scales by itself.")),
    **{name: (Any, Field(default=None, description="See tcgp.Optimizer.")) for name in sorted(ARGUMENTS)},
)
TCGP_Settings._TARGET_CLASS_NAME = "TCGP"


class TailCalibratedOptimization(BaseOptimizationLibrary[BaseOptimizerSettings]):
    """Optimizer of GEMSEO based on Gaussian processes with tail calibration.

    Notes
    -----
    A function that raises an exception or returns NaN is a failed evaluation. All evaluations in the database of the
    problem are used, and those of the journal are added to it. GEMSEO itself evaluates the current design first.
    """

    ALGORITHM_INFOS: ClassVar[dict[str, OptimizationAlgorithmDescription]] = {
        "TCGP": OptimizationAlgorithmDescription(
            algorithm_name="TCGP",
            internal_algorithm_name="tcgp",
            library_name="tcgp",
            description="Bayesian optimization with tail-calibrated Gaussian processes",
            handle_inequality_constraints=True,
            handle_integer_variables=True,
            handle_multiobjective=True,
            Settings=TCGP_Settings,
        )
    }

    def _pre_run(self, problem: OptimizationProblem) -> None:
        problem.stop_if_nan = False
        journal = self._settings.journal
        if journal is not None and os.path.exists(journal) and os.path.getsize(journal):
            _restore(problem, tcgp.Optimizer.read(journal).evaluations)
        super()._pre_run(problem)

    def _check_stopping_criteria(self) -> None:
        """Three equal values in a row end the run only if a tolerance is set: the search is global."""
        is_set = any(getattr(self._settings, f"{of}tol_{kind}") for of in "fx" for kind in ("abs", "rel"))
        (super() if is_set else super(BaseOptimizationLibrary, self))._check_stopping_criteria()

    def _run(self, problem: OptimizationProblem) -> tuple[str, int]:
        given = {name: getattr(self._settings, name) for name in ARGUMENTS & self._settings.model_fields_set}
        goals, limits = self._goals(problem)
        texts, others = split_constraints(given.pop("constraints", ()))
        campaign = Campaign(
            Parameters(_parameters(problem.design_space), named=True),
            constraints=[*limits, *texts, *others],
            n_evals=self._settings.max_iter,
            **{**given, **goals},
        )
        optimizer = campaign.optimizer
        try:
            known = {evaluation.x for evaluation in optimizer.evaluations}
            for x in [key.unwrap() for key in problem.database]:
                values = flat_all(problem.design_space.convert_array_to_dict(x))
                if tuple(values.values()) not in known:
                    campaign.tell(values, _outputs(problem, x))
            # The current design was the first of all evaluations.
            while sum(e.id is not None for e in optimizer.evaluations) < self._settings.max_iter - 1:
                (values,) = campaign.ask(1)
                campaign.tell(values, *_evaluate(problem, _vector(problem.design_space, values)))
        except SpaceExhausted as error:
            return str(error), 0
        finally:
            campaign.close()
        return "All evaluations were made.", 0

    def _goals(self, problem: OptimizationProblem) -> tuple[dict[str, Any], list[str]]:
        """What is wanted of the objectives, and the limits."""
        found = problem.database[problem.design_space.get_current_value()]
        objectives = list(flat(problem.objective_name, found[problem.objective.name]))
        if len(objectives) > 1:
            self._RESULT_CLASS = MultiObjectiveOptimizationResult
        limited = [element for c in problem.constraints for element in flat(c.name, found[c.name])]
        limits = [text for element in limited for text in limits_on(element, upper=0.0)]
        maximized = [] if problem.minimize_objective else objectives
        return wanted_outputs(objectives, maximized, self._settings.reference), limits


def _parameters(space: DesignSpace) -> dict[str, Parameter]:
    """The elements of all design variables."""
    found = {}
    for name in space:
        is_integer = space.get_type(name) == space.DesignVariableType.INTEGER
        upper = flat(name, space.get_upper_bound(name))
        for element, low in flat(name, space.get_lower_bound(name)).items():
            found[element] = Parameter(interval(element, low, upper[element], is_integer))
    return found


def _vector(space: DesignSpace, values: Mapping[str, Any]) -> np.ndarray:
    """The design vector with these elements."""
    present = {name: np.zeros(space.get_size(name)) for name in space}
    arrays = {name: np.array([values[e] for e in flat(name, zeros)]) for name, zeros in present.items()}
    return space.convert_dict_to_array(arrays)


def _evaluate(problem: OptimizationProblem, x: np.ndarray) -> tuple[dict[str, Any], Status, str | None]:
    """Evaluate all functions at a design vector."""
    functions, _ = problem.get_functions()
    try:
        problem.evaluate_functions(x, design_vector_is_normalized=False, output_functions=functions)
    except TerminationCriterion:
        raise
    except Exception as error:
        return {}, Status.FAILED, f"{type(error).__name__}: {error}"
    return _outputs(problem, x), Status.DONE, None


def _functions(problem: OptimizationProblem) -> list[tuple[str, str, float]]:
    """The names of objective and constraints in the database and in the journal, and the sign between them."""
    sign = 1.0 if problem.minimize_objective else -1.0
    constraints = [(constraint.name, constraint.name, 1.0) for constraint in problem.constraints]
    return [(problem.objective.name, problem.objective_name, sign), *constraints]


def _outputs(problem: OptimizationProblem, x: np.ndarray) -> dict[str, Any]:
    """What the database has at a design vector."""
    found = problem.database[x]
    known = [
        (ours, sign * np.real(found[theirs])) for theirs, ours, sign in _functions(problem) if theirs in found
    ]
    return flat_all(dict(known))


def _restore(problem: OptimizationProblem, evaluations: Iterable[Evaluation]) -> None:
    """Add the evaluations of a journal to the database."""
    for evaluation in evaluations:
        outputs, found = evaluation.outputs or {}, {}
        for theirs, ours, sign in _functions(problem):
            its = re.compile(re.escape(ours) + r"(\[\d+\])?")
            values = [
                np.nan if value is None else value for name, value in outputs.items() if its.fullmatch(name)
            ]
            if values:
                found[theirs] = sign * np.array(values)
        if found:
            values = dict(zip(_parameters(problem.design_space), evaluation.x, strict=True))
            problem.database.store(_vector(problem.design_space, values), found)
