"""Every code block of the documentation is run, page by page, in a directory of its own.

What a fence means here:

- ``python``: run, all blocks of a page in one namespace; with ``>>>`` its output is compared, and so is
  that of ``print(...)  # what it prints`` in the README.
- ``console``: each line after ``$`` is a command, the lines below it its output, where ``...`` stands for anything.
- ``sh``: run as one script that must not fail.
- ``{code-block}`` with a caption: a file of that name.
- ``text``: what somebody reads, and no code.

Nothing is prepared that a reader does not see: pasted in order, the blocks of a page run, and each block of the README
runs by itself. Everything else that is fenced is refused, so that no block can go stale unseen.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tcgp.cli import main

for module in ("tcgp.cli.minimize", "tcgp.report"):  # before anything is forked
    importlib.import_module(module)

LONGEST = 300  # seconds that a command may take

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages that need more than what `make test` installs everywhere.
NEEDS = {
    "bridges/fmpy.md": ("fmpy", "pythonfmu"),
    "bridges/gemseo.md": ("gemseo_tcgp",),
    "bridges/gest.md": ("xopt",),
    "bridges/hydra.md": ("hydra_plugins.hydra_optuna_sweeper",),
    "bridges/libensemble.md": ("libensemble", "optimas"),
    "bridges/mcp.md": ("mcp",),
    "bridges/openmdao.md": ("openmdao",),
    "bridges/ray.md": ("ray.tune",),
    "bridges/submitit.md": ("submitit",),
}
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "examples/simulator/README.md"])

# Prose for Sphinx: nothing in them runs.
DIRECTIVES = {"{toctree}", "{figure}", "{autosummary}", "{eval-rst}", "{include}", "{math}", "{note}"}
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
BLOCK = re.compile(
    r"^(?P<fence>`{3,})(?P<kind>\S*)[ ]*(?P<argument>[^\n]*)\n(?P<body>.*?)^(?P=fence)[ ]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A code block: what kind it is, what its fence says besides, and the line it begins on."""

    kind: str
    argument: str
    body: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        if match["kind"] not in DIRECTIVES:
            yield Block(match["kind"], match["argument"], match["body"], line)


class Runner:
    """Runs the blocks of a page in a directory, one after the other."""

    def __init__(self, page: Path, directory: Path) -> None:
        self.page, self.directory = page, directory
        self.namespace: dict[str, Any] = {"__name__": "__main__"}

    def run(self, block: Block) -> None:
        where = f"{self.page.relative_to(ROOT)}, line {block.line}"
        if block.kind == "python":
            self._python(block, where)
        elif block.kind == "console":
            self._console(block.body, where)
        elif block.kind == "sh":
            self._shell("set -eu\n" + block.body, where)
        elif block.kind == "{code-block}" and (file := re.match(r":caption: (\S+)\n+", block.body)):
            (self.directory / file[1]).write_text(block.body[file.end() :], encoding="utf-8")
        elif block.kind != "text":
            pytest.fail(f"{where}: a block of kind {block.kind!r}, which nothing runs; see {__file__}")

    def _python(self, block: Block, where: str) -> None:
        if ">>>" not in block.body:
            is_told = self.page == ROOT / "README.md"
            told = re.findall(r"^print\(.*\)  # (.+)$", block.body, re.MULTILINE) if is_told else []
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                exec(compile("\n" * block.line + block.body, str(self.page), "exec"), self.namespace)
            shown = printed.getvalue().splitlines()
            assert [line for line in told if line not in shown] == [], (
                f"{where} prints:\n{printed.getvalue()}"
            )
            return
        test = doctest.DocTestParser().get_doctest(
            block.body, self.namespace, where, str(self.page), block.line
        )
        output: list[str] = []
        result = doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append, clear_globs=False)
        self.namespace.update(test.globs)
        assert result.failed == 0, "".join(output)

    def _console(self, body: str, where: str) -> None:
        lines = body.splitlines()
        assert lines[0].startswith("$ "), f"{where}: a console block begins with a command, after '$ '"
        starts = [i for i, line in enumerate(lines) if line.startswith("$ ")]
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            command = lines[start].removeprefix("$ ")
            if folder := re.fullmatch(r"cd (\S+)", command):
                self.directory = self.directory / folder[1]
                continue
            shown = self._shell(command, where)
            expected = "\n".join(lines[start + 1 : end])
            if expected.strip():
                same = doctest.OutputChecker().check_output(expected, shown, FLAGS)
                assert same, f"{where}: {lines[start]}\nexpected:\n{expected}\ngot:\n{shown}"

    def _shell(self, script: str, where: str) -> str:
        """Run a script with the ``tcgp`` and ``python`` of these tests; what it wrote, warnings included."""
        is_plain = re.fullmatch(r"tcgp [^|&;<>$`\n]*", script)
        code, shown = (self._forked if is_plain else self._started)(script)
        assert code == 0, f"{where}: exit code {code} of\n{script}\n{shown}"
        return shown

    def _forked(self, script: str) -> tuple[int, str]:
        """Run the command in a process forked from this one, where most of what it imports is there already."""
        with tempfile.TemporaryFile("w+") as output:
            pid = os.fork()
            if not pid:
                code = 1
                try:
                    signal.alarm(LONGEST)
                    nothing = os.open(os.devnull, os.O_RDONLY)
                    for number, file in enumerate((nothing, output.fileno(), output.fileno())):
                        os.dup2(file, number)
                    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", 1)
                    os.environ["COLUMNS"] = "80"
                    os.chdir(self.directory)
                    code = main(shlex.split(script)[1:])
                except BaseException:
                    traceback.print_exc()
                finally:
                    sys.stdout.flush()
                    os._exit(code)
            _, status = os.waitpid(pid, 0)
            output.seek(0)
            return os.waitstatus_to_exitcode(status), output.read()

    def _started(self, script: str) -> tuple[int, str]:
        path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", "")])
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.directory,
            env={**os.environ, "PATH": path, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "80"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LONGEST,
        )
        return done.returncode, done.stdout


RUNNING = [page for page in PAGES if any(block.kind != "text" for block in blocks(page))]


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    if page == DOCS / "bridges/coco.md":
        request.getfixturevalue("cocoex")  # skips where COCO is not installed
    for package in NEEDS.get(
        page.relative_to(ROOT / "docs").as_posix() if page.is_relative_to(DOCS) else "", ()
    ):
        pytest.importorskip(package, reason=f"the page needs {package}")
    # What a clone has, where the pages say that a command is run in it.
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.tcgp", "suspension")
    )
    monkeypatch.chdir(tmp_path)
    runner = Runner(page, tmp_path)
    for block in blocks(page):
        if page == ROOT / "README.md":
            runner = Runner(page, tmp_path)
        runner.run(block)


def test_a_wrong_output_and_an_unknown_block_do_not_pass(tmp_path: Path) -> None:
    runner = Runner(DOCS / "index.md", tmp_path)
    for block in (
        Block("python", "", ">>> 1 + 1\n3\n", 1),
        Block("console", "", "$ echo 1\n2\n", 1),
        Block("sh", "", "false\ntrue\n", 1),
        Block("toml", "", "a = 1\n", 1),
    ):
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            runner.run(block)
    with pytest.raises(AssertionError):
        Runner(ROOT / "README.md", tmp_path).run(Block("python", "", "print(1 + 1)  # 3\n", 1))
    runner.run(Block("{code-block}", "toml", ":caption: a.toml\n\na = 1\n", 1))
    runner.run(Block("console", "", "$ cat a.toml\na = ...\n", 1))


def test_files_that_pages_name_exist() -> None:
    name = re.compile(r"`((?:benchmarks|examples|src|tests|tools)/[\w./-]+)`")
    named = {(page, file) for page in PAGES for file in name.findall(page.read_text(encoding="utf-8"))}
    assert [(page, file) for page, file in named if not (ROOT / file).exists()] == []
