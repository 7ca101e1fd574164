"""The ``tcgp`` command.

Exit codes: 0 done; 1 ended without a value, or could not go on; 2 bad usage, a bad spec or a bad file;
130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from tcgp.cli.arguments import arrange, build_parser
from tcgp.cli.console import (
    DONE,
    INTERRUPTED,
    MAX_FAILURES_TOLD,
    UNUSABLE,
    WITHOUT_SUCCESS,
    UsageError,
    complain,
    prepare_streams,
    warnings_on_stderr,
)

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments; those of the process by default.

    Returns
    -------
    int
        Exit code: 0 done; 1 ended without a value, or could not go on; 2 bad usage, a bad spec or a bad file;
        130 interrupted.

    Examples
    --------
    >>> from tcgp.cli import main
    >>> main(["--version"])  # doctest: +ELLIPSIS
    tcgp ...
    0
    """
    prepare_streams()
    try:
        return _parse_and_run(arrange(sys.argv[1:] if argv is None else list(argv)))
    finally:
        _drop_unread(sys.stderr)


def _parse_and_run(arguments: list[str]) -> int:
    parser = build_parser()
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:  # argparse has said what there is to say
        return UNUSABLE if stop.code else DONE
    if options.command is None:
        parser.print_help()
        return UNUSABLE
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Carry out a command, and turn what the user can fix into one sentence."""
    try:
        # Whoever tells a failure knows of it.
        with warnings_on_stderr(max_failures=0 if options.command == "tell" else MAX_FAILURES_TOLD):
            code = importlib.import_module(options.module).run(options)
            sys.stdout.flush()
            return DONE if code is None else int(code)
    except KeyboardInterrupt:
        complain("interrupted")
        return INTERRUPTED
    except UsageError as error:
        complain(str(error))
        return UNUSABLE
    except OSError as error:  # a full disk, a lost network drive
        if not isinstance(error, BrokenPipeError):  # then the reader of our output has gone
            complain(str(error))
        _drop_unread(sys.stdout)
        return WITHOUT_SUCCESS


def _drop_unread(stream: TextIO) -> None:
    """Forget output that cannot be written: Python would fail when it flushes the stream at exit."""
    try:
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
