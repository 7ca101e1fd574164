"""The report: pages, figures, tables and one HTML file."""

import csv
import io
import re

import numpy as np
import pytest

from tcgp_experiments.errors import ExperimentError
from tcgp_experiments.plan import plans
from tcgp_experiments.plan.published import Printed
from tcgp_experiments.report.blocks import Page, Paragraph, Table, to_html
from tcgp_experiments.report.curves import as_far_as_run, curves_of
from tcgp_experiments.report.statistics import mean_of
from tcgp_experiments.report.tables import Cell, cells_of
from tcgp_experiments.report.writer import write_report
from tcgp_experiments.run.runner import run
from tcgp_experiments.run.store import Store


def small_plans():
    names = {"replicates": 2, "iterations": 2, "problems": ("branin",)}
    return [
        plans.get("table2", replicates=2, problems=("goldstein-price",)),
        plans.get("global", replicates=2, problems=("goldstein-price",)),
        plans.get("ablation", **names),
        plans.get("timing", methods=("GP", "tcGP"), **names),
        plans.get("rules", **names),
        plans.get("methods", methods=("GP", "tcGP"), **names),
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("results"))
    run(small_plans(), store, jobs=1, progress=False)
    return store


@pytest.fixture(scope="module")
def report(store, tmp_path_factory):
    output = tmp_path_factory.mktemp("report")
    write_report([plans.get("figure1"), *small_plans()], store, output)
    return output


def test_every_experiment_has_its_page_its_numbers_and_its_figure(report):
    names = {path.name for path in report.iterdir()}
    for plan in ("ablation", "timing", "rules", "methods"):
        assert {f"{plan}.md", f"{plan}.csv", f"{plan}.png", f"{plan}.svg"} <= names
    assert {"table2.md", "table2.csv", "figure1.png", "figure1.svg", "report.html", "throughput.csv"} <= names
    assert (report / "methods.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (report / "methods.svg").read_bytes()


def test_a_score_of_which_nothing_is_published_is_shown_by_itself(report):
    page = (report / "global.md").read_text()
    assert "|  | KS–PIT | twCRPS | r | tKS–PIT |" in page
    assert "| bcrGP, t = m_n |" in page
    assert "[paper]" not in page


def test_the_html_file_needs_no_other_file(report):
    text = (report / "report.html").read_text()
    sources = re.findall(r'(?:src|href)="([^"]*)"', text)
    assert sources
    assert all(source.startswith(("data:image/png;base64,", "#")) for source in sources)
    assert text.count("<img") == 5


def test_shards_give_the_same_report_as_one_run(report, tmp_path):
    parts = Store(tmp_path / "results")
    # One plan of each kind; "timing" has the same tasks as "methods", which must not be run twice.
    some = [plan for plan in small_plans() if plan.name in ("table2", "timing", "methods")]
    computed = [run(some, parts, jobs=1, shard=(i, 3), progress=False).n_computed for i in (1, 2, 3)]
    assert computed == [2, 2, 2]
    write_report([plan for plan in some if plan.name != "timing"], parts, tmp_path / "report")
    again = {path.name for path in (tmp_path / "report").iterdir()}
    assert {"table2.md", "table2.csv", "methods.md", "methods.csv", "methods.png", "methods.svg"} <= again
    # What the runs cost is measured, and never twice the same.
    for name in again - {"report.html", "throughput.csv", "throughput.md"}:
        assert (report / name).read_bytes() == (tmp_path / "report" / name).read_bytes(), name


def test_the_numbers_of_the_figure_are_those_of_the_runs(report, store):
    plan = next(plan for plan in small_plans() if plan.name == "ablation")
    rows = list(csv.DictReader(io.StringIO((report / "ablation.csv").read_text())))
    assert len(rows) == 4 * 3  # methods, and iterations after the design
    final = [row for row in rows if row["problem"] == "branin" and row["method"] == "tcGP"][-1]
    tasks = [t for t in plan.tasks() if t.problem == "branin" and t.method.label == "tcGP"]
    values = [store.load(task)["log10_p"][2] for task in tasks]
    assert float(final["log10_p_median"]) == pytest.approx(np.median(values), abs=1e-4)
    scores = [store.load(task)["scores"]["tks_pit"][1] for task in tasks]
    assert float(rows[rows.index(final) - 1]["median_tks_pit"]) == pytest.approx(np.median(scores), rel=1e-3)


def test_the_share_of_runs_that_reach_a_target_never_falls(store):
    (curve, *_) = curves_of(next(p for p in small_plans() if p.name == "rules"), store)["branin"]
    share = curve.reached(10.0 ** np.median(curve.log10_p))
    assert (np.diff(share) >= 0.0).all()
    assert 0.0 < share[-1] <= 1.0


def test_cells_of_a_table_are_averages_over_the_data_sets(report, store):
    plan = next(plan for plan in small_plans() if plan.name == "table2")
    cells = cells_of(plan, store)
    stored = [store.load(task)["rows"][0]["twcrps"] for task in plan.tasks()]
    assert cells[0].ours == mean_of(stored)
    rows = list(csv.DictReader(io.StringIO((report / "table2.csv").read_text())))
    assert len(rows) == len(cells) == 7 * 3
    assert rows[0]["published"] == "5.7e2"


@pytest.mark.parametrize(("spread", "agrees"), [(0.1, False), (0.5, True)])
def test_a_cell_agrees_within_two_standard_errors_of_a_difference_and_rounding(spread, agrees):
    # Ours is 1.0, the paper's 1.2 +- 0.05: they must lie within 2 sqrt(2) standard errors + 0.05 of each other.
    values = 1.0 + spread * np.array([-1.0, 1.0, -1.0, 1.0, 0.0])
    plan = plans.get("table1")
    cell = Cell("f", "twcrps", plan.rows[0], values, mean_of(values), Printed("1.2", 1.2, 0.05))
    error = spread * 1.0 / np.sqrt(5.0)
    assert cell.distance == pytest.approx(0.15 / error)
    assert cell.agrees is agrees


def test_nothing_to_report_on_is_said_in_a_sentence(tmp_path):
    with pytest.raises(ExperimentError, match="tcgp experiment run methods"):
        write_report([plans.get("methods")], Store(tmp_path / "nothing"), tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_half_a_run_can_be_reported_on(store, tmp_path):
    plan = plans.get("methods", replicates=50, iterations=2, problems=("branin", "ackley4"))
    write_report([plan], store, tmp_path)
    text = (tmp_path / "methods.md").read_text()
    assert "2 runs for each method" in text
    assert "No data yet" in text


def test_without_a_number_of_iterations_that_of_most_runs_is_taken(tmp_path):
    store = Store(tmp_path)
    choice = {"problems": ("branin",), "methods": ("GP",)}
    plan = plans.get("methods", **choice)
    assert as_far_as_run(plan, store) == plan  # nothing has been run
    run([plans.get("methods", replicates=3, iterations=2, **choice)], store, jobs=1, progress=False)
    run([plans.get("methods", replicates=1, iterations=4, **choice)], store, jobs=1, progress=False)
    assert as_far_as_run(plan, store).iterations == 2
    run([plans.get("methods", replicates=2, iterations=4, **choice)], store, jobs=1, progress=False)
    assert as_far_as_run(plan, store).iterations == 4
    assert as_far_as_run(plans.get("methods", iterations=3, **choice), store).iterations == 3
    assert as_far_as_run(plans.get("ablation", **choice), store).iterations == 100  # these have no scores
    assert as_far_as_run(plans.get("table1"), store) == plans.get("table1")


def test_text_is_escaped_in_html():
    page = Page("x", "a < b", [Paragraph("`c` & **d**"), Table(["e|f"], [["<script>"]])])
    text = to_html([page], "t")
    assert "a &lt; b" in text
    assert "<code>c</code> &amp; <b>d</b>" in text
    assert "<script>" not in text
    assert "e\\|f" in page.markdown()
