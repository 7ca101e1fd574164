"""The page of a table: our numbers, the published ones, and where they differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from tcgp_experiments.arrays import FloatArray
from tcgp_experiments.plan.claims import CLAIMS, Check
from tcgp_experiments.plan.plans import CalibrationPlan
from tcgp_experiments.plan.published import METRICS, TABLE1, TABLE2, TABLE_PROBLEMS, Printed, printed_cell
from tcgp_experiments.plan.tasks import Row
from tcgp_experiments.report.blocks import Block, Code, Heading, Items, Page, Paragraph, Table, to_csv
from tcgp_experiments.report.explanations import explanation
from tcgp_experiments.report.statistics import Mean, Paired, mean_of
from tcgp_experiments.report.titles import METRIC_TITLES, problem_title, threshold_title
from tcgp_experiments.report.verdicts import Lookup, claim_blocks
from tcgp_experiments.run.store import Store

__all__ = ["Cell", "cells_of", "table_page"]

PUBLISHED = {"table1": TABLE1, "table1-search": TABLE1, "table2": TABLE2}

# Two standard errors of a difference of two means with equal errors.
LIMIT = 2.0 * math.sqrt(2.0)


@dataclass(frozen=True)
class Cell:
    """A cell of a table: our mean over data sets, and the published number.

    Attributes
    ----------
    problem, metric : str
    row : Row
    values : (n,) array
        One for each data set.
    ours : Mean
    printed : Printed or None
    """

    problem: str
    metric: str
    row: Row
    values: FloatArray
    ours: Mean
    printed: Printed | None

    @property
    def distance(self) -> float:
        """Difference beyond rounding, in our standard errors; NaN if there is nothing to compare."""
        if self.printed is None or not self.ours.error > 0.0:
            return math.nan
        beyond = abs(self.ours.value - self.printed.value) - self.printed.rounding
        return max(beyond, 0.0) / self.ours.error

    @property
    def agrees(self) -> bool:
        """Whether the two means differ by less than 2 √2 standard errors, beyond rounding."""
        return bool(self.distance <= LIMIT)


def cells_of(plan: CalibrationPlan, store: Store) -> list[Cell]:
    """All cells of a table, from the available data sets."""
    cells = []
    for problem in plan.problems:
        tasks = [task for task in plan.tasks() if task.problem == problem]
        results = [result["rows"] for result in map(store.load, tasks) if result is not None]
        for i, row in enumerate(plan.rows):
            for metric in plan.metrics:
                values = np.array([rows[i][metric] for rows in results], dtype=float)
                cells.append(
                    Cell(problem, metric, row, values, mean_of(values), _printed(plan, problem, metric, row))
                )
    return cells


def _printed(plan: CalibrationPlan, problem: str, metric: str, row: Row) -> Printed | None:
    if problem not in TABLE_PROBLEMS or plan.name not in PUBLISHED:
        return None
    place = len(METRICS) * TABLE_PROBLEMS.index(problem) + METRICS.index(metric)
    return printed_cell(PUBLISHED[plan.name], row.level, row.method.label, place)


def table_page(plan: CalibrationPlan, store: Store) -> Page:
    """The page of a table."""
    cells = cells_of(plan, store)
    n = [cell.ours.n for cell in cells]
    blocks: list[Block] = [
        Paragraph(
            f"{plan.mirrors}. {plan.title}: n = 30 d uniform points, {_range(n)} data sets for each function "
            "(the paper has 100). "
            + ("KS–PIT, " if "ks_pit" in plan.metrics else "")
            + "twCRPS and r from 4000 uniform test points; tKS–PIT from 4000 points below "
            "the threshold, by subset simulation. Made by"
        ),
        Code(f"tcgp experiment run {plan.command}\ntcgp experiment report {plan.command}"),
        *_agreement(cells),
    ]
    for problem in plan.problems:
        blocks += [Heading(problem_title(problem)), _problem_table(plan, problem, cells)]
    blocks += _differences(plan, cells)
    blocks += claim_blocks(
        CLAIMS.get(plan.name, ()),
        _lookup(cells),
        _compare_means,
        "paired t-test of the means, as the table has means",
    )
    return Page(plan.page, f"{plan.page}: {plan.title}", blocks, {f"{plan.page}.csv": _csv(cells)})


def _range(counts: Sequence[int]) -> str:
    return str(min(counts)) if min(counts) == max(counts) else f"{min(counts)} to {max(counts)}"


def _agreement(cells: Sequence[Cell]) -> list[Block]:
    """How many cells agree with the published ones."""
    compared = [cell for cell in cells if not math.isnan(cell.distance)]
    if not compared:
        return []
    rows = []
    for problem in dict.fromkeys(cell.problem for cell in compared):
        mine = [cell for cell in compared if cell.problem == problem]
        rows.append([problem_title(problem), *_shares(mine)])
    rows.append(["**all**", *_shares(compared)])
    return [
        Paragraph(
            "Agreement: |ours − paper| ≤ 2 √2 standard errors, where the paper's mean is taken to have the "
            "standard error of ours, and half a unit of the paper's second digit is allowed for rounding. Of "
            "cells that differ by chance alone about 95 % agree."
        ),
        Table(["cells that agree", *(METRIC_TITLES[metric] for metric in METRICS), "all"], rows),
    ]


def _shares(cells: Sequence[Cell]) -> list[str]:
    groups = [[cell for cell in cells if cell.metric == metric] for metric in METRICS] + [list(cells)]
    return [
        f"{sum(c.agrees for c in group)}/{len(group)} ({100 * np.mean([c.agrees for c in group]):.0f} %)"
        for group in groups
    ]


def _problem_table(plan: CalibrationPlan, problem: str, cells: Sequence[Cell]) -> Table:
    """Rows of one function: our mean ± standard error, and the paper's number in brackets."""
    lines = []
    for row in plan.rows:
        mine = [cell for cell in cells if cell.problem == problem and cell.row == row]
        lines.append(
            [f"{row.method.label}, t = {threshold_title(row.level)}", *(_text(cell) for cell in mine)]
        )
    paper = " [paper]" if plan.name in PUBLISHED else ""
    return Table(["", *(f"{METRIC_TITLES[metric]}{paper}" for metric in plan.metrics)], lines)


def _text(cell: Cell) -> str:
    paper = "" if cell.printed is None else f" [{cell.printed.text}]"
    mark = "" if cell.agrees or math.isnan(cell.distance) else " ✗"
    return f"{cell.ours.value:.3g} ± {cell.ours.error:.1g}{paper}{mark}"


def _differences(plan: CalibrationPlan, cells: Sequence[Cell]) -> list[Block]:
    """A line for each cell that does not agree, grouped by explanation."""
    groups: dict[str, list[str]] = {}
    for cell in cells:
        if cell.printed is not None and not math.isnan(cell.distance) and not cell.agrees:
            reason = explanation(plan.name, cell.problem, cell.metric, cell.row.method.label)
            threshold, metric = threshold_title(cell.row.level), METRIC_TITLES[cell.metric]
            groups.setdefault(reason, []).append(
                f"{problem_title(cell.problem)}, {cell.row.method.label}, t = {threshold}, {metric}: "
                f"{cell.ours.value:.3g} ± {cell.ours.error:.1g} (median {np.median(cell.values):.3g}), paper "
                f"{cell.printed.text}: {cell.distance:.1f} standard errors apart"
            )
    blocks: list[Block] = [Heading("Cells that differ")] if groups else []
    for reason, lines in groups.items():
        blocks += [Paragraph(reason), Items(lines)]
    return blocks


def _csv(cells: Sequence[Cell]) -> str:
    header = (
        *("problem", "level", "method", "metric", "mean", "standard_error", "median", "n"),
        *("published", "distance_in_standard_errors", "agrees"),
    )
    rows = [
        (
            *(cell.problem, cell.row.level, cell.row.method.label, cell.metric),
            *(f"{cell.ours.value:.6g}", f"{cell.ours.error:.3g}"),
            f"{np.median(cell.values):.6g}" if cell.values.size else "",
            cell.ours.n,
            "" if cell.printed is None else cell.printed.text,
            "" if math.isnan(cell.distance) else f"{cell.distance:.2f}",
            "" if math.isnan(cell.distance) else cell.agrees,
        )
        for cell in cells
    ]
    return to_csv(header, rows)


def _lookup(cells: Sequence[Cell]) -> Lookup:
    table: dict[tuple[object, ...], FloatArray] = {
        (c.problem, c.row.method.label, c.metric, c.row.level): c.values for c in cells
    }

    def lookup(problem: str, label: str, check: Check) -> FloatArray | None:
        return table.get((problem, label, check.metric, check.at))

    return lookup


def _compare_means(a: FloatArray, b: FloatArray) -> Paired:
    """Ratio of the means, and a paired t-test of their difference."""
    difference = a - b
    if difference.size < 2 or not np.ptp(difference) > 0.0:
        return Paired(difference.size, 0.0, 0.5, 1.0)
    wins = float(np.mean(difference < 0.0) + 0.5 * np.mean(difference == 0.0))
    p = float(stats.ttest_rel(a, b).pvalue)
    return Paired(difference.size, math.log10(a.mean() / b.mean()), wins, p)
