"""The paper's claims, experiment by experiment, and why some of its numbers are not ours."""

from __future__ import annotations

from tcgp.experiments.claims import Claim, lower, similar
from tcgp.experiments.published import TABLE_PROBLEMS

__all__ = ["CLAIMS", "explanation"]

LEVELS = (0.25, 0.1, 0.05)
FIXED = "Appendix F, calibration on a fixed dataset"
OTHERS = tuple(name for name in TABLE_PROBLEMS if name != "goldstein-price")
REGP = tuple(f"reGP δ={delta}" for delta in (0.05, 0.1, 0.25))
TCGP = tuple(f"tcGP δ={delta}" for delta in (0.05, 0.1, 0.25))
SMOOTH = ("goldstein-price", "rosenbrock6", "dixon-price4")
ROUGH = ("hartmann6", "ackley4")

_TABLE1 = (
    Claim(
        FIXED,
        "tcGP improves the tKS–PIT of the GP for most functions and values of δ.",
        (
            *lower("tcGP", "GP", SMOOTH, metric="tks_pit", at=LEVELS),
            *lower("tcGP", "GP", ["hartmann6"], metric="tks_pit", at=(0.1, 0.05)),
            *lower("tcGP", "GP", ["ackley4"], metric="tks_pit", at=(0.05,)),
        ),
    ),
    Claim(
        FIXED,
        "The exceptions are Hartmann 6 and Ackley 4 at δ = 0.25, and Ackley 4 at δ = 0.1: there tcGP has the "
        "larger tKS–PIT.",
        (
            *lower("GP", "tcGP", ["hartmann6", "ackley4"], metric="tks_pit", at=(0.25,)),
            *lower("GP", "tcGP", ["ackley4"], metric="tks_pit", at=(0.1,)),
        ),
    ),
    Claim(
        FIXED,
        "The twCRPS decreases on Goldstein–Price for all three values of δ.",
        lower("tcGP", "GP", ["goldstein-price"], metric="twcrps", at=LEVELS),
    ),
    Claim(
        FIXED,
        "Elsewhere tcGP changes the twCRPS little (within 10 %).",
        similar("tcGP", "GP", OTHERS, metric="twcrps", at=LEVELS, factor=1.1),
    ),
    Claim(
        FIXED,
        "On Rosenbrock 6 and Dixon–Price 4 tcGP leaves the small r of the GP nearly unchanged (within 25 %).",
        similar("tcGP", "GP", ["rosenbrock6", "dixon-price4"], metric="occurrence", at=LEVELS, factor=1.25),
    ),
    Claim(
        FIXED,
        "tcGP-thres improves or matches the tKS–PIT of the GP throughout.",
        lower("tcGP-thres", "GP", TABLE_PROBLEMS, metric="tks_pit", at=LEVELS, relation="not higher"),
    ),
    Claim(
        FIXED,
        "tcGP-thres can worsen r: Ackley 4 at δ = 0.1 and 0.05.",
        lower("GP", "tcGP-thres", ["ackley4"], metric="occurrence", at=(0.1, 0.05)),
    ),
    Claim(
        FIXED,
        "tcGP-occ worsens r on Dixon–Price 4 at all three values of δ, and on Hartmann 6 at δ = 0.05.",
        (
            *lower("GP", "tcGP-occ", ["dixon-price4"], metric="occurrence", at=LEVELS),
            *lower("GP", "tcGP-occ", ["hartmann6"], metric="occurrence", at=(0.05,)),
        ),
    ),
    Claim(
        FIXED,
        "tcGP-occ often improves r (here: where the table shows it clearly).",
        (
            *lower("tcGP-occ", "GP", ["goldstein-price"], metric="occurrence", at=(0.1, 0.05)),
            *lower("tcGP-occ", "GP", ["hartmann6", "ackley4"], metric="occurrence", at=(0.25, 0.1)),
        ),
    ),
    Claim(
        FIXED,
        "tcGP-occ degrades the tKS–PIT on several functions.",
        lower("GP", "tcGP-occ", OTHERS, metric="tks_pit", at=(0.25, 0.1)),
    ),
)

_TABLE2 = (
    Claim(
        FIXED,
        "reGP attains the lowest value of each metric on Goldstein–Price, Rosenbrock 6 and Dixon–Price 4.",
        tuple(
            check
            for metric in ("twcrps", "occurrence", "tks_pit")
            for check in lower(REGP, ("GP", *TCGP), SMOOTH, metric=metric, at=(0.0,))
        ),
    ),
    Claim(
        FIXED,
        "On Hartmann 6 and Ackley 4 tcGP attains the lowest tKS–PIT.",
        lower(TCGP, ("GP", *REGP), ROUGH, metric="tks_pit", at=(0.0,)),
    ),
    Claim(
        FIXED,
        "On Hartmann 6 and Ackley 4 every reGP variant has a higher tKS–PIT than the GP.",
        tuple(check for regp in REGP for check in lower("GP", regp, ROUGH, metric="tks_pit", at=(0.0,))),
    ),
    Claim(
        FIXED,
        "On Ackley 4 the r of tcGP (δ = 0.05) is comparable to that of reGP.",
        similar("tcGP δ=0.05", REGP, ["ackley4"], metric="occurrence", at=(0.0,), factor=1.5),
    ),
)

ABLATION, METHODS = "Section 5.2", "Section 5.3"
FOUR = ("goldstein-price", "dixon-price4", "rosenbrock6", "ackley4")
SMOOTH_RUNS = FOUR[:3]

_ABLATION = (
    Claim(
        ABLATION,
        "On Ackley 4, tcGP-thres gives the lowest tKS–PIT at m_n after the early iterations.",
        tuple(
            check
            for other in ("GP", "tcGP", "tcGP-occ")
            for check in lower("tcGP-thres", other, ["ackley4"], metric="tks_pit", at=("late",))
        ),
    ),
    Claim(
        ABLATION,
        "On Ackley 4, the twCRPS and r of tcGP-thres are much larger than those of the others, and its p_mn "
        "decreases more slowly.",
        (
            *lower("GP", "tcGP-thres", ["ackley4"], metric="twcrps", at=("run",)),
            *lower("tcGP", "tcGP-thres", ["ackley4"], metric="twcrps", at=("run",)),
            *lower("GP", "tcGP-thres", ["ackley4"], metric="occurrence", at=("run",)),
            *lower("tcGP", "tcGP-thres", ["ackley4"], metric="occurrence", at=("run",)),
            *lower("GP", "tcGP-thres", ["ackley4"]),
            *lower("tcGP", "tcGP-thres", ["ackley4"]),
        ),
    ),
    Claim(
        ABLATION,
        "On Ackley 4, tcGP-occ gives the largest tKS–PIT, and its r exceeds that of the GP over most of the run.",
        (
            *lower("GP", "tcGP-occ", ["ackley4"], metric="tks_pit", at=("run",)),
            *lower("tcGP", "tcGP-occ", ["ackley4"], metric="tks_pit", at=("run",)),
            *lower("tcGP-thres", "tcGP-occ", ["ackley4"], metric="tks_pit", at=("run",)),
            *lower("GP", "tcGP-occ", ["ackley4"], metric="occurrence", at=("run",)),
        ),
    ),
    Claim(
        ABLATION,
        "On Ackley 4, the p_mn of tcGP-occ is close to that of the GP by the end.",
        similar("tcGP-occ", "GP", ["ackley4"], factor=3.0),
    ),
    Claim(
        ABLATION,
        "On Ackley 4, tcGP gives the lowest p_mn and the lowest r.",
        (
            *lower("tcGP", "GP", ["ackley4"]),
            *lower("tcGP", "tcGP-occ", ["ackley4"]),
            *lower("tcGP", "tcGP-thres", ["ackley4"]),
            *lower("tcGP", "GP", ["ackley4"], metric="occurrence", at=("run",)),
            *lower("tcGP", "tcGP-occ", ["ackley4"], metric="occurrence", at=("run",)),
            *lower("tcGP", "tcGP-thres", ["ackley4"], metric="occurrence", at=("run",)),
        ),
    ),
    Claim(
        ABLATION,
        "On Ackley 4, the tKS–PIT of tcGP is lower than that of the GP at the beginning and similar later.",
        (
            *lower("tcGP", "GP", ["ackley4"], metric="tks_pit", at=("early",)),
            *similar("tcGP", "GP", ["ackley4"], metric="tks_pit", at=("late",), factor=1.25),
        ),
    ),
    Claim(
        ABLATION,
        "On Goldstein–Price, all tcGP variants improve over the GP, and quickly reduce twCRPS and r.",
        tuple(
            check
            for variant in ("tcGP", "tcGP-occ", "tcGP-thres")
            for check in (
                *lower(variant, "GP", ["goldstein-price"]),
                *lower(variant, "GP", ["goldstein-price"], metric="twcrps", at=("early",)),
                *lower(variant, "GP", ["goldstein-price"], metric="occurrence", at=("early",)),
            )
        ),
    ),
    Claim(
        ABLATION,
        "On Goldstein–Price, tcGP and tcGP-occ behave similarly and outperform tcGP-thres.",
        (
            *similar("tcGP", "tcGP-occ", ["goldstein-price"], factor=3.0),
            *lower("tcGP", "tcGP-thres", ["goldstein-price"]),
            *lower("tcGP-occ", "tcGP-thres", ["goldstein-price"]),
        ),
    ),
)

_METHODS = (
    Claim(
        METHODS,
        "On Goldstein–Price, Dixon–Price 4 and Rosenbrock 6, reGP and tcGP improve over the GP.",
        (*lower("reGP", "GP", SMOOTH_RUNS), *lower("tcGP", "GP", SMOOTH_RUNS)),
    ),
    Claim(METHODS, "On these three, reGP performs best.", lower("reGP", "tcGP", SMOOTH_RUNS)),
    Claim(
        METHODS,
        "On Ackley 4, tcGP provides the largest gains.",
        tuple(
            check for other in ("GP", "bcrGP", "onGP", "reGP") for check in lower("tcGP", other, ["ackley4"])
        ),
    ),
    Claim(
        METHODS,
        "bcrGP does not consistently improve over the GP (on one function at least, it is not better).",
        lower("GP", "bcrGP", FOUR, relation="not higher"),
        needs="any",
    ),
    Claim(
        METHODS,
        "onGP is close to the GP, except on Ackley 4.",
        (
            *similar("onGP", "GP", SMOOTH_RUNS, factor=3.0),
            *lower("onGP", "GP", ["ackley4"], relation="different", factor=3.0),
        ),
    ),
)

RULES = "Appendix F, alternative selection criteria"

_RULES = (
    Claim(
        RULES,
        "On Ackley 4, Rule 1 gives a higher p_mn than Rules 0, 2 and 3, which are close.",
        (
            *(check for rule in (0, 2, 3) for check in lower(f"Rule {rule}", "Rule 1", ["ackley4"])),
            *similar("Rule 0", "Rule 2", ["ackley4"], factor=3.0),
            *similar("Rule 0", "Rule 3", ["ackley4"], factor=3.0),
        ),
    ),
    Claim(
        RULES,
        "On Dixon–Price 4, the four rules give similar results.",
        tuple(
            check
            for rule in (1, 2, 3)
            for check in similar("Rule 0", f"Rule {rule}", ["dixon-price4"], factor=3.0)
        ),
    ),
    Claim(
        RULES,
        "On Goldstein–Price, Rule 0 gives the lowest final median.",
        tuple(check for rule in (1, 2, 3) for check in lower("Rule 0", f"Rule {rule}", ["goldstein-price"])),
    ),
    Claim(
        RULES,
        "On Rosenbrock 6, Rule 3 gives the lowest median.",
        tuple(check for rule in (0, 1, 2) for check in lower("Rule 3", f"Rule {rule}", ["rosenbrock6"])),
    ),
)

_DELTA_REGP = (
    Claim(
        "Appendix F, δ for reGP",
        "δ = 0.5 consistently degrades performance.",
        tuple(check for delta in (0.05, 0.1, 0.25) for check in lower(f"δ = {delta}", "δ = 0.5", FOUR)),
    ),
    Claim(
        "Appendix F, δ for reGP",
        "δ = 0.25 is comparable to, or better than, smaller values.",
        tuple(
            check
            for delta in (0.05, 0.1)
            for check in lower("δ = 0.25", f"δ = {delta}", FOUR, relation="not higher")
        ),
    ),
)

_DELTA_TCGP = (
    Claim(
        "Appendix F, δ for tcGP",
        "δ = 0.5 gives the highest final p_mn on all four functions.",
        tuple(check for delta in (0.05, 0.1, 0.25) for check in lower(f"δ = {delta}", "δ = 0.5", FOUR)),
    ),
    Claim(
        "Appendix F, δ for tcGP",
        "On Ackley 4, δ = 0.05 produces the fastest decrease (lowest p_mn half-way, by the median over the run).",
        tuple(
            check
            for delta in (0.1, 0.25, 0.5)
            for check in lower("δ = 0.05", f"δ = {delta}", ["ackley4"], at=("run",))
        ),
    ),
    Claim(
        "Appendix F, δ for tcGP",
        "On Ackley 4, δ = 0.05, 0.1 and 0.25 give similar medians at the end.",
        (
            *similar("δ = 0.05", "δ = 0.1", ["ackley4"], factor=3.0),
            *similar("δ = 0.05", "δ = 0.25", ["ackley4"], factor=3.0),
        ),
    ),
    Claim(
        "Appendix F, δ for tcGP",
        "On Dixon–Price 4, the final p_mn decreases as δ decreases.",
        (
            *lower("δ = 0.05", "δ = 0.1", ["dixon-price4"]),
            *lower("δ = 0.1", "δ = 0.25", ["dixon-price4"]),
            *lower("δ = 0.25", "δ = 0.5", ["dixon-price4"]),
        ),
    ),
    Claim(
        "Appendix F, δ for tcGP",
        "On Goldstein–Price, δ = 0.1 gives the lowest final median.",
        tuple(
            check
            for delta in (0.05, 0.25, 0.5)
            for check in lower("δ = 0.1", f"δ = {delta}", ["goldstein-price"])
        ),
    ),
    Claim(
        "Appendix F, δ for tcGP",
        "On Rosenbrock 6, δ = 0.05 and 0.1 give lower final medians than 0.25 and 0.5.",
        tuple(
            check
            for small in (0.05, 0.1)
            for large in (0.25, 0.5)
            for check in lower(f"δ = {small}", f"δ = {large}", ["rosenbrock6"])
        ),
    ),
)

TEN = (
    *("ackley4", "ackley10", "cross-in-tray", "dixon-price4", "goldstein-price", "hartmann6"),
    *("michalewicz4", "rosenbrock6", "shekel10", "perm6"),
)
EI_MORE = "Appendix F, additional results for EI"

_EI_MORE = (
    Claim(
        EI_MORE,
        "reGP and tcGP consistently improve upon the GP.",
        (*lower("reGP", "GP", TEN), *lower("tcGP", "GP", TEN)),
    ),
    Claim(
        EI_MORE,
        "The better of reGP and tcGP outperforms the better of bcrGP and onGP, except on Ackley 10.",
        lower(("reGP", "tcGP"), ("bcrGP", "onGP"), [name for name in TEN if name != "ackley10"]),
    ),
    Claim(
        EI_MORE,
        "On Ackley 10, onGP performs best.",
        tuple(
            check for other in ("GP", "bcrGP", "reGP", "tcGP") for check in lower("onGP", other, ["ackley10"])
        ),
    ),
    Claim(
        EI_MORE,
        "On Perm 6, tcGP yields only modest gains over the GP compared to reGP.",
        (*lower("reGP", "tcGP", ["perm6"]), *lower("reGP", "GP", ["perm6"])),
    ),
    Claim(
        EI_MORE,
        "On highly non-convex functions, tcGP most often provides the largest improvements.",
        lower(
            "tcGP",
            ("GP", "bcrGP", "onGP", "reGP"),
            ["ackley4", "cross-in-tray", "hartmann6", "michalewicz4", "shekel10"],
        ),
    ),
    Claim(
        "Section 5.3",
        "On Michalewicz 4 and Shekel 10, where the GP performs well already, tcGP and reGP provide only small "
        "improvements.",
        (
            *similar("tcGP", "GP", ["michalewicz4", "shekel10"], factor=5.0),
            *similar("reGP", "GP", ["michalewicz4", "shekel10"], factor=5.0),
        ),
    ),
)

_UCB = (
    Claim(
        "Appendix F, results for UCB",
        "tcGP outperforms the GP on most functions.",
        lower("tcGP", "GP", [name for name in TEN if name not in ("ackley4", "ackley10")]),
    ),
    Claim(
        "Appendix F, results for UCB",
        "On Ackley 4 the gains of tcGP are modest (but there are gains).",
        (*lower("tcGP", "GP", ["ackley4"]), *similar("tcGP", "GP", ["ackley4"], factor=5.0)),
    ),
    Claim(
        "Appendix F, results for UCB",
        "On Ackley 10 the two give similar results.",
        similar("tcGP", "GP", ["ackley10"], factor=3.0),
    ),
)

_TIMING = (
    Claim(
        "Appendix F, running time",
        "The times of GP, tcGP, onGP and bcrGP are similar.",
        tuple(
            check
            for other in ("tcGP", "onGP", "bcrGP")
            for check in similar(other, "GP", FOUR, metric="seconds", at=("run",))
        ),
    ),
    Claim(
        "Appendix F, running time",
        "reGP is slower than the GP (in the paper, about ten times).",
        lower("GP", "reGP", FOUR, metric="seconds", at=("run",)),
    ),
)

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "table1": _TABLE1,
    "table1-search": _TABLE1,
    "table2": _TABLE2,
    "ablation": _ABLATION,
    "methods": _METHODS,
    "rules": _RULES,
    "delta-regp": _DELTA_REGP,
    "delta-tcgp": _DELTA_TCGP,
    "ei-more": _EI_MORE,
    "ucb": _UCB,
    "timing": _TIMING,
}


def explanation(plan: str, problem: str, metric: str, label: str) -> str:
    """Why a cell of a table differs from the paper's, as far as we know."""
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
    "depends on which point of the curve a search ends at. Our two searches end at the same averages."
)
_FEW_POINTS = (
    "With few points below t the criterion has near-minima with very different (β, λ). The paper's search as we "
    "read it gives our averages (table1-search, 100 data sets), and so do equal weights (40 data sets), a grid of 21 "
    "to 1000 values of u instead of the exact supremum (Ackley 4 and Goldstein–Price at δ = 0.05, 12 data sets) and "
    "Nelder–Mead without bounds (Ackley 4 at δ = 0.05, 12 data sets). The cause is something that the paper does "
    "not tell."
)
_POOR_FITS = (
    "Our number is the smaller, and r and tKS–PIT agree. A likelihood search that fails on one data set in forty "
    "lifts the mean from 248 to 270 at δ = 0.25 and from 51 to 63 at δ = 0.05 (tried by starting all lengthscales at "
    "0.3 of the box): a few poor fits among the paper's would explain it."
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
    "where the paper has 54. So the paper's numbers on the first two can come from its optima; those on Rosenbrock 6 "
    "remain unexplained."
)
_DATA_SETS = (
    "The GP beneath has a smaller twCRPS than the paper's in the same proportion (616 against 680): a difference of "
    "the data sets or of the fits, not of the calibration."
)

# (table, problem, metric, label): alternatives separated by bars, * for any; the first that fits.
_EXPLANATIONS: tuple[tuple[tuple[str, str, str, str], str], ...] = (
    (("table1", "*", "*", "tcGP-occ"), _OCCURRENCE_CURVE),
    (("table1", "dixon-price4", "twcrps", "*"), _POOR_FITS),
    (("table1", "dixon-price4", "occurrence", "*"), _SAMPLING),
    (("table1", "*", "*", "tcGP|tcGP-thres"), _FEW_POINTS),
    (("table2", "*", "*", "reGP δ=0.05|reGP δ=0.1|reGP δ=0.25"), _RELAXED),
    (("table2", "rosenbrock6", "*", "*"), _DATA_SETS),
    (("table2", "ackley4", "tks_pit", "tcGP δ=0.05"), _FEW_POINTS),
)
