"""Options of the methods: one declaration, which everything else reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tcgp
from tcgp.methods import METHODS, RECIPES
from tcgp.methods.options import Option, check_options
from tcgp.methods.portfolio import options_of
from tcgp.optimizer import Settings

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "models.md"


@pytest.mark.parametrize("method", METHODS)
def test_defaults_are_values_that_the_options_take(method):
    options = options_of(method)
    given = {name: option.default for name, option in options.items()}
    assert check_options(method, options, given) == given == check_options(method, options, {})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", ["nonsense", [], float("nan"), True, 1e400])
def test_every_option_of_every_method_refuses_nonsense(method, bad):
    for name, option in options_of(method).items():
        if bad is True and option.default is False:  # a switch
            continue
        with pytest.raises(ValueError, match=f"{name} must be"):
            Settings(method=method, options={name: bad})


@pytest.mark.parametrize(
    ("option", "inside", "outside"),
    [
        (Option(0.5, "", low=0.0, high=1.0, open_low=True), [1e-9, 1, np.float64(0.3)], [0.0, 1.1, -1]),
        (Option(0.5, "", low=0.0, high=1.0, open_high=True), [0, 0.999], [1, 1.0]),
        (Option(5, "", low=1, integer=True), [1, np.int64(7)], [0, 2.5]),
        (Option(None, "", low=0.0, open_low=True, optional=True), [None, 3], [0.0]),
        (Option("a", "", choices=("a", "b")), ["b"], ["c", None, 1]),
        (Option(False, "", choices=(False, True)), [True, False], [1, 0, None, "True"]),
        (Option(2, "", choices=(0, 1, 2)), [1, np.int64(0)], [True, False]),
    ],
)
def test_ranges_are_kept(option, inside, outside):
    for value in inside:
        option.check("it", value)
    for value in outside:
        with pytest.raises(ValueError, match="it must be"):
            option.check("it", value)


def test_every_option_of_a_recipe_reaches_its_fit():
    """An option that nobody reads would be accepted without a word."""
    problem = tcgp.problems.get("goldstein-price")
    X = np.random.default_rng(0).uniform(-2.0, 2.0, (20, 2))
    for method, recipe in RECIPES.items():
        read: set[str] = set()

        class Watched(dict):
            def __getitem__(self, name, read=read):
                read.add(name)
                return super().__getitem__(name)

            def get(self, name, default=None, read=read):
                read.add(name)
                return super().get(name, default)

        with pytest.MonkeyPatch.context() as patch:
            real = check_options
            patch.setattr("tcgp.methods.fit.check_options", lambda *a, real=real, W=Watched: W(real(*a)))
            tcgp.fit_model(X, problem.fun(X), method, bounds=problem.bounds, rng=0)
        assert set(recipe.options) <= read, method


def describe_options() -> str:
    """A Markdown table of all options: as the page of models has it."""
    lines = ["| option | values | meaning | methods and defaults |", "|---|---|---|---|"]
    names = dict.fromkeys(name for method in METHODS for name in options_of(method))
    for name in names:
        found = {method: options_of(method)[name] for method in METHODS if name in options_of(method)}
        groups: dict[str, list[str]] = {}
        for method, option in found.items():
            groups.setdefault(repr(option.default), []).append(method)
        who = "; ".join(f"`{default}`: {', '.join(methods)}" for default, methods in groups.items())
        option = next(iter(found.values()))
        lines.append(f"| `{name}` | {option.values} | {option.meaning} | {who} |")
    return "\n".join(lines)


def test_the_page_of_models_lists_all_options():
    assert describe_options() in PAGE.read_text(encoding="utf-8")
