"""Pages, figures and tables of some plans, and one HTML file with all of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.files import write_whole
from tcgp_experiments.plan.plans import CalibrationPlan, OptimizationPlan, PicturePlan, Plan
from tcgp_experiments.plan.tasks import Task
from tcgp_experiments.report.blocks import Block, Code, Page, Paragraph, to_html
from tcgp_experiments.report.figure1 import plot_figure1
from tcgp_experiments.report.figures import picture
from tcgp_experiments.report.runs import optimization_page
from tcgp_experiments.report.tables import table_page
from tcgp_experiments.report.throughput import throughput_page
from tcgp_experiments.run.store import Store

__all__ = ["write_report"]


def write_report(plans: Sequence[Plan], store: Store, output: str | os.PathLike[str]) -> Path:
    """Write a page for each plan from the results that are there, and one HTML file with all pages.

    Parameters
    ----------
    plans : sequence of plans
    store : Store
    output : path
        Directory; files of earlier reports with the same names are replaced.

    Returns
    -------
    Path
        The HTML file.
    """
    _check_results(plans, store)
    pages = [*(_page(plan, store) for plan in plans), throughput_page(store)]
    directory = Path(output)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for page in pages:
            for name, content in page.files().items():
                write_whole(directory / name, content)
        whole = directory / "report.html"
        write_whole(whole, to_html(pages, "The paper's experiments, reproduced with tcgp"))
    except OSError as error:
        raise ExperimentError(
            f"the report could not be written to {str(directory)!r} ({error.strerror}): choose another "
            "directory with --output"
        ) from error
    return whole


def _check_results(plans: Sequence[Plan], store: Store) -> None:
    """Refuse plans of which nothing has been computed."""
    for plan in plans:
        tasks: list[Task] = list(plan.tasks())
        if tasks and not any(store.load(task) for task in tasks):
            raise ExperimentError(
                f"there are no results of {plan.name!r} in {str(store.root)!r}: make them with "
                f"'tcgp experiment run {plan.command}'"
            )


def _page(plan: Plan, store: Store) -> Page:
    if isinstance(plan, CalibrationPlan):
        return table_page(plan, store)
    if isinstance(plan, OptimizationPlan):
        return optimization_page(plan, store)
    return _figure1_page(plan)


def _figure1_page(plan: PicturePlan) -> Page:
    """The paper's first figure: no runs, only a picture."""
    figure = picture(
        plan.name,
        "Left: ten evaluations of Forrester's function and the predictions of a GP, and of tcGP calibrated "
        "below the 0.3-quantile. Middle: probability of improvement. Right: EI, each divided by its maximum.",
        plot_figure1(),
    )
    blocks: list[Block] = [
        Paragraph(f"{plan.mirrors}. Made by"),
        Code(f"tcgp experiment report {plan.name}"),
        figure,
    ]
    return Page(plan.name, f"{plan.name}: {plan.title}", blocks)
