"""The exact twCRPS against quadrature, the closed form of the normal law, and Monte Carlo."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate, special, stats

from tcgp.laws import GeneralizedNormal, Normal
from tcgp.laws.recalibrated import RecalibratedNormal
from tcgp.models import Prediction
from tcgp.scoring import twcrps

GAUSS_NODES, GAUSS_WEIGHTS = np.polynomial.legendre.leggauss(20)

BETAS = [0.1, 0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 3.7, 10.0]


@dataclass(frozen=True)
class Wrapped:
    """A law that is neither normal nor generalized normal as far as the score can tell."""

    law: Normal | GeneralizedNormal | RecalibratedNormal

    def __getattr__(self, name):
        return getattr(self.law, name)


def one(law, mean=0.0, sd=1.0):
    """A prediction at one point."""
    return Prediction(np.array([mean]), np.array([sd]), law)


def integral_by_quadrature(integrand, low, high, beta):
    """Integrate over [low, high] in the logarithm of the distance from 0, where heavy tails are short."""
    total = 0.0
    for sign, (a, b) in ((-1.0, (max(-high, 0.0), -low)), (1.0, (max(low, 0.0), high))):
        if b <= a:
            continue
        # e^-45 = 3e-20 is nothing next to the scale 1 of the law; the tail beyond x^beta = 500 underflows.
        start = np.log(a) if a > 0.0 else -45.0
        end = min(np.log(b), max(np.log(500.0) / beta, start + 1.0)) if np.isinf(b) else np.log(b)
        # Gauss–Legendre with 20 nodes on panels on which neither e^w nor e^(beta w) grows beyond e^(1/2).
        edges = np.linspace(start, end, int(np.ceil(2.0 * max(beta, 1.0) * (end - start))) + 1)
        half = 0.5 * np.diff(edges)
        w = edges[:-1] + half + half * GAUSS_NODES[:, None]
        total += np.sum(GAUSS_WEIGHTS[:, None] * half * integrand(sign * np.exp(w)) * np.exp(w))
    return total


def twcrps_by_quadrature(beta, z, b):
    """The definition, with SciPy's generalized normal law of unit scale."""
    law = stats.gennorm(beta)
    score = integral_by_quadrature(lambda u: law.cdf(u) ** 2, -np.inf, min(z, b), beta)
    if z < b:
        score += integral_by_quadrature(lambda u: law.sf(u) ** 2, z, b, beta)
    return score


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("law_of", [GeneralizedNormal, lambda b, s: Wrapped(GeneralizedNormal(b, s))])
def test_twcrps_equals_quadrature(beta, law_of):
    sd, scale, mean = 3.0, 0.2, -7.0
    q = GeneralizedNormal(beta, 1.0).ppf([1e-6, 0.01, 0.3, 0.7, 0.999])
    pairs = [(q[0], q[1]), (q[1], q[2]), (q[2], q[1]), (q[3], q[2]), (q[2], q[3]), (q[4], q[0]), (q[1], q[4])]
    for z, b in pairs:
        exact = twcrps(one(law_of(beta, scale), mean, sd), [mean + sd * scale * z], mean + sd * scale * b)
        oracle = sd * scale * twcrps_by_quadrature(beta, z, b)
        # 1e-8 is the promise of the docstring's contract; the quadrature itself is good to 1e-12.
        np.testing.assert_allclose(exact, oracle, rtol=1e-8)


@pytest.mark.parametrize("beta", BETAS)
def test_twcrps_without_negligible_probabilities_is_as_good_for_a_comparison(beta):
    rng = np.random.default_rng(1)
    unit = 1.0 / np.sqrt(GeneralizedNormal(beta, 1.0).variance())
    for scale in (0.1 * unit, unit, 5.0 * unit):
        prediction = Prediction(
            rng.normal(size=200), np.exp(rng.normal(size=200)), GeneralizedNormal(beta, scale)
        )
        y = rng.normal(size=200)
        exact, rough = (twcrps(prediction, y, -1.0, negligible=p) for p in (0.0, 1e-8))
        counts = exact > 1e-6 * prediction.sd
        assert counts.sum() > 50
        np.testing.assert_allclose(rough[counts], exact[counts], rtol=1e-5)


@pytest.mark.parametrize("negligible", [-1e-8, 0.5, np.nan, "1e-8", None])
def test_a_probability_that_is_not_negligible_is_refused(negligible):
    with pytest.raises(ValueError, match=r"negligible must be from 0 to 0\.001, got "):
        twcrps(one(Normal()), [0.0], 0.0, negligible=negligible)


def test_twcrps_of_the_normal_law_equals_its_textbook_form():
    # S = s A(tb) − 1{z ≤ b} [2s (h(tb) − h(tz)) − (b − z)], h(t) = tΦ + φ, A(t) = tΦ² + 2φΦ − Φ(√2 t)/√π.
    rng = np.random.default_rng(0)
    mean, sd, y, t = rng.normal(size=500), np.exp(rng.normal(size=500)), rng.normal(size=500), 0.3
    tb, tz = (t - mean) / sd, (y - mean) / sd
    Phi, phi = stats.norm.cdf, stats.norm.pdf
    A = tb * Phi(tb) ** 2 + 2 * phi(tb) * Phi(tb) - Phi(np.sqrt(2) * tb) / np.sqrt(np.pi)
    h_b, h_z = tb * Phi(tb) + phi(tb), tz * Phi(tz) + phi(tz)
    textbook = sd * A - np.where(y <= t, 2 * sd * (h_b - h_z) - (t - y), 0.0)
    # Absolute: the textbook form cancels where the score is small.
    np.testing.assert_allclose(twcrps(Prediction(mean, sd, Normal()), y, t), textbook, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("law", [Normal(), Wrapped(Normal()), GeneralizedNormal(2.0, np.sqrt(2.0))])
def test_crps_of_the_normal_law_equals_its_closed_form(law):
    z = np.linspace(-8.0, 8.0, 33)
    closed = z * (2.0 * special.ndtr(z) - 1.0) + 2.0 * stats.norm.pdf(z) - 1.0 / np.sqrt(np.pi)
    # Rounding of the closed form, whose terms are of size |z|.
    np.testing.assert_allclose(
        twcrps(Prediction(np.zeros(33), np.ones(33), law), z, np.inf), closed, rtol=1e-11
    )


@pytest.mark.parametrize("law", [Normal(), Wrapped(Normal())])
def test_twcrps_is_relatively_accurate_in_the_far_lower_tail(law):
    # ∫ Φ² up to −b, from ∫_0^∞ Φ(−b − x)² dx with the scaled complementary error function.
    for b in (5.0, 10.0, 15.0):
        scaled = integrate.quad(
            lambda x, b=b: special.erfcx((b + x) / np.sqrt(2)) ** 2 * np.exp(-2 * b * x - x * x), 0.0, np.inf,
            epsabs=0.0, epsrel=1e-12,
        )[0]  # fmt: skip
        oracle = 0.25 * np.exp(-b * b) * scaled
        # The closed form cancels by 2b² = 450 at most; the table, whose CDF carries the rounding of an
        # exponential of size b², resolves 1e-12.
        np.testing.assert_allclose(twcrps(one(law), [0.0], -b), oracle, rtol=3e-12)


def sampled(prediction, y, t, k, rng):
    """The paper's estimate (Appendix C.2) from k draws: E|v(Y) − v(y)| − E|v(Y) − v(Y')| / 2 with v(z) = min(z, t)."""
    v = np.sort(np.minimum(prediction.sample(k, rng), t), axis=0)
    return np.abs(v - np.minimum(y, t)).mean(axis=0) - (2.0 * np.arange(1, k + 1) - k - 1.0) @ v / k**2


@pytest.mark.parametrize("beta", [0.1, 0.5, 2.0, 10.0])
def test_twcrps_agrees_with_monte_carlo(beta):
    n, n_samples = 80, 1000
    rng = np.random.default_rng(3)
    law = GeneralizedNormal(beta, 1.0 / np.sqrt(GeneralizedNormal(beta, 1.0).variance()))
    prediction = Prediction(rng.normal(size=n), np.exp(0.3 * rng.normal(size=n)), law)
    y, t = rng.normal(size=n), 0.2
    difference = sampled(prediction, y, t, n_samples, rng) - twcrps(prediction, y, t)
    # The estimate is a mean of |v(Y) − v(y)| − E|v(Y) − v(Y')| to first order (Hoeffding), a difference of
    # two 1-Lipschitz functions of Y: its standard error is at most 2 sd / √K. Pairs l = r add sd/K at most.
    error, bias = 2.0 * prediction.sd / np.sqrt(n_samples), prediction.sd / n_samples
    assert np.all(np.abs(difference) < 4.0 * error + bias)
    assert abs(difference.mean()) < 3.0 * np.sqrt((error**2).sum()) / n + bias.mean()


def recalibrated(seed=0):
    """A recalibrated normal law of 99 levels, with atoms and uneven slopes."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.beta(0.6, 0.8, 99)).clip(1e-3, 1.0 - 1e-3)
    values[40:45] = values[40]
    return RecalibratedNormal(np.arange(1, 100) / 100.0, values)


@pytest.mark.parametrize("seed", range(3))
def test_twcrps_of_a_recalibrated_law_equals_quadrature_between_its_kinks(seed):
    law = recalibrated(seed)
    kinks = stats.norm.ppf(np.unique(law.values))

    def integral(integrand, low, high):
        edges = np.concatenate(([low], kinks[(kinks > low) & (kinks < high)], np.arange(-9.0, 9.0), [high]))
        edges = np.unique(edges[(edges >= low) & (edges <= high)])
        half = 0.5 * np.diff(edges)
        nodes = edges[:-1] + half + half * GAUSS_NODES[:, None]
        return np.sum(GAUSS_WEIGHTS[:, None] * half * integrand(nodes))

    # Beyond ±10 the tails are below 1e-23.
    for z, b in ((-3.0, -1.0), (-1.0, -3.0), (0.2, 1.7), (-2.0, 4.0), (3.0, 0.1)):
        oracle = integral(lambda u: law.cdf(u) ** 2, -10.0, min(z, b))
        if z < b:
            oracle += integral(lambda u: (1.0 - law.cdf(u)) ** 2, z, b)
        np.testing.assert_allclose(
            twcrps(one(law, 2.0, 3.0), [2.0 + 3.0 * z], 2.0 + 3.0 * b), 3.0 * oracle, rtol=1e-9
        )
        # Without knowledge of the kinks the table finds them by itself.
        np.testing.assert_allclose(twcrps(one(Wrapped(law)), [z], b), oracle, rtol=1e-9)


@pytest.mark.parametrize("truth", [GeneralizedNormal(2.0, 1.4), GeneralizedNormal(0.7, 0.4)])
def test_the_true_law_has_the_best_mean_score(truth):
    rng = np.random.default_rng(5)
    y = truth.ppf(rng.random(20_000))
    t = float(truth.ppf(0.3))

    def scores(law, shift=0.0):
        return twcrps(Prediction(np.full(y.size, shift), np.ones(y.size), law), y, t)

    best = scores(truth)
    rivals = [
        scores(GeneralizedNormal(truth.beta, 1.5 * truth.scale)),
        scores(GeneralizedNormal(truth.beta, 0.6 * truth.scale)),
        scores(truth, shift=0.3),
        scores(GeneralizedNormal(2.0 * truth.beta, truth.scale)),
    ]
    for rival in rivals:
        excess = rival - best
        # Three standard errors: the same draws serve both, so the comparison is paired.
        assert excess.mean() > 3.0 * excess.std() / np.sqrt(y.size)


@pytest.mark.parametrize(
    "law", [Normal(), GeneralizedNormal(0.1, 0.01), GeneralizedNormal(10.0, 2.0), Wrapped(Normal())]
)
def test_twcrps_scales_with_the_units_of_y(law):
    rng = np.random.default_rng(1)
    mean, sd, y, t = rng.normal(size=50), np.exp(rng.normal(size=50)), rng.normal(size=50), -0.4
    a, c = 250.0, -13.0
    scaled = twcrps(Prediction(a * mean + c, a * sd, law), a * y + c, a * t + c)
    # Rounding of (a y + c) / (a sd) moves a steep CDF by a few hundred ulps.
    np.testing.assert_allclose(scaled, a * twcrps(Prediction(mean, sd, law), y, t), rtol=1e-10)


def test_a_point_mass_scores_its_distance_below_the_threshold():
    mean, y = np.array([1.0, 1.0, 3.0, 0.0, 3.0]), np.array([0.0, 3.0, 0.5, 0.0, 4.0])
    score = twcrps(Prediction(mean, np.zeros(5), Normal()), y, 2.0)
    np.testing.assert_array_equal(score, [1.0, 1.0, 1.5, 0.0, 0.0])
    of_a_law_without_spread = twcrps(Prediction(mean, np.ones(5), GeneralizedNormal(1.0, 0.0)), y, 2.0)
    np.testing.assert_array_equal(of_a_law_without_spread, score)


@pytest.mark.parametrize(
    "law", [Normal(), GeneralizedNormal(0.1, 1e-3), GeneralizedNormal(10.0, 10.0), Wrapped(Normal())]
)
def test_extreme_predictions_give_finite_nonnegative_scores(law):
    mean, sd, y = np.meshgrid(
        [0.0, 1e-300, -1e8, 1e150], [0.0, 1e-320, 1e-12, 1.0, 1e9], [0.0, 1e-9, -1e8, 1e150]
    )
    prediction = Prediction(mean.ravel(), sd.ravel(), law)
    for t in (-1e160, -1e8, 0.0, 1e-9, 1e8, 1e160):
        score = twcrps(prediction, y.ravel(), t)
        assert np.isfinite(score).all()
        assert (score >= 0.0).all()
    assert np.isfinite(twcrps(prediction, y.ravel(), np.inf)).all()
    np.testing.assert_array_equal(twcrps(prediction, y.ravel(), -np.inf), 0.0)


def test_a_small_spread_tends_to_the_point_mass():
    mean, y = np.array([1.0, 1.0, 3.0]), np.array([0.0, 3.0, 0.5])
    for law in (Normal(), GeneralizedNormal(0.5, 0.1)):
        near = twcrps(Prediction(mean, np.full(3, 1e-9), law), y, 2.0)
        # The score moves by a few sd.
        np.testing.assert_allclose(near, [1.0, 1.0, 1.5], rtol=1e-7)


def test_values_at_the_threshold_score_without_a_jump():
    # A value at t is below it and one above t is not, but the score is continuous there.
    for law in (Normal(), GeneralizedNormal(0.5, 0.3)):
        for t in (-6.0, -1.0, 0.0, 2.0):
            prediction = Prediction(np.zeros(2), np.ones(2), law)
            at, above = twcrps(prediction, [t, np.nextafter(t, np.inf)], t)
            np.testing.assert_allclose(at, above, rtol=1e-12)


@pytest.mark.parametrize(
    ("y", "threshold", "message"),
    [
        ([0.0], 0.0, "one value per predicted point"),
        ([0.0, np.nan], 0.0, "finite"),
        ([0.0, 1.0], np.nan, "NaN"),
    ],
)
def test_bad_arguments_are_refused(y, threshold, message):
    prediction = Prediction(np.zeros(2), np.ones(2), Normal())
    with pytest.raises(ValueError, match=message):
        twcrps(prediction, y, threshold)
