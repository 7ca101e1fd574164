"""Install the package and an extra with uv, from where pip would take them: it fetches several wheels at a time.

python tools/install.py test

It fails if pip has settings that uv may not have, or if uv is not to be had; the Makefile then calls pip.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys

# Settings of pip that uv does not read, and the options that mean the same.
OPTIONS = {"index-url": "--default-index", "extra-index-url": "--index", "find-links": "--find-links"}
# Settings that change nothing in what is installed.
HARMLESS = {
    "cache-dir",
    "cert",
    "default-timeout",
    "disable-pip-version-check",
    "root-user-action",
    "timeout",
}


def main(extra: str) -> int:
    settings = pip_settings()
    if unknown := sorted(set(settings) - set(OPTIONS) - HARMLESS):
        print(f"pip has settings that uv may not have: {', '.join(unknown)}")
        return 1
    environment = dict(os.environ)
    if "cert" in settings:
        environment["SSL_CERT_FILE"] = settings["cert"]
    places = [f"{OPTIONS[name]}={place}" for name in OPTIONS for place in settings.get(name, "").split()]
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-compile"]
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
    uv += ["--index-strategy", "unsafe-best-match", *places]  # the newest version, wherever it is
    for command in (
        [*pip, "uv"],
        [*uv, "--only-binary", ":all:", "-r", "pyproject.toml", "--extra", extra],
        [*uv, "--no-deps", "--editable", "."],
    ):
        if code := subprocess.run(command, env=environment).returncode:
            return code
    return 0


def pip_settings() -> dict[str, str]:
    """What pip's files and variables of the environment say, which come first and count."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    settings: dict[str, str] = {}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        name, _, value = line.partition("=")
        settings.setdefault(name.rpartition(".")[2], ast.literal_eval(value))
    return settings


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
