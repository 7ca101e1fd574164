"""How long some functions of a library run inside a larger call, without touching the library."""

from __future__ import annotations

import contextlib
import functools
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from unittest import mock

__all__ = ["stopwatch"]

Place = tuple[object, str]  # a module or a class, and the name of a function in it


@contextlib.contextmanager
def stopwatch(places: Mapping[str, Place]) -> Iterator[Counter[str]]:
    """Processor seconds spent in each of the places during the block, by their keys, as they go on.

    A function that calls another of them has the seconds of both.
    """
    spent: Counter[str] = Counter()

    def timed(key: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            start = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                spent[key] += time.process_time() - start

        return wrapper

    with contextlib.ExitStack() as stack:
        for key, (owner, name) in places.items():
            stack.enter_context(mock.patch.object(owner, name, timed(key, getattr(owner, name))))
        yield spent
