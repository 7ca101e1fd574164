"""Whatever is given to the public API, the command line or a spec: a result, or one sentence; never anything else."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import tcgp
from tcgp import scoring
from tcgp.cli import main
from tcgp.cli.console import UsageError
from tcgp.cli.spec import EXAMPLE, load_spec
from tcgp.record.journal import JournalError

quick = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)

numbers = st.one_of(
    st.integers(-3, 12),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 0.5, 1e-320, 1e308, -1e308, 2**60, 10**400, True, False]),
)
texts = st.one_of(
    st.sampled_from(["", "gp", "ei", "x", "../x", "a\nb", "\x1b[31m", "{x}", "é"]), st.text(max_size=5)
)
scalars = st.one_of(st.none(), numbers, texts, st.binary(max_size=3))
junk = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(texts, inner, max_size=3),
    ),
    max_leaves=6,
)
arrays = st.one_of(
    junk,
    st.lists(st.lists(numbers, min_size=2, max_size=2), max_size=4),
    st.lists(numbers, max_size=5),
    st.builds(np.array, st.lists(st.floats(), max_size=4)),
    st.builds(lambda shape: np.zeros(shape), st.lists(st.integers(0, 3), max_size=3)),
)


@contextlib.contextmanager
def refusal_allowed() -> Iterator[None]:
    """Allow a ValueError or a TypeError that says something on one line."""
    try:
        yield
    except (ValueError, TypeError) as error:
        message = str(error)
        if not message or "\n" in message:
            raise AssertionError(f"not a sentence: {message!r}") from error


# ---- spaces ----


@quick
@given(
    kind=st.sampled_from([tcgp.Real, tcgp.Integer, tcgp.Categorical, tcgp.Space]),
    arguments=st.lists(junk, max_size=3),
)
def test_spaces_and_their_parts_are_made_or_refused(kind: Any, arguments: list[Any]) -> None:
    with refusal_allowed():
        made = kind(*arguments)
        json.dumps(made.to_json(), allow_nan=False)


SPACE = tcgp.Space(
    {"x": tcgp.Real(0.5, 2.0, log=True), "k": tcgp.Integer(1, 3), "c": tcgp.Categorical(["u", None])}
)


@quick
@given(point=st.one_of(junk, st.lists(scalars, min_size=3, max_size=3), arrays))
def test_a_point_is_in_the_space_or_refused(point: Any) -> None:
    with refusal_allowed():
        checked = SPACE.check(point)
        assert SPACE.check(checked) == checked
        assert np.isfinite(SPACE.encode([checked])).all()


@quick
@given(description=junk)
def test_a_description_of_a_space_is_read_or_refused(description: Any) -> None:
    with refusal_allowed():
        tcgp.Space.from_json(description)


# ---- the optimizer ----

SETTINGS = ("method", "criterion", "n_initial", "rng", "maximizer", "initial_design", "epsilon", "options")


@quick
@given(changes=st.dictionaries(st.sampled_from(SETTINGS), junk, min_size=1, max_size=2))
@example(changes={"options": [1, 2]})
@example(changes={"options": {"delta": "wide"}})
@example(changes={"epsilon": "small"})
@example(changes={"method": ["gp"]})
def test_an_optimizer_is_made_or_refused(changes: dict[str, Any]) -> None:
    with refusal_allowed():
        optimizer = tcgp.Optimizer([(0, 1)], **changes)
        optimizer.ask()


@quick
@given(
    told=st.lists(st.tuples(st.one_of(arrays, st.lists(numbers, min_size=2, max_size=2)), junk), max_size=6)
)
def test_what_is_told_is_kept_or_refused_and_the_journal_agrees(told: list[tuple[Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.jsonl"
        with tcgp.Optimizer([(0, 1), (0, 1)], n_initial=3, rng=0, journal=path) as optimizer:
            for x, y in told:
                with refusal_allowed():
                    optimizer.tell(x, y)
            optimizer.ask()
        resumed = tcgp.Optimizer.resume(path)
        assert resumed.evaluations == optimizer.evaluations
        assert resumed.pending == optimizer.pending
        for evaluation in optimizer.evaluations:
            assert evaluation.y is None or math.isfinite(evaluation.y)
        resumed.close()


@settings(quick, max_examples=25)
@given(answers=st.lists(junk, min_size=1, max_size=5))
def test_whatever_a_function_returns_the_run_goes_on(answers: list[Any]) -> None:
    given_answers = iter(answers * 6)
    result = tcgp.minimize(
        lambda x: next(given_answers), [(0, 1)], n_evals=6, n_initial=4, method="gp", rng=0
    )
    # Where nothing can be read from the first answer on, it stops.
    assert result.nfev == 6 or (result.status == 8 and len(result.failures) == result.nfev <= 3)
    assert np.isnan(result.func_vals).sum() == len(result.failures)


ARGUMENTS = [
    "n_evals",
    "x0",
    "y0",
    "rng",
    "workers",
    "journal",
    "progress",
    "target",
    "max_time",
    "n_initial",
    "initial_design",
    "epsilon",
    "options",
    "n_parallel",
    "report",
    "method",
    "criterion",
    "maximizer",
]


@quick
@given(changes=st.dictionaries(st.sampled_from(ARGUMENTS), junk, min_size=1, max_size=2))
@example(changes={"target": "low"})
@example(changes={"max_time": "an hour"})
@example(changes={"target": [1]})
@example(changes={"x0": 0.5, "y0": {"a": 1}})
@example(changes={"journal": ""})
@example(changes={"journal": "a\0b"})
@example(changes={"n_parallel": "many", "workers": map})
def test_minimize_runs_or_refuses(changes: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    if isinstance(changes.get("workers"), int) and changes["workers"] > 1:
        changes["workers"] = 2
    if isinstance(changes.get("n_evals"), int):
        changes["n_evals"] = min(changes["n_evals"], 3)
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)  # names of files are among the junk
        try:
            with refusal_allowed(), contextlib.suppress(OSError), contextlib.redirect_stderr(io.StringIO()):
                tcgp.minimize(
                    lambda x: float(x[0]), [(0, 1)], **{"n_evals": 3, "n_initial": 3, "rng": 0, **changes}
                )
        finally:
            os.chdir(before)


# ---- models and scores ----


@quick
@given(
    X=arrays,
    y=arrays,
    bounds=st.one_of(st.none(), arrays),
    method=st.sampled_from(["gp", "tcgp", "regp", "ongp"]),
)
@example(X=[[0.0], [1.0]], y=[1e308, -1e308], bounds=[(-1e308, 1e308)], method="tcgp")
@example(X=[[-1.7e308], [1.7e308]], y=[0.0, 1.0], bounds=None, method="gp")
def test_a_model_is_fitted_or_refused(X: Any, y: Any, bounds: Any, method: str) -> None:
    with refusal_allowed():
        model = tcgp.fit_model(X, y, method, bounds=bounds, rng=0)
        prediction = model.predict(model.X)
        assert np.isfinite(prediction.mean).all()
        assert (prediction.sd >= 0.0).all()


OPTIONS = ("delta", "p_min", "rule", "search", "w_max", "smoothness")


@quick
@given(
    options=st.dictionaries(st.sampled_from(OPTIONS), junk, min_size=1, max_size=1),
    state=st.one_of(st.none(), junk),
)
@example(options={"w_max": -1.0}, state=None)
@example(options={"delta": 0.1}, state={"lengthscales": "long"})
@example(options={"delta": 0.1}, state={"threshold": math.nan})
def test_options_and_state_are_used_or_refused(options: dict[str, Any], state: Any) -> None:
    X = np.linspace(0.0, 1.0, 8)[:, None]
    with refusal_allowed():
        model = tcgp.fit_model(X, np.sin(9.0 * X[:, 0]), "tcgp", rng=0, state=state, **options)
        assert math.isfinite(model.threshold)


@pytest.fixture(scope="module")
def model() -> tcgp.Model:
    X = np.linspace(0.0, 1.0, 8)[:, None]
    return tcgp.fit_model(X, np.sin(9.0 * X[:, 0]), "tcgp", rng=0)


@quick
@given(argument=arrays)
@example(argument=[10**400])
def test_a_fitted_model_predicts_or_refuses(model: tcgp.Model, argument: Any) -> None:
    with refusal_allowed():
        assert np.isfinite(model.predict(argument).mean).all()
    prediction = model.predict([[0.3], [0.7]])
    for function in (prediction.cdf, prediction.logcdf, prediction.ppf, prediction.interval):
        with refusal_allowed(), contextlib.suppress(OverflowError):  # an integer that no float can hold
            function(argument)


SCORES: list[Callable[..., Any]] = [
    lambda p, a, b: scoring.occurrence_discrepancy(p, a, b),
    lambda p, a, b: scoring.tks_pit(p, a, b),
    lambda p, a, b: scoring.ks_pit(p, a),
    lambda p, a, b: scoring.twcrps(p, a, b),
    lambda p, a, b: scoring.thresholded_pit(p, a, b),
]


@quick
@given(score=st.sampled_from(SCORES), first=arrays, second=st.one_of(junk, numbers))
def test_a_score_is_computed_or_refused(model: tcgp.Model, score: Any, first: Any, second: Any) -> None:
    with refusal_allowed():
        score(model.predict([[0.3], [0.7]]), first, second)


# ---- specs, journals, tables, arguments ----

KEYS = [
    "parameters",
    "command",
    "input",
    "timeout",
    "objective",
    "environment",
    "budget",
    "seed",
    "workers",
    "target",
    "max_time",
    "method",
    "criterion",
    "epsilon",
    "n_initial",
    "initial_design",
    "maximizer",
    "options",
    "low",
    "high",
    "log",
    "choices",
    "type",
    "file",
    "pattern",
    "key",
]


def _toml(value: Any) -> str | None:
    """A value in TOML, or None if TOML has none."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if abs(value) < 2**63 else None
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, list | tuple):
        items = [_toml(item) for item in value]
        return None if None in items else f"[{', '.join(items)}]"  # type: ignore[arg-type]
    if isinstance(value, dict):
        items = [
            f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items() if _toml(item) is not None
        ]
        return "{" + ", ".join(items) + "}"
    return None


def _load(text: str | bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "spec.toml"
        path.write_bytes(text.encode(errors="replace") if isinstance(text, str) else text)
        try:
            load_spec(str(path))
        except UsageError as error:
            assert "\n" not in str(error), str(error)  # noqa: PT017


@quick
@given(
    top=st.dictionaries(st.sampled_from(KEYS), junk, max_size=4),
    parameter=st.one_of(
        junk, st.dictionaries(st.sampled_from(["low", "high", "log", "choices", "type"]), junk)
    ),
)
def test_a_spec_of_any_values_is_read_or_refused(top: dict[str, Any], parameter: Any) -> None:
    top = {"parameters": {"x": parameter}} | top
    lines = [f"{key} = {_toml(value)}" for key, value in top.items() if _toml(value) is not None]
    _load("\n".join(lines))


@quick
@given(
    position=st.integers(0, len(EXAMPLE)),
    length=st.integers(0, 20),
    text=st.one_of(texts, st.binary(max_size=4)),
)
def test_a_spec_changed_anywhere_is_read_or_refused(position: int, length: int, text: str | bytes) -> None:
    raw = EXAMPLE.replace("./simulate", "true").encode()
    insert = text.encode(errors="replace") if isinstance(text, str) else text
    _load(raw[:position] + insert + raw[position + length :])


def _command(arguments: list[str]) -> tuple[int, str]:
    """Exit code and standard error of a command; an exception would fail the test."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    return code, err.getvalue()


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a spec, a journal and a table, and nothing else."""
    monkeypatch.chdir(tmp_path)
    Path("spec.toml").write_text("[parameters]\nx = {low = 0, high = 1}\n")
    rng = np.random.default_rng(0)
    with tcgp.Optimizer({"x": tcgp.Real(0, 1)}, n_initial=3, rng=0, journal="run.jsonl") as optimizer:
        for _ in range(5):
            optimizer.tell(optimizer.ask(), float(rng.random()))
        optimizer.ask()
    Path("data.csv").write_text("a,b,y\n" + "".join(f"{i},{i * i % 7},{i % 3}\n" for i in range(12)))
    return tmp_path


WORDS = [
    "ask",
    "tell",
    "status",
    "report",
    "diagnose",
    "minimize",
    "--spec",
    "--json",
    "--csv",
    "--x",
    "--failed",
    "--objective",
    "--ignore",
    "--delta",
    "--bounds",
    "--method",
    "--output",
    "--dry-run",
    "--budget",
    "--journal",
    "-n",
    "run.jsonl",
    "data.csv",
    "spec.toml",
    "no-such-file",
    ".",
    "0",
    "1",
    "-1",
    "nan",
    "0.5",
    "gp",
    "y",
    "a=0:20",
    "--help",
    "--version",
    "--",
    "{}",
]


@settings(quick, max_examples=100)
@given(
    arguments=st.lists(st.one_of(st.sampled_from(WORDS), texts.filter(lambda t: "\0" not in t)), max_size=6)
)
def test_any_arguments_end_with_an_exit_code_and_no_traceback(place: Path, arguments: list[str]) -> None:
    arguments = [a for a in arguments if a not in ("demo", "experiment", "--refresh", "--plot")]
    code, err = _command(arguments)
    assert code in (0, 1, 2)
    assert "Traceback" not in err
    if code == 2 and arguments:
        assert err.startswith("tcgp: ") or not err


events = st.fixed_dictionaries(
    {"event": st.one_of(st.sampled_from(["ask", "tell"]), junk)},
    optional={
        "id": st.one_of(st.integers(0, 7), junk),
        "x": st.one_of(st.just([0.25]), junk),
        "y": st.one_of(numbers, junk),
        "reason": st.one_of(st.none(), texts, junk),
        "source": st.one_of(st.just("design"), junk),
        "trace": st.one_of(st.none(), junk),
        "fit": st.one_of(st.none(), junk),
        "seconds": st.one_of(st.none(), junk),
    },
)


def _plain(value: Any) -> Any:
    """The same without what JSON does not have."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if not isinstance(value, float) or math.isfinite(value) else None


@settings(quick, max_examples=25)
@given(event=events, whole=st.booleans())
@example(
    event={"event": "ask", "id": 6.0, "x": [0.75], "source": "design", "trace": None, "fit": None}, whole=True
)
@example(event={"event": "ask", "id": 6, "x": [0.75], "source": [1], "trace": 7, "fit": 3}, whole=True)
@example(
    event={
        "event": "ask",
        "id": 6,
        "x": [0.75],
        "source": "criterion",
        "trace": {"n": "many"},
        "fit": {"n": 1, "state": 2},
    },
    whole=True,
)
@example(event={"event": "tell", "id": 5, "x": [0.75], "y": 1.0, "reason": {"a": 1}}, whole=True)
@example(event={"event": "tell", "id": None, "x": [0.75], "y": None, "reason": ["a"]}, whole=True)
@example(
    event={"event": "tell", "id": None, "x": [0.75], "y": None, "reason": "\x1b[31mred\nlines"}, whole=True
)
def test_a_hostile_journal_is_read_or_refused_by_every_command(
    place: Path, event: dict[str, Any], whole: bool
) -> None:
    complete = {
        "id": 6,
        "x": [0.75],
        "y": 1.0,
        "reason": None,
        "source": "design",
        "trace": None,
        "fit": None,
    }
    line = json.dumps(_plain({**(complete if whole else {}), **event}))
    raw = Path("run.jsonl").read_text()
    Path("bad.jsonl").write_text(
        raw + line + "\n" + raw.splitlines()[-1].replace('"id": 5', '"id": 7') + "\n"
    )
    with contextlib.suppress(JournalError), tcgp.Optimizer.resume("bad.jsonl") as optimizer:
        optimizer.ask(2)
    for arguments in (
        ["status", "bad.jsonl"],
        ["status", "bad.jsonl", "--json"],
        ["diagnose", "bad.jsonl"],
        ["ask", "bad.jsonl"],
    ):
        code, err = _command(arguments)
        assert code in (0, 1, 2), arguments
        assert "\x1b[31m" not in err


@settings(quick, max_examples=20)
@given(header=st.dictionaries(st.sampled_from(["space", "settings", "seed", "format", "version"]), junk))
@example(header={"settings": {"journal": "elsewhere.jsonl"}})
def test_a_hostile_header_is_refused(place: Path, header: dict[str, Any]) -> None:
    lines = Path("run.jsonl").read_text().splitlines()
    Path("bad.jsonl").write_text(
        "\n".join([json.dumps(json.loads(lines[0]) | _plain(header)), *lines[1:]]) + "\n"
    )
    with contextlib.suppress(JournalError), tcgp.Optimizer.resume("bad.jsonl"):
        pass
    for arguments in (["status", "bad.jsonl"], ["ask", "bad.jsonl", "--spec", "spec.toml"]):
        assert _command(arguments)[0] in (0, 1, 2)
    assert not Path("elsewhere.jsonl").exists()


cells = st.one_of(numbers.map(str), texts, st.sampled_from(["=1+1", '"', "''", "a,b", "\r", ";"]))


@quick
@given(rows=st.lists(st.lists(cells, min_size=1, max_size=3).map(",".join), max_size=8))
def test_any_table_is_diagnosed_or_refused(place: Path, rows: list[str]) -> None:
    Path("bad.csv").write_text("\n".join(["a,b,y", *rows]), errors="replace")
    code, err = _command(["diagnose", "bad.csv"])
    assert code in (0, 2)
    assert code == 0 or "error" in err
