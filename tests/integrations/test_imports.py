"""A bridge costs nothing until it is used, and says what is missing."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

HOSTS = {"ax": "ax-platform", "botorch": "botorch", "optuna": "optuna", "sklearn": "scikit-learn"}


def test_importing_the_package_imports_no_host():
    hosts = ("ax", "botorch", "cocoex", "ioh", "optuna", "sklearn", "torch")
    code = (
        "import sys, tcgp, tcgp.integrations.coco\n"
        f"print([host for host in {hosts!r} if host in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("bridge", HOSTS)
def test_a_missing_host_is_named_with_the_way_to_install_it(bridge, monkeypatch):
    for name in [bridge, *(name for name in sys.modules if name.startswith(f"{bridge}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    ours = f"tcgp.integrations.{bridge}"
    monkeypatch.delitem(sys.modules, ours, raising=False)
    with pytest.raises(ImportError, match=re.escape(f"pip install '{HOSTS[bridge]}>=")):
        importlib.import_module(ours)
