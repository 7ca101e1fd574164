"""Small pictures in SVG: points with a line, and the ranges of parameters."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from tcgp._text import shorten

__all__ = ["chart", "ranges"]

WIDTH, HEIGHT, LEFT, BOTTOM = 420, 190, 62, 34
GREY, BLUE, RED = "#888888", "#0072B2", "#D55E00"
MOST_ROWS = 30  # parameters that are drawn

Pair = tuple[float, float]


def chart(points: Sequence[Pair], line: Sequence[Pair], xlabel: str, ylabel: str) -> str:
    """Points, and a line through others, with the ends of both axes marked.

    Examples
    --------
    >>> from tcgp.views import chart
    >>> chart([(1.0, 2.0), (2.0, 1.0)], [(1.0, 2.0), (2.0, 1.0)], "evaluations", "value").count("<circle")
    2
    """
    known = [(x, y) for x, y in (*points, *line) if math.isfinite(x) and math.isfinite(y)]
    if not known:
        return ""
    xs, ys = _Axis([x for x, _ in known], LEFT, WIDTH - 10), _Axis([y for _, y in known], HEIGHT - BOTTOM, 12)
    marks = "".join(
        f'<circle cx="{xs.at(x):.1f}" cy="{ys.at(y):.1f}" r="3" fill="{BLUE}" fill-opacity="0.6"/>'
        for x, y in points
        if math.isfinite(x) and math.isfinite(y)
    )
    path = " ".join(
        f"{xs.at(x):.1f},{ys.at(y):.1f}" for x, y in line if math.isfinite(x) and math.isfinite(y)
    )
    curve = f'<polyline points="{path}" fill="none" stroke="{RED}" stroke-width="2"/>' if path else ""
    low, high = HEIGHT - BOTTOM, HEIGHT - BOTTOM + 14
    texts = [
        _text(LEFT - 6, low, f"{ys.low:.4g}", "end"),
        _text(LEFT - 6, 18, f"{ys.high:.4g}", "end"),
        _text(LEFT, high, f"{xs.low:.4g}", "start"),
        _text(WIDTH - 10, high, f"{xs.high:.4g}", "end"),
        _text((LEFT + WIDTH) / 2, high + 14, xlabel, "middle"),
        _text(LEFT + 6, 12, ylabel, "start"),
    ]
    frame = f'<path d="M{LEFT} 8V{low}H{WIDTH - 10}" fill="none" stroke="{GREY}"/>'
    return _svg(WIDTH, HEIGHT, frame + marks + curve + "".join(texts))


def ranges(rows: Sequence[tuple[str, Sequence[str], bool]]) -> str:
    """For each parameter its name and its values: the two ends of a line, or choices side by side.

    Parameters
    ----------
    rows : sequence of (name, labels, whether they are the ends of a range)
    """
    parts = []
    for i, (name, labels, is_range) in enumerate(rows[:MOST_ROWS]):
        y = 16 + 24 * i
        parts.append(_text(120, y + 4, shorten(name, 20), "end"))  # more would begin left of the picture
        if is_range:
            parts.append(f'<line x1="200" x2="330" y1="{y}" y2="{y}" stroke="{BLUE}" stroke-width="4"/>')
            parts += [_text(192, y + 4, labels[0], "end"), _text(338, y + 4, labels[1], "start")]
        else:
            parts.append(_text(134, y + 4, " | ".join(labels), "start"))
    return _svg(WIDTH, 24 * min(len(rows), MOST_ROWS) + 8, "".join(parts))


class _Axis:
    """Where values stand on an axis between two places."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = min(values), max(values), start, end

    def at(self, value: float) -> float:
        """Place of a value; differences of huge values are taken after a division, which cannot overflow."""
        size = max(abs(self.low), abs(self.high)) or 1.0
        extent = self.high / size - self.low / size
        share = 0.5 if extent == 0.0 else (value / size - self.low / size) / extent
        return self.start + share * (self.end - self.start)


def _svg(width: float, height: float, content: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="11">{content}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str) -> str:
    words = html.escape(shorten(text, 40))
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="currentColor">{words}</text>'
