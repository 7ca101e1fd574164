"""The last page of a run knows all its evaluations, and where the best point sits."""

from __future__ import annotations

from pathlib import Path

import tcgp
from tcgp.report.data import State, report_data


def test_the_last_page_is_not_one_evaluation_behind(tmp_path: Path) -> None:
    def beam(p: dict[str, float]) -> dict[str, float]:
        return {"mass": p["w"] * p["h"], "stress": 1.0 / (p["w"] * p["h"] ** 2)}

    result = tcgp.minimize(
        beam,
        {"w": (0.1, 2.0), "h": (0.1, 2.0)},
        n_evals=14,
        objective="mass",
        constraints=["stress <= 4", "w >= 0.2 * h"],
        rng=0,
    )
    before = result.optimizer.model
    data = report_data(result.optimizer, State(False, "ended", 14), title="beam", fit=True)
    assert result.optimizer.model is before  # the run is only looked at
    assert data["calibration"]["n"] == 14
    (known,) = data["known"]
    assert known["kept"] is True
    assert known["bound"] == 0.0
