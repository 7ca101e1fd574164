"""``tcgp mcp``: the campaigns of one directory for assistants that speak the Model Context Protocol."""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcgp.cli.campaigns import JOURNAL, default_journal, open_optimizer, read
from tcgp.cli.console import DONE, UsageError
from tcgp.cli.diagnose import describe_run
from tcgp.cli.spec import load_spec
from tcgp.cli.status import facts
from tcgp.cli.tell import add_answer
from tcgp.cli.whatif import what_if
from tcgp.goals import parameter_names
from tcgp.optimizer import Optimizer, SpaceExhausted
from tcgp.record.journal import is_journal

if TYPE_CHECKING:
    from mcp.server import MCPServer

__all__ = ["build_server", "run"]

LEVEL = 0.9  # of the intervals of predictions
MOST_POINTS = 100  # in one call

INSTRUCTIONS = """\
Campaigns of Bayesian optimization: an expensive function, such as a simulation or an experiment, is evaluated at
points that a model proposes. Call `propose` for points, have them evaluated, and `report` the outcome of each.
Never invent a value: report only what was measured or computed, or that the evaluation failed.
"""


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp mcp``."""
    build_server(options.directory, read_only=options.read_only, spec=options.run).run()
    return DONE


def build_server(
    directory: str | Path, *, read_only: bool = False, spec: str | Path | None = None
) -> MCPServer:
    """The server of a directory; with a spec it may run the program of this spec, and no other.

    Parameters
    ----------
    directory : str or Path
        Journals (``wing.jsonl``), specs (``wing.toml``) and campaigns of ``tcgp minimize`` (``wing.tcgp``).
    read_only : bool
        Whether nothing may be changed.
    spec : str or Path, optional
        The spec whose program may be run.
    """
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        raise UsageError("tcgp mcp needs the package mcp: pip install 'mcp>=2.3'") from None
    place = Path(directory).resolve()
    if not place.is_dir():
        raise UsageError(f"the directory {str(directory)!r} does not exist")
    if read_only and spec is not None:
        raise UsageError("--read-only and --run cannot be used together")
    campaigns = _Campaigns(place)
    looking: list[Callable[..., Any]] = [campaigns.campaigns, campaigns.status, campaigns.best]
    looking += [campaigns.diagnose, campaigns.predict, campaigns.whatif]
    changing: list[Callable[..., Any]] = [] if read_only else [campaigns.propose, campaigns.report]
    if spec is not None:
        changing.append(_Runs(Path(spec)).run)
    server = MCPServer("tcgp", instructions=INSTRUCTIONS)
    for tool in (*looking, *changing):
        hints = ToolAnnotations(read_only_hint=tool in looking, destructive_hint=False)
        server.add_tool(_refusing(tool), annotations=hints)
    return server


def _refusing(tool: Callable[..., Any]) -> Callable[..., Any]:
    """The tool, with errors that the caller can fix reported as the protocol expects."""
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return tool(*args, **options)
        except (UsageError, ValueError, SpaceExhausted, OSError) as error:
            raise ToolError(str(error)) from None

    return call


class _Campaigns:
    """The tools for the campaigns of a directory; a name is never a path."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def campaigns(self) -> dict[str, list[str]]:
        """List the campaigns, by which all tools name them, and the specs from which `propose` can begin one."""
        return {"campaigns": list(self._journals()), "specs": list(self._specs())}

    def status(self, campaign: str) -> dict[str, Any]:
        """The state of a campaign: parameters, counts, the best point, failures by reason, and pending points."""
        found = read(self._journal(campaign))
        names = parameter_names(found.space)
        return {
            "parameters": dict(zip(names, map(repr, found.space.dimensions), strict=True)),
            **facts(found),
        }

    def best(self, campaign: str) -> dict[str, Any]:
        """The best point that satisfies all constraints; or the front; or, with noise, the best predicted point."""
        found = facts(read(self._journal(campaign)))
        return {
            key: found[key]
            for key in ("objective", "maximize", "best", "front", "predicted", "nearest")
            if key in found
        }

    def diagnose(self, campaign: str) -> str:
        """Whether the model is over- or underconfident about low values, and which parameters matter."""
        return "\n".join(describe_run(self._journal(campaign))[1])

    def predict(self, campaign: str, point: dict[str, Any]) -> dict[str, Any]:
        """The prediction at any point. Nothing is run or recorded."""
        optimizer = Optimizer.read(self._journal(campaign))
        names = parameter_names(optimizer.space)
        if set(point) != set(names):
            raise UsageError(f"point must have a value for each of {', '.join(names)}, got {point!r}")
        x: Any = point if optimizer.space.names is not None else [point[name] for name in names]
        found = {}
        for objective in optimizer.history.goals.objectives:
            law = optimizer.fit_model(objective.text).predict([x])
            low, high = law.interval(LEVEL)
            found[objective.text or "value"] = {
                "mean": law.mean.item(),
                "low": low.item(),
                "high": high.item(),
            }
        return {"predicted": found, "level": LEVEL}

    def whatif(self, campaign: str, limits: list[str]) -> str:
        """The best recorded and the best predicted point for other limits, such as "stress <= 3". Nothing is run."""
        return "\n".join(what_if(self._journal(campaign), limits))

    def propose(self, campaign: str, n: int = 1) -> dict[str, Any]:
        """The next n points to evaluate, each with the id by which it is reported; they stay pending until then."""
        if not 1 <= n <= MOST_POINTS:
            raise UsageError(f"n must be between 1 and {MOST_POINTS}, got {n}")
        spec = None
        if campaign in self._specs():
            spec = load_spec(str(self._place / campaign))
            campaign = spec.path.with_suffix(".jsonl").name
        path = self._place / campaign if spec is not None else self._journal(campaign)
        points: list[dict[str, Any]] = []
        with open_optimizer(str(path), spec) as optimizer:
            while len(points) < n:
                try:
                    proposal = optimizer.propose()
                except SpaceExhausted:
                    if not points:
                        raise
                    break
                points.append({"id": proposal.id, "x": optimizer.space.as_named(proposal.x)})
        return {"campaign": campaign, "points": points}

    def report(
        self,
        campaign: str,
        id: int,
        value: float | None = None,
        outputs: dict[str, float] | None = None,
        failed: str | None = None,
    ) -> str:
        """Report the outcome of a proposed point: its value, or its named outputs, or the reason why it failed."""
        if sum(given is not None for given in (value, outputs, failed)) != 1:
            raise UsageError("exactly one of value, outputs and failed must be given")
        path = str(self._journal(campaign))
        with open_optimizer(path) as optimizer:
            return add_answer(optimizer, path, id, value if outputs is None else outputs, failed)

    def _journals(self) -> dict[str, Path]:
        """The journals by the names of their campaigns; none that a link leads out of the directory."""
        found = {path.name: path for path in self._place.glob("*.jsonl")}
        found |= {path.parent.name: path for path in self._place.glob(f"*.tcgp/{JOURNAL}")}
        return {
            name: path for name, path in sorted(found.items()) if self._is_inside(path) and is_journal(path)
        }

    def _specs(self) -> list[str]:
        return sorted(path.name for path in self._place.glob("*.toml") if self._is_inside(path))

    def _is_inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._place)

    def _journal(self, campaign: str) -> Path:
        journals = self._journals()
        if campaign not in journals:
            raise UsageError(f"there is no campaign {campaign!r}; there are {', '.join(journals) or 'none'}")
        return journals[campaign]


class _Runs:
    """The program of the one spec that was named at the start."""

    def __init__(self, spec: Path) -> None:
        self._spec = spec.resolve()
        self._budget = load_spec(str(self._spec)).budget

    def run(self, n: int = 1) -> dict[str, Any]:
        """Make up to n more runs of the program, within the budget of its spec, and return the state of the
        campaign."""
        journal = default_journal(self._spec)
        done = facts(read(journal))["n_told"] if is_journal(journal) else 0
        budget = done + max(n, 1) if self._budget is None else min(done + max(n, 1), self._budget)
        command = [sys.executable, "-m", "tcgp", "minimize", str(self._spec), "--json", "--no-plots"]
        ended = subprocess.run(
            [*command, "--budget", str(budget)], stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if not ended.stdout.strip():
            raise UsageError(ended.stderr.strip() or f"tcgp minimize ended with exit code {ended.returncode}")
        found: dict[str, Any] = json.loads(ended.stdout)
        return found
