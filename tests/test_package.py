"""The package as a whole: its public names, its imports, its typing marker."""

import pkgutil
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import tcgp

HEAVY = ("matplotlib", "torch", "sklearn", "optuna", "scipy.stats", "scipy.optimize")


def test_every_public_name_resolves():
    for name in tcgp.__all__:
        assert getattr(tcgp, name) is not None
    assert set(tcgp.__all__) == set(dir(tcgp))


def test_every_function_and_class_of_the_reference_is_where_it_says():
    pages = (Path(__file__).parents[1] / "docs" / "reference").glob("*.md")
    pattern = r"auto(?:function|class|exception):: tcgp\.(\S+)"
    names = [name for page in pages for name in re.findall(pattern, page.read_text(encoding="utf-8"))]
    # What the package itself names is reached without a further import, `tcgp.maximize.smc.maximize` too. In a new
    # interpreter: here other tests have imported submodules already.
    reached = [name for name in names if name.split(".")[0] in tcgp.__all__]
    assert "maximize.multistart.maximize" in reached
    code = f"import tcgp, operator; [operator.attrgetter(name)(tcgp) for name in {reached!r}]"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in set(names) - set(reached):
        pkgutil.resolve_name(f"tcgp.{name}")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tcgp.nothing


def test_importing_the_package_loads_nothing_heavy():
    code = f"import sys, tcgp; print([m for m in {HEAVY!r} if m in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_fitting_a_model_loads_no_optional_dependency():
    code = (
        "import sys, numpy as np, tcgp; X = np.random.default_rng(0).random((12, 2));"
        "tcgp.fit_model(X, X.sum(axis=1) ** 2, 'tcgp');"
        "print([m for m in ('matplotlib', 'torch', 'sklearn', 'optuna') if m in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_the_package_is_marked_as_typed():
    assert files("tcgp").joinpath("py.typed").is_file()
