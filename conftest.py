"""What every test and doctest starts from."""

import gc
import importlib.util
import logging
import os
import signal
import sys

import pytest

# A job that a shell starts in the background ignores Ctrl-C, and so would all that the tests start and interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)

# No test cuts the power: to wait until a file is on the disk itself would only cost time.
os.fsync = lambda file: None

# No test depends on how busy the machine is.
if importlib.util.find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings

    settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("busy")

# Hosts that are not installed everywhere: without one the doctests of its bridge cannot be collected.
OPTIONAL = {"gest": "gest_api", "openmdao": "openmdao"}
collect_ignore = [
    f"src/tcgp/integrations/{module}.py"
    for module, host in OPTIONAL.items()
    if not importlib.util.find_spec(host)
]

NO_COCO = "needs COCO: pip install coco-experiment (a C compiler, where it has no wheel)"


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


@pytest.fixture
def cocoex():
    """COCO's module, where it is installed."""
    return pytest.importorskip("cocoex", reason=NO_COCO)


def pytest_collection_finish():
    """Leave what is loaded out of garbage collections: with PyTorch and Ax each would take half a second."""
    gc.collect()
    gc.freeze()
    if layouts := sys.modules.get("matplotlib.layout_engine"):
        # No test looks at the margins of a picture, and to compute them takes longer than to draw it.
        layouts.ConstrainedLayoutEngine.execute = lambda engine, figure: None


def pytest_collection_modifyitems(items):
    """Skip the doctests of the bridge to COCO where it is not installed."""
    if importlib.util.find_spec("cocoex") is None:
        for item in items:
            if item.name.startswith("tcgp.integrations.coco."):
                item.add_marker(pytest.mark.skip(reason=NO_COCO))
