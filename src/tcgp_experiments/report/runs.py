"""The page of optimization runs: figure, final levels, claims of the paper, and costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.plan.claims import CLAIMS, Check
from tcgp_experiments.plan.plans import DEFAULT_TARGET, TARGETS, OptimizationPlan
from tcgp_experiments.report.blocks import Block, Code, Heading, Page, Paragraph, Table, to_csv
from tcgp_experiments.report.curves import Curves, curves_of
from tcgp_experiments.report.figures import draw, picture
from tcgp_experiments.report.statistics import compare_pairs
from tcgp_experiments.report.titles import problem_title
from tcgp_experiments.report.verdicts import Lookup, claim_blocks
from tcgp_experiments.run.store import Store

__all__ = ["optimization_page"]

EARLY = 20  # iterations that count as early

CAPTIONS = {
    "levels": "Median (line) and 10 %/90 % quantiles (band) over runs of p(m_n) = P(f(X) ≤ m_n).",
    "targets": "Left: median and 10 %/90 % quantiles over runs of p(m_n) = P(f(X) ≤ m_n); dotted, the target. "
    "Right: share of runs that have reached the target.",
    "calibration": "From left to right: p(m_n), median and 10 %/90 % quantiles over runs; medians of twCRPS, of "
    "the occurrence discrepancy r and of tKS–PIT at the best value m_n, on test sets.",
    "seconds": "Median processor time of one iteration for the model (fit and calibration), without the "
    "maximization of the criterion.",
}


def optimization_page(plan: OptimizationPlan, store: Store) -> Page:
    """The page of a plan of optimization runs, from the available results."""
    curves = curves_of(plan, store)
    targets = {problem: TARGETS.get(problem, DEFAULT_TARGET) for problem in plan.problems}
    counts = sorted({len(curve.replicates) for methods in curves.values() for curve in methods})
    runs = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    command = f"{plan.command} --replicates {plan.replicates} --iterations {plan.iterations}"
    blocks: list[Block] = [
        Paragraph(
            f"{plan.mirrors}. {plan.title}: {plan.iterations} iterations after 10 d uniform points, {runs} runs "
            "for each method and function (the paper has 100), all methods from the same initial designs. Made by"
        ),
        Code(f"tcgp experiment run {command}\ntcgp experiment report {command}"),
        picture(plan.page, CAPTIONS[plan.layout], draw(plan.layout, curves, targets)),
        Heading("At the end of the runs"),
        Paragraph(
            "p(m_n) is the share of the box where the function is at most the best value found, by subset "
            "simulation with 1000 particles: median over runs [10 %, 90 %]. The target of a function is a level "
            "set of the probability given; the paper does not say which it used."
        ),
    ]
    for problem, methods in curves.items():
        blocks += [Heading(problem_title(problem), 3), _final_table(methods, targets[problem])]
    blocks += claim_blocks(
        CLAIMS.get(plan.name, ()),
        _lookup(curves, plan.replicates),
        compare_pairs,
        "Wilcoxon signed-rank on log10 of the ratio, whose median is the effect",
    )
    return Page(
        plan.page, f"{plan.page}: {plan.title}", blocks, {f"{plan.page}.csv": _csv(curves, targets, plan)}
    )


def _final_table(methods: Sequence[Curves], target: float) -> Table:
    rows = []
    for curve in methods:
        middle, low, high = (10.0 ** values[-1] for values in curve.levels())
        rows.append(
            [
                curve.label,
                f"{middle:.2g} [{low:.1g}, {high:.1g}]",
                f"{np.median(curve.best[:, -1]):.4g}",
                f"{100.0 * curve.reached(target)[-1]:.0f} %",
                str(len(curve.replicates)),
            ]
        )
    return Table(["", "p(m_n)", "median m_n", f"reached p ≤ {target:g}", "runs"], rows)


def _csv(curves: Mapping[str, Sequence[Curves]], targets: Mapping[str, float], plan: OptimizationPlan) -> str:
    """The numbers of the figure."""
    scores: tuple[str, ...] = ("twcrps", "occurrence", "tks_pit") if plan.diagnostics else ()
    scores += tuple(f"{score}_t" for score in scores)
    header = ["problem", "method", "runs", "n", "log10_p_median", "log10_p_q10", "log10_p_q90", "reached"]
    rows: list[list[object]] = []
    for problem, methods in curves.items():
        for curve in methods:
            columns = [*curve.levels(), curve.reached(targets[problem])]
            medians = [curve.median_score(score) for score in scores]
            for i, n in enumerate(curve.n):
                row: list[object] = [problem, curve.label, len(curve.replicates), int(n)]
                row += [f"{column[i]:.4f}" for column in columns]
                row += [f"{median[i]:.4g}" if i < len(median) else "" for median in medians]
                rows.append(row)
    return to_csv([*header, *(f"median_{score}" for score in scores)], rows)


def _lookup(curves: Mapping[str, Sequence[Curves]], replicates: int) -> Lookup:
    """Values by replicate, NaN for missing runs."""
    table = {(problem, curve.label): curve for problem, methods in curves.items() for curve in methods}

    def lookup(problem: str, label: str, check: Check) -> FloatArray | None:
        curve = table.get((problem, label))
        if curve is None:
            return None
        values = np.full(replicates, np.nan)
        values[curve.replicates] = _value(curve, check)
        return values

    return lookup


def _value(curve: Curves, check: Check) -> FloatArray:
    """One number for each run: the metric at the end of the run, or its median over a part of it."""
    part = {"early": slice(0, EARLY), "late": slice(EARLY, None), "end": slice(-1, None), "run": slice(None)}
    if not isinstance(check.at, str):
        raise ValueError(f"a check of runs is at one of {', '.join(part)}, not {check.at!r}")
    if check.metric == "p_mn":
        series = 10.0**curve.log10_p
    elif check.metric == "seconds":
        series = curve.seconds("model")
    else:
        series = curve.score(check.metric)
    chosen = series[:, part[check.at]]
    return np.asarray(np.nanmedian(chosen if chosen.shape[1] else series, axis=1))
