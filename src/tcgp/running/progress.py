"""A progress line on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TextIO

__all__ = ["NotebookBar", "ProgressLine", "progress_of"]

WIDTH = 24  # of the bar
SECONDS_BETWEEN_LINES = 10.0  # where the line cannot be rewritten


def progress_of(total: int, without_best: str, first_line: str) -> ProgressLine | NotebookBar:
    """The progress display of a run, below a first line: in a notebook a tqdm bar, if that is installed."""
    line = ProgressLine(total, without_best=without_best)
    line.say(first_line)
    if "ipykernel" in sys.modules:
        with contextlib.suppress(ImportError):
            return NotebookBar(total, without_best)
    return line


class NotebookBar:
    """A tqdm bar below a notebook cell, with the same words as the line.

    Parameters
    ----------
    total : int
        Total number of evaluations.
    without_best : str
        Text shown while there is no best value.
    """

    def __init__(self, total: int, without_best: str = "no value yet") -> None:
        from tqdm.auto import tqdm

        self._bar, self.without_best = tqdm(total=total), without_best

    def show(self, done: int, best: float | str | None, failed: int, left: float | None = None) -> None:
        """Say that ``done`` evaluations are done, ``failed`` of them failed; tqdm has its own estimate of the rest."""
        words = _words(best, self.without_best)
        self._bar.set_postfix_str(f"{words}, {failed} failed" if failed else words, refresh=False)
        self._bar.update(done - self._bar.n)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.close()


class ProgressLine:
    """A bar that is rewritten on a terminal; elsewhere, an occasional line.

    Parameters
    ----------
    total : int
        Total number of evaluations.
    stream : file, optional
        Standard error by default. If it is closed, the line is not shown, and the run goes on.
    without_best : str
        Text shown while there is no best value.
    """

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        without_best: str = "no value yet",
    ) -> None:
        self.total, self.without_best = total, without_best
        # None if it was closed from the start
        self.stream: TextIO | None = sys.stderr if stream is None else stream
        self._start = time.monotonic()
        self._shown = -SECONDS_BETWEEN_LINES
        self._length = 0

    def show(self, done: int, best: float | str | None, failed: int, left: float | None = None) -> None:
        """Say that ``done`` evaluations are done, ``failed`` of them failed, and that so many seconds are left."""
        elapsed = time.monotonic() - self._start
        text = self._line(done, best, failed, elapsed, left)
        if self.stream is not None and self.stream.isatty():
            self._write("\r" + text.ljust(self._length))
            self._length = len(text)
        elif done >= self.total or elapsed - self._shown >= SECONDS_BETWEEN_LINES:
            self._write(text + "\n")
            self._shown = elapsed

    def _line(
        self, done: int, best: float | str | None, failed: int, elapsed: float, left: float | None
    ) -> str:
        filled = min(WIDTH * done // max(self.total, 1), WIDTH)
        parts = [f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{self.total}"]
        parts.append(_words(best, self.without_best))
        if failed:
            parts.append(f"{failed} failed")
        parts.append(_clock(elapsed))
        if left is not None and done < self.total:
            parts.append(f"about {_clock(left)} left")
        return "  ".join(parts)

    def say(self, text: str) -> None:
        """Write a line of its own."""
        self._write(text + "\n")

    def close(self) -> None:
        """Leave the line as it is and continue below it."""
        if self._length:
            self._write("\n")

    def _write(self, text: str) -> None:
        if self.stream is None:
            return
        try:
            self.stream.write(text)
            self.stream.flush()
        except OSError:
            self.stream = None


def _words(best: float | str | None, otherwise: str) -> str:
    """The best value, or what stands for it."""
    return otherwise if best is None else best if isinstance(best, str) else f"best {best:.6g}"


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02d}:{second:02d}" if hour else f"{minute}:{second:02d}"
