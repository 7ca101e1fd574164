"""Tail calibration of BoTorch models: the GP is kept, and the distribution of its residuals is replaced.

>>> import torch
>>> from botorch.models import SingleTaskGP
>>> from tcgp.integrations.botorch import TailCalibratedLogExpectedImprovement, calibrate
>>> X = torch.rand(20, 2, dtype=torch.double)
>>> Y = -(X - 0.3).square().sum(dim=1, keepdim=True)
>>> model = SingleTaskGP(X, Y)  # in practice, a fitted model
>>> acquisition = TailCalibratedLogExpectedImprovement(model, Y.max(), calibrate(model))
>>> acquisition(torch.rand(5, 1, 2, dtype=torch.double)).shape
torch.Size([5])
"""

from __future__ import annotations

from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from tcgp import calibration, laws
from tcgp._text import plain
from tcgp._typing import FloatArray, RandomState

try:
    import gpytorch
    import torch
    from botorch.acquisition.analytic import AnalyticAcquisitionFunction
    from botorch.acquisition.input_constructors import acqf_input_constructor, get_best_f_analytic
    from botorch.acquisition.objective import PosteriorTransform
    from botorch.cross_validation import efficient_loo_cv
    from botorch.exceptions import UnsupportedError
    from botorch.models.gpytorch import GPyTorchModel
    from botorch.models.model import Model
    from botorch.models.multitask import MultiTaskGP
    from botorch.posteriors import GPyTorchPosterior, Posterior
    from botorch.sampling.get_sampler import GetSampler, get_sampler
    from botorch.utils.transforms import t_batch_mode_transform
    from torch import Tensor
except ImportError as error:
    raise ImportError(
        "tcgp.integrations.botorch needs BoTorch 0.18 or later: pip install 'botorch>=0.18'"
    ) from error

from tcgp.integrations._torch_law import GeneralizedNormal

__all__ = [
    "GeneralizedNormal",
    "GeneralizedNormalPosterior",
    "TailCalibratedExpectedImprovement",
    "TailCalibratedLogExpectedImprovement",
    "TailCalibratedModel",
    "TailCalibratedUpperConfidenceBound",
    "calibrate",
]


def calibrate(
    model: GPyTorchModel,
    *,
    delta: float = 0.05,
    maximize: bool = True,
    previous: GeneralizedNormal | None = None,
    p_min: float = 0.015,
    w_max: float | None = None,
    criterion: str = "joint",
    search: str = "fast",
    rng: RandomState = None,
) -> GeneralizedNormal:
    """Calibrate the distribution of the standardized residuals of a fitted GP in the tail that contains the optimum.

    This is the paper's tcGP (Section 5), applied to the closed-form leave-one-out predictions of the model with fixed
    hyperparameters. The predictions are of the observations: they include the noise of the model's likelihood, which
    should be small for a deterministic objective.

    Parameters
    ----------
    model : GPyTorchModel
        Fitted exact GP with one output, such as a `SingleTaskGP`. Input transforms are supported, and so are outcome
        transforms that keep the posterior normal (`Standardize`).
    delta : float
        Level of the quantile of the observations that is used as threshold: the best 5 % by default.
    maximize : bool
        Whether to calibrate the upper tail (BoTorch's convention) or the lower one.
    previous : GeneralizedNormal, optional
        Result of the previous iteration. Its threshold is kept if too little of the domain lies beyond the new one.
        Without ``previous``, the threshold is the quantile.
    p_min : float
        Smallest share of the domain beyond a new threshold for which it is accepted.
    w_max : float, optional
        Clipping of the weights; see `tcgp.calibration.design_weights`.
    criterion : str
        ``"joint"`` (tcGP), ``"occ"`` or ``"thres"``; see `tcgp.calibration.tail_law`.
    search : {"fast", "paper"}
        Search method; see `tcgp.calibration.tail_law`.
    rng : int, numpy.random.Generator or None
        Used by ``search="paper"`` only.

    Returns
    -------
    GeneralizedNormal
        The law, with ``threshold`` in the units of the observations, and ``maximize``.

    Examples
    --------
    >>> import torch
    >>> from botorch.models import SingleTaskGP
    >>> from tcgp.integrations.botorch import calibrate
    >>> X = torch.linspace(0, 1, 15, dtype=torch.double)[:, None]
    >>> law = calibrate(SingleTaskGP(X, (5 * X).exp()), maximize=False)
    >>> law.beta > 0, law.maximize
    (True, False)
    """
    if previous is not None and previous.maximize is not maximize:
        raise ValueError(
            f"previous was calibrated with maximize={previous.maximize}, which differs from "
            f"maximize={maximize}: both must look at the same tail"
        )
    y, mean, sd = _leave_one_out(model)
    sign = -1.0 if maximize else 1.0
    weights = calibration.design_weights(_inputs(model), w_max=w_max)
    last = None if previous is None or previous.threshold is None else sign * previous.threshold
    threshold = calibration.next_threshold(sign * y, weights, delta=delta, p_min=p_min, previous=last)
    if (y == y[0]).all():  # equal values say nothing about the size of residuals
        return replace(_NORMAL, threshold=sign * threshold, maximize=maximize)
    law = calibration.tail_law(
        sign * mean, sd, sign * y, weights, threshold, criterion=criterion, search=search, rng=rng
    ).law
    return GeneralizedNormal(float(law.beta), float(law.scale), sign * threshold, maximize)


class _TailCalibrated(AnalyticAcquisitionFunction):
    """Base class of the acquisition functions: a model, a law, and the direction of the optimization."""

    def __init__(
        self,
        model: Model,
        law: GeneralizedNormal | laws.GeneralizedNormal | None,
        maximize: bool,
        posterior_transform: PosteriorTransform | None,
    ) -> None:
        if isinstance(model, TailCalibratedModel):
            law, model = model.law if law is None else law, model.model
        if law is None:
            raise ValueError("law is missing: give the one that calibrate(model) returns")
        super().__init__(model=model, posterior_transform=posterior_transform)
        self.law = _as_torch_law(law)
        self.maximize = maximize
        # A transform may change the sign; then only the caller knows what is maximized.
        if posterior_transform is None:
            _check_tail(self.law, maximize, type(self).__name__)

    def _location_and_scale(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Return the posterior mean and standard deviation, of shape ``batch_shape``, at ``batch_shape x 1 x d``."""
        posterior = self.model.posterior(X=X, posterior_transform=self.posterior_transform)
        return posterior.mean.squeeze(-1).squeeze(-1), _scale(posterior).squeeze(-1).squeeze(-1)


class _TailCalibratedImprovement(_TailCalibrated):
    """Base class of acquisition functions with an incumbent."""

    def __init__(
        self,
        model: Model,
        best_f: float | Tensor,
        law: GeneralizedNormal | laws.GeneralizedNormal | None = None,
        *,
        maximize: bool = True,
        posterior_transform: PosteriorTransform | None = None,
    ) -> None:
        super().__init__(model, law, maximize, posterior_transform)
        self.register_buffer("best_f", torch.as_tensor(best_f))

    def _scale_and_gap(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """Return the standard deviation and the standardized distance of the mean from the incumbent."""
        mean, sd = self._location_and_scale(X)
        best_f = self.best_f.to(mean)
        distance = mean - best_f if self.maximize else best_f - mean
        sd = _raised(sd, distance)
        return sd, distance / sd


class TailCalibratedLogExpectedImprovement(_TailCalibratedImprovement):
    """Logarithm of the expected improvement under a tail-calibrated law; the analogue of BoTorch's LogEI.

    With g(a) = E[(a − R)₊] of the residual law, log EI = log sd + log g((mean − best_f) / sd) when
    maximizing (equation (ei_gn) of the paper, which minimizes).

    Parameters
    ----------
    model : Model
        Fitted GP with one output, or a `TailCalibratedModel`.
    best_f : float or Tensor
        Best value observed so far; a tensor of shape ``batch_shape`` is allowed.
    law : GeneralizedNormal
        From `calibrate`; optional for a `TailCalibratedModel`.
    maximize : bool
    posterior_transform : PosteriorTransform, optional

    Examples
    --------
    >>> import torch
    >>> from botorch.models import SingleTaskGP
    >>> from botorch.optim import optimize_acqf
    >>> from tcgp.integrations.botorch import TailCalibratedLogExpectedImprovement, calibrate
    >>> X = torch.linspace(0, 1, 9, dtype=torch.double)[:, None]
    >>> Y = (6 * X).sin()
    >>> model = SingleTaskGP(X, Y)
    >>> acquisition = TailCalibratedLogExpectedImprovement(model, Y.max(), calibrate(model))
    >>> bounds = torch.tensor([[0.0], [1.0]], dtype=torch.double)
    >>> x, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=4, raw_samples=32)
    >>> x.shape
    torch.Size([1, 1])
    """

    _log: bool = True

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """Log EI at the points X, of shape ``batch_shape x 1 x d``; the result has shape ``batch_shape``."""
        sd, gap = self._scale_and_gap(X)
        return sd.log() + self.law.log_improvement(gap)


class TailCalibratedExpectedImprovement(_TailCalibratedImprovement):
    """Expected improvement under a tail-calibrated law; its logarithm is easier to maximize.

    Parameters
    ----------
    model, best_f, law, maximize, posterior_transform
        As for `TailCalibratedLogExpectedImprovement`.
    """

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """EI at the points X, of shape ``batch_shape x 1 x d``; the result has shape ``batch_shape``."""
        sd, gap = self._scale_and_gap(X)
        return sd * self.law.improvement(gap)


class TailCalibratedUpperConfidenceBound(_TailCalibrated):
    """Confidence bound under a tail-calibrated law: the quantile that is exceeded with probability epsilon.

    For minimization it is minus the lower quantile, so that larger is better in both cases.

    Parameters
    ----------
    model : Model
        Fitted GP with one output, or a `TailCalibratedModel`.
    law : GeneralizedNormal
        From `calibrate`; optional for a `TailCalibratedModel`.
    epsilon : float
        Probability beyond the bound, in (0, 1). It replaces the factor beta of BoTorch's UCB, which is a number of
        standard deviations, independent of the distribution.
    maximize : bool
    posterior_transform : PosteriorTransform, optional
    """

    def __init__(
        self,
        model: Model,
        law: GeneralizedNormal | laws.GeneralizedNormal | None = None,
        *,
        epsilon: float = 0.1,
        maximize: bool = True,
        posterior_transform: PosteriorTransform | None = None,
    ) -> None:
        if not 0.0 < epsilon < 1.0:
            raise ValueError(f"epsilon must lie strictly between 0 and 1, got {plain(epsilon)}")
        super().__init__(model, law, maximize, posterior_transform)
        self.epsilon = epsilon

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:
        """The bound at X, of shape ``batch_shape x 1 x d``; the result has shape ``batch_shape``."""
        mean, sd = self._location_and_scale(X)
        return (mean if self.maximize else -mean) - self.law.ppf(self.epsilon) * sd


class GeneralizedNormalPosterior(Posterior):
    """A GP posterior with calibrated marginals and the dependence structure of the GP.

    The dependence is the Gaussian copula of the GP: normal samples are transformed to the law pointwise.

    Parameters
    ----------
    gaussian : GPyTorchPosterior
        Posterior of the GP, with one output.
    law : GeneralizedNormal
    """

    def __init__(self, gaussian: GPyTorchPosterior, law: GeneralizedNormal) -> None:
        if not isinstance(gaussian, GPyTorchPosterior):
            raise UnsupportedError(
                f"a GeneralizedNormalPosterior needs a normal posterior, got a {type(gaussian).__name__}"
            )
        self.gaussian = gaussian
        self.law = law

    @property
    def scale(self) -> Tensor:
        """Factor of the standardized residuals: the standard deviation of the GP."""
        return _scale(self.gaussian)

    @property
    def marginal_variance(self) -> Tensor:
        """Variance of the marginals, of shape ``batch_shape x q x 1``."""
        return self.scale.square() * self.law.variance

    @property
    def variance(self) -> Tensor:
        """Raise an error, because analytic acquisition functions would treat the marginals as normal."""
        raise UnsupportedError(
            "mean and variance do not describe a GeneralizedNormalPosterior, and an analytic acquisition "
            "function would silently treat it as normal: use TailCalibratedLogExpectedImprovement, "
            "TailCalibratedExpectedImprovement, TailCalibratedUpperConfidenceBound, or a Monte Carlo function "
            "such as qLogExpectedImprovement. The variance itself is marginal_variance."
        )

    def quantile(self, value: Tensor) -> Tensor:
        """Quantiles of the marginals; ``value`` of shape (k,) gives ``k x batch_shape x q x 1``."""
        r = self.law.from_normal(torch.special.ndtri(value.to(self.mean)))
        return self.mean + self.scale * _leading(r, self.mean)

    def density(self, value: Tensor) -> Tensor:
        """Densities of the marginals; ``value`` of shape (k,) gives ``k x batch_shape x q x 1``."""
        r = (_leading(value.to(self.mean), self.mean) - self.mean) / self.scale
        return self.law.pdf(r) / self.scale

    def rsample(self, sample_shape: torch.Size | None = None) -> Tensor:
        """Draw differentiable samples, of shape ``sample_shape x batch_shape x q x 1``."""
        return self._from_gaussian(self.gaussian.rsample(sample_shape))

    def rsample_from_base_samples(self, sample_shape: torch.Size, base_samples: Tensor) -> Tensor:
        """Transform standard normal base samples to samples; see BoTorch's `Posterior`."""
        return self._from_gaussian(
            self.gaussian.rsample_from_base_samples(sample_shape=sample_shape, base_samples=base_samples)
        )

    def _from_gaussian(self, samples: Tensor) -> Tensor:
        # The scale of the root from which GPyTorch has drawn them, not that of its variance: it raises the variance to
        # 1e-10 (1e-6 in float32), and the residuals of a GP in small units would all seem to be near 0.
        root = self.gaussian.distribution.lazy_covariance_matrix.root_decomposition().root.to_dense()
        variance = root.square().sum(dim=-1, keepdim=True)
        sd = variance.clamp_min(torch.finfo(variance.dtype).tiny).sqrt()
        return self.mean + sd * self.law.from_normal((samples - self.mean) / sd)

    mean = property(attrgetter("gaussian.mean"), doc="Mean, of shape ``batch_shape x q x 1``.")
    device = property(attrgetter("gaussian.device"))
    dtype = property(attrgetter("gaussian.dtype"))
    base_sample_shape = property(attrgetter("gaussian.base_sample_shape"))
    batch_range = property(attrgetter("gaussian.batch_range"))

    def _extended_shape(self, sample_shape: torch.Size = torch.Size()) -> torch.Size:  # noqa: B008
        return self.gaussian._extended_shape(sample_shape)


@GetSampler.register(GeneralizedNormalPosterior)
def _sampler_of_the_gaussian(
    posterior: GeneralizedNormalPosterior, sample_shape: torch.Size, *, seed: int | None = None
) -> Any:
    """Return the sampler of the GP's posterior."""
    return get_sampler(posterior.gaussian, sample_shape=sample_shape, seed=seed)


class TailCalibratedModel(Model):
    """A fitted GP with a calibrated residual law, for Monte Carlo acquisition functions.

    BoTorch's analytic acquisition functions (EI, LogEI, PI, UCB) treat every posterior as normal. With this model they
    raise an error instead of returning a wrong value. The model cannot be conditioned on further observations, because
    the law would have to be calibrated again: functions that need fantasies, such as ``qKnowledgeGradient``, raise an
    error, too.

    Parameters
    ----------
    model : GPyTorchModel
        Fitted exact GP with one output.
    law : GeneralizedNormal
        From `calibrate`.

    Examples
    --------
    >>> import torch
    >>> from botorch.acquisition import qLogExpectedImprovement
    >>> from botorch.models import SingleTaskGP
    >>> from tcgp.integrations.botorch import TailCalibratedModel, calibrate
    >>> X = torch.linspace(0, 1, 9, dtype=torch.double)[:, None]
    >>> Y = (6 * X).sin()
    >>> gp = SingleTaskGP(X, Y)
    >>> model = TailCalibratedModel(gp, calibrate(gp))
    >>> acquisition = qLogExpectedImprovement(model, best_f=Y.max())
    >>> acquisition(torch.rand(4, 2, 1, dtype=torch.double)).shape  # two points at a time
    torch.Size([4])
    """

    def __init__(self, model: GPyTorchModel, law: GeneralizedNormal | laws.GeneralizedNormal) -> None:
        super().__init__()
        _check_exact(model)
        self.model = model
        self.law = _as_torch_law(law)

    num_outputs = 1
    batch_shape = property(attrgetter("model.batch_shape"))

    def posterior(
        self,
        X: Tensor,
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
    ) -> GeneralizedNormalPosterior:
        """Return the posterior at X, of shape ``batch_shape x q x d``, with calibrated marginals.

        A posterior transform is applied to the posterior of the GP. With one output it is affine, so the symmetric law
        does not change.
        """
        _check_first_output(output_indices)
        gaussian = self.model.posterior(
            X, observation_noise=observation_noise, posterior_transform=posterior_transform
        )
        return GeneralizedNormalPosterior(gaussian, self.law)

    def subset_output(self, idcs: list[int]) -> TailCalibratedModel:
        """Return the model itself: it has one output."""
        _check_first_output(idcs)
        return self

    def condition_on_observations(self, X: Tensor, Y: Tensor, **kwargs: Any) -> Model:
        """Raise an error, because the law holds for the data that it was calibrated on."""
        raise UnsupportedError(
            "a TailCalibratedModel cannot be conditioned on observations, because its law belongs to its data: "
            "condition the GP, and calibrate it again"
        )

    def fantasize(self, *args: Any, **kwargs: Any) -> Model:
        """Raise an error, because the law holds for the data that it was calibrated on."""
        raise UnsupportedError(
            "a TailCalibratedModel has no fantasies, because its law belongs to its data: use an acquisition function "
            "without them, such as qLogExpectedImprovement, or the GP itself"
        )


@acqf_input_constructor(TailCalibratedLogExpectedImprovement, TailCalibratedExpectedImprovement)
def _construct_improvement(
    model: Model,
    training_data: Any,
    posterior_transform: PosteriorTransform | None = None,
    best_f: float | Tensor | None = None,
    maximize: bool = True,
    law: GeneralizedNormal | None = None,
    delta: float = 0.05,
) -> dict[str, Any]:
    """Construct the arguments of the improvement functions; calibrate a law unless one is given."""
    if best_f is None:
        if not maximize:
            raise ValueError("best_f must be given when maximize is False")
        best_f = get_best_f_analytic(training_data=training_data, posterior_transform=posterior_transform)
    return {"best_f": best_f, **_construct(model, posterior_transform, maximize, law, delta)}


@acqf_input_constructor(TailCalibratedUpperConfidenceBound)
def _construct_bound(
    model: Model,
    posterior_transform: PosteriorTransform | None = None,
    maximize: bool = True,
    epsilon: float = 0.1,
    law: GeneralizedNormal | None = None,
    delta: float = 0.05,
) -> dict[str, Any]:
    """Construct the arguments of the confidence bound; calibrate a law unless one is given."""
    return {"epsilon": epsilon, **_construct(model, posterior_transform, maximize, law, delta)}


def _construct(
    model: Model,
    posterior_transform: PosteriorTransform | None,
    maximize: bool,
    law: GeneralizedNormal | None,
    delta: float,
) -> dict[str, Any]:
    if law is None and not isinstance(model, TailCalibratedModel):
        law = calibrate(model, delta=delta, maximize=_upper_tail(model, maximize, posterior_transform))
    return {
        "model": model,
        "law": law,
        "maximize": maximize,
        "posterior_transform": posterior_transform,
    }


def _upper_tail(model: Model, maximize: bool, posterior_transform: PosteriorTransform | None) -> bool:
    """Return whether large observations are good; a transform with a negative weight changes the sign."""
    if posterior_transform is None:
        return maximize
    probe = model.train_targets.new_tensor([[0.0], [1.0]])
    low, high = posterior_transform.evaluate(probe).flatten().tolist()
    return bool(maximize == (high > low))


def _check_exact(model: Model) -> None:
    """Raise an error unless the model is an exact GP with one output and no batch dimension."""
    if not isinstance(model, GPyTorchModel) or not hasattr(model, "train_inputs"):
        raise UnsupportedError(
            f"tail calibration needs an exact GP such as a SingleTaskGP, got a {type(model).__name__}"
        )
    if isinstance(model, MultiTaskGP):
        raise UnsupportedError(
            f"tail calibration needs data of one task, got a {type(model).__name__}: fit a SingleTaskGP to each task"
        )
    if hasattr(model, "models") or model.num_outputs != 1 or len(model.batch_shape):
        raise UnsupportedError(
            f"tail calibration needs a model with one output and no batch dimension, got a {type(model).__name__} with "
            f"{model.num_outputs} outputs and batch shape {tuple(model.batch_shape)}: calibrate each model of "
            "a list by itself"
        )


def _check_first_output(indices: list[int] | None) -> None:
    """Raise an error unless the indices are those of all outputs of a model that has one."""
    if indices is not None and [*indices] not in ([0], [-1]):
        raise ValueError(f"a TailCalibratedModel has one output, so that indices must be [0], got {indices}")


def _leave_one_out(model: GPyTorchModel) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the observations and the means and standard deviations of their leave-one-out predictions; (n,) each."""
    _check_exact(model)
    with torch.no_grad():
        loo = efficient_loo_cv(model)
        if not isinstance(loo.posterior, GPyTorchPosterior):
            raise UnsupportedError(
                "calibrate needs a model with a normal posterior, but its outcome transform "
                f"{type(model.outcome_transform).__name__} makes it another: transform the observations "
                "before they go into the model"
            )
        y, mean, sd = (_numpy(t).ravel() for t in (loo.observed_Y, loo.posterior.mean, _scale(loo.posterior)))
    return y, mean, sd


def _scale(posterior: Posterior) -> Tensor:
    """Return the standard deviations of a normal posterior, in any units.

    GPyTorch raises variances to 1e-10 (1e-6 in float32), which is more than all there are in small units. Here only
    what the mean itself is rounded by counts as nothing.
    """
    with gpytorch.settings.min_variance(float_value=0.0, double_value=0.0):
        variance = posterior.variance
    numbers = torch.finfo(variance.dtype)
    rounding = (numbers.eps * posterior.mean.detach()).square().clamp_min(numbers.tiny)
    return torch.maximum(variance, rounding).sqrt()


def _raised(sd: Tensor, distance: Tensor) -> Tensor:
    """Return standard deviations that are not negligible beside a finite distance, so that no gradient overflows.

    They are at least 2e-5 of it, and 8e-3 in float32, where rounding leaves no more of small ones.
    """
    smallest = torch.finfo(sd.dtype).eps ** 0.3 * distance.detach().abs()
    return torch.maximum(sd, smallest.nan_to_num(posinf=0.0))


def _inputs(model: GPyTorchModel) -> FloatArray:
    """Return the untransformed training inputs (n, d); in eval mode BoTorch stores the transformed ones."""
    was_training = model.training
    model.train()
    try:
        X = model.train_inputs[0]
        if X.dim() > 2:  # `subset_output` has left those of all outputs there, which are equal
            model.set_train_data(X[0], strict=False)
        return _numpy(model.train_inputs[0])
    finally:
        model.train(was_training)


def _as_torch_law(law: GeneralizedNormal | laws.GeneralizedNormal | laws.Normal) -> GeneralizedNormal:
    """Convert a law on arrays to one on tensors."""
    if isinstance(law, GeneralizedNormal):
        return law
    if isinstance(law, laws.Normal):
        return _NORMAL
    if isinstance(law, laws.GeneralizedNormal):
        return GeneralizedNormal(float(law.beta), float(law.scale))
    raise TypeError(f"law must be a GeneralizedNormal, as calibrate(model) returns it, got {plain(law)}")


_NORMAL = GeneralizedNormal(2.0, 2.0**0.5)


def _check_tail(law: GeneralizedNormal, maximize: bool, user: str) -> None:
    """Raise an error if the law was calibrated in the other tail."""
    if law.maximize not in (None, maximize):
        raise ValueError(
            f"the law was calibrated with maximize={law.maximize}, in the other tail than "
            f"{user}(maximize={maximize}) looks at: use the same for both"
        )


def _leading(values: Tensor, mean: Tensor) -> Tensor:
    """Reshape values of shape (k,) to ``k x 1 x ... x 1``, to broadcast against the mean; keep scalars."""
    return values.reshape(*values.shape, *(1,) * mean.dim()) if values.dim() else values


def _numpy(tensor: Tensor) -> FloatArray:
    return np.asarray(tensor.detach().double().cpu().numpy(), dtype=np.float64)
