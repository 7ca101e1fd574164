"""One BLAS thread for small factorizations, and cached properties without a lock.

Below about n = 500, the synchronization of BLAS threads costs several times more than it saves.
"""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import threadpoolctl
from threadpoolctl import ThreadpoolController

__all__ = ["cached_property", "single_threaded"]

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:
        """As in Python 3.12, which dropped the lock: a child forked while another thread held it waited for ever."""

        def __init__(self, function):
            self.function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            value = instance.__dict__[self.name] = self.function(instance)
            return value


P = ParamSpec("P")
T = TypeVar("T")

_within = threading.local()
_guard = threading.Lock()
_users = 0  # threads that want one BLAS thread now: the number is one of the process
_limit: Any = None


@functools.cache
def _controller() -> Any:
    import scipy.linalg.lapack  # noqa: F401  (loads SciPy's BLAS, so that the controller sees it)

    return ThreadpoolController()


def single_threaded(function: Callable[P, T]) -> Callable[P, T]:
    """Run ``function`` with one BLAS thread, and restore the number of threads afterwards.

    Only the outermost call sets and restores it: that costs as much as a small prediction. Of several threads the first
    to come sets it, and the last to leave restores it.
    """

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        if getattr(_within, "limited", False):
            return function(*args, **kwargs)
        _within.limited = True
        try:
            _enter()
            try:
                return function(*args, **kwargs)
            finally:
                _leave()
        finally:
            _within.limited = False

    return wrapper


def _enter() -> None:
    global _users, _limit
    with _guard:
        if not _users:
            _take_control()
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1


def _leave() -> None:
    global _users
    with _guard:
        _users -= 1
        if not _users:
            _take_control()
            _limit.restore_original_limits()
            _take_control()  # and leave it to whoever comes next


def _take_control() -> None:
    """Let this thread set the number: since 3.8 threadpoolctl ignores all but the first thread that did."""
    controller: Any = getattr(threadpoolctl, "OpenBLASController", None)
    if hasattr(controller, "clear_controlling_thread"):
        controller.clear_controlling_thread(force=True)


def _forget_other_threads() -> None:
    """In a forked child there are none, and a lock that one of them held would never open."""
    global _guard, _users
    _guard, _users = threading.Lock(), int(getattr(_within, "limited", False))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_other_threads)
