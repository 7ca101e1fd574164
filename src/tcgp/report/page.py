"""One self-contained HTML page from the data of a report."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["embed", "is_page", "render"]

_MARKS = (b'<main id="report"></main>', b'<script type="application/json" id="data">{')  # of every page

# Inside a script element HTML knows no escapes but looks for "</script" and "<!--"; JSON can say these
# characters otherwise. All else that could disturb (U+2028, lone surrogates) json.dumps escapes itself.
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def embed(data: Mapping[str, Any]) -> str:
    """JSON that can stand in a script element, whatever strings are in it.

    Examples
    --------
    >>> from tcgp.report.page import embed
    >>> embed({"name": "</script>"})
    '{"name":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        text = text.replace(character, escape)
    return text


def render(data: Mapping[str, Any]) -> str:
    """The page that shows the data of `tcgp.report.report_data`.

    Parameters
    ----------
    data : mapping

    Returns
    -------
    str
        HTML that needs no server and no network. Its content security policy allows this script only.
    """
    style, script = _asset("report.css"), _asset("report.js")
    policy = f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'"
    parts = {
        "POLICY": policy,
        "TITLE": html.escape(_plain(data["title"])),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": embed(data),
    }
    # In one pass, so that nothing is replaced inside what was put in.
    return re.sub("@([A-Z]+)@", lambda match: parts[match[1]], _asset("report.html"))


def is_page(content: bytes) -> bool:
    """Return whether `render` wrote this, in any version."""
    return content.startswith(b"<!DOCTYPE html>") and all(mark in content for mark in _MARKS)


@cache
def _asset(name: str) -> str:
    return (files("tcgp.report") / "assets" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """What a content security policy calls an inline script or style by."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _plain(text: str) -> str:
    """Text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode()
