"""Read a journal back by applying its events again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tcgp._text import plain
from tcgp.record.events import EVENTS, event_from_json
from tcgp.record.history import History
from tcgp.record.journal import JournalError, Record, read_journal
from tcgp.record.settings import Settings, check_seed
from tcgp.space import Space

__all__ = ["Campaign", "read_campaign", "replay"]


@dataclass(frozen=True)
class Campaign:
    """A run as its journal records it.

    Attributes
    ----------
    header : dict
        First line of the journal.
    seed : int
    history : History
        All that was asked and told; the header has the space and the settings with which the run began.
    """

    header: dict[str, Any]
    seed: int
    history: History

    @property
    def space(self) -> Space:
        """The present space."""
        return self.history.space

    @property
    def settings(self) -> Settings:
        """The present settings."""
        return self.history.settings


def read_campaign(path: str | os.PathLike[str]) -> Campaign:
    """Read a journal without locking it, also while another process writes to it.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import tcgp
    >>> from tcgp.optimizer import read_campaign
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.jsonl"
    >>> optimizer = tcgp.Optimizer([(0.0, 1.0)], rng=0, journal=path)
    >>> optimizer.tell([0.5], 2.0)
    >>> read_campaign(path).history.best
    Evaluation(x=(0.5,), y=2.0, reason=None)
    """
    return replay(read_journal(path), str(path))


def replay(record: Record, path: str) -> Campaign:
    """The campaign that a journal records.

    Parameters
    ----------
    record : Record
        What the journal says.
    path : str
        Its name, for messages.

    Raises
    ------
    JournalError
        If a line cannot be used; the message says which.
    """
    header = record.header
    try:
        space = Space.from_json(header["space"])
        settings = Settings(**_renamed(header["settings"])).completed(space)
        seed = check_seed("seed", header["seed"])
        check_seed("constraints_not_kept", header.get("constraints_not_kept", 0))
        history = History(space, settings)
    except (KeyError, TypeError, ValueError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise JournalError(f"the header of the journal {path!r} cannot be used: {what}") from error
    for line, item in record.events:
        kind = item.get("event")
        if isinstance(kind, str) and kind not in EVENTS:  # to delete the line would lose what it says
            raise JournalError(
                f"the journal {path!r} is not understood: line {line} cannot be used "
                f"(unknown event {plain(kind)}); "
                "install the newer tcgp that wrote it, or restore the file from a backup"
            )
        try:
            event = history.settle(event_from_json(item))
            if event is not None:
                history.apply(event)
        except (KeyError, TypeError, ValueError) as error:
            what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
            raise JournalError(
                f"the journal {path!r} is damaged: line {line} cannot be used ({what}); "
                "restore the file from a backup, or delete that line and those after it"
            ) from error
    return Campaign(header, seed, history)


def _renamed(settings: object) -> dict[str, Any]:
    """Settings of version 0.1, in which an option of bcrGP had a name that now means the lengthscales' selection."""
    if not isinstance(settings, Mapping):
        raise ValueError(f"settings must be a mapping from names to values, got {plain(settings)}")
    options = dict(settings.get("options", {}))
    if options.get("selection") in ("cross-ks", "conservative"):
        options["draw"] = options.pop("selection")
    return {**settings, "options": options}
