"""The software that computes the points of a run: with other versions or another BLAS kernel, rounding differs."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from importlib.metadata import version

from threadpoolctl import threadpool_info

__all__ = ["computing", "say_what_differs"]

logger = logging.getLogger("tcgp")


@functools.cache
def computing() -> dict[str, str]:
    """Versions of NumPy and SciPy, and the library and kernel of NumPy's BLAS.

    Examples
    --------
    >>> from tcgp.record.computing import computing
    >>> list(computing())
    ['numpy', 'scipy', 'blas']
    """
    loaded = [library for library in threadpool_info() if library["user_api"] == "blas"]
    # The wheels of SciPy have a BLAS of their own, and which comes first changes from process to process.
    blas: dict[str, str] = min(loaded, key=lambda library: "numpy" not in library["filepath"], default={})
    words = [blas.get(key) for key in ("internal_api", "version", "architecture")]
    return {
        "numpy": version("numpy"),
        "scipy": version("scipy"),
        "blas": " ".join(word for word in words if word) or "unknown",
    }


def say_what_differs(header: Mapping[str, object], path: object) -> None:
    """Say in one line if a journal was begun with other versions or on another kind of processor."""
    before, now = header.get("computing"), computing()
    if isinstance(before, dict):
        changed = [
            f"{name} {before.get(name)}, now {now[name]}" for name in now if before.get(name) != now[name]
        ]
        if changed:
            logger.warning(
                "the journal %s was begun with %s: the points from here on may differ from those of an uninterrupted "
                "run",
                path,
                "; ".join(changed),
            )
