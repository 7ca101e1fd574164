"""What every test starts from."""

import logging
import signal

import pytest

# A job that a shell starts in the background ignores Ctrl-C, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def enabled_logger():
    """Enable our logger again: Alembic, which Optuna's databases use, disables all that exist."""
    logging.getLogger("tcgp").disabled = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    """Escape what UTF-8 cannot encode in captured output: pytest-xdist would end with an internal error."""
    report = yield
    report.sections = [
        (name, text.encode(errors="backslashreplace").decode()) for name, text in report.sections
    ]
    return report
