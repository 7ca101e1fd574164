"""A model is said to be right about a limit where its leave-one-out predictions are."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

import tcgp
from tcgp.laws import GeneralizedNormal
from tcgp.scoring import diagnose_limit, leave_one_out_prediction


@pytest.fixture(scope="module")
def model():
    X = np.random.default_rng(0).random((40, 2))
    y = np.sin(6.0 * X[:, 0]) + X[:, 1]
    return tcgp.fit_model(X, y, "gp", bounds=[(0.0, 1.0)] * 2)


def test_numbers_are_those_of_leave_one_out(model):
    diagnosis = diagnose_limit(model, 0.5)
    probability = leave_one_out_prediction(model).cdf(0.5)
    assert diagnosis.n == 40
    assert diagnosis.kept == np.sum(model.y <= 0.5)
    assert diagnosis.expected == pytest.approx(probability.sum())
    assert diagnosis.deviation == pytest.approx(np.sqrt(np.sum(probability * (1.0 - probability))))
    assert sum(band.n for band in diagnosis.bands) == 40
    assert sum(band.kept for band in diagnosis.bands) == diagnosis.kept
    assert sum(band.expected for band in diagnosis.bands) == pytest.approx(diagnosis.expected)
    for band in diagnosis.bands:
        share = band.expected / band.n
        assert {"safe": share > 0.9, "doubtful": 0.1 <= share <= 0.9, "hopeless": share < 0.1}[band.label]


def test_a_good_model_is_about_right_and_says_so(model):
    text = str(diagnose_limit(model, 0.5))
    kept = int(np.sum(model.y <= 0.5))
    assert text.startswith(f"The limit is satisfied by {kept} of the 40 evaluations; ")
    assert re.search(
        r": about right\. It is satisfied by (\d+) of \1 called safe \(probability above 90 %\)", text
    )


@pytest.mark.parametrize(
    ("shift", "verdict"), [(-2.0, "too optimistic"), (2.0, "too pessimistic"), (0.0, "about right")]
)
def test_a_model_that_is_wrong_in_one_direction_is_named_after_it(model, shift, verdict):
    loo = model.leave_one_out
    moved = replace(model, leave_one_out=replace(loo, mean=loo.mean + shift))
    assert diagnose_limit(moved, 0.5).verdict.startswith(verdict)


def test_a_limit_that_all_or_none_keep_is_said_so(model):
    assert str(diagnose_limit(model, 10.0)).startswith("The limit is satisfied by all 40 evaluations")
    assert str(diagnose_limit(model, -10.0)).startswith(
        "The limit is satisfied by none of the 40 evaluations"
    )


def test_the_law_in_use_counts(model):
    wide = replace(model, law=GeneralizedNormal(2.0, 50.0))
    assert len(diagnose_limit(wide, 0.5).bands) > 1
    assert diagnose_limit(wide, 0.5).deviation > diagnose_limit(model, 0.5).deviation
