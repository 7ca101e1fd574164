"""The paper's claims, as typed."""

import pytest

from tcgp_experiments.plan import plans
from tcgp_experiments.plan.claims import CLAIMS


@pytest.mark.parametrize("name", CLAIMS)
def test_claims_speak_of_methods_and_functions_that_their_plan_has(name):
    plan = plans.get(name)
    if hasattr(plan, "rows"):
        known = {(row.method.label, row.level) for row in plan.rows}
    else:
        known = {(m.label, at) for m in plan.methods for at in ("early", "late", "run", "end")}
    for claim in CLAIMS[name]:
        assert claim.checks
        for check in claim.checks:
            assert check.problem in plan.problems
            assert {(label, check.at) for label in (*check.a, *check.b)} <= known
            if check.metric in ("twcrps", "occurrence", "tks_pit") and not hasattr(plan, "rows"):
                assert plan.diagnostics
