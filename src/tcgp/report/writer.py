"""When a report is written: at any time from a journal, and along a run without slowing or breaking it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Collection
from pathlib import Path

from tcgp._files import write_atomically
from tcgp.journal import read_journal
from tcgp.optimizer import Optimizer
from tcgp.report.data import Note, State, notes_from_journal, report_data
from tcgp.report.page import render

__all__ = ["Reporter", "report_from_journal", "report_from_optimizer"]

logger = logging.getLogger("tcgp")

REFRESH = 10.0  # seconds after which the page of a running run loads itself again

# Time a run lends to its report: some seconds at once, and then a share of its duration. A run of minutes per
# evaluation is shown after each; one of milliseconds, now and then.
ALLOWANCE = 3.0
SHARE = 0.03

LARGEST_FIT = 150  # evaluations to which a model is fitted for the last page alone: about a second


class Reporter:
    """Keeps the report of a run up to date.

    Whatever goes wrong here is logged and costs the run nothing but a report.

    Parameters
    ----------
    path : str or os.PathLike
        File to write, in a directory that exists.
    optimizer : Optimizer
        The run, read and never changed.
    n_evals : int, optional
        Budget of the run.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tcgp
    >>> from tcgp.report import Reporter
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.html"
    >>> optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0)
    >>> reporter = Reporter(path, optimizer)
    >>> x = optimizer.ask()
    >>> reporter.waiting([0])
    >>> optimizer.tell(x, 1.0)
    >>> reporter.look()
    >>> reporter.close("that will do")
    >>> path.read_text().startswith("<!DOCTYPE html>")
    True
    """

    def __init__(
        self, path: str | os.PathLike[str], optimizer: Optimizer, n_evals: int | None = None
    ) -> None:
        self.path = Path(path)
        if self.path.is_dir() or not self.path.absolute().parent.is_dir():
            raise ValueError(
                f"report must be a file in a directory that exists, got {str(path)!r}; create the directory first"
            )
        self._optimizer, self._n_evals = optimizer, n_evals
        self._begun = time.monotonic()
        self._spent = 0.0
        self._complained = False
        self._notes: list[Note] = []
        self._software: str | None = None
        self._under_way: dict[int, tuple[float, Note]] = {}
        self._guarded(self._recall)

    def waiting(self, numbers: Collection[int]) -> None:
        """Evaluations with these numbers are under way: show them."""
        self._guarded(lambda: self._note_started(numbers))
        if self._spent <= ALLOWANCE + SHARE * (time.monotonic() - self._begun):
            self._guarded(lambda: self._write(State(True, "running", self._n_evals, REFRESH)))

    def look(self) -> None:
        """An evaluation has ended."""
        self._guarded(self._note_ended)

    def close(self, message: str) -> None:
        """The run has ended, for the reason given: write the report a last time."""
        fit = len(self._optimizer.evaluations) <= LARGEST_FIT
        self._guarded(lambda: self._write(State(False, message, self._n_evals), fit=fit))

    def _recall(self) -> None:
        """Notes on the evaluations made before this process: by the journal if there is one."""
        journal = self._optimizer._journal
        if journal is not None:
            record = read_journal(journal.path)
            self._notes = notes_from_journal(record, journal.path.parent / "runs")
            self._software = record.header.get("software")
        missing = len(self._optimizer.evaluations) - len(self._notes)
        self._notes += [Note()] * missing

    def _note_started(self, numbers: Collection[int]) -> None:
        now, pending = time.monotonic(), self._optimizer.history.pending
        for number in numbers:
            if number not in self._under_way and number in pending:
                proposal = pending[number]
                note = Note.of(number, proposal.source, proposal.trace, None)
                self._under_way[number] = (now, note)

    def _note_ended(self) -> None:
        now, pending = time.monotonic(), self._optimizer.history.pending
        for number in [n for n in self._under_way if n not in pending]:
            start, note = self._under_way.pop(number)
            self._notes.append(Note(note.id, note.source, note.optimizer, now - start))

    def _write(self, state: State, fit: bool = False) -> None:
        start = time.monotonic()
        try:
            data = report_data(
                self._optimizer,
                state,
                title=_title(
                    self.path if self._optimizer._journal is None else self._optimizer._journal.path
                ),
                notes=self._notes,
                software=self._software,
                fit=fit,
            )
            write_atomically(self.path, render(data))
        finally:
            self._spent += time.monotonic() - start

    def _guarded(self, action: Callable[[], object]) -> None:
        """Do something that must not break the run; complain once."""
        try:
            action()
        except Exception as error:
            level = logging.DEBUG if self._complained else logging.WARNING
            self._complained = True
            reason = f"{type(error).__name__}: {error}"
            logger.log(level, "the report %s could not be written (%s); the run goes on", self.path, reason)


def report_from_optimizer(
    optimizer: Optimizer, path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write the report of an optimizer as it stands.

    Parameters
    ----------
    optimizer : Optimizer
    path : str or os.PathLike
        File to write.
    title : str, optional
        Title of the page; the name of the file by default.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tcgp
    >>> from tcgp.report import report_from_optimizer
    >>> result = tcgp.minimize(lambda x: x[0] ** 2, [(-1.0, 1.0)], n_evals=8, rng=0)
    >>> report_from_optimizer(result.optimizer, pathlib.Path(tempfile.mkdtemp()) / "run.html")
    """
    data = report_data(optimizer, _standing(), title=title or _title(Path(path)), fit=True)
    write_atomically(path, render(data))


def report_from_journal(
    journal: str | os.PathLike[str], path: str | os.PathLike[str], *, refresh: float | None = None
) -> None:
    """Write the report of a journal, also while a run goes on writing to it.

    Parameters
    ----------
    journal : str or os.PathLike
        Journal of `tcgp.minimize`, `tcgp.Optimizer` or the command line; it is only read.
    path : str or os.PathLike
        File to write.
    refresh : float, optional
        Have the page load itself again after so many seconds, for a report that is written again and again.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tcgp
    >>> from tcgp.report import report_from_journal
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> result = tcgp.minimize(
    ...     lambda x: x[0] ** 2, [(-1.0, 1.0)], n_evals=8, rng=0, journal=folder / "run.jsonl"
    ... )
    >>> report_from_journal(folder / "run.jsonl", folder / "run.html")
    """
    record = read_journal(journal)
    optimizer = Optimizer._replay(record, str(journal))
    state = _standing(refresh)
    data = report_data(
        optimizer,
        state,
        title=_title(Path(journal)),
        notes=notes_from_journal(record, Path(journal).parent / "runs"),
        software=record.header.get("software"),
        fit=True,
    )
    write_atomically(path, render(data))


def _standing(refresh: float | None = None) -> State:
    """How a run stands that nobody here drives."""
    return State(refresh is not None, "snapshot" if refresh is None else "watched", None, refresh)


def _title(path: Path) -> str:
    """What to call a run: its file, or the campaign's directory where the file has everyone's name."""
    if path.name == "journal.jsonl":
        return path.absolute().parent.name.removesuffix(".tcgp")
    return path.stem
