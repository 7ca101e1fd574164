"""``tcgp minimize SPEC --verify K``: does the program reproduce the best value?"""

from __future__ import annotations

from tcgp.cli.campaigns import describe_value, labelled
from tcgp.cli.console import note, show
from tcgp.optimizer import Campaign, Evaluation
from tcgp.programs import Simulator
from tcgp.programs.objective import RunFailed

__all__ = ["verify"]


def verify(campaign: Campaign, simulator: Simulator, times: int) -> None:
    """Run the best design again, in directories of its own, and show the values; the journal is not changed."""
    best = campaign.history.best
    if best is None:
        note("there is no best design to verify")
        return
    argument = campaign.space.as_argument(best.x)
    again = [_evaluate(campaign, simulator, argument, best) for _ in range(times)]
    same = [e for e in again if e.same_outcome(best, rounded=True)]
    lines = [f"{len(same)} of {times} further runs of the best design gave the same value"]
    for evaluation in again:
        if evaluation not in same:
            value = evaluation.reason if evaluation.failed else describe_value(campaign, evaluation)
            lines.append(f"{value}, where {describe_value(campaign, best)} was recorded")
    for line in labelled("verified", lines):
        show(line)
    if len(same) < times:
        note("the program does not reproduce its value: it is noisy, or something it depends on has changed")


def _evaluate(
    campaign: Campaign, simulator: Simulator, argument: dict[str, object], best: Evaluation
) -> Evaluation:
    run = simulator.start(argument, "verify")
    try:
        value = run.finish()
    except RunFailed as error:
        return Evaluation.of(best.x, None, str(error), run.seconds, campaign.history.goals)
    finally:
        run.kill()
    return Evaluation.of(best.x, value, run.reasons or None, run.seconds, campaign.history.goals)
