"""A title, a picture and a table, as HTML for a notebook."""

from __future__ import annotations

import html
from collections.abc import Mapping

from tcgp._text import shorten

__all__ = ["view"]


def view(title: str, facts: Mapping[str, object], picture: str = "") -> str:
    """HTML of an object; all strings are escaped, the picture is SVG of this package.

    Examples
    --------
    >>> from tcgp.views import view
    >>> view("Run", {"best": "<1>"})
    '<div><b>Run</b><table><tr><th>best</th><td>&lt;1&gt;</td></tr></table></div>'
    """
    rows = "".join(
        f"<tr><th>{html.escape(str(name))}</th><td>{html.escape(shorten(str(value)))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<div><b>{html.escape(title)}</b>{picture}<table>{rows}</table></div>"
