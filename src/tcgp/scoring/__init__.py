"""Scores of predictive laws below a threshold: occurrence, thresholded PIT, twCRPS, and a diagnosis in words.

Every score takes a `tcgp.models.Prediction` of any method. `loo_scores`, `diagnose` and `diagnose_limit` need only a
fitted model; `test_scores` needs a test set.
"""

from tcgp.scoring.diagnosis import Diagnosis, diagnose
from tcgp.scoring.limits import LimitDiagnosis, diagnose_limit
from tcgp.scoring.occurrence import occurrence_discrepancy, predicted_probability
from tcgp.scoring.pit import ks_pit, thresholded_pit, tks_pit
from tcgp.scoring.ranked_probability import twcrps
from tcgp.scoring.scores import Scores, leave_one_out_prediction, loo_scores, test_scores
from tcgp.scoring.sensitivity import Sensitivities, Sensitivity, sensitivity

__all__ = [
    "Diagnosis",
    "LimitDiagnosis",
    "Scores",
    "Sensitivities",
    "Sensitivity",
    "diagnose",
    "diagnose_limit",
    "ks_pit",
    "leave_one_out_prediction",
    "loo_scores",
    "occurrence_discrepancy",
    "predicted_probability",
    "sensitivity",
    "test_scores",
    "thresholded_pit",
    "tks_pit",
    "twcrps",
]
