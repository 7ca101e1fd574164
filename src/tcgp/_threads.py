"""One BLAS thread for small factorizations.

Below n of about 500 the hand-over between BLAS threads costs more than it saves, several times over.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import scipy.linalg.lapack  # noqa: F401  (loads SciPy's BLAS, so that the controller below sees it)
from threadpoolctl import ThreadpoolController

__all__ = ["single_threaded"]

P = ParamSpec("P")
T = TypeVar("T")

_within = threading.local()


@functools.cache
def _controller() -> Any:
    return ThreadpoolController()


def single_threaded(function: Callable[P, T]) -> Callable[P, T]:
    """Run ``function`` with one BLAS thread, and restore the number of threads afterwards.

    Only the outermost call sets and restores it: that costs as much as a small prediction.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        if getattr(_within, "limited", False):
            return function(*args, **kwargs)
        _within.limited = True
        try:
            with _controller().limit(limits=1, user_api="blas"):
                return function(*args, **kwargs)
        finally:
            _within.limited = False

    return wrapper
