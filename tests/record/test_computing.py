"""A journal that is taken to another machine: the points may differ, and one line says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tcgp import Optimizer
from tcgp.record.computing import computing


def begun(path: Path) -> None:
    optimizer = Optimizer([(0.0, 1.0)], rng=0, journal=path)
    optimizer.tell(optimizer.ask(), 1.0)
    optimizer.close()


def with_header(path: Path, **changes: object) -> None:
    header, *events = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps({**json.loads(header), **changes}), *events]) + "\n")


def test_the_journal_says_what_computed_its_points(tmp_path: Path) -> None:
    begun(tmp_path / "run.jsonl")
    header = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[0])
    assert header["computing"] == computing()


def test_the_blas_is_numpys_in_whatever_order_libraries_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the wheels of NumPy and SciPy the order changes from process to process."""
    libraries = [
        {
            "user_api": "blas",
            "internal_api": "openblas",
            "version": "0.3.30",
            "filepath": "/lib/scipy.libs/b.so",
        },
        {
            "user_api": "blas",
            "internal_api": "openblas",
            "version": "0.3.31",
            "filepath": "/lib/numpy.libs/a.so",
        },
    ]
    for found in (libraries, libraries[::-1]):
        monkeypatch.setattr("tcgp.record.computing.threadpool_info", lambda found=found: found)
        assert computing.__wrapped__()["blas"] == "openblas 0.3.31"


def test_a_resume_elsewhere_says_in_one_line_that_points_may_differ(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "run.jsonl"
    begun(path)
    with_header(path, computing={**computing(), "numpy": "1.26.0", "blas": "openblas 0.3.20 Zen"})
    Optimizer.resume(path).close()
    (line,) = caplog.messages
    assert f"numpy 1.26.0, now {computing()['numpy']}; blas openblas 0.3.20 Zen, now" in line
    assert "scipy" not in line
    assert "the points from here on may differ" in line


@pytest.mark.parametrize("before", [None, "a text", computing()])
def test_a_resume_on_the_same_machine_or_of_an_older_journal_says_nothing(
    before: object, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun(tmp_path / "run.jsonl")
    with_header(tmp_path / "run.jsonl", computing=before)
    Optimizer.resume(tmp_path / "run.jsonl").close()
    assert not caplog.messages
