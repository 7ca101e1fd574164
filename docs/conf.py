"""How Sphinx builds the documentation: ``make docs``."""

from __future__ import annotations

import html
import re
import sys
import types
from typing import Any

import latex2mathml.converter
from docutils import nodes
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.ext.autodoc.mock import mock

import tcgp
from tcgp.cli.spec import EXAMPLE

project = "tcgp"
author = "The tcgp developers"
copyright = author
version = release = tcgp.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"tcgp {release}"
html_static_path = ["_static"]
html_css_files = ["tcgp.css"]
html_show_sourcelink = False
html_copy_source = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Links between pages and to names of the package must lead somewhere: with --fail-on-warning a dead one ends the build.
nitpicky = True
myst_enable_extensions = ["dollarmath", "deflist", "fieldlist", "substitution"]
myst_substitutions = {"spec": f"```toml\n{EXAMPLE}```"}
myst_heading_anchors = 3
suppress_warnings = ["myst.header"]  # the tables of the experiments begin at any level

default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_class_signature = "mixed"
autodoc_default_options = {"members": True}
autosummary_generate = False
# The hosts of the bridges are large, and their documentation is elsewhere.
sys.modules["ax.storage.json_store.registry"] = types.SimpleNamespace(CORE_DECODER_REGISTRY={})  # type: ignore[assignment]
autodoc_mock_imports = [
    "ax",
    "botorch",
    "cocoex",
    "gest_api",
    "gpytorch",
    "ioh",
    "openmdao",
    "optuna",
    "sklearn",
    "torch",
]
# Autodoc mocks them while it imports a module of ours, and imports them in earnest to look for the sources of members.
mocked = mock(autodoc_mock_imports)
mocked.__enter__()
# numpydoc would compile its template anew for each docstring: a tenth of the time of a build.
templates: dict[str, SandboxedEnvironment] = {}
docscrape_sphinx.SandboxedEnvironment = lambda loader: templates.setdefault(
    "", SandboxedEnvironment(loader=loader)
)
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
nitpick_ignore_regex = [
    # What docstrings mention of other packages, of the standard library, and of ourselves beside the public names.
    (
        "py:.*",
        r"(numpy|scipy|matplotlib|concurrent|pathlib|os|optuna|dataclasses|sklearn|ax|botorch|torch|gest_api|openmdao)\b.*",
    ),
    ("py:obj", r"[a-z_]+|Posterior|SingleTaskGP|Standardize|CRITERIA|VOCS|AnalysisError"),
    ("py:func", r"tcgp\.sampling\.particles\.move"),
]


def keep_absolute_values(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """|x| is an absolute value in our docstrings, and not a substitution of reStructuredText."""
    for i, line in enumerate(lines):
        if "|" in line and not line.lstrip().startswith((">>>", "...")):
            parts = re.split("(``.*?``)", line)
            lines[i] = "".join(part if part.startswith("``") else part.replace("|", r"\|") for part in parts)


# ---- formulas as MathML: every browser draws it, and no script is loaded from anywhere ----


def inline_math(writer: Any, node: nodes.math) -> None:
    writer.body.append(latex2mathml.converter.convert(node.astext()))
    raise nodes.SkipNode


def displayed_math(writer: Any, node: nodes.math_block) -> None:
    number = node.get("number")
    target = f' id="{html.escape(node["ids"][0])}"' if node.get("ids") else ""
    writer.body.append(f'<div class="math-block"{target}>')
    writer.body.append(latex2mathml.converter.convert(node.astext(), display="block"))
    if number:
        writer.body.append(f'<span class="math-number">({number})</span>')
    writer.body.append("</div>\n")
    raise nodes.SkipNode


html_math_renderer = "mathml"


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", keep_absolute_values, priority=400)
    app.add_html_math_renderer("mathml", (inline_math, None), (displayed_math, None))
