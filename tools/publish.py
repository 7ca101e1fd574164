"""Publish a release on a package index and try it as users will, after `make test`.

python tools/publish.py [--upload-url URL --index-url URL] [--yes]

Versions, changelog and tag must agree, and nothing may be uncommitted. Wheel and sdist are built, checked and uploaded
by twine, which asks for the token. Then the package is installed by name into an empty environment, where the smoke
test and the demo run. The default is the public index; URLs name another one, such as a local one for a rehearsal:

    pypi-server run -p 8080 -a . -P . /tmp/index &
    export TWINE_USERNAME=x TWINE_PASSWORD=x
    python tools/publish.py --upload-url http://localhost:8080 --index-url http://localhost:8080/simple --yes
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 300.0  # seconds until an index shows what was uploaded


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--upload-url", help="where twine uploads to; the public index by default")
    parser.add_argument("--index-url", help="where pip finds the package afterwards")
    parser.add_argument("--yes", action="store_true", help="do not ask before the upload")
    options = parser.parse_args()
    version = _version()
    problems = _problems(version)
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        _run(sys.executable, "-m", "hatchling", "build", "-d", folder)
        files = sorted(map(str, Path(folder).iterdir()))
        _run(sys.executable, "-m", "twine", "check", "--strict", *files)
        where = options.upload_url or "the public index"
        if not options.yes and input(f"Upload {version} to {where}? It cannot be replaced. [y/N] ") != "y":
            return 1
        target = ["--repository-url", options.upload_url] if options.upload_url else []
        _run(sys.executable, "-m", "twine", "upload", *target, *files)
    _try(version, options.index_url)
    print(f"tcgp {version} is published, installs by name, and its demo runs")
    return 0


def _version() -> str:
    text = (ROOT / "src/tcgp/__init__.py").read_text(encoding="utf-8")
    return re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)[1]


def _problems(version: str) -> list[str]:
    """What does not agree with the version, in sentences."""
    found = []
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    if f"\nversion: {version}\n" not in citation:
        found.append(f"CITATION.cff has another version than {version}")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", changes, re.MULTILINE):
        found.append(f"CHANGELOG.md has no section '## [{version}] - YEAR-MONTH-DAY'")
    if _output("git", "status", "--porcelain"):
        found.append("there are changes that are not committed")
    if f"v{version}" not in _output("git", "tag", "--points-at", "HEAD").split():
        found.append(f"the last commit has no tag v{version}: git tag v{version}")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if "urls" not in project:
        found.append("pyproject.toml has no [project.urls]: see RELEASING.md")
    return found


def _try(version: str, index: str | None) -> None:
    """Install by name in an empty environment, and run what a user would run first."""
    with tempfile.TemporaryDirectory() as folder:
        _run(sys.executable, "-m", "venv", folder)
        python = str(Path(folder) / "bin/python")
        source = ["--extra-index-url", index] if index else []
        install = [
            python,
            "-I",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-cache-dir",
            *source,
            f"tcgp[plot]=={version}",
        ]
        end = time.monotonic() + PATIENCE
        while subprocess.run(install, cwd=folder).returncode:
            if time.monotonic() > end:
                raise SystemExit(f"tcgp {version} is uploaded, and cannot be installed by name")
            time.sleep(10.0)
        _run(python, "-I", str(ROOT / "tools/smoke.py"), "core", "plot", cwd=folder)
        _run(str(Path(folder) / "bin/tcgp"), "demo", "--seeds", "1", "--n-evals", "25", cwd=folder)


def _run(*command: str, cwd: str | Path = ROOT) -> None:
    if subprocess.run(command, cwd=cwd).returncode:
        raise SystemExit(f"stopped: {' '.join(command)} failed")


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
