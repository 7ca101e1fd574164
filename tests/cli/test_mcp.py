"""``tcgp mcp``, through the client of the protocol's own package."""

from __future__ import annotations

import asyncio
import json
import os
import sys

import pytest

mcp = pytest.importorskip("mcp", reason="needs mcp: pip install mcp")

from commands import BOWL, TWO_REALS, events, write_spec  # noqa: E402

import tcgp  # noqa: E402
from tcgp.cli.mcp import build_server  # noqa: E402


def talk(server, *calls):
    """The answers of a server to calls of (tool, arguments); an error is its text."""

    async def conversation():
        async with mcp.Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return [
        answer.content[0].text if answer.is_error else answer.structured_content
        for answer in asyncio.run(conversation())
    ]


def tools(server):
    async def conversation():
        async with mcp.Client(server) as client:
            return (await client.list_tools()).tools

    return {tool.name: tool for tool in asyncio.run(conversation())}


@pytest.fixture
def place(tmp_path):
    """A directory with a spec and a campaign that has values, a failure and a pending point."""
    (tmp_path / "begin.toml").write_text("seed = 1\n" + TWO_REALS)
    with tcgp.Optimizer(
        {"width": (0.1, 2.0), "height": (0.1, 2.0)},
        objective="mass",
        constraints=["stress <= 2"],
        rng=0,
        journal=tmp_path / "beam.jsonl",
    ) as optimizer:
        for k in range(9):
            x = optimizer.ask()
            mass, stress = x["width"] * x["height"], 1.0 / (x["width"] * x["height"] ** 2)
            optimizer.tell(
                x, None if k == 3 else {"mass": mass, "stress": stress}, reason="the mesh was bad" * (k == 3)
            )
        optimizer.ask()
    return tmp_path


def test_a_campaign_is_begun_and_goes_on_with_values_and_failures(place):
    server = build_server(place)
    (begun,) = talk(server, ("propose", {"campaign": "begin.toml", "n": 2}))
    assert begun["campaign"] == "begin.jsonl"
    said, failed, missing, twice, listed = talk(
        server,
        ("report", {"campaign": "begin.jsonl", "id": 0, "value": 1.5}),
        ("report", {"campaign": "begin.jsonl", "id": 1, "failed": "the pump stopped"}),
        ("report", {"campaign": "begin.jsonl", "id": 2, "value": 1.0}),
        ("report", {"campaign": "begin.jsonl", "id": 0, "value": 1.0, "failed": "both"}),
        ("campaigns", {}),
    )
    assert said["result"] == "the best of 1 is 1.5, 1 pending"
    assert failed["result"] == "the best of 2 is 1.5, 0 pending"
    assert "no point 2 was proposed" in missing
    assert "exactly one of value, outputs and failed" in twice
    assert listed == {"campaigns": ["beam.jsonl", "begin.jsonl"], "specs": ["begin.toml"]}
    told = tcgp.Optimizer.read(place / "begin.jsonl").evaluations
    assert [(e.y, e.reason) for e in told] == [(1.5, None), (None, "the pump stopped")]
    assert [dict(zip("xy", e.x, strict=True)) for e in told] == [point["x"] for point in begun["points"]]


def test_what_is_said_of_a_campaign_is_what_the_journal_holds(place):
    optimizer = tcgp.Optimizer.read(place / "beam.jsonl")
    best = optimizer.history.best
    status, found, diagnosis, predicted, outside, relaxed = talk(
        build_server(place, read_only=True),
        ("status", {"campaign": "beam.jsonl"}),
        ("best", {"campaign": "beam.jsonl"}),
        ("diagnose", {"campaign": "beam.jsonl"}),
        ("predict", {"campaign": "beam.jsonl", "point": dict(zip(("width", "height"), best.x, strict=True))}),
        ("predict", {"campaign": "beam.jsonl", "point": {"width": 1.0}}),
        ("whatif", {"campaign": "beam.jsonl", "limits": ["stress <= 3"]}),
    )
    assert list(status["parameters"]) == ["width", "height"]
    assert (status["n_told"], len(status["pending"])) == (9, 1)
    assert list(status["failures"]) == ["the mesh was bad"]
    assert found["best"]["value"] == best.y
    assert found["best"]["constraints"][0]["text"] == "stress <= 2"
    assert "stress <= 2: " in diagnosis["result"]
    assert predicted["predicted"]["mass"]["mean"] == pytest.approx(best.y)
    assert "point must have a value for each of width, height" in outside
    assert relaxed["result"].startswith("limits       stress <= 3   (new)\nrecorded     ")


def test_several_objectives_have_a_front_and_go_on_with_another_server(tmp_path):
    goals = 'objective = ["mass", "sag"]\nconstraints = ["mass <= 1.2"]\n'
    (tmp_path / "beam.toml").write_text(goals + "seed = 1\n" + TWO_REALS)
    name = "beam.toml"
    for i in range(8):
        server = build_server(tmp_path)
        (asked,) = talk(server, ("propose", {"campaign": name}))
        name, x = asked["campaign"], asked["points"][0]["x"]
        answer = {"outputs": {"mass": x["x"] + x["y"], "sag": (1.0 - x["x"]) ** 2 + (1.0 - x["y"]) ** 2}}
        talk(server, ("report", {"campaign": name, "id": i, **({"failed": "no mesh"} if i == 2 else answer)}))
    status, best = talk(
        build_server(tmp_path, read_only=True), ("status", {"campaign": name}), ("best", {"campaign": name})
    )
    assert status["n_told"] == 8
    assert list(status["failures"]) == ["no mesh"]
    front = tcgp.Optimizer.read(tmp_path / name).result().front
    assert [point["outputs"] for point in best["front"]] == [point.outputs for point in front]
    assert front
    assert all(point.outputs["mass"] <= 1.2 for point in front)


def test_read_only_changes_nothing_and_nothing_outside_of_the_directory_is_reached(place):
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    inner = place / "inner"
    inner.mkdir()
    (inner / "link.jsonl").symlink_to(place / "beam.jsonl")
    assert {n for n, tool in tools(build_server(place)).items() if not tool.annotations.read_only_hint} == {
        "propose",
        "report",
    }
    assert "propose" not in tools(build_server(place, read_only=True))
    for name in ("../beam.jsonl", str(place / "beam.jsonl"), "link.jsonl", "../begin.toml"):
        status, propose = talk(
            build_server(inner), ("status", {"campaign": name}), ("propose", {"campaign": name})
        )
        assert "there is no campaign" in status
        assert "there is no campaign" in propose
    assert {path: path.read_bytes() for path in before} == before


def test_a_program_is_run_only_if_its_spec_was_named_and_within_its_budget(tmp_path):
    spec = write_spec(tmp_path, BOWL, budget=6)
    assert "run" not in tools(build_server(tmp_path))
    server = build_server(tmp_path, spec=spec)
    first, second = talk(server, ("run", {"n": 4}), ("run", {"n": 100}))
    assert (first["n_told"], second["n_told"]) == (4, 6)
    assert len(events(tmp_path / "spec.tcgp/journal.jsonl", "tell")) == 6
    (status,) = talk(server, ("status", {"campaign": "spec.tcgp"}))
    assert status["best"] == second["best"]


def test_the_command_speaks_the_protocol_and_nothing_else_on_its_streams(place):
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def conversation():
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "tcgp", "mcp", str(place)], env=dict(os.environ)
        )
        async with mcp.Client(stdio_client(server)) as client:
            await client.call_tool("propose", {"campaign": "beam.jsonl"})
            return await client.call_tool("status", {"campaign": "beam.jsonl"})

    answer = asyncio.run(conversation())
    assert len(json.loads(answer.content[0].text)["pending"]) == 2
