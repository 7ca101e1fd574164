"""Small plans that all tests of the runner and the report share."""

import pytest

from tcgp_experiments.plan import plans


@pytest.fixture
def small_plan():
    """Two methods on Branin, two replicates of three iterations: four tasks of a fraction of a second."""
    return plans.get("methods", replicates=2, iterations=3, problems=("branin",), methods=("GP", "tcGP"))
