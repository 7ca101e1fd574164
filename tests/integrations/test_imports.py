"""A bridge costs nothing until it is used, and says what is missing."""

from __future__ import annotations

import subprocess
import sys

# The bridge, the module of its host, and what is to be installed.
HOSTS = [
    ("ax", "ax", "ax-platform"),
    ("botorch", "botorch", "botorch"),
    ("gest", "gest_api", "gest-api"),
    ("openmdao", "openmdao", "openmdao"),
    ("optuna", "optuna", "optuna"),
    ("sklearn", "sklearn", "scikit-learn"),
]


def _python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)


def test_importing_the_package_imports_no_host():
    hosts = ("ax", "botorch", "cocoex", "gest_api", "ioh", "openmdao", "optuna", "sklearn", "torch")
    done = _python(
        "import sys, tcgp, tcgp.integrations.coco\n"
        f"print([host for host in {hosts!r} if host in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


IMPORT_WITHOUT_HOSTS = f"""
import importlib, sys
for bridge, module, _ in {HOSTS!r}:
    sys.modules[module] = None
    try:
        importlib.import_module("tcgp.integrations." + bridge)
    except ImportError as error:
        print(error)
"""


def test_a_missing_host_is_named_with_the_way_to_install_it():
    done = _python(IMPORT_WITHOUT_HOSTS)
    sentences = done.stdout.splitlines()
    for (_, _, package), sentence in zip(HOSTS, sentences, strict=True):
        assert f"pip install '{package}>=" in sentence
