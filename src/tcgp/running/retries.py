"""Failures that are not the fault of the point and are retried."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from tcgp._text import plain
from tcgp.methods.options import Option
from tcgp.running.crews import Outcome

__all__ = ["Retries"]


@dataclass(frozen=True)
class Retries:
    """Which failures are retried, how often, and after which delay.

    Parameters
    ----------
    times : int
        Further attempts at one point.
    delay : float
        Seconds before each of them.
    exit_codes : sequence of int
        Exit codes of a program that are retried.
    messages : sequence of str
        Texts that mark failures to retry, in the reason or at the end of a program's standard error or output; case is
        ignored.

    Examples
    --------
    >>> from tcgp.running.retries import Retries
    >>> from tcgp.running.crews import Outcome
    >>> retries = Retries(times=2, delay=60.0, messages=["no licence"])
    >>> retries.wants(Outcome(None, "RuntimeError: No licence left"))
    True
    """

    times: int = 3
    delay: float = 60.0
    exit_codes: Sequence[int] = ()
    messages: Sequence[str] = ()

    def __post_init__(self) -> None:
        Option(3, "further attempts", low=1, integer=True).check("times of retries", self.times)
        Option(60.0, "seconds", low=0.0).check("delay of retries", self.delay)
        _check_list("exit_codes", self.exit_codes, numbers.Integral, "integers")
        _check_list("messages", self.messages, str, "strings")
        if not self.exit_codes and not self.messages:
            raise ValueError("retries must name exit_codes or messages, got neither")
        if 0 in self.exit_codes or "" in self.messages:
            raise ValueError("retries must name failures, got the exit code 0 or an empty message")

    @classmethod
    def of(cls, given: object) -> Retries | None:
        """The argument ``retries`` of `tcgp.minimize`: a mapping with these parameters, or None."""
        if given is None or isinstance(given, Retries):
            return given
        known = [field.name for field in fields(cls)]
        if not isinstance(given, Mapping) or not set(given) <= set(known):
            raise ValueError(
                f"retries must be a mapping with {', '.join(known)}, or None, got {plain(given)}"
            )
        return cls(**given)

    def wants(self, outcome: Outcome) -> bool:
        """Whether a failure is one of those that are tried again."""
        if outcome.exit_code is not None and outcome.exit_code in self.exit_codes:
            return True
        said = f"{outcome.reason}\n{outcome.words}".casefold()
        return any(message.casefold() in said for message in self.messages)


def _check_list(name: str, items: Any, kind: type, words: str) -> None:
    """Refuse anything but a list of such items."""
    is_list = isinstance(items, Sequence) and not isinstance(items, str)
    if not is_list or not all(isinstance(item, kind) and not isinstance(item, bool) for item in items):
        raise ValueError(f"{name} of retries must be a list of {words}, got {plain(items)}")
