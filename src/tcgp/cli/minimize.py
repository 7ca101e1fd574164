"""``tcgp minimize``: drive a program to its minimum."""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tcgp._files import may_replace
from tcgp._text import quote, shorten
from tcgp.cli.campaigns import (
    answer_of,
    check_spec,
    default_journal,
    describe_answer,
    describe_counts,
    describe_failures,
    describe_front,
    describe_goals_at,
    describe_missing,
    describe_retries,
    describe_value,
    labelled,
    named,
    open_optimizer,
    read,
    spec_copy,
)
from tcgp.cli.console import (
    DONE,
    INTERRUPTED,
    WITHOUT_SUCCESS,
    UsageError,
    note,
    relative,
    show,
    signals_interrupt,
)
from tcgp.cli.pictures import can_draw, is_picture, new_figure, save
from tcgp.cli.report import check_writable
from tcgp.cli.spec import EXAMPLE, Program, Spec, load_spec, program_of
from tcgp.cli.status import facts
from tcgp.optimizer import Campaign, Evaluation, JournalError, Optimizer
from tcgp.record.file import check_not_rescued
from tcgp.running.crews import Crew, Terminated
from tcgp.running.minimize import Status, minimize
from tcgp.space import Categorical

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tcgp.optimizer.result import Result
    from tcgp.programs import Simulator

__all__ = ["run"]

PICTURES = ("convergence.png", "run.png", "front.png")
MOST_SHOWN = 3  # parameters in a picture after a run


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp minimize``."""
    if options.example:
        print(EXAMPLE, end="")
        return DONE
    spec, journal, simulator = _read_options(options)
    if options.dry_run:
        _show_plan(spec, journal, simulator)
        return DONE
    if options.report is not None:
        check_writable(options.report, force=options.force)
    simulator = _prepare(spec, journal, simulator)
    if options.retry_failed is not None:
        _retry_failed(journal, options.retry_failed)
    with signals_interrupt(Terminated):
        if options.try_once:
            from tcgp.cli.trial import try_once

            return try_once(spec, journal, simulator)
        result = _minimize(spec, journal, simulator, not (options.quiet or options.json), options.report)
    campaign = read(journal)
    simulator = replace(simulator, campaign=campaign.header.get("campaign"))
    if options.json:
        status = {"status": Status(result.status).name.lower(), "message": result.message}
        show(json.dumps({**facts(campaign), **status}))
    else:
        for line in _summary(campaign, journal, result, simulator):
            show(line)
        if options.report is not None:
            show(f"report       {relative(options.report)}")
    _note_what_to_do(options.spec, spec, result, campaign, simulator)
    if result.status == Status.INTERRUPTED:
        return INTERRUPTED
    if options.verify is not None:
        from tcgp.cli.verify import verify

        verify(campaign, simulator, options.verify)
    if not options.no_plots:
        _draw(result, journal, force=options.force, quiet=options.quiet)
    stuck = result.status in (Status.WORKERS, Status.FAILURES, Status.UNREAD)
    found = campaign.history.data.feasible.any() and not stuck
    return DONE if found else WITHOUT_SUCCESS


def _read_options(options: argparse.Namespace) -> tuple[Spec, Path, Simulator]:
    """The spec with the limits of the command line, the place of its journal, and its simulator."""
    if options.spec is None:
        raise UsageError("which SPEC.toml? tcgp minimize --example prints one to fill in")
    spec = load_spec(options.spec)
    spec = spec.with_limits(budget=options.budget, workers=options.workers, max_time=options.max_time)
    if spec.program is None:
        raise UsageError(
            f"the spec {options.spec!r} has no 'command': say what to run, or use tcgp ask and tell"
        )
    if spec.budget is None:
        raise UsageError(
            f"the spec {options.spec!r} has no 'budget', the number of runs; add it, or use --budget"
        )
    journal = Path(options.journal) if options.journal else default_journal(spec.path)
    if journal.exists() and not journal.is_file():
        raise UsageError(f"the journal {str(journal)!r} is not a regular file: choose another")
    for argument in spec.program.files_out_of_reach(spec.directory):
        note(
            f"every run works in a directory of its own: if {argument!r} is the file next to the spec, write "
            f'"{{spec_dir}}/{argument}"'
        )
    return spec, journal, spec.program.simulator(journal.absolute().parent / "runs", spec.directory)


def _note_what_to_do(name: str, spec: Spec, result: Result, campaign: Campaign, simulator: Simulator) -> None:
    """Say how to continue after a run without a value, and after an interruption."""
    if result.status == Status.UNREAD:
        _note_what_was_printed(spec, campaign, simulator)
        note(
            f"say in {name!r} where the value is, and repeat the command: it reads the value from the finished runs "
            f"and repeats none (tcgp minimize {name} --try makes one run and shows what is read)"
        )
    elif campaign.history.evaluations and not campaign.history.data.succeeded.any():
        note(
            "no run has succeeded: if the command was at fault, fix it and add --retry-failed; if only the place of "
            "the value was wrong, correct the spec and repeat the command, which reads the finished runs again"
        )
    if result.status == Status.INTERRUPTED:
        note(f"to continue, repeat the command: tcgp minimize {name}")


def _minimize(spec: Spec, journal: Path, simulator: Simulator, progress: bool, report: str | None) -> Result:
    assert spec.budget is not None
    try:
        return minimize(
            simulator,
            spec.space,
            n_evals=spec.budget,
            rng=spec.seed,
            workers=_crew(spec, simulator),
            journal=journal,
            progress=progress,
            target=spec.target,
            x0=spec.x0 or None,
            **spec.stopping,
            max_time=spec.max_time,
            report=report,
            retries=spec.retries,
            max_failures=spec.max_failures,
            **asdict(spec.settings),
        )
    except JournalError as error:
        words = str(error).replace("tcgp.Optimizer.resume", "tcgp minimize with --journal")
        raise UsageError(words) from None


def _crew(spec: Spec, simulator: Simulator) -> Crew:
    """The crew that runs the program: on this machine, or on the workers of a cluster."""
    from tcgp.programs import ClusterCrew, ProgramCrew

    if spec.scheduler is None:
        return ProgramCrew(simulator, spec.workers or 1)
    try:
        return ClusterCrew(simulator, spec.scheduler, spec.workers)
    except ImportError:
        raise UsageError("a cluster needs Dask: pip install distributed") from None
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UsageError(f"the scheduler {spec.scheduler!r} cannot be reached: {reason[:200]}") from None


def _prepare(spec: Spec, journal: Path, simulator: Simulator) -> Simulator:
    """Make the directory of the journal, check that a journal there belongs to this spec, and return its simulator."""
    from tcgp.cli.reread import keep_spec, read_again

    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        copy = spec_copy(journal)
        copy.parent.mkdir(exist_ok=True)
        if not journal.exists() or not journal.stat().st_size:
            check_not_rescued(journal)
            _refuse_if_emptied(journal, copy)
            keep_spec(spec.path, copy)
            return simulator
        check_spec(spec, journal)
        _note_what_is_there(spec, journal)
        _note_changed_command(spec, copy)
    except OSError as error:
        raise UsageError(
            f"the directory {relative(journal.parent)!r} cannot be written to ({error.strerror}); "
            "choose another with --journal"
        ) from None
    except JournalError as error:
        raise UsageError(str(error)) from None
    simulator = replace(simulator, campaign=read(journal).header.get("campaign"))
    read_again(spec, journal, simulator, copy)
    return simulator


def _retry_failed(journal: Path, text: str) -> None:
    """Make failed runs pending again whose reason contains this text, ignoring case."""
    with open_optimizer(str(journal), reoffer=True) as optimizer:
        failed = [e for e in optimizer.evaluations if e.failed and e.id is not None]
        chosen = [e for e in failed if text.casefold() in str(e.reason).casefold()]
        if failed and not chosen:
            reasons = "; ".join(dict.fromkeys(quote(str(e.reason)) for e in failed))
            raise UsageError(
                f"no run failed for a reason with {text!r}; the reasons are: {shorten(reasons, 400)}"
            )
        for e in chosen:
            assert e.id is not None
            optimizer.note_retry(e.id, e.reason, e.seconds)
    numbers = ", ".join(str(e.id) for e in chosen)
    note(f"failed runs to repeat: {numbers or 'none, because no run has failed'}")


def _refuse_if_emptied(journal: Path, copy: Path) -> None:
    """Refuse a journal that has lost its contents, for instance on a full disk."""
    if journal.exists() and copy.exists() and any(copy.parent.glob("[0-9]*")):
        raise UsageError(
            f"the journal {relative(journal)!r} is empty, and there are runs in {relative(copy.parent)!r}: restore it "
            "from a backup, or delete it to start again and repeat all runs"
        )


def _note_what_is_there(spec: Spec, journal: Path) -> None:
    done = len(read(journal).history.evaluations)
    assert spec.budget is not None
    more = "" if done < spec.budget else "; raise the budget with --budget for more"
    note(f"continuing {relative(journal)}, which has {done} evaluations{more}")


def _note_changed_command(spec: Spec, copy: Path) -> None:
    """Note that the values in the journal come from another command."""
    with contextlib.suppress(UsageError):  # there is no copy, or a crash has damaged it
        if program_of(copy) != program_of(spec.path):
            note("this journal was begun with another command; its values are kept")


def _note_what_was_printed(spec: Spec, campaign: Campaign, simulator: Simulator) -> None:
    """Show the last line of the text from which the value is read, if there is only one."""
    from tcgp.programs import RunFailed
    from tcgp.programs.crew import run_name
    from tcgp.programs.output import last_line

    number = campaign.history.evaluations[-1].id
    if number is None or spec.program is None or spec.program.outputs is not None:
        return
    place = spec.program.objective
    directory = simulator.directory_of(run_name(number, campaign.history.n_retries(number)))
    if directory is None:
        return
    with contextlib.suppress(RunFailed):  # then the reason says that there is nothing
        note(f"{place.where} of run {number} ends with the line {quote(last_line(place.text(directory)))}")


# ---- what is said ----


def _show_plan(spec: Spec, journal: Path, simulator: Simulator) -> None:
    """The spec as it was understood, and the first command."""
    assert spec.program is not None
    settings = spec.completed_settings
    point = Optimizer(spec.space, rng=spec.seed, **asdict(settings)).propose().x
    parameters = spec.space.as_argument(point)
    show(f"budget      {spec.budget} runs, {settings.n_initial} of them an initial design")
    for line in _describe_goals(spec):
        show(line)
    show(f"method      {settings.method} with {settings.criterion}")
    where = "" if spec.scheduler is None else f" on the cluster of {spec.scheduler}"
    show(f"workers     {spec.workers or 'all'}{where}")
    if spec.retries is not None:
        show(f"retries     {spec.retries.times} for each run, after {spec.retries.delay:g} s")
    show(
        f"timeout     {'none' if spec.program.timeout is None else f'{spec.program.timeout:g} s for each run'}"
    )
    for name, dimension in zip(spec.space.names or (), spec.space.dimensions, strict=True):
        show(f"parameter   {name}: {dimension}")
    show(f"for example {shlex.join(simulator.arguments(parameters))}")
    if spec.program.input == "json":
        show(f"input       {json.dumps(parameters)}")
    for file, path in spec.program.templates.items():
        show(f"template    {path}, filled in as {file}")
    show(f"in          {relative(Path(simulator.runs) / '0000')}")
    for line in _describe_places(spec.program):
        show(line)
    show(f"journal     {relative(journal)}")
    show("Nothing was run.")


def _describe_goals(spec: Spec) -> Iterator[str]:
    """The goals, line by line."""
    goals = spec.settings.goals(spec.space)
    assert spec.program is not None
    for quantity in goals.objectives:
        what = spec.program.objective.described if goals.objective is None else quantity.text
        yield f"objective   {'minimize' if quantity.sign > 0.0 else 'maximize'} {what}"
    for text in dict.fromkeys(limit.text for limit in goals.limits):
        yield f"constraint  {text}   (on outputs: learned during the run)"
    for known in goals.known:
        yield f"constraint  {known.text}   (on parameters: no run violates it)"


def _describe_places(program: Program) -> Iterator[str]:
    """The places of the outputs, if there are several."""
    if isinstance(program.outputs, str):
        yield "outputs     all numbers of the JSON object in standard output"
    elif program.outputs is not None:
        for name, place in program.outputs.items():
            yield f"output      {name}: {place.described}"


def _summary(campaign: Campaign, journal: Path, result: Result, simulator: Simulator) -> list[str]:
    history = campaign.history
    if history.goals.has_several and len(history.data.front):
        lines = describe_front(campaign, lambda e: _where(campaign, e, simulator))
    elif result.noise:
        lines = describe_answer(campaign, answer_of(campaign))
    elif history.best is not None:
        lines = _describe_best("best value", campaign, history.best, simulator)
    elif history.least_violating is not None:
        lines = ["best value   none: no run satisfies all constraints"]
        lines += _describe_best("nearest", campaign, history.least_violating, simulator)
    else:
        lines = ["best value   none: no run has succeeded"]
    lines += labelled("evaluations", [describe_counts(campaign), *describe_failures(campaign)])
    lines += labelled("no value of", describe_missing(campaign))
    lines += labelled("tried again", describe_retries(campaign))
    lines.append(f"stopped      {result.stopped}")
    lines.append(f"journal      {relative(journal)}")
    return lines


def _describe_best(label: str, campaign: Campaign, evaluation: Evaluation, simulator: Simulator) -> list[str]:
    """The value of a run, its point, and its other outputs."""
    where = _where(campaign, evaluation, simulator)
    point = [f"{name} = {json.dumps(value)}" for name, value in named(campaign, evaluation.x).items()]
    return [
        f"{label:<13}{describe_value(campaign, evaluation)}{where}",
        *labelled("at", point),
        *describe_goals_at(campaign, evaluation),
    ]


def _where(campaign: Campaign, evaluation: Evaluation, simulator: Simulator) -> str:
    """The number of a run and its directory, if it has them."""
    from tcgp.programs.crew import run_name

    number = evaluation.id
    name = None if number is None else run_name(number, campaign.history.n_retries(number))
    directory = simulator.directory_of(name)
    place = "" if directory is None else f", {relative(directory)}"
    return "" if number is None else f"   (run {number}{place})"


def _draw(result: Result, journal: Path, *, force: bool, quiet: bool) -> None:
    """Save pictures, if there is something new to draw and matplotlib is installed."""
    directory = journal.parent
    if not result.optimizer.history.data.succeeded.any():
        return
    if not can_draw():
        note("pictures need matplotlib: pip install matplotlib")
        return
    there = [directory / name for name in PICTURES if (directory / name).exists()]
    if there and all(p.stat().st_mtime >= journal.stat().st_mtime for p in there) and not force:
        show(f"pictures     {', '.join(map(relative, there))}, unchanged")
        return
    if not quiet:
        note("drawing pictures (use --no-plots to skip them)")
    names = []
    try:
        for name, figure in _figures(result):
            if not (force or may_replace(directory / name, is_picture)):
                note(
                    f"{relative(directory / name)!r} was not written by tcgp, and is replaced only with --force"
                )
                continue
            save(figure, directory / name)
            names.append(relative(directory / name))
    except Exception as error:  # the run is over and safe: no picture is worth a traceback
        note(f"a picture could not be drawn ({type(error).__name__}: {error})")
    show(f"pictures     {', '.join(names) or 'none'}")


def _figures(result: Result) -> Iterator[tuple[str, Figure]]:
    from tcgp.plotting import plot_convergence, plot_samples

    if "front" in result:
        yield "front.png", result.plot()
        return
    figure = new_figure(6.0, 4.4)
    plot_convergence(result, ax=figure.subplots())
    yield "convergence.png", figure
    yield "run.png", plot_samples(result, parameters=_telling(result))


def _telling(result: Result) -> list[int]:
    """The parameters with the highest rank correlation with the value, in their order: more would take long to draw."""
    data = result.optimizer.history.data
    points = [e.x for e, ok in zip(data.evaluations, data.succeeded, strict=True) if ok]
    ranks = np.argsort(np.argsort(data.Y[data.succeeded, 0]))
    shares = []
    for dimension, values in zip(result.optimizer.space.dimensions, zip(*points, strict=True), strict=True):
        places = [dimension.place(v) if isinstance(dimension, Categorical) else v for v in values]
        varies = len(set(values)) > 1 and len(points) > 2
        shares.append(abs(np.corrcoef(np.argsort(np.argsort(places)), ranks)[0, 1]) if varies else 0.0)
    return sorted(np.argsort(shares)[::-1][:MOST_SHOWN].tolist())
