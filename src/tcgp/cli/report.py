"""``tcgp report``: a campaign as one HTML page."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from tcgp._files import may_replace
from tcgp.cli.campaigns import find_journal, read
from tcgp.cli.console import DONE, UsageError, note, relative, show
from tcgp.cli.replacing import check_replaceable

__all__ = ["check_writable", "run"]

LONGEST_WAIT = 86400.0  # seconds at a time: the system's clocks take no arbitrary numbers


def run(options: argparse.Namespace) -> int:
    """Carry out ``tcgp report``."""
    journal = find_journal(options.journal)
    output = Path(options.output) if options.output else journal.with_suffix(".html")
    check_writable(output, force=options.force)
    size = journal.stat().st_size if journal.exists() else 0
    _write(journal, output, options.refresh)
    show(f"report       {relative(output)}")
    if options.refresh is not None:
        note("the page follows the journal until Ctrl-C is pressed")
        try:
            _follow(journal, output, options.refresh, size)
        except KeyboardInterrupt:
            _write(journal, output, None)
    return DONE


def check_writable(path: str | os.PathLike[str], *, force: bool) -> None:
    """Refuse a place where no page can be written, before anything is run; with ``force``, make room there."""
    from tcgp.report.page import is_page

    directory = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path) or not os.access(directory, os.W_OK):
        raise UsageError(
            f"the report {str(path)!r} cannot be written there; name a file in a directory that exists"
        )
    check_replaceable(path, "the report", is_page, force=force)
    if not may_replace(path, is_page):
        os.unlink(path)


def _write(journal: Path, output: Path, refresh: float | None) -> None:
    from tcgp.record.journal import JournalError
    from tcgp.report import report_from_journal

    read(journal)  # says what is wrong with a journal that cannot be read
    try:
        report_from_journal(journal, output, refresh=refresh)
    except JournalError as error:
        raise UsageError(str(error)) from None


def _follow(journal: Path, output: Path, refresh: float, shown: int) -> None:
    """Write the page again whenever the journal is longer than what is shown, and now and then as it is."""
    from tcgp.report.writer import HEARTBEAT, renew

    written = time.monotonic()
    while True:
        time.sleep(min(refresh, LONGEST_WAIT))
        size = journal.stat().st_size  # before it is read: what is written meanwhile comes next time
        if size != shown:
            _write(journal, output, refresh)
            shown = size
        elif time.monotonic() - written >= HEARTBEAT:
            renew(output)
        else:
            continue
        written = time.monotonic()
