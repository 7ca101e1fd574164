"""The generalized normal distribution on tensors, on any device, in float32 or float64, with gradients of any order.

The formulas and their branches are those of `tcgp.laws`. They are always evaluated in float64, because two of them
subtract nearly equal numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tcgp import laws
from tcgp._text import plain

__all__ = ["GeneralizedNormal"]

_LOG_2 = math.log(2.0)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)

# Levels of the continued fraction: see tcgp.laws._gamma.
_LEVELS = 10

# Newton's method for quantiles converges quadratically from its starting points, usually in fewer than ten steps.
_MAX_STEPS = 50

# Logarithms are limited to this power of the largest number: the sum of 100,000 is still finite in float32.
_ROOM = 0.85


@dataclass(frozen=True)
class GeneralizedNormal:
    """The centred generalized normal law GN(beta, 0, scale) of the paper's Appendix A, on tensors.

    All methods work elementwise, keep the device and type of their argument, and are differentiable.

    Parameters
    ----------
    beta : float
        Shape; 2 is the normal law, and smaller values have heavier tails.
    scale : float
        Dispersion (the paper's lambda); the standard normal law has beta = 2 and scale = √2.
    threshold : float, optional
        Value of the objective beyond which the law was calibrated.
    maximize : bool, optional
        Whether it was calibrated above the threshold (True) or below (False).

    Examples
    --------
    >>> import torch
    >>> from tcgp.integrations.botorch import GeneralizedNormal
    >>> law = GeneralizedNormal(beta=1.0, scale=0.5)
    >>> law.cdf(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([0.0677, 0.5000, 0.9323])
    """

    beta: float
    scale: float
    threshold: float | None = None
    maximize: bool | None = None

    def __post_init__(self) -> None:
        for name in ("beta", "scale"):
            value = float(getattr(self, name))
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} must be positive and finite, got {plain(value)}")
            object.__setattr__(self, name, value)

    @property
    def numpy(self) -> laws.GeneralizedNormal:
        """The same law on NumPy arrays."""
        return laws.GeneralizedNormal(self.beta, self.scale)

    @property
    def variance(self) -> float:
        """Γ(3/beta) / Γ(1/beta) · scale²."""
        return float(self.numpy.variance())

    def ppf(self, q: float) -> float:
        """Quantile of level q in [0, 1]."""
        return float(self.numpy.ppf(q))

    def logpdf(self, r: Tensor) -> Tensor:
        """Logarithm of the density at r."""
        constant = math.log(self.beta) - _LOG_2 - math.lgamma(1.0 / self.beta) - math.log(self.scale)
        return constant - (r.double() / self.scale).abs().pow(self.beta).to(r.dtype)

    def pdf(self, r: Tensor) -> Tensor:
        """Density at r."""
        return self.logpdf(r).exp()

    def cdf(self, r: Tensor) -> Tensor:
        """P(R ≤ r), the paper's Θ."""
        return _elementwise(r, self._cdf, self.pdf)

    def logcdf(self, r: Tensor) -> Tensor:
        """Logarithm of `cdf`, finite where the probability itself underflows."""

        def slope(r: Tensor) -> Tensor:
            return (self.logpdf(r) - self.logcdf(r)).exp()

        return _elementwise(r, self._logcdf, slope, _lowest(r.dtype))

    def improvement(self, a: Tensor) -> Tensor:
        """g(a) = E[(a − R)₊], the paper's gamma(a, scale, beta); its derivative is `cdf`."""
        return _elementwise(a, self._improvement, self.cdf)

    def log_improvement(self, a: Tensor) -> Tensor:
        """Logarithm of `improvement`, finite where the improvement itself underflows."""
        return _elementwise(a, self._log_improvement, self._log_improvement_slope, _lowest(a.dtype))

    def from_normal(self, z: Tensor) -> Tensor:
        """Return F⁻¹(Φ(z)), which transforms a standard normal variable to one with this law."""

        def slope(z: Tensor) -> Tensor:
            return (-0.5 * z.square() - _LOG_SQRT_2PI - self.logpdf(self.from_normal(z))).exp()

        return _elementwise(z, self._from_normal, slope)

    # ---- values, on float64 tensors and without gradients ----

    def _standardize(self, r: Tensor) -> tuple[float, Tensor, Tensor]:
        """Return a = 1/beta, s = |r| / scale and x = s^beta, which is finite."""
        s = r.abs() / self.scale
        return 1.0 / self.beta, s, s.pow(self.beta).clamp_max(torch.finfo(s.dtype).max)

    def _cdf(self, r: Tensor) -> Tensor:
        a, _, x = self._standardize(r)
        tail = 0.5 * _gamma_q(a, x)
        return torch.where(r > 0.0, 1.0 - tail, tail)

    def _logcdf(self, r: Tensor) -> Tensor:
        a, _, x = self._standardize(r)
        log_tail = _log_gamma_q(a, x) - _LOG_2
        return torch.where(r > 0.0, torch.log1p(-log_tail.exp()), log_tail)

    def _improvement(self, a: Tensor) -> Tensor:
        return self._log_tail_improvement(a).exp() + a.clamp_min(0.0)

    def _log_improvement(self, a: Tensor) -> Tensor:
        log_tail = self._log_tail_improvement(a)
        return torch.where(a > 0.0, (log_tail.exp() + a.clamp_min(0.0)).log(), log_tail)

    def _log_improvement_slope(self, r: Tensor) -> Tensor:
        """Return cdf / improvement; far below zero by a single formula, as a difference of logarithms loses digits."""
        near = (self.logcdf(r) - self.log_improvement(r)).exp()
        a, _, x = self._standardize(r)
        edge = 20.0 + 4.0 * a
        far = (x > edge) & (r < 0.0)
        if not bool(far.any()):
            return near
        x = x.clamp_min(edge)
        h = (a - 1.0) * _scaled_gamma(a - 1.0, x)
        bracket = (2.0 * a - 1.0) * _scaled_gamma(2.0 * a - 1.0, x) - h
        return torch.where(far, ((1.0 - a) * x.log()).exp() * (1.0 + h / x) / (bracket * self.scale), near)

    def _log_tail_improvement(self, r: Tensor) -> Tensor:
        """log g(−|r|), where g(−|r|) = scale [Γ(2a, x) − s Γ(a, x)] / (2 Γ(a))."""
        a, s, x = self._standardize(r)
        return _log_gamma_spread(a, x, s) + (math.log(self.scale) - _LOG_2)

    def _from_normal(self, z: Tensor) -> Tensor:
        """Invert the law of |R| from P where P ≤ 1/2 and from Q elsewhere, so that no digits are lost."""
        a = 1.0 / self.beta
        t = z.abs()
        log_q = torch.special.log_ndtr(-t) + _LOG_2
        log_p = torch.special.erf(t * math.sqrt(0.5)).log()
        log_x = torch.where(log_q > -_LOG_2, _log_quantile(a, log_p), _log_upper_quantile(a, log_q))
        return torch.where(t > 0.0, self.scale * (a * log_x).exp() * z.sign(), z)


class _Elementwise(torch.autograd.Function):
    """An elementwise function, given by its values and its derivative, which is differentiable in turn."""

    @staticmethod
    def forward(
        ctx: Any, r: Tensor, value: Callable[..., Tensor], derivative: Callable[..., Tensor]
    ) -> Tensor:
        ctx.save_for_backward(r)
        ctx.derivative = derivative
        return value(r)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (r,) = ctx.saved_tensors
        return gradient * ctx.derivative(r), None, None


def _elementwise(
    r: Tensor,
    value: Callable[[Tensor], Tensor],
    derivative: Callable[[Tensor], Tensor],
    lowest: float = -math.inf,
) -> Tensor:
    out: Tensor = _Elementwise.apply(r.double(), value, derivative)
    return out.clamp_min(lowest).to(r.dtype)


def _lowest(dtype: torch.dtype) -> float:
    """Return the lowest logarithm: those of light tails may overflow, and BoTorch averages over many points."""
    return -(torch.finfo(dtype).max ** _ROOM)


def _gamma_q(a: float, x: Tensor) -> Tensor:
    """Q(a, x) = Γ(a, x) / Γ(a)."""
    return torch.special.gammaincc(torch.full_like(x, a), x)


def _log_gamma_q(a: float, x: Tensor) -> Tensor:
    """log Q(a, x), also where Q underflows: by continued fraction for x > 20 + 4a."""
    edge = 20.0 + 4.0 * a
    far = x.clamp_min(edge)
    log_far = (a - 1.0) * far.log() + _scaled_gamma(a, far).log() - math.lgamma(a) - far
    return torch.where(x <= edge, _gamma_q(a, x.clamp_max(edge)).log(), log_far)


def _log_gamma_spread(a: float, x: Tensor, root: Tensor) -> Tensor:
    """log of [Γ(2a, x) − x^a Γ(a, x)] / Γ(a), with root = x^a; the two branches are those of tcgp.laws."""
    edge = 20.0 + 4.0 * a
    log_mean = math.lgamma(2.0 * a) - math.lgamma(a)
    near = x.clamp_max(edge)
    relative = _gamma_q(2.0 * a, near) - root * math.exp(-log_mean) * _gamma_q(a, near)
    log_near = log_mean + relative.clamp_min(0.0).log()
    far = x.clamp_min(edge)
    bracket = (2.0 * a - 1.0) * _scaled_gamma(2.0 * a - 1.0, far) - (a - 1.0) * _scaled_gamma(a - 1.0, far)
    log_far = (2.0 * a - 2.0) * far.log() + bracket.clamp_min(0.0).log() - math.lgamma(a) - far
    return torch.where(x <= edge, log_near, log_far)


def _scaled_gamma(b: float, x: Tensor) -> Tensor:
    """x^(1−b) e^x Γ(b, x) by the even part of Legendre's continued fraction (DLMF 8.9.2)."""
    y = x - b
    tail = y + (2 * _LEVELS + 1)
    for k in range(_LEVELS, 0, -1):
        tail = y + (2 * k - 1) - (k * (k - b)) / tail
    return x / tail


def _log_quantile(a: float, log_p: Tensor) -> Tensor:
    """log x such that P(a, x) = p ≤ 1/2.

    log P is an increasing concave function of log x, and P ≤ x^a / Γ(a + 1), so Newton's method converges to the
    solution from the left.
    """
    log_p = log_p.clamp_max(-0.5 * _LOG_2)  # elements of the other branch must not delay convergence
    start = (log_p + math.lgamma(a + 1.0)) / a
    return _newton(lambda x: torch.special.gammainc(torch.full_like(x, a), x).log(), a, 1.0, log_p, start)


def _log_upper_quantile(a: float, log_q: Tensor) -> Tensor:
    """log x such that Q(a, x) = q ≤ 1/2.

    log Q is a decreasing concave function of log x, and Q(a, a + √(2at) + t) ≤ e^(−t), so Newton's method converges to
    the solution from the right.
    """
    t = -log_q.clamp_max(-0.5 * _LOG_2)
    return _newton(lambda x: _log_gamma_q(a, x), a, -1.0, -t, (a + (2.0 * a * t).sqrt() + t).log())


def _newton(
    log_probability: Callable[[Tensor], Tensor], a: float, sign: float, target: Tensor, start: Tensor
) -> Tensor:
    """Solve log_probability(e^v) = target for v; the slope is ± x^a e^(−x) / (Γ(a) · probability)."""
    v = start
    for _ in range(_MAX_STEPS):
        x = v.exp()
        value = log_probability(x)
        step = sign * (target - value) * (x + value + math.lgamma(a) - a * v).exp()
        step = torch.where(step.isfinite(), step, torch.zeros_like(step))
        v = v + step
        if not bool((step.abs() > 1e-8 * (1.0 + v.abs())).any()):  # the remaining error is its square
            break
    return v
