"""Pages made of blocks, written as Markdown and as HTML from one source."""

from __future__ import annotations

import base64
import csv
import html
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

__all__ = ["Block", "Code", "Heading", "Items", "Page", "Paragraph", "Picture", "Table", "to_csv"]


@dataclass(frozen=True)
class Heading:
    """A heading inside a page."""

    text: str
    level: int = 2

    def markdown(self) -> str:
        return f"{'#' * self.level} {self.text}"

    def html(self) -> str:
        return f"<h{self.level}>{_inline(self.text)}</h{self.level}>"


@dataclass(frozen=True)
class Paragraph:
    """Text, with `code` and **bold**."""

    text: str

    def markdown(self) -> str:
        return self.text

    def html(self) -> str:
        return f"<p>{_inline(self.text)}</p>"


@dataclass(frozen=True)
class Items:
    """A list, one line each."""

    lines: Sequence[str]

    def markdown(self) -> str:
        return "\n".join(f"- {line}" for line in self.lines)

    def html(self) -> str:
        return "<ul>" + "".join(f"<li>{_inline(line)}</li>" for line in self.lines) + "</ul>"


@dataclass(frozen=True)
class Code:
    """A command."""

    text: str

    def markdown(self) -> str:
        return "\n".join(f"    {line}" for line in self.text.splitlines())

    def html(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


@dataclass(frozen=True)
class Table:
    """Rows under a header; cells are text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def markdown(self) -> str:
        lines = [self.header, ["---", *("--:" for _ in self.header[1:])], *self.rows]
        return "\n".join(
            "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
        )

    def html(self) -> str:
        head = "".join(f"<th>{_inline(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_inline(cell)}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


@dataclass(frozen=True)
class Picture:
    """A figure, kept as PNG (also inside the HTML page) and as SVG."""

    name: str
    caption: str
    png: bytes
    svg: bytes

    def markdown(self) -> str:
        return f"![{self.caption}]({self.name}.png)\n\n{self.caption}"

    def html(self) -> str:
        data = base64.b64encode(self.png).decode()
        caption = html.escape(self.caption)
        return (
            f'<figure><img alt="{caption}" src="data:image/png;base64,{data}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )


Block = Heading | Paragraph | Items | Code | Table | Picture


@dataclass(frozen=True)
class Page:
    """A page about one experiment.

    Attributes
    ----------
    name : str
        File name without its ending.
    title : str
    blocks : list of Block
    tables : dict of str
        CSV files, by name.
    """

    name: str
    title: str
    blocks: list[Block]
    tables: dict[str, str] = field(default_factory=dict)

    def markdown(self) -> str:
        """The page as Markdown; its pictures are separate files."""
        return "\n\n".join([f"# {self.title}", *(block.markdown() for block in self.blocks)]) + "\n"

    def files(self) -> dict[str, bytes]:
        """All files of the page, by name."""
        files = {f"{self.name}.md": self.markdown().encode()}
        files |= {name: text.encode() for name, text in self.tables.items()}
        for block in self.blocks:
            if isinstance(block, Picture):
                files |= {f"{block.name}.png": block.png, f"{block.name}.svg": block.svg}
        return files


STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; font-size: 13px; margin: 1rem 0; display: block; overflow-x: auto }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .6rem; text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left }
td:last-child { white-space: normal }
img { max-width: 100% } figure { margin: 1rem 0 } figcaption { color: #555; font-size: 13px }
pre { background: #f5f5f5; padding: .6rem; overflow-x: auto } nav a { margin-right: 1rem }
section { border-top: 2px solid #222; margin-top: 3rem }
"""


def to_html(pages: Sequence[Page], title: str) -> str:
    """All pages in one self-contained file."""
    links = "".join(f'<a href="#{page.name}">{html.escape(page.name)}</a>' for page in pages)
    sections = "".join(
        f'<section id="{page.name}"><h1>{html.escape(page.title)}</h1>'
        + "".join(block.html() for block in page.blocks)
        + "</section>"
        for page in pages
    )
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1><nav>{links}</nav>{sections}</body></html>\n"
    )


def to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as comma-separated text."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()


def _inline(text: str) -> str:
    """HTML of a line of text with `code` and **bold**."""
    safe = html.escape(text)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", safe)
