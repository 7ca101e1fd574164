"""Views of a run: its evaluations, its models, and the best point."""

from __future__ import annotations

import copy
import functools
import math
import numbers
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from tcgp._text import plain
from tcgp._threads import single_threaded
from tcgp.record.history import Evaluation, History, Proposal
from tcgp.record.settings import Settings, check_choice
from tcgp.record.streams import Streams
from tcgp.search.proposer import Proposer
from tcgp.space import Space

if TYPE_CHECKING:
    from tcgp.methods.surrogate import Surrogate
    from tcgp.models import Model
    from tcgp.region import Region
    from tcgp.search.acquisition import Models

__all__ = ["RunView", "atomic"]

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K", bound="RunView")


def atomic(method: Callable[Concatenate[K, P], R]) -> Callable[Concatenate[K, P], R]:
    """Carry out a method as a whole, whatever other threads do."""

    @functools.wraps(method)
    def locked(self: K, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with self.lock:
            return method(self, *args, **kwargs)

    return locked


class RunView:
    """The part of an `Optimizer` that looks at the run and changes nothing."""

    history: History
    lock: threading.RLock
    _streams: Streams
    _proposer: Proposer

    @property
    def space(self) -> Space:
        """The parameters."""
        return self.history.space

    @property
    def settings(self) -> Settings:
        """The settings of the run."""
        return self.history.settings

    @property
    def evaluations(self) -> list[Evaluation]:
        """Everything told, in order, failures included."""
        return list(self.history.evaluations)

    @property
    def pending(self) -> list[Proposal]:
        """Points asked and not yet told, in order."""
        return list(self.history.pending.values())

    @property
    def trace(self) -> list[dict[str, Any]]:
        """Description of the model, for each point that one chose.

        ``method`` (of a portfolio, the member whose turn it was), ``n`` (evaluations at that time), ``beta`` and
        ``scale`` of a generalized normal law, ``threshold``, ``best``, ``log_ei`` at the point, and the seconds
        ``t_fit`` and ``t_maximize``; None where a number does not exist.
        """
        return [dict(proposal.trace) for proposal in self.history.proposals if proposal.trace is not None]

    @property
    def surrogates(self) -> list[Surrogate]:
        """Fits of each of the quantities, ``history.goals.quantities``, along the run, and their states."""
        return self._proposer.acquisition.surrogates

    @property
    def region(self) -> Region:
        """The part of the space that known constraints allow: all of it if there are none."""
        return self.history.region

    @property
    def model(self) -> Model | None:
        """Model behind the last point that one chose, on the unit cube; None before that, and after a resume.

        With ``"auto"`` its values above the median of the data may be compressed. For predictions in the user's units
        take `fit_model`.
        """
        last = self.surrogates[0].last
        return None if last is None else last.model

    @atomic
    def update_model(self) -> Model:
        """Fit the model whose turn it is to all evaluations, as for the next point: it becomes `model`."""
        self._check_contrast()
        self._proposer.acquisition.fit()
        assert self.model is not None
        return self.model

    @atomic
    def share_below(self, improvement: float = 0.0) -> float | None:
        """Predicted share of the space where the value is better than the best by more than ``improvement``.

        Estimated with the model behind the last point, given all values, over a sample of the space; points must
        satisfy all constraints. The sample has 4,000 points: a share below about 1e-4 may be missed.

        Parameters
        ----------
        improvement : float
            In the units of the value.

        Returns
        -------
        float or None
            None if there is no best value, or nothing to fit a model to.

        Examples
        --------
        >>> import tcgp
        >>> result = tcgp.minimize(lambda x: (x[0] - 0.3) ** 2, [(0.0, 1.0)], n_evals=14, rng=0)
        >>> result.optimizer.share_below(0.01) < 1e-3
        True
        """
        if not isinstance(improvement, numbers.Real) or math.isnan(improvement):
            raise ValueError(f"improvement must be a number, got {plain(improvement)}")
        if not self.history.data.succeeded.any() or not self.history.data.has_contrast:
            return None
        acquisition = self._proposer.acquisition
        return acquisition.share_below(acquisition.updated() or acquisition.fit()[0], improvement)

    @property
    @atomic
    def smoothed(self) -> Models | None:
        """Models of all evaluations, with their predictions there; None where no noise is seen."""
        if not self.history.goals.noisy or not self.history.data.has_contrast:
            return None
        models = single_threaded(self._proposer.acquisition.fit)(answers=True)[0]
        return models if models.noisy else None

    @property
    @atomic
    def predicted_best(self) -> float | None:
        """Value of the best point without noise, by the model behind the last point; None where no noise is seen.

        No model is fitted: it costs little, at any time.
        """
        models = self._proposer.acquisition.updated() if self.history.goals.noisy else None
        if models is None or not models.objective.noise or models.best is None:
            return None
        return self.history.goals.objectives[0].sign * models.best

    def fit_model(self, objective: str | None = None) -> Model:
        """Fit the method of this run to all evaluations; the model takes points as `tell` does.

        Parameters
        ----------
        objective : str, optional
            Which of several objectives to model; by default the first.

        Returns
        -------
        SpaceModel
            A `tcgp.Model` whose ``predict`` takes points in the user's units: mappings where parameters have names, and
            choices by their names. Values keep the sign that the user gave them: with ``maximize`` large ones are the
            good ones, and the model is calibrated above its threshold. ``Prediction.expected_improvement(best)`` is
            always about values below ``best``.

        Examples
        --------
        >>> import tcgp
        >>> result = tcgp.minimize(lambda p: p["gain"] ** 2, {"gain": (-1.0, 2.0)}, n_evals=8, rng=0)
        >>> model = result.optimizer.fit_model()
        >>> bool(abs(model.predict([{"gain": 0.5}]).mean[0] - 0.25) < 0.05)
        True
        """
        from tcgp.methods.fit import fit_model  # loads SciPy

        self._check_contrast()
        data, box = self.history.data, [(0.0, 1.0)] * self.space.dim
        objectives = {quantity.text: (j, quantity) for j, quantity in enumerate(data.goals.objectives)}
        if objective is not None:
            check_choice("objective", objective, objectives)
        j, quantity = objectives[objective or next(iter(objectives))]
        rows = data.distinct
        noisy = quantity.noisy and self.smoothed is not None
        model = fit_model(
            data.U[rows],
            data.Y[rows, j],
            self.settings.method,
            bounds=box,
            rng=self.seed,
            noise=noisy,
            sd=data.sd[rows, j] if noisy else None,
            **self.settings.options,
        )
        return model.over(self.space, negated=quantity.sign < 0.0)

    @property
    def seed(self) -> int:
        """Seed from which every random decision derives."""
        return self._streams.root

    def __repr__(self) -> str:
        return (
            f"<Optimizer: {self.settings.method}, {len(self.space)} parameters, "
            f"{len(self.evaluations)} evaluations, {len(self.pending)} pending>"
        )

    def __getstate__(self) -> dict[str, Any]:
        """State of a copy or a pickle: all but the lock, and of the journal only the name."""
        with self.lock:
            return {name: value for name, value in vars(self).items() if name != "lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = threading.RLock()

    def __copy__(self: K) -> K:
        return copy.deepcopy(self)  # two optimizers with one history would spoil it

    def _check_contrast(self) -> None:
        if not self.history.data.has_contrast:
            raise ValueError("a model needs evaluations with at least two different values")
