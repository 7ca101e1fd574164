"""When a report is written: at any time from a journal, and along a run without slowing or breaking it."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from tcgp._files import write_atomically
from tcgp.optimizer import Optimizer
from tcgp.optimizer.journal import read_journal
from tcgp.report.data import State, report_data
from tcgp.report.page import render

__all__ = ["Reporter", "check_place", "report_from_journal", "report_from_optimizer"]

logger = logging.getLogger("tcgp")

REFRESH = 10.0  # seconds after which the page of a running run loads itself again

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
        check_place(path)
        self.path = Path(path)
        self._optimizer, self._n_evals = optimizer, n_evals
        self._begun = time.monotonic()
        self._spent = 0.0
        self._complained = False
        self._software: str | None = None
        self._guarded(self._look_up_software)

    def waiting(self) -> None:
        """Evaluations are under way, and there is time until one ends: show how the run stands."""
        if self._spent <= ALLOWANCE + SHARE * (time.monotonic() - self._begun):
            self._guarded(lambda: self._write(State(True, "running", self._n_evals, REFRESH)))

    def close(self, message: str) -> None:
        """The run has ended, for the reason given: write the report a last time."""
        fit = len(self._optimizer.evaluations) <= LARGEST_FIT
        self._guarded(lambda: self._write(State(False, message, self._n_evals), fit=fit))

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


def check_place(path: str | os.PathLike[str]) -> None:
    """Refuse a report that is a directory, or in a directory that does not exist."""
    place = Path(path)
    if place.is_dir() or not place.absolute().parent.is_dir():
        raise ValueError(
            f"report must be a file in a directory that exists, got {str(path)!r}; create the directory first"
        )


def report_from_optimizer(
    optimizer: Optimizer, path: str | os.PathLike[str], *, title: str | None = None
) -> None:
    """Write the report of an optimizer in its present state.

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
    """Write the report of a journal, also while a run is writing to it.

    Parameters
    ----------
    journal : str or os.PathLike
        Journal of `tcgp.minimize`, `tcgp.Optimizer` or the command line; it is only read.
    path : str or os.PathLike
        File to write.
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
    data = report_data(
        Optimizer.read(journal),
        _standing(refresh),
        title=_title(Path(journal)),
        software=read_journal(journal).header.get("software"),
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
