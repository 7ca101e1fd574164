"""What objects look like in a notebook: small tables and pictures in HTML, which need no other library."""

from tcgp.views.html import view
from tcgp.views.svg import chart, ranges

__all__ = ["chart", "ranges", "view"]
