"""Tables of `first_evaluation.py`: who is ahead after 3 d, 5 d, 10 d and 20 d evaluations, counted from the first.

A problem is a function in a dimension; the instances of BBOB are further runs of it, like seeds. Each tool is compared
with the reference on the instances that both have run, by medians of log10 regret over the runs of a problem. Medians
nearer than `LEVEL` are level. Tests are signed-rank tests on problems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import wilcoxon

import functions
from runs import LEVEL, SOLVED, Key, Run

__all__ = ["BUDGETS", "MOST", "compare", "evaluations_needed", "report"]

BUDGETS = (3, 5, 10, 20)  # evaluations per parameter
MOST = 100  # evaluations
MATCHED = 10  # evaluations per parameter after which a tool's find is to be matched
Runs = Mapping[Key, Run]
Table = dict[str, tuple[float, float]]  # problem: medians of the reference and of a tool


def report(runs: Runs, names: Sequence[str], tools: Sequence[str], reference: str) -> str:
    """Markdown: better : level : worse for the reference at each budget, over all and by group; evaluations needed."""
    tools = [tool for tool in tools if tool != reference]
    parts = [_table(runs, names, tools, reference, "all problems"), _needed(runs, names, tools, reference)]
    members: dict[str, list[str]] = {}
    for name in names:
        members.setdefault(functions.group_of(name), []).append(name)
    parts += [_table(runs, some, tools, reference, group) for group, some in members.items()]
    dims = sorted({functions.get(name).dim for name in names})
    for dim in dims:
        some = [name for name in names if functions.get(name).dim == dim]
        parts.append(_table(runs, some, tools, reference, f"d = {dim}"))
    return "\n".join(parts)


def _table(runs: Runs, names: Sequence[str], tools: Sequence[str], reference: str, title: str) -> str:
    budgets = [f"{budget} d" for budget in BUDGETS]
    lines = [f"| {title}: {reference} better : level : worse (p) than | " + " | ".join(budgets) + " |"]
    lines.append("|---" * (len(BUDGETS) + 1) + "|")
    for tool in tools:
        tables = [compare(runs, names, tool, reference, budget) for budget in BUDGETS]
        if any(tables):
            lines.append(f"| {tool} | " + " | ".join(map(_verdict, tables)) + " |")
    return "\n".join(lines) + "\n"


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
    return [np.log10(np.maximum(gap / functions.random_regret(name), SOLVED)) for gap in gaps]


def evaluations(name: str, budget: int) -> int:
    """Evaluations of a budget per parameter."""
    return min(budget * functions.get(name).dim, MOST)


def problem_of(name: str) -> str:
    """A function and its dimension, without the instance."""
    return name.rpartition(":i")[0] if name.startswith("bbob:") else name


# ---- evaluations needed ----


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
