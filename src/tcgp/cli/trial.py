"""``tcgp minimize SPEC --try``: make one run, and show what is read from it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tcgp._text import printable
from tcgp.cli.campaigns import labelled, open_optimizer
from tcgp.cli.console import DONE, INTERRUPTED, WITHOUT_SUCCESS, UsageError, complain, note, relative, show
from tcgp.cli.spec import Spec
from tcgp.optimizer import Evaluation, Optimizer, Proposal
from tcgp.programs import ProgramCrew, Simulator
from tcgp.programs.crew import run_name
from tcgp.programs.output import read_tail
from tcgp.running.crews import Outcome, WorkersError

__all__ = ["try_once"]

LAST_LINES = 8  # of what the program printed


def try_once(spec: Spec, journal: Path, simulator: Simulator) -> int:
    """Run the next point of the campaign and show what is read; only a value is journaled.

    A run that ended normally without a value is not wasted: once the spec is right, it is read, not repeated.
    """
    with open_optimizer(str(journal), spec, reoffer=True) as optimizer:
        simulator = replace(simulator, campaign=optimizer.campaign)
        assert spec.budget is not None
        if optimizer.history.n_done >= spec.budget:
            raise UsageError(f"the budget of {spec.budget} runs is spent: raise it with --budget")
        proposal = optimizer.propose()
        crew = ProgramCrew(simulator, 1)
        try:
            outcome = _outcome(optimizer, proposal, simulator, crew)
        except WorkersError as error:
            raise UsageError(str(error)) from None
        except KeyboardInterrupt:
            if crew.leave():
                note(f"interrupted: run {proposal.id} continues, and is adopted by the next start")
            return INTERRUPTED
        finally:
            crew.close()
        name = run_name(proposal.id, optimizer.history.n_retries(proposal.id))
        x, goals = proposal.x, optimizer.history.goals
        evaluation = Evaluation.of(x, outcome.value, outcome.reason, outcome.seconds, goals)
        for line in _shown(spec, simulator, name, optimizer.space.as_argument(x), outcome, evaluation):
            show(line)
        if evaluation.failed and outcome.exit_code != 0:
            optimizer.note_retry(proposal.id, evaluation.reason, outcome.seconds)
        elif not evaluation.failed:
            optimizer.tell(x, outcome.value, reason=outcome.reason, seconds=outcome.seconds)
    if not evaluation.failed:
        show(f"journaled    as evaluation {optimizer.history.n_done} of {spec.budget}")
        return _complain_of_missing(spec, outcome)
    again = "repeated by the next start"
    if outcome.exit_code == 0:
        place = relative(simulator.directory_of(name) or Path(simulator.runs) / name)
        again = f"read again by the next start, and not repeated unless you delete {place}"
    show(f"journaled    no value: correct the spec or the program, and this run is {again}")
    return WITHOUT_SUCCESS


def _complain_of_missing(spec: Spec, outcome: Outcome) -> int:
    """Exit code of a run with a value: a missing output is an error even if no goal names it."""
    missing = list(outcome.reason) if isinstance(outcome.reason, dict) else []
    if missing:
        complain(
            f"no value was found for the output{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}: "
            f"correct its place in {str(spec.path)!r}, and the next start reads it from this run"
        )
    return WITHOUT_SUCCESS if missing else DONE


def _outcome(optimizer: Optimizer, proposal: Proposal, simulator: Simulator, crew: ProgramCrew) -> Outcome:
    """The outcome at a point; an earlier run of it that failed is repeated.

    One that ended normally is not: perhaps only the spec is wrong about the place of its value.
    """
    argument = optimizer.space.as_argument(proposal.x)
    attempt = optimizer.history.n_retries(proposal.id)
    was_made = simulator.adopt(argument, run_name(proposal.id, attempt)) is not None
    outcome = _wait(crew, proposal.id, argument, attempt)
    x, goals = proposal.x, optimizer.history.goals
    tried = Evaluation.of(x, outcome.value, outcome.reason, outcome.seconds, goals)
    if was_made and tried.failed and outcome.exit_code != 0:
        optimizer.note_retry(proposal.id, tried.reason, outcome.seconds)
        return _wait(crew, proposal.id, argument, attempt + 1)
    return outcome


def _wait(crew: ProgramCrew, number: int, argument: dict[str, object], attempt: int) -> Outcome:
    crew.submit(number, argument, attempt)
    ((_, outcome),) = crew.wait(None)
    return outcome


def _shown(
    spec: Spec,
    simulator: Simulator,
    name: str,
    argument: dict[str, object],
    outcome: Outcome,
    evaluation: Evaluation,
) -> Iterator[str]:
    """A run, from its command to what was read from it."""
    assert spec.program is not None
    directory = simulator.directory_of(name) or Path(simulator.runs) / name
    yield f"command      {shlex.join(simulator.arguments(argument))}"
    yield from labelled("parameters", [f"{key} = {json.dumps(value)}" for key, value in argument.items()])
    yield f"in           {relative(directory)}"
    ended = "was stopped" if outcome.exit_code is None else f"exit code {outcome.exit_code}"
    yield f"ended        {ended}, after {outcome.seconds or 0.0:.3g} s"
    for label, file in (("printed", "stdout.txt"), ("stderr", "stderr.txt")):
        path = directory / file
        lines = read_tail(path).splitlines()[-LAST_LINES:] if path.is_file() else []
        yield from labelled(label, [printable(line) for line in lines])
    if isinstance(outcome.value, dict):
        reasons = outcome.reason if isinstance(outcome.reason, dict) else {}
        found = outcome.value.items()
        yield from labelled("read", [f"{n} = {reasons.get(n) if v is None else v}" for n, v in found])
        where = f"the output {spec.settings.objective!r}"
    else:
        where = spec.program.objective.described
    value = f"none: {evaluation.reason}" if evaluation.failed else repr(evaluation.y)
    yield f"value        {printable(value)}   ({where})"
