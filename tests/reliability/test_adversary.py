"""Some cases of the adversary of journals; a thousand are in benchmarks/reliability/adversary.py."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from adversary import Adversary


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_what_was_acknowledged_is_kept_once_and_no_other_file_is_touched() -> None:
    few = settings(
        max_examples=40,
        stateful_step_count=20,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
        phases=(Phase.generate, Phase.shrink),
    )
    run_state_machine_as_test(Adversary, settings=few)
