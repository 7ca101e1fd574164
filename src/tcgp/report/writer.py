"""Write reports: at any time from a journal, and during a run without slowing or breaking it."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tcgp._files import may_replace, write_atomically
from tcgp._text import plain
from tcgp.optimizer import Optimizer
from tcgp.record.journal import JournalError, read_journal
from tcgp.report.data import State, report_data
from tcgp.report.page import is_page, render

__all__ = [
    "HEARTBEAT",
    "Reporter",
    "check_place",
    "renew",
    "report_from_journal",
    "report_from_optimizer",
]

logger = logging.getLogger("tcgp")

REFRESH = 10.0  # seconds after which the page of a running run loads itself again
HEARTBEAT = 20.0  # seconds after which it is written again, if only to say that somebody is at work
PATIENCE = 3.0  # heartbeats without which a page says that there is no news

# Time a run lends to its report: some seconds at once, and then a share of its duration. A run of minutes per
# evaluation is shown after each; one of milliseconds, now and then.
ALLOWANCE = 3.0
SHARE = 0.03

LARGEST_FIT = 150  # evaluations to which a model is fitted for the last page alone: about a second


class Reporter:
    """Keeps the report of a run up to date.

    Errors are logged; they do not affect the run.

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
    >>> reporter.waiting()
    >>> optimizer.tell(x, 1.0)
    >>> reporter.close("that will do")
    >>> path.read_text().startswith("<!DOCTYPE html>")
    True
    """

    def __init__(
        self, path: str | os.PathLike[str], optimizer: Optimizer, n_evals: int | None = None
    ) -> None:
        _check_apart(path, optimizer)
        check_place(path)
        self.path = Path(os.path.abspath(path))  # the user's function may change the directory
        self._optimizer, self._n_evals = optimizer, n_evals
        self._begun = time.monotonic()
        self._spent = 0.0
        self._has_warned = False
        self._software: str | None = None
        self._guarded(self._look_up_software)
        self._written = threading.Lock()  # one page at a time
        self._ended = threading.Event()
        threading.Thread(target=self._beat, name="tcgp-report", daemon=True).start()

    def waiting(self) -> None:
        """Evaluations are in progress, and there is time until one ends: show the state of the run."""
        if self._spent <= ALLOWANCE + SHARE * (time.monotonic() - self._begun):
            self._guarded(lambda: self._write(self._running()))

    def close(self, message: str) -> None:
        """The run has ended, for the reason given: write the report a last time."""
        self._ended.set()
        fit = len(self._optimizer.evaluations) <= LARGEST_FIT
        self._guarded(lambda: self._write(State(False, message, self._n_evals), fit=fit))

    def _running(self) -> State:
        return State(True, "running", self._n_evals, REFRESH, PATIENCE * HEARTBEAT)

    def _beat(self) -> None:
        """Say now and then that the run is alive, however long an evaluation takes."""
        while not self._ended.wait(HEARTBEAT):
            with self._written:
                if not self._ended.is_set() and self.path.is_file() and may_replace(self.path, is_page):
                    self._guarded(lambda: renew(self.path))

    def _look_up_software(self) -> None:
        if self._optimizer.journal is not None:
            self._software = read_journal(self._optimizer.journal).header.get("software")

    def _write(self, state: State, fit: bool = False) -> None:
        start = time.monotonic()
        try:
            data = report_data(
                self._optimizer,
                state,
                title=_title(self._optimizer.journal or self.path),
                software=self._software,
                fit=fit,
            )
            with self._written:
                check_place(self.path)  # somebody may have put another file there since
                write_atomically(self.path, render(data))
        finally:
            self._spent += time.monotonic() - start

    def _guarded(self, action: Callable[[], object]) -> None:
        """Do something that must not break the run; warn once."""
        try:
            action()
        except Exception as error:
            level = logging.DEBUG if self._has_warned else logging.WARNING
            self._has_warned = True
            reason = f"{type(error).__name__}: {error}"
            logger.log(level, "the report %s could not be written (%s); the run continues", self.path, reason)


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a report that is a directory or in none that exists, or would replace what tcgp did not write."""
    place = Path(path)
    if place.is_dir() or not place.absolute().parent.is_dir():
        raise ValueError(
            f"report must be a file in a directory that exists, got {plain(str(path))}; create the directory first"
        )
    if not may_replace(path, is_page):
        raise ValueError(
            f"report must be a new file or a page that tcgp wrote, got another file, {plain(str(path))}"
        )


def _check_apart(path: str | os.PathLike[str], optimizer: Optimizer) -> None:
    """Refuse a report in the place of the run's own journal."""
    journal = optimizer.journal
    if journal is not None and all(map(os.path.exists, (path, journal))) and os.path.samefile(path, journal):
        raise JournalError(f"report must not be the journal, got {plain(str(path))} for both")


def report_from_optimizer(
    optimizer: Optimizer, path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write the report of an optimizer in its present state.

    Parameters
    ----------
    optimizer : Optimizer
    path : str or os.PathLike
        File to write: a new one, or an earlier report, which is replaced.
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
    check_place(path)
    data = report_data(optimizer, _standing(), title=title or _title(Path(path)), fit=True)
    write_atomically(path, render(data))


def report_from_journal(
    journal: str | os.PathLike[str], path: str | os.PathLike[str], *, refresh: float | None = None
) -> None:
    """Write the report of a journal, also while a run is writing to it.

    Parameters
    ----------
    journal : str or os.PathLike
        Journal of `tcgp.minimize`, `tcgp.Optimizer` or the command line; it is only read.
    path : str or os.PathLike
        File to write: a new one, or an earlier report, which is replaced.
    refresh : float, optional
        Reload the page after this many seconds, for a report that is updated repeatedly.

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
    check_place(path)
    data = report_data(
        Optimizer.read(journal),
        _standing(refresh),
        title=_title(Path(journal)),
        software=read_journal(journal).header.get("software"),
        fit=True,
    )
    write_atomically(path, render(data))


def renew(path: str | os.PathLike[str]) -> None:
    """Write a page again with the current time."""
    page = Path(path).read_text(encoding="utf-8")
    # In a string of the page's data these quotation marks would be escaped.
    write_atomically(path, re.sub(r'"written":[0-9.]+', f'"written":{time.time():.1f}', page, count=1))


def _standing(refresh: float | None = None) -> State:
    """State of a run that this process does not drive."""
    if refresh is None:
        return State(False, "snapshot")
    return State(True, "watched", None, refresh, PATIENCE * max(refresh, HEARTBEAT))


def _title(path: Path) -> str:
    """Name of a run: its file, or the campaign's directory if the file has the default name."""
    if path.name == "journal.jsonl":
        return path.absolute().parent.name.removesuffix(".tcgp")
    return path.stem
