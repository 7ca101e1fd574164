"""Before a release: build, install into fresh environments with pip, and try the installed package.

python tools/release_check.py [--pythons 3.11,3.13] [--extras plot,optuna,sklearn]

For each Python found: the wheel alone, the wheel with the oldest NumPy and SciPy allowed (if they have wheels for that
Python), and the wheel with each extra. The sdist is installed once. It takes a minute or two per Python. The exit
status is 1 if anything failed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PYTHONS = "3.11,3.12,3.13,3.14,3.15"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pythons", default=PYTHONS, help="comma-separated (default: %(default)s)")
    parser.add_argument(
        "--extras", default="plot,optuna,sklearn", help="comma-separated (default: %(default)s)"
    )
    args = parser.parse_args()
    found = {version: path for version in args.pythons.split(",") if (path := _find(version))}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True)
        (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
        for version in args.pythons.split(","):
            if version not in found:
                print(f"Python {version}: not found", flush=True)
                continue
            trials: list[tuple[str, list[str], list[str]]] = [("core", [str(wheel)], [])]
            trials += [("oldest NumPy and SciPy", [str(wheel), *_oldest()], [])]
            trials += [(extra, [f"{wheel}[{extra}]"], [extra]) for extra in args.extras.split(",") if extra]
            if version == next(iter(found)):
                trials += [("sdist", [str(sdist)], [])]
            for name, requirements, extras in trials:
                outcome = _try(found[version], requirements, extras)
                print(f"Python {version}, {name}: {outcome}", flush=True)
                failed += [name] if outcome.startswith("FAILED") else []
    return 1 if failed or not found else 0


def _find(version: str) -> str | None:
    """An interpreter of this version that starts; a shim of pyenv may not."""
    path = shutil.which(f"python{version}")
    works = path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0
    return path if works else None


def _oldest() -> list[str]:
    """The oldest versions of NumPy and SciPy that the package allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    requirements = [Requirement(line) for line in project["dependencies"]]
    return [
        f"{r.name}=={s.version}.*" for r in requirements if r.name in ("numpy", "scipy") for s in r.specifier
    ]


def _try(python: str, requirements: list[str], extras: list[str]) -> str:
    """Install in a fresh environment and run the smoke test; what came of it, in a line or more."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        fresh = str(Path(folder) / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))
        pip = [fresh, "-I", "-m", "pip", "install", "--quiet", "--only-binary=:all:"]
        for command in ([*pip, *requirements], [fresh, "-I", str(ROOT / "tools/smoke.py"), "core", *extras]):
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                if "No matching distribution found for numpy" in done.stderr:
                    return "no wheels of these versions"
                return f"FAILED\n{done.stderr}"
        report = [
            fresh,
            "-c",
            "import numpy, scipy; print(f'numpy {numpy.__version__}, scipy {scipy.__version__}')",
        ]
        return f"works ({subprocess.run(report, capture_output=True, text=True, check=True).stdout.strip()})"


if __name__ == "__main__":
    sys.exit(main())
