"""Tables of `first_evaluation.py`: who is ahead after 3 d, 5 d, 10 d and 20 d evaluations, counted from the first.

A problem is a function in a dimension; the instances of BBOB are further runs of it, like seeds. Each tool is compared
with the reference on the instances that both have run, by medians of log10 regret over the runs of a problem. Medians
nearer than `LEVEL` are level. Tests are signed-rank tests on problems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.stats import wilcoxon

import constrained_problems
import engineering_problems
import functions
from runs import LEVEL, SOLVED, Key, Run

__all__ = ["BUDGETS", "MOST", "compare", "draw", "evaluations_needed", "report"]

BUDGETS = (3, 5, 10, 20)  # evaluations per parameter
MOST = 100  # evaluations
CONSTRAINED = {*engineering_problems.TUNING, *engineering_problems.VALIDATION, *engineering_problems.REAL}
WORST, NEVER = 1e2, 3.0  # the largest regret that counts, and log10 of that of a run without a feasible point
MATCHED = 10  # evaluations per parameter after which a tool's find is to be matched
LABELS = {
    "auto": "tcgp (auto)",
    "optuna": "Optuna GPSampler",
    "egobox": "egobox",
    "trego": "egobox, TREGO",
    "ax": "Ax",
    "botorch": "BoTorch LogEI",
    "pybads": "PyBADS",
    "cobyqa": "COBYQA",
}
COLORS = dict(
    zip(
        LABELS,
        ("#0072B2", "#009E73", "#E69F00", "#D55E00", "#CC79A7", "#555555", "#56B4E9", "#B0A000"),
        strict=True,
    )
)
Runs = Mapping[Key, Run]
Table = dict[str, tuple[float, float]]  # problem: medians of the reference and of a tool


def report(runs: Runs, names: Sequence[str], tools: Sequence[str], reference: str) -> str:
    """Markdown: better : level : worse for the reference at each budget, over all and by group; evaluations needed."""
    tools = [tool for tool in tools if tool != reference]
    parts = [_table(runs, names, tools, reference, "all problems"), _needed(runs, names, tools, reference)]
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(_group_of(name), []).append(name)
    parts += [_table(runs, some, tools, reference, group) for group, some in members.items()]
    by_limits = [name for name in names if is_constrained(name)]
    parts.append(_first_feasible(runs, by_limits, tools, reference))
    bbob = [name for name in names if name.startswith("bbob:")]
    for dim in sorted({dimension(name) for name in bbob}):
        some = [name for name in bbob if dimension(name) == dim]
        parts.append(_table(runs, some, tools, reference, f"BBOB, d = {dim}"))
    return "\n".join(part for part in parts if part)


def _group_of(name: str) -> str:
    if is_constrained(name):
        return "engineering" if name in engineering_problems.DESIGNS else "bbob-constrained"
    return functions.group_of(name)


def _table(runs: Runs, names: Sequence[str], tools: Sequence[str], reference: str, title: str) -> str:
    budgets = [f"{budget} d" for budget in BUDGETS]
    lines = [f"| {title}: {reference} better : level : worse (p) than | " + " | ".join(budgets) + " |"]
    lines.append("|---" * (len(BUDGETS) + 1) + "|")
    for tool in tools:
        tables = [compare(runs, names, tool, reference, budget) for budget in BUDGETS]
        if any(tables):
            lines.append(f"| {tool} | " + " | ".join(map(_verdict, tables)) + " |")
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def _verdict(table: Table) -> str:
    """Problems on which the reference is better, level and worse, and p of a signed-rank test on all."""
    gain = np.array([theirs - ours for ours, theirs in table.values()])
    better, worse = int((gain > LEVEL).sum()), int((gain < -LEVEL).sum())
    p = f" ({wilcoxon(gain).pvalue:.1g})" if len(gain) > 5 and np.any(gain) else ""
    return f"{better} : {len(gain) - better - worse} : {worse}{p}" if table else ""


def compare(runs: Runs, names: Sequence[str], tool: str, reference: str, budget: int) -> Table:
    """Medians of log10 regret after ``budget`` evaluations per parameter, on the problems that both have run."""
    found: Table = {}
    for problem, both in _curves(runs, names, tool, reference, budget).items():
        ours, theirs = (float(np.median([curve[-1] for curve in curves])) for curves in both)
        found[problem] = ours, theirs
    return found


def _curves(
    runs: Runs, names: Sequence[str], tool: str, reference: str, budget: int, tools: int | None = None
) -> dict[str, tuple[list[np.ndarray], list[np.ndarray]]]:
    """log10 regrets by problem, of the reference and of a tool, on the instances that both have run so far.

    Up to a budget per parameter, which may be another for the tool.
    """
    found: dict[str, tuple[list[np.ndarray], list[np.ndarray]]] = {}
    for name in names:
        ours = _log_regrets(runs, name, reference, evaluations(name, budget))
        theirs = _log_regrets(runs, name, tool, evaluations(name, tools or budget))
        if ours and theirs:
            lists = found.setdefault(problem_of(name), ([], []))
            lists[0].extend(ours)
            lists[1].extend(theirs)
    return found


def _log_regrets(runs: Runs, name: str, method: str, n: int) -> list[np.ndarray]:
    """Curves of all seeds that were run for n evaluations."""
    gaps = [run.gaps[:n] for key, run in runs.items() if key[:2] == (name, method) and len(run.gaps) >= n]
    unit = (
        constrained_problems.get(name).random_gap if is_constrained(name) else functions.random_regret(name)
    )
    shares = [np.clip(gap / unit, SOLVED, WORST) for gap in gaps]
    return [
        np.where(np.isfinite(gap), np.log10(share), NEVER) for gap, share in zip(gaps, shares, strict=True)
    ]


def evaluations(name: str, budget: int) -> int:
    """Evaluations of a budget per parameter."""
    return min(budget * dimension(name), MOST)


def dimension(name: str) -> int:
    return (constrained_problems if is_constrained(name) else functions).get(name).dim


def is_constrained(name: str) -> bool:
    return name in CONSTRAINED


def problem_of(name: str) -> str:
    """A function and its dimension, without the instance."""
    return name.rpartition(":i")[0] if name.startswith("bbob:") else name


# ---- evaluations needed ----


def _first_feasible(runs: Runs, names: Sequence[str], tools: Sequence[str], reference: str) -> str:
    """Evaluations up to the first feasible point, by medians over the runs of a problem."""
    lines = [
        f"| first feasible point: {reference} sooner : level : later (p) than | | medians of {reference}, the other |",
        "|---|---|---|",
    ]
    for tool in tools:
        pairs = []
        for both in _curves(runs, names, tool, reference, MATCHED).values():
            pairs.append([np.median([1 + np.sum(curve == NEVER) for curve in curves]) for curves in both])
        if pairs:
            ours, theirs = np.array(pairs).T
            gain = theirs - ours
            p = wilcoxon(gain).pvalue if np.any(gain) else 1.0
            counts = f"{(gain > 0).sum()} : {(gain == 0).sum()} : {(gain < 0).sum()} ({p:.1g})"
            lines.append(f"| {tool} | {counts} | {np.median(ours):g}, {np.median(theirs):g} |")
    return "\n".join(lines) + "\n" if names else ""


def evaluations_needed(
    runs: Runs, names: Sequence[str], tool: str, reference: str
) -> dict[str, tuple[float, float, bool]]:
    """By problem: evaluations of the reference for what a tool finds in 10 d, as shares of these and of those needed.

    Counted from one, on median curves. What is never found counts as found at the end of the reference's runs.
    """
    found = {}
    longer = _curves(runs, names, tool, reference, BUDGETS[-1], MATCHED)
    for problem, both in (_curves(runs, names, tool, reference, MATCHED) | longer).items():
        mine, median = (np.median(curves, axis=0) for curves in both)
        reached, needed = (np.flatnonzero(curve <= median[-1] + 1e-9) for curve in (mine, median))
        n = 1 + int(reached[0]) if len(reached) else len(mine)
        found[problem] = n / len(median), n / (1 + int(needed[0])), bool(len(reached))
    return found


def _needed(runs: Runs, names: Sequence[str], tools: Sequence[str], reference: str) -> str:
    lines = [
        f"| evaluations of {reference} for what another finds in {MATCHED} d | share of {MATCHED} d "
        "| of those it needed itself | never, on |",
        "|---|---|---|---|",
    ]
    for tool in tools:
        shares = evaluations_needed(runs, names, tool, reference)
        if shares:
            of_all, of_needed = np.exp(np.log([row[:2] for row in shares.values()]).mean(axis=0))
            never = sum(not is_reached for _, _, is_reached in shares.values())
            lines.append(f"| {tool} | {of_all:.2f} | {of_needed:.2f} | {never} of {len(shares)} |")
    return "\n".join(lines) + "\n"


# ---- picture ----


def draw(runs: Runs, names: Sequence[str], tools: Sequence[str], picture: Path) -> None:
    """Mean over BBOB functions of the median log10 regret against evaluations, for each dimension that all have run."""
    from matplotlib.figure import Figure

    bbob = [name for name in names if name.startswith("bbob:")]
    panels = {}
    for dim in sorted({dimension(name) for name in bbob}):
        some = [name for name in bbob if dimension(name) == dim]
        curves = {tool: _median_curves(runs, some, tool) for tool in tools}
        common = set.intersection(*map(set, curves.values()))
        if common:
            panels[dim] = {tool: [curve[problem] for problem in common] for tool, curve in curves.items()}
    figure = Figure(figsize=(4.8 * len(panels), 3.8), layout="constrained")
    axes = np.ravel(figure.subplots(1, len(panels), sharey=True, squeeze=False))
    for axis, (dim, by_tool) in zip(axes, panels.items(), strict=True):
        n = min(len(curve) for curves in by_tool.values() for curve in curves)
        for tool, curves in by_tool.items():
            mean = np.mean([curve[:n] for curve in curves], axis=0)
            axis.plot(
                np.arange(1, n + 1),
                mean,
                color=COLORS[tool],
                label=LABELS[tool],
                lw=2.2 if tool == "auto" else 1.4,
            )
        axis.set(title=f"d = {dim}, {len(curves)} functions", xlabel="evaluations, from the first")
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("log10 regret, mean of medians")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)
    figure.savefig(picture, dpi=130)


def _median_curves(runs: Runs, names: Sequence[str], tool: str) -> dict[str, np.ndarray]:
    """By problem, the median of log10 regret after each evaluation, over all runs to the largest budget there is."""
    found: dict[str, np.ndarray] = {}
    for budget in (MATCHED, BUDGETS[-1]):
        for problem, (curves, _) in _curves(runs, names, tool, tool, budget).items():
            found[problem] = np.median(curves, axis=0)
    return found
