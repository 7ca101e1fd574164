"""A page is one file that executes nothing but its own script."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import tcgp
from tcgp.methods import Member
from tcgp.methods.fit import fit_model
from tcgp.methods.members import Fit
from tcgp.optimizer import Optimizer, Proposal
from tcgp.record.events import Asked
from tcgp.report import State, render, report_data
from tcgp.report.page import embed

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "<img src=x onerror=alert(1)>",
    "]]>\u2028\u2029'\"&amp;",
    "@DATA@ @SCRIPT@ @STYLE@",
    "\ud800 lone",
]
DONE = State(running=False, text="done")


class _Elements(HTMLParser):
    """Start tags of a page with their attributes, and the content of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")
            self._in_script = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data


@pytest.fixture(scope="module")
def hostile_data() -> dict[str, Any]:
    space = dict.fromkeys(HOSTILE[:3], (0.0, 1.0)) | {HOSTILE[3]: tcgp.Categorical(HOSTILE)}
    optimizer = Optimizer(space, rng=0)
    for i, text in enumerate(HOSTILE):
        optimizer.tell([0.1 * i, 0.5, 0.5, text], None if i % 2 else float(i), reason=text)
    return report_data(optimizer, DONE, title=HOSTILE[0])


def test_hostile_strings_add_no_element(hostile_data: dict[str, Any]) -> None:
    harmless = report_data(Optimizer([(0.0, 1.0)], rng=0), DONE, title="run")
    page, plain = _Elements(render(hostile_data)), _Elements(render(harmless))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in plain.tags]
    assert len(page.scripts) == 2
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_hostile_strings_arrive_as_they_are(hostile_data: dict[str, Any]) -> None:
    embedded = json.loads(_Elements(render(hostile_data)).scripts[0])
    assert [p["name"] for p in embedded["parameters"]] == HOSTILE[:4]
    assert embedded["parameters"][3]["labels"] == HOSTILE
    assert embedded["evaluations"]["reason"][1::2] == HOSTILE[1::2]


def test_embedded_json_has_no_character_that_html_or_old_javascript_minds(
    hostile_data: dict[str, Any],
) -> None:
    assert not set("<>&\u2028\u2029") & set(embed(hostile_data))


def test_page_fetches_nothing_and_allows_its_own_script_only(hostile_data: dict[str, Any]) -> None:
    page = _Elements(render(hostile_data))
    assert not any({"src", "href"} & set(attributes) for _, attributes in page.tags)
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy


def test_script_writes_no_html() -> None:
    script = _Elements(render(report_data(Optimizer([(0.0, 1.0)], rng=0), DONE))).scripts[1]
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch("):
        assert word not in script


def test_nan_is_refused_rather_than_embedded() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embed({"y": float("nan")})


def test_page_of_500_evaluations_in_ten_dimensions_is_below_5_megabytes() -> None:
    rng = np.random.default_rng(0)
    optimizer = Optimizer([(0.0, 1.0)] * 10, rng=0)
    X = rng.random((500, 10))
    y = ((X - 0.3) ** 2).sum(axis=1)
    trace = {
        "beta": 1 / 3,
        "scale": 2 / 3,
        "threshold": 1 / 7,
        "best": 1 / 9,
        "log_ei": -1 / 3,
        "t_fit": 1 / 3,
    }
    for n, (x, value) in enumerate(zip(X, y, strict=True)):
        optimizer.history.apply(Asked(Proposal(n, x.tolist(), "criterion", {"n": n, **trace})))
        failed = value > 3.0
        reason = "it diverged, " + "and so on " * 25
        optimizer.tell(x, None if failed else value, reason=reason, seconds=2 / 3)
    U, values = optimizer.history.data.successes
    # A model of a part, with its lengthscales given, is as large in the report and quicker to fit.
    model = fit_model(U[:120], values[:120], bounds=[(0.0, 1.0)] * 10, delta=0.1)
    optimizer.surrogates[0].on_scale().last = Fit(len(values), Member("tcgp"), model)
    data = report_data(optimizer, DONE)
    assert data["slices"] is not None
    assert data["slices"]["over"] is not None
    assert len(data["calibration"]["models"]) == 2
    assert len(render(data).encode()) < 5_000_000
