"""A watchdog for the tests in a browser: one that hangs must not hang the whole run."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

LONGEST = 120  # seconds; a test takes two


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "browser: needs Playwright and Chromium; leave out with -m 'not browser'"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    if item.get_closest_marker("browser") is None or not hasattr(signal, "setitimer"):
        return (yield)

    def bark(*_: object) -> None:
        raise TimeoutError(f"no end of {item.nodeid} after {LONGEST} s")

    before = signal.signal(signal.SIGALRM, bark)
    signal.setitimer(signal.ITIMER_REAL, LONGEST, LONGEST)  # again and again: ending may hang too
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
