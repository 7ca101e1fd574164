"""What is built for people to install: complete, and working with the dependencies that it declares and no others."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import tcgp

ROOT = Path(__file__).parents[1]
EXTRAS = ("plot", "experiments", "optuna", "botorch", "sklearn", "ax", "gest", "openmdao", "mcp", "coco")


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    return _build(ROOT, tmp_path_factory.mktemp("dist"))


def _build(project: Path, folder: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *options]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def _contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_holds_the_package_and_nothing_else(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    assert wheel.name == f"tcgp-{tcgp.__version__}-py3-none-any.whl"
    packed = {name for name in _contents(wheel) if ".dist-info/" not in name}
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    assert packed == {name for name in files if not name.endswith(".pyc")}
    assert {"tcgp/py.typed", "tcgp/report/assets/report.html"} <= packed


def test_the_sdist_makes_the_same_wheel(distributions: Path, tmp_path: Path) -> None:
    (wheel,), (sdist,) = distributions.glob("*.whl"), distributions.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path)
    (again,) = _build(tmp_path / f"tcgp-{tcgp.__version__}", tmp_path / "dist", "-t", "wheel").iterdir()
    assert _contents(again) == _contents(wheel)


@pytest.fixture(scope="module")
def environment(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    python = folder / "bin/python"
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(python),
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
    ]
    subprocess.run([*pip, *distributions.glob("*.whl")], check=True)
    return python


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links; tools/release_check.py installs with pip")
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_it_works_with_what_it_declares(
    extra: str, distributions: Path, environment: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if extra == "coco":
        request.getfixturevalue("cocoex")
    (wheel,) = distributions.glob("*.whl")
    own = zipfile.Path(wheel, f"tcgp-{tcgp.__version__}.dist-info/")
    extras = {extra} - {""}
    try:
        closure = _closure({"tcgp": metadata.PathDistribution(own)}, "tcgp", extras)
    except metadata.PackageNotFoundError as error:
        pytest.skip(f"not installed here: {error.name}")
    for needed in closure - {"tcgp"}:
        _link(metadata.distribution(needed), tmp_path)
    smoke = [str(environment), str(ROOT / "tools/smoke.py"), *extras]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(smoke, env=env, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def _closure(
    own: dict[str, metadata.Distribution],
    name: str,
    extras: set[str],
    seen: set[tuple[str, str]] | None = None,
) -> set[str]:
    """Names of all distributions that one needs with these extras, itself included."""
    seen = set() if seen is None else seen
    for extra in ["", *extras]:
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        distribution = own.get(name) or metadata.distribution(name)
        for requirement in map(Requirement, distribution.requires or []):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                _closure(own, requirement.name, requirement.extras, seen)
    return {name for name, _ in seen}


def _link(distribution: metadata.Distribution, folder: Path) -> None:
    """Make what a distribution installed importable from a folder."""
    for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
        if not (folder / top).exists():
            (folder / top).symlink_to(distribution.locate_file(top))


def test_one_version_everywhere() -> None:
    assert f"\nversion: {tcgp.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(
        rf"^## \[{re.escape(tcgp.__version__)}\]",
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )


def test_nobody_is_told_to_install_from_an_index() -> None:
    # Until it is published, "pip install tcgp" would fetch nothing, or what a stranger put there.
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    told = re.compile(r"pip install [^\n]*\btcgp\b(?!\.)")
    assert len(pages) > 100
    assert [page.name for page in pages if told.search(page.read_text(encoding="utf-8"))] == []
