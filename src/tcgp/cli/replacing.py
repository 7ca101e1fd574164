"""Files that commands write: only files written by tcgp are replaced, unless the user insists."""

from __future__ import annotations

import os
from collections.abc import Callable

from tcgp._files import may_replace
from tcgp.cli.console import UsageError
from tcgp.record.journal import is_journal

__all__ = ["check_replaceable"]


def check_replaceable(
    path: str | os.PathLike[str], what: str, is_ours: Callable[[bytes], bool], *, force: bool
) -> None:
    """Refuse a place with a file that tcgp did not write; with ``force``, only a file that could not be restored.

    Journals, specs, directories and devices are never replaced.
    """
    if may_replace(path, is_ours):
        return
    kind = "the journal " if is_journal(path) else "the spec " if os.fspath(path).endswith(".toml") else ""
    is_file = os.path.isfile(path) or os.path.islink(path)
    if force and is_file and not kind:
        return
    hint = ", or replace it with --force" if is_file and not kind else ""
    raise UsageError(
        f"{what} must be a new file or one that tcgp wrote, got {kind}{str(path)!r}: choose another name{hint}"
    )
