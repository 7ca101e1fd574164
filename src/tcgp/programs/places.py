"""Where runs are: a directory in which the program works, and another one with what tcgp must know of it again.

A program owns its directory, and may empty it. What says whose run it is, and whether it still runs, lies elsewhere.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcgp.programs.output import parse_json
from tcgp.programs.process import is_running

__all__ = ["PARAMETERS", "RECORDS", "Place", "new_place", "places_of", "read_json"]

PARAMETERS = "parameters.json"
RECORDS = ".tcgp"  # beside the directories of the runs


@dataclass(frozen=True)
class Place:
    """The directory of a run, and that of its records.

    Runs of earlier versions have their records in their own directory.
    """

    directory: Path
    records: Path

    @property
    def notes(self) -> Path:
        """Notes of the supervisor."""
        return self.records / "supervisor" if self.records.is_dir() else self.directory / ".supervisor"

    @property
    def identity(self) -> Path:
        """What the run is recognized by."""
        return self.records / "run.json" if self.records.is_dir() else self.directory / ".run.json"

    @property
    def exists(self) -> bool:
        """Whether there is something of the run, if only its records: a program can remove its directory."""
        return self.directory.is_dir() or self.records.is_dir()

    def read_identity(self) -> Mapping[str, Any]:
        """Return what the run is recognized by; of earlier versions, its parameters."""
        kept = read_json(self.identity)
        return kept if isinstance(kept, dict) else {"parameters": read_json(self.directory / PARAMETERS)}


def places_of(root: Path, name: str, campaign: str | None) -> list[Place]:
    """Return the places of a campaign's runs with this name, in order."""
    taken = itertools.takewhile(lambda place: place.exists, _places(root, name))
    return [place for place in taken if place.read_identity().get("campaign") == campaign]


def new_place(root: Path, name: str | None) -> Place:
    """Create new directories, so that a run never sees the files of another one."""
    root.mkdir(parents=True, exist_ok=True)
    candidates: Iterator[Place]
    if name is None:
        first = sum(1 for path in root.iterdir() if not path.name.startswith("."))
        candidates = (_place(root, f"{i:04d}") for i in itertools.count(first))
    else:
        candidates = _places(root, name)
    for place in candidates:
        if place.records.is_dir() and is_running(place.notes):  # its program has removed its directory
            continue
        with contextlib.suppress(FileExistsError):
            place.directory.mkdir()
            shutil.rmtree(place.records, ignore_errors=True)  # of a run whose directory the user has removed
            place.records.mkdir(parents=True)
            return place
    raise AssertionError("numbers do not end")


def read_json(path: Path) -> object:
    """Return what a file says; None if there is none."""
    return parse_json(path.read_text(encoding="utf-8", errors="replace")) if path.is_file() else None


def _places(root: Path, name: str) -> Iterator[Place]:
    """Return the places for runs with this name, in order."""
    if not name or name in (".", "..") or set(name) & set("/\\\0"):
        raise ValueError(f"{name!r} is not the name of a directory")
    return (_place(root, name if i == 1 else f"{name}-{i}") for i in itertools.count(1))


def _place(root: Path, name: str) -> Place:
    return Place(root / name, root / RECORDS / name)
