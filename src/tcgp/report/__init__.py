"""The live report of a run: one HTML file that needs no server and no network.

``tcgp.minimize(..., report="run.html")`` updates it during the run. `report_from_journal` creates it from a journal at
any time.
"""

from tcgp.report.data import State, calibration_sentence, report_data
from tcgp.report.page import render
from tcgp.report.writer import Reporter, check_place, report_from_journal, report_from_optimizer

__all__ = [
    "Reporter",
    "State",
    "calibration_sentence",
    "check_place",
    "render",
    "report_data",
    "report_from_journal",
    "report_from_optimizer",
]
