"""Claims of the paper's text, each with the comparisons that would support it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tcgp_experiments.plan.plans import FOUR_FUNCTIONS, LEVELS, TEN_FUNCTIONS
from tcgp_experiments.plan.published import TABLE_PROBLEMS

__all__ = ["CLAIMS", "Check", "Claim", "lower", "similar"]


@dataclass(frozen=True)
class Check:
    """A comparison of two methods on one problem.

    Attributes
    ----------
    problem : str
    a, b : tuple of str
        Labels; of several, the one with the smallest average counts.
    relation : {"lower", "similar", "different", "not higher"}
        The claimed relation of a to b.
    metric : str
        ``"p_mn"``, ``"twcrps"``, ``"occurrence"``, ``"tks_pit"`` or ``"seconds"``.
    at : float or str
        Level of the threshold, for the tables; ``"end"``, ``"early"``, ``"late"`` or ``"run"``, for runs.
    factor : float
        Ratios between 1/factor and factor count as similar.
    """

    problem: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    relation: str
    metric: str
    at: float | str
    factor: float = 2.0


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, in our words, and the checks for it.

    Attributes
    ----------
    where : str
        Section of the paper.
    text : str
    checks : tuple of Check
    needs : {"all", "any"}
        Whether all checks or any of them must hold.
    """

    where: str
    text: str
    checks: tuple[Check, ...]
    needs: str = "all"


def lower(
    a: str | tuple[str, ...],
    b: str | tuple[str, ...],
    problems: Sequence[str],
    *,
    metric: str = "p_mn",
    at: Sequence[float | str] = ("end",),
    relation: str = "lower",
    factor: float = 2.0,
) -> tuple[Check, ...]:
    """Checks that a is lower than b (or in another relation to it), for each problem and place."""
    first, second = (name if isinstance(name, tuple) else (name,) for name in (a, b))
    return tuple(
        Check(problem, first, second, relation, metric, place, factor) for problem in problems for place in at
    )


def similar(
    a: str | tuple[str, ...],
    b: str | tuple[str, ...],
    problems: Sequence[str],
    *,
    metric: str = "p_mn",
    at: Sequence[float | str] = ("end",),
    factor: float = 2.0,
) -> tuple[Check, ...]:
    """Checks that a is about as large as b."""
    return lower(a, b, problems, metric=metric, at=at, relation="similar", factor=factor)


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

ABLATION, METHODS = "Section 6.2", "Section 6.3"
SMOOTH_RUNS = FOUR_FUNCTIONS[:3]

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
        lower("GP", "bcrGP", FOUR_FUNCTIONS, relation="not higher"),
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
        tuple(
            check for delta in (0.05, 0.1, 0.25) for check in lower(f"δ = {delta}", "δ = 0.5", FOUR_FUNCTIONS)
        ),
    ),
    Claim(
        "Appendix F, δ for reGP",
        "δ = 0.25 is comparable to, or better than, smaller values.",
        tuple(
            check
            for delta in (0.05, 0.1)
            for check in lower("δ = 0.25", f"δ = {delta}", FOUR_FUNCTIONS, relation="not higher")
        ),
    ),
)

_DELTA_TCGP = (
    Claim(
        "Appendix F, δ for tcGP",
        "δ = 0.5 gives the highest final p_mn on all four functions.",
        tuple(
            check for delta in (0.05, 0.1, 0.25) for check in lower(f"δ = {delta}", "δ = 0.5", FOUR_FUNCTIONS)
        ),
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

EI_MORE = "Appendix F, additional results for EI"

_EI_MORE = (
    Claim(
        EI_MORE,
        "reGP and tcGP consistently improve upon the GP.",
        (*lower("reGP", "GP", TEN_FUNCTIONS), *lower("tcGP", "GP", TEN_FUNCTIONS)),
    ),
    Claim(
        EI_MORE,
        "The better of reGP and tcGP outperforms the better of bcrGP and onGP, except on Ackley 10.",
        lower(("reGP", "tcGP"), ("bcrGP", "onGP"), [name for name in TEN_FUNCTIONS if name != "ackley10"]),
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
        "Section 6.3",
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
        lower("tcGP", "GP", [name for name in TEN_FUNCTIONS if name not in ("ackley4", "ackley10")]),
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
            for check in similar(other, "GP", FOUR_FUNCTIONS, metric="seconds", at=("run",))
        ),
    ),
    Claim(
        "Appendix F, running time",
        "reGP is slower than the GP (in the paper, about ten times).",
        lower("GP", "reGP", FOUR_FUNCTIONS, metric="seconds", at=("run",)),
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
