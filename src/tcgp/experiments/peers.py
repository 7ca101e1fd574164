"""Optimizers of other libraries in the same harness: the same initial designs and the same budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tcgp._typing import FloatArray
from tcgp.problems import Problem

__all__ = ["PEERS", "Peer"]

Peer = Callable[[Problem, FloatArray, FloatArray, int, int], Iterator[FloatArray]]

PEERS: dict[str, Peer] = {}


def check_installed(name: str) -> None:
    """Refuse a peer whose library is not installed."""
