"""Check that everything that the extras install has a wheel on each platform, so that no compiler is needed.

.venv/bin/python tools/check_wheels.py [--extras plot,test] [--platforms linux-arm64,windows]

pip resolves the core and the extras for the running Python. Each package must then have a wheel of this version for
each platform; packages that only other platforms need (environment markers) are added. pip's cache grows by about
300 MB per platform. The exit status is 1 if a wheel is missing.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"

# torch: for most platforms its CPU builds are on an index of its own, and other builds need gigabytes of CUDA. It has
# wheels for all platforms below except macOS on x86-64.
EXCLUDED = {"torch"}


def _glibc(machine: str) -> list[str]:
    return [f"manylinux_2_{minor}_{machine}" for minor in range(28, 4, -1)] + [f"manylinux2014_{machine}"]


# What pip accepts (glibc 2.28 and macOS 14, or earlier) and what environment markers see.
PLATFORMS: dict[str, tuple[list[str], dict[str, str]]] = {
    "linux-x86-64": (_glibc("x86_64"), {"sys_platform": "linux", "platform_machine": "x86_64"}),
    "linux-arm64": (_glibc("aarch64"), {"sys_platform": "linux", "platform_machine": "aarch64"}),
    "macos-arm64": (["macosx_14_0_arm64"], {"sys_platform": "darwin", "platform_machine": "arm64"}),
    "macos-x86-64": (["macosx_14_0_x86_64"], {"sys_platform": "darwin", "platform_machine": "x86_64"}),
    "windows": (["win_amd64"], {"sys_platform": "win32", "platform_machine": "AMD64"}),
}
SYSTEMS = {"linux": ("Linux", "posix"), "darwin": ("Darwin", "posix"), "win32": ("Windows", "nt")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--extras", default="plot,test", help="comma-separated (default: %(default)s)")
    parser.add_argument("--platforms", default=",".join(PLATFORMS), help="comma-separated (default: all)")
    args = parser.parse_args()

    resolved, error = _resolve(["--ignore-installed"], _requirements(args.extras.split(",")))
    if error:
        sys.exit(error)
    print(f"Python {platform.python_version()}: {len(resolved)} packages")
    complete = True
    for name in args.platforms.split(","):
        found, missing = _wheels(name, resolved)
        complete &= not missing
        print(f"{name}: {len(found)} wheels, {len(missing)} missing", *missing, sep="\n    ", flush=True)
    return 0 if complete else 1


def _requirements(extras: list[str]) -> list[str]:
    """The requirements of the core and of the extras, references of the package to itself followed."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    found: list[str] = list(project["dependencies"])
    for extra in extras:
        for line in project["optional-dependencies"][extra]:
            requirement = Requirement(line)
            found += _requirements(sorted(requirement.extras)) if requirement.name == "tcgp" else [line]
    return sorted(set(found))


def _wheels(name: str, resolved: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The packages that have a wheel on a platform, and a line for each that has none."""
    tags, markers = PLATFORMS[name]
    system, os_name = SYSTEMS[markers["sys_platform"]]
    markers = {**markers, "platform_system": system, "os_name": os_name}
    wanted = {_name(item): item["metadata"]["version"] for item in resolved if _name(item) not in EXCLUDED}
    missing: dict[str, str] = {}
    target = [*(f"--platform={tag}" for tag in tags), "--no-deps", "--target=never-created"]
    while True:
        pins = [f"{package}=={version}" if version else package for package, version in wanted.items()]
        found, error = _resolve(target, pins)
        if error:
            match = re.search(r"No matching distribution found for ([\w.-]+)", error)
            if match is None:
                sys.exit(error)
            package = canonicalize_name(match[1])
            missing[package] = f"{package} {wanted.pop(package)}"
            continue
        needed = _needed(resolved + found, markers) - set(wanted) - set(missing) - EXCLUDED
        if not needed:
            return found, sorted(missing.values())
        wanted |= dict.fromkeys(needed, "")


def _needed(items: list[dict[str, Any]], markers: dict[str, str]) -> set[str]:
    """The packages that these require where the markers hold."""
    needed: set[str] = set()
    for item in items:
        for requirement in map(Requirement, item["metadata"].get("requires_dist", [])):
            for extra in ["", *item.get("requested_extras", [])]:
                if requirement.marker is None or requirement.marker.evaluate({**markers, "extra": extra}):
                    needed.add(canonicalize_name(requirement.name))
    return needed


def _resolve(options: list[str], requirements: list[str]) -> tuple[list[dict[str, Any]], str]:
    """What pip would install, wheels alone, as its report lists it; or pip's error."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", f"--report={report}"]
        done = subprocess.run(
            [*command, "--only-binary=:all:", *options, *requirements], capture_output=True, text=True
        )
        if done.returncode:
            return [], done.stderr
        return json.loads(report.read_text(encoding="utf-8"))["install"], ""


def _name(item: dict[str, Any]) -> str:
    return canonicalize_name(item["metadata"]["name"])


if __name__ == "__main__":
    sys.exit(main())
