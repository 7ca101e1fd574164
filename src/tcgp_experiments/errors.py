"""Errors of experiments that the user can fix."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["ExperimentError", "require"]


class ExperimentError(Exception):
    """An error that the user can fix; the message says how."""


def require(module: str, need: str, packages: str) -> Any:
    """Import an optional module, or say which packages have it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ExperimentError(f"{need}: pip install {packages} ({error})") from error
