"""A line on standard error that says how far a run has come."""

from __future__ import annotations

import sys
import time
from typing import TextIO

__all__ = ["ProgressLine"]

WIDTH = 24  # of the bar
SECONDS_BETWEEN_LINES = 10.0  # where the line cannot be rewritten


class ProgressLine:
    """A bar that rewrites itself on a terminal, and now and then a line elsewhere.

    Parameters
    ----------
    total : int
        Number of evaluations to come to.
    stream : file, optional
        Standard error by default. If nobody reads it any more, the line is not shown, and the run goes on.
    without_best : str
        What to say as long as there is no best value.
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

    def show(self, done: int, best: float | None, failed: int, left: float | None = None) -> None:
        """Say that ``done`` evaluations are done, ``failed`` of them failed, and that so many seconds are left."""
        elapsed = time.monotonic() - self._start
        text = self._line(done, best, failed, elapsed, left)
        if self.stream is not None and self.stream.isatty():
            self._write("\r" + text.ljust(self._length))
            self._length = len(text)
        elif done >= self.total or elapsed - self._shown >= SECONDS_BETWEEN_LINES:
            self._write(text + "\n")
            self._shown = elapsed

    def _line(self, done: int, best: float | None, failed: int, elapsed: float, left: float | None) -> str:
        filled = min(WIDTH * done // max(self.total, 1), WIDTH)
        parts = [f"[{'#' * filled}{'.' * (WIDTH - filled)}] {done}/{self.total}"]
        parts.append(self.without_best if best is None else f"best {best:.6g}")
        if failed:
            parts.append(f"{failed} failed")
        parts.append(_clock(elapsed))
        if left is not None and done < self.total:
            parts.append(f"about {_clock(left)} left")
        return "  ".join(parts)

    def close(self) -> None:
        """Leave the line as it stands and go on below it."""
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


def _clock(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02d}:{second:02d}" if hour else f"{minute}:{second:02d}"
