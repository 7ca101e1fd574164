"""Why some of our numbers differ from the paper's tables, as far as we know."""

from __future__ import annotations

__all__ = ["explanation"]


def explanation(plan: str, problem: str, metric: str, label: str) -> str:
    """Why a cell of a table differs from the paper's."""
    given = (plan.removesuffix("-search"), problem, metric, label)
    for pattern, text in _EXPLANATIONS:
        if all(
            wanted == "*" or actual in wanted.split("|")
            for wanted, actual in zip(pattern, given, strict=True)
        ):
            return text
    return "No explanation found."


_OCCURRENCE_CURVE = (
    "The criterion of tcGP-occ is smallest along a whole curve of (β, λ), on which the other scores vary: the cell "
    "depends on which point of the curve a search ends at. On Goldstein–Price and Rosenbrock 6 the plain ratio "
    "F(Z) / F(t) (as_published) explains most of the difference of tKS–PIT "
    "(benchmarks/calibration/published_choices.py)."
)
_FEW_POINTS = (
    "With few points below t the criterion has near-minima with very different (β, λ). A supremum over the tPIT values "
    "only moves r of tcGP and tcGP-thres most of the way to the paper's, and the plain ratio F(Z) / F(t) does so for "
    "tKS–PIT on Goldstein–Price: both are in as_published (benchmarks/calibration/published_choices.py). Equal weights "
    "(40 data sets), a grid of 21 to 1000 values of u (Ackley 4 and Goldstein–Price at δ = 0.05, 12 data sets) and "
    "Nelder–Mead without bounds (Ackley 4 at δ = 0.05, 12 data sets) change little."
)
_UNEXPLAINED_FITS = (
    "Our number is the smaller, and r and tKS–PIT agree. Unexplained. Poor fits are not the reason: from a single "
    "start at 0.76 of the box all of 40 data sets end in our fits, and from 0.3 of the box 39 do. Nor is a restricted "
    "likelihood, which makes the number of the GP smaller still by 1 % to 2 % (60 data sets)."
)
_SAMPLING = (
    "The model is nearly right here, and r is mostly the error of p_t in the evaluation itself: with p_t from the "
    "test points instead of subset simulation it is half as large (see occurrence_same_points in the results)."
)
_RELAXED = (
    "The relaxed likelihood has several optima, and the cell depends on which is found. On a few of the same data "
    "sets gpmp-contrib 0.9.38, with y in units of t − m_n, ends where we do on some and elsewhere on others "
    "(benchmarks/calibration/gpmp_crosscheck.py). Goldstein–Price, δ = 0.25, 4 data sets: its twCRPS is 16 ± 16 "
    "against our 0.46 ± 0.13, from one poor fit. Dixon–Price 4, δ = 0.25, 8 data sets: its tKS–PIT is 0.81 ± 0.03 "
    "against our 0.71 ± 0.09. Rosenbrock 6, δ = 0.1, 8 data sets: its twCRPS is 520 ± 200 against our 199 ± 51, "
    "where the paper has 54. So the paper's numbers on the first two can come from its optima; those on "
    "Rosenbrock 6 remain unexplained."
)
_DATA_SETS = (
    "The GP beneath has a smaller twCRPS than the paper's in the same proportion (616 against 680): a difference of "
    "the data sets or of the fits, not of the calibration. A restricted likelihood changes it by 1 % (60 data sets)."
)

# (table, problem, metric, label): alternatives separated by bars, * for any; the first that fits.
_EXPLANATIONS: tuple[tuple[tuple[str, str, str, str], str], ...] = (
    (("table1", "*", "*", "tcGP-occ"), _OCCURRENCE_CURVE),
    (("table1", "dixon-price4", "twcrps", "*"), _UNEXPLAINED_FITS),
    (("table1", "dixon-price4", "occurrence", "*"), _SAMPLING),
    (("table1", "*", "*", "tcGP|tcGP-thres"), _FEW_POINTS),
    (("table2", "*", "*", "reGP δ=0.05|reGP δ=0.1|reGP δ=0.25"), _RELAXED),
    (("table2", "rosenbrock6", "*", "*"), _DATA_SETS),
    (("table2", "ackley4", "tks_pit", "tcGP δ=0.05"), _FEW_POINTS),
)
