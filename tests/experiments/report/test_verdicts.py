"""Verdicts on the paper's claims, from made-up data whose truth is known."""

import numpy as np
import pytest

from tcgp_experiments.plan.claims import Check, Claim, lower
from tcgp_experiments.report.blocks import Items, Paragraph
from tcgp_experiments.report.statistics import compare_pairs
from tcgp_experiments.report.verdicts import claim_blocks, judge

RNG = np.random.default_rng(0)
DATA = {
    "small": 10.0 ** RNG.normal(-5.0, 0.3, 30),
    "large": 10.0 ** RNG.normal(-3.0, 0.3, 30),
    "large too": 10.0 ** RNG.normal(-3.0, 0.3, 30),
    "few": np.array([1e-5, 1e-5, *[np.nan] * 28]),
}


def lookup(problem, label, check):
    return DATA.get(label)


def verdict(a, b, relation, factor=2.0):
    return judge(Check("f", (a,), (b,), relation, "p_mn", "end", factor), lookup, compare_pairs).verdict


@pytest.mark.parametrize(
    ("a", "b", "relation", "expected"),
    [
        ("small", "large", "lower", "yes"),
        ("large", "small", "lower", "no"),
        ("large", "large too", "lower", "open"),
        ("large", "large too", "similar", "yes"),
        ("small", "large", "similar", "no"),
        ("small", "large", "different", "yes"),
        ("large", "large too", "different", "no"),
        ("large", "small", "not higher", "no"),
        ("small", "large", "not higher", "yes"),
        ("large", "large too", "not higher", "yes"),
        ("few", "large", "lower", "open"),
        ("few", "large", "not higher", "open"),
        ("nobody", "large", "lower", "no data"),
    ],
)
def test_verdicts(a, b, relation, expected):
    assert verdict(a, b, relation) == expected


def test_of_several_methods_the_best_stands_for_all():
    finding = judge(
        Check("f", ("large", "small"), ("large too",), "lower", "p_mn", "end"), lookup, compare_pairs
    )
    assert finding.labels == ("small", "large too")
    assert finding.verdict == "yes"


@pytest.mark.parametrize(
    ("pairs", "needs", "word"),
    [
        ([("small", "large")], "all", "Supported (1 of 1 yes)"),
        ([("small", "large"), ("large", "small")], "all", "Partly supported (1 of 2 yes, 1 no)"),
        ([("small", "large"), ("large", "small")], "any", "Supported (1 of 2 yes, 1 no)"),
        ([("large", "small")], "all", "Not supported (0 of 1 yes, 1 no)"),
        ([("large", "large too")], "all", "Undecided (0 of 1 yes, 1 open)"),
        ([("nobody", "large")], "all", "No data yet"),
    ],
)
def test_a_claim_is_summed_up(pairs, needs, word):
    checks = tuple(check for a, b in pairs for check in lower(a, b, ["f"]))
    blocks = claim_blocks([Claim("here", "it holds.", checks, needs)], lookup, compare_pairs, "a test")
    texts = [block.text for block in blocks if isinstance(block, Paragraph)]
    assert texts[-1].startswith(f"**{word}**")
    (items,) = [block for block in blocks if isinstance(block, Items)]
    assert len(items.lines) == len(pairs)
