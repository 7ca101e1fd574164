"""The report in a real browser: headless Chromium, driven by Playwright.

It needs Playwright (``pip install playwright``) and Chromium: Debian's package (``apt-get install
chromium``), which ``make test`` installs where it can, or any other that TCGP_CHROMIUM names.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tcgp
from tcgp.optimizer import Optimizer
from tcgp.report import State, render, report_data, report_from_journal
from tcgp.report import writer as writer_module

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    pytest.skip("no Playwright; get it with: pip install playwright", allow_module_level=True)

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FOUND = os.environ.get("TCGP_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
if FOUND is None:
    pytest.skip(
        "no Chromium; get it with: apt-get install chromium (or let TCGP_CHROMIUM name a browser)",
        allow_module_level=True,
    )

pytestmark = pytest.mark.browser

# Without a sandbox, which root may not have (the page is ours), and without what Chromium asks of the network.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
CHARTS = ["convergence", "scatter", "samples", "slice", "heat", "calibration", "law", "threshold", "times"]
HOSTILE = "<img src=x onerror=window.hit=1></script><script>window.hit=1</script>"
SPACE = {
    "width": tcgp.Real(0.1, 10.0, log=True),
    "layers": tcgp.Integer(1, 6),
    HOSTILE: tcgp.Categorical(["steel", HOSTILE]),
}


def simulate(parameters: dict[str, Any]) -> float:
    if parameters["layers"] == 6:
        raise RuntimeError(HOSTILE)
    extra = float(parameters[HOSTILE] != "steel")
    return math.log(parameters["width"]) ** 2 + (parameters["layers"] - 3) ** 2 + extra


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=FOUND, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens a page, which must not complain about anything until the test is over."""
    complaints: list[str] = []
    contexts = []

    def open_one(path: Path, **options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: _note_foreign(request.url, complaints))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn=yes]")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert complaints == []


def _note_foreign(url: str, complaints: list[str]) -> None:
    if not url.startswith("file:"):
        complaints.append(f"request to {url}")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("finished") / "run.html"
    tcgp.minimize(simulate, SPACE, n_evals=26, n_initial=14, rng=3, report=path)
    return path


def beam(parameters: dict[str, float]) -> dict[str, float]:
    """A bar whose mass is to be small, and which breaks where it is thin; some of its outputs nobody asks for."""
    width, height = parameters["width"], parameters["height"]
    return {"mass": width * height, "stress": 1.0 / (width * height**2), HOSTILE: width}


@pytest.fixture(scope="module")
def constrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("constrained") / "run.html"
    bounds = {"width": (0.1, 2.0), "height": (0.1, 2.0)}
    goals = {"objective": "mass", "constraints": ["stress <= 2", "stress >= 0.1"]}
    tcgp.minimize(beam, bounds, n_evals=16, rng=0, report=path, **goals)
    return path


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    path = tmp_path_factory.mktemp("several") / "run.html"
    bounds = {"width": (0.1, 2.0), "height": (0.1, 2.0)}
    goals = {"objective": ["mass", HOSTILE], "maximize": [HOSTILE], "constraints": ["stress <= 20"]}
    return path, tcgp.minimize(beam, bounds, n_evals=12, rng=0, report=path, **goals)


def chosen(page: Any) -> int:
    return int(page.locator("#front").get_attribute("data-chosen"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_weights_and_limits_choose_a_point_of_the_front(
    open_page: Callable[..., Any], several: tuple[Path, Any], width: int, scheme: str
) -> None:
    path, result = several
    page = open_page(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert chosen(page) == result.knee().index
    ends = page.locator("svg[data-chart=front] text.name").all_text_contents()
    assert [text.split()[:1] for text in ends] == [["least"], ["most"]]
    weights, limits = page.locator("input.weight"), page.locator("input.limit")
    weights.nth(0).fill("100")
    assert chosen(page) == result.choose({"mass": 100, HOSTILE: 50}).index
    weights.nth(1).fill("0")
    assert chosen(page) == result.choose({"mass": 1}).index
    limits.nth(1).fill("100")  # as good in the second objective as any
    assert chosen(page) == result.choose({HOSTILE: 1}).index
    limits.nth(0).fill("100")
    assert chosen(page) == -1
    assert "No point of the front satisfies these limits." in page.locator("#front").inner_text()
    page.locator("#front button").click()
    assert chosen(page) == result.knee().index


def number_of_evaluations(page: Any) -> int:
    return int(page.evaluate("JSON.parse(document.getElementById('data').textContent).evaluations.y.length"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 390])
def test_every_chart_is_drawn_within_the_page(
    finished: Path, open_page: Callable[..., Any], scheme: str, width: int
) -> None:
    page = open_page(finished, color_scheme=scheme, viewport={"width": width, "height": 800})
    page.locator("#trust summary").click()
    for chart in CHARTS:
        charts = page.locator(f"svg[data-chart={chart}]")
        assert charts.count() == (3 if chart == "slice" else 1), chart
        box = charts.first.bounding_box()
        assert box["width"] > 200, chart
        assert box["height"] > 100, chart
        assert box["x"] + box["width"] <= width, chart
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    broken = page.evaluate(
        "[...document.querySelectorAll('svg *')].filter(e => [...e.attributes].some(a => /NaN|undefined|Infinity/"
        ".test(a.value))).length"
    )
    assert broken == 0


def test_marks_are_as_many_as_the_evaluations(finished: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(finished)
    chart = page.locator("svg[data-chart=convergence]")
    failed = chart.locator("path.cross").count()
    assert failed >= 1
    assert chart.locator("circle.point").count() + chart.locator("polygon.star").count() + failed == 26
    assert page.locator("svg[data-chart=samples] path.thread").count() == 26
    assert page.locator("#failures tbody tr").count() == failed
    assert page.locator("#all-runs tbody tr").count() == 26
    assert page.locator(".status").inner_text() == "■ finished"


def test_hostile_strings_are_shown_and_do_nothing(finished: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(finished)
    assert page.locator("#failures").inner_text().count(HOSTILE) >= 2  # a name and a reason
    assert page.evaluate("window.hit") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2


def test_pointing_at_an_evaluation_tells_its_parameters(
    finished: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(finished)
    tip = page.locator("#tip")
    assert tip.is_hidden()
    page.locator("svg[data-chart=convergence] polygon.star").hover()
    best = page.locator("#best-outputs tbody tr").first.locator("td").nth(1).inner_text()
    shown = next(line for line in tip.inner_text().splitlines() if line.startswith("value "))
    assert float(shown.removeprefix("value ")) == pytest.approx(float(best), rel=1e-6)  # eight digits or more
    assert "width = " in tip.inner_text()
    page.locator("svg[data-chart=convergence] path.cross").first.hover()
    assert "failed: RuntimeError" in tip.inner_text()
    page.locator("#trust summary").click()
    for chart in CHARTS[1:]:
        svg = page.locator(f"svg[data-chart={chart}]").first
        svg.scroll_into_view_if_needed()
        box = svg.bounding_box()
        seen = False
        for share in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            for height in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
                page.mouse.move(box["x"] + share * box["width"], box["y"] + height * box["height"])
                seen = seen or tip.is_visible()
        assert seen, chart
    page.mouse.move(2, 2)
    assert tip.is_hidden()


def test_dragging_zooms_and_a_double_click_shows_everything(
    finished: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(finished)
    chart = page.locator("svg[data-chart=convergence]")
    everything = chart.locator("circle.point").count()
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 0.85 * box["height"], steps=4)
    page.mouse.up()
    assert 0 < chart.locator("circle.point").count() < everything
    chart.dblclick(position={"x": 0.5 * box["width"], "y": 0.5 * box["height"]})
    assert chart.locator("circle.point").count() == everything


def test_heat_map_shows_mean_sd_or_improvement(finished: Path, open_page: Callable[..., Any]) -> None:
    page = open_page(finished)
    colours = set()
    for kind in ("mean", "sd", "ei"):
        page.locator(f"button.heat-{kind}").click()
        fills = page.locator("svg[data-chart=heat] rect.cell").evaluate_all(
            "cells => cells.map(c => c.style.fill)"
        )
        colours.add(tuple(fills))
    assert len(colours) == 3


def test_page_picks_up_a_new_evaluation_and_keeps_its_place(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    path = tmp_path / "run.html"
    optimizer = Optimizer([(0.0, 1.0)] * 12, rng=0)
    state = State(running=True, text="running", refresh=1.0)
    for _ in range(5):
        x = optimizer.ask()
        optimizer.tell(x, sum(x))
    path.write_text(render(report_data(optimizer, state)), encoding="utf-8")
    page = open_page(path)
    page.evaluate("scrollTo(0, 300)")
    x = optimizer.ask()
    optimizer.tell(x, sum(x))
    path.write_text(render(report_data(optimizer, state)), encoding="utf-8")
    page.wait_for_selector("html[data-drawn=yes][data-evaluations='6']", timeout=60_000)
    assert page.evaluate("scrollY") == 300


def test_a_run_can_be_watched_until_it_ends(
    tmp_path: Path, open_page: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "REFRESH", 1.0)
    monkeypatch.setattr(writer_module, "ALLOWANCE", math.inf)  # on a busy machine too, every page is written
    path, go_on = tmp_path / "run.html", threading.Event()
    calls = []

    def fun(parameters: dict[str, Any]) -> float:
        calls.append(parameters)
        if len(calls) == 10:
            go_on.wait(600.0)
        return simulate(parameters)

    settings = {"n_evals": 16, "n_initial": 8, "rng": 1, "report": path}
    run = threading.Thread(target=tcgp.minimize, args=(fun, SPACE), kwargs=settings)
    run.start()
    try:
        while len(calls) < 10:
            time.sleep(0.05)
        page = open_page(path)
        # The page may be loading itself again at any moment: wait for what must be seen, and look at nothing twice.
        page.wait_for_selector("html[data-drawn=yes][data-evaluations='9'] .status:has-text('● running')")
        page.wait_for_selector("html[data-drawn=yes] main:has-text('Under way')")
    finally:
        go_on.set()
        run.join()
    page.wait_for_selector(".status:has-text('finished')", timeout=60_000)
    page.wait_for_selector("html[data-drawn=yes]")
    assert number_of_evaluations(page) == 16
    page.evaluate("window.stays = true")
    time.sleep(2.5)  # more than twice the interval
    assert page.evaluate("window.stays") is True


def test_a_page_whose_writer_is_gone_turns_grey(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    path = tmp_path / "run.html"
    optimizer = Optimizer([(0.0, 1.0)], rng=0)
    optimizer.tell(optimizer.ask(), 1.0)
    data = report_data(optimizer, State(running=True, text="running", refresh=600.0, patience=60.0))
    path.write_text(render(data), encoding="utf-8")
    page = open_page(path)
    assert page.locator(".status").inner_text() == "● running"
    assert page.locator("html.stale").count() == 0
    data["state"]["written"] -= 120.0
    path.write_text(render(data), encoding="utf-8")
    page = open_page(path)
    assert page.locator(".status").inner_text().startswith("○ no news since 2")
    assert "grayscale" in page.evaluate("getComputedStyle(document.querySelector('main')).filter")
    writer_module.renew(path)
    assert open_page(path).locator(".status").inner_text() == "● running"
    data["state"].update(running=False, text="done")
    path.write_text(render(data), encoding="utf-8")
    assert open_page(path).locator(".status").inner_text() == "■ finished"


def test_report_of_a_journal_is_drawn(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    journal, path = tmp_path / "run.jsonl", tmp_path / "run.html"
    tcgp.minimize(lambda x: (x[0] - 0.3) ** 2, [(0.0, 1.0)], n_evals=9, n_initial=5, rng=0, journal=journal)
    report_from_journal(journal, path)
    page = open_page(path)
    assert page.locator("svg[data-chart=slice]").count() == 1
    assert page.locator("svg[data-chart=heat]").count() == 0  # there is one parameter
    assert page.locator(".status").inner_text() == "■ snapshot"


def test_page_without_any_evaluation_is_drawn(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    path = tmp_path / "run.html"
    optimizer = Optimizer(SPACE, rng=0)
    optimizer.ask()
    path.write_text(render(report_data(optimizer, State(running=False, text="stopped"))), encoding="utf-8")
    page = open_page(path)
    assert "No evaluation has ended yet" in page.locator("main").inner_text()


def test_page_of_failures_only_is_drawn(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    path = tmp_path / "run.html"
    optimizer = Optimizer(SPACE, rng=0)
    for _ in range(3):
        optimizer.tell(optimizer.ask(), None, reason="no licence")
    path.write_text(
        render(report_data(optimizer, State(running=False, text="stopped"), fit=True)), encoding="utf-8"
    )
    page = open_page(path)
    assert page.locator("svg[data-chart=convergence] path.cross").count() == 3
    assert page.locator("#failures tbody tr").count() == 3


def test_ticks_say_where_they_are(tmp_path: Path, open_page: Callable[..., Any]) -> None:
    path = tmp_path / "run.html"
    optimizer = Optimizer([(0.0, 1.0)], rng=0)
    for i, y in enumerate([15.2, 9.0, 4.1]):  # ticks every 2.5
        optimizer.tell([0.2 * i], y, seconds=60.0)
    path.write_text(render(report_data(optimizer, State(running=False, text="stopped"))), encoding="utf-8")
    page = open_page(path)
    labels = page.locator("svg[data-chart=convergence] text").all_text_contents()
    assert {"5", "7.5", "10", "12.5", "15"} <= set(labels)
    assert "Simulator 3 min, optimizer not known" in page.locator("main").inner_text()


def test_where_models_take_turns_the_law_is_drawn_as_one_line(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    path = tmp_path / "run.html"
    tcgp.minimize(
        lambda x: (x[0] - 0.3) ** 2 + x[1], [(0.0, 1.0)] * 2, n_evals=12, method="auto", rng=0, report=path
    )
    page = open_page(path)
    page.locator("#trust summary").click()
    assert "Models take turns" in page.locator("main").inner_text()
    for line in page.locator("svg[data-chart=law] path.curve").all():
        assert line.get_attribute("d").count("M") == 1


# ---- constraints ----


@pytest.mark.parametrize("width", [1200, 390])
def test_points_that_violate_a_constraint_are_told_apart(
    constrained: Path, open_page: Callable[..., Any], width: int
) -> None:
    page = open_page(constrained, viewport={"width": width, "height": 800})
    broken = page.evaluate("JSON.parse(document.getElementById('data').textContent).evaluations.broken")
    infeasible = sum(len(limits) > 0 for limits in broken)
    assert 0 < infeasible < 16
    chart = page.locator("svg[data-chart=convergence]")
    assert chart.locator("path.infeasible").count() == infeasible
    assert chart.locator("circle.point").count() == 16 - infeasible - 1  # and the best is a star
    assert page.locator("svg[data-chart=samples] path.thread.infeasible").count() == infeasible
    assert page.locator("svg[data-chart=heat] path.sample.infeasible").count() == infeasible
    assert page.locator("svg[data-chart=scatter] path.infeasible").count() == infeasible
    assert page.locator("ul.legend:has-text('violates a constraint')").count() == 3
    assert page.locator(".facts").inner_text().count(f"{16 - infeasible} of 16") == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("window.hit") is None


def test_the_best_so_far_is_the_best_that_keeps_all_constraints(
    constrained: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(constrained)
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    masses = [
        y for y, broken in zip(*(data["evaluations"][k] for k in ("y", "broken")), strict=True) if not broken
    ]
    rows = page.locator("#all-runs tbody tr").all()
    shown = [float(row.locator("td").nth(1).inner_text()) for row in rows[: len(masses)]]
    assert shown == pytest.approx(sorted(masses), rel=1e-6)  # seven digits
    assert page.locator("#all-runs thead").inner_text().split()[:3] == ["evaluation", "mass", "stress"]
    page.locator("svg[data-chart=convergence] polygon.star").hover()
    assert "stress = " in page.locator("#tip").inner_text()
    page.locator("svg[data-chart=convergence] path.infeasible").first.hover()
    assert "violates stress" in page.locator("#tip").inner_text()


def test_each_constraint_says_how_active_it_is_and_whether_its_model_is_right(
    constrained: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(constrained)
    table = page.locator("#constraints")
    assert table.locator("tbody tr").count() == 2
    assert " below" in table.inner_text()
    assert " above" in table.inner_text()
    section = page.locator("#trust")
    words = section.locator("summary p").inner_text()
    assert words.split(":")[0] in ("Yes", "With care", "Too early to say")
    assert not section.locator("svg").first.is_visible()
    section.locator("summary").click()
    for text in ("stress <= 2", "stress >= 0.1"):
        assert f"Is the model right about {text}?" in section.inner_text()
    assert section.inner_text().count("predicting each from the others, the model expected") == 2
    charts = section.locator("svg[data-chart=limit]")
    assert charts.count() == 2
    assert charts.first.locator("path.curve").count() == 1  # limits are modelled by a plain GP
    page.locator("button.heat-feasible").click()
    assert page.locator("button.heat-feasible").get_attribute("aria-pressed") == "true"


def test_all_runs_can_be_sorted_filtered_and_drawn_against_each_other(
    constrained: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(constrained)
    data = page.evaluate("JSON.parse(document.getElementById('data').textContent)")
    stresses = [row[1] for row in data["evaluations"]["outputs"]]

    def column(k: int) -> list[float]:
        return [
            float(row.locator("td").nth(k).inner_text()) for row in page.locator("#all-runs tbody tr").all()
        ]

    for reverse in (False, True):
        page.locator("#all-runs th button", has_text="stress").click()
        assert column(2) == pytest.approx(sorted(stresses, reverse=reverse), rel=1e-6)  # seven digits
    page.locator("#runs input.filter").fill("stress < 1, width > 0.5")
    wanted = [s for s, x in zip(stresses, data["evaluations"]["x"], strict=True) if s < 1 and x[0] > 0.5]
    assert sorted(column(2)) == pytest.approx(sorted(wanted), rel=1e-6)
    points = page.locator("svg[data-chart=scatter] .point, svg[data-chart=scatter] .star")
    assert points.count() == len(wanted)
    page.locator("#runs input.filter").fill("")
    page.locator("#runs select.kind").select_option("broken")
    broken = sum(bool(limits) for limits in data["evaluations"]["broken"])
    assert len(column(1)) == points.count() == broken
    assert f"{broken} of 16 runs" in page.locator("#runs").inner_text()
    page.locator("#runs select.kind").select_option("all")
    page.locator("#runs select.y").select_option(label="stress")
    assert page.locator("svg[data-chart=scatter] text.label").last.text_content() == "stress"


def test_every_output_has_slices_and_parameters_are_ranked_for_objective_and_limits(
    constrained: Path, open_page: Callable[..., Any]
) -> None:
    page = open_page(constrained)
    buttons = page.locator("button.slices")
    assert [button.inner_text() for button in buttons.all()][:2] == ["mass", "stress"]
    buttons.nth(1).click()
    assert page.locator("svg[data-chart=slice]").count() == 2
    assert "the model's mean of stress" in page.locator("main").inner_text()
    orders = page.evaluate("JSON.parse(document.getElementById('data').textContent).importance.orders")
    for rank in ("objective", "limits", "both"):
        page.locator(f"button.rank-{rank}").click()
        first = page.locator("#importance tbody tr").first.locator("td").first.inner_text()
        assert first == ["width", "height"][orders[rank][0]]


def test_where_no_point_keeps_all_constraints_the_nearest_are_shown(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    path = tmp_path / "run.html"
    optimizer = Optimizer(
        {"x": (0.0, 1.0)}, objective="mass", constraints=["stress <= 0"], n_initial=4, rng=0
    )
    for _ in range(6):
        x = optimizer.ask()
        optimizer.tell(x, {"mass": x["x"], "stress": 1.0 + (x["x"] - 0.4) ** 2})
    path.write_text(
        render(report_data(optimizer, State(running=False, text="stopped"), fit=True)), encoding="utf-8"
    )
    page = open_page(path)
    text = page.locator("main").inner_text()
    assert "No evaluation satisfies all constraints yet. This one comes closest." in text
    assert "violated by 1" in text
    assert "What the model expects around the nearest point" in text
    assert page.locator("svg[data-chart=convergence] polygon.star").count() == 0


def test_a_run_that_maximizes_goes_up_with_the_sign_of_the_user(
    tmp_path: Path, open_page: Callable[..., Any]
) -> None:
    path = tmp_path / "run.html"
    result = tcgp.minimize(
        lambda x: 5.0 - (x[0] - 0.3) ** 2,
        [(0.0, 1.0)],
        n_evals=10,
        n_initial=5,
        maximize=True,
        rng=0,
        report=path,
    )
    page = open_page(path)
    page.locator("#trust summary").click()
    assert float(page.locator("#best-outputs td").nth(1).inner_text()) == result.fun
    assert "Is the model right about high values?" in page.locator("main").inner_text()
    line = page.locator("svg[data-chart=convergence] path.best").get_attribute("d")
    heights = [float(v) for v in re.findall(r"[MV](?:[\d.]+ )?([\d.]+)", line)]
    assert heights == sorted(heights, reverse=True)  # up the page
    assert heights[-1] < heights[0]
