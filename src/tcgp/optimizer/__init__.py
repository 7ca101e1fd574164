"""Ask and tell: proposals, evaluations, the journal that keeps them, and `minimize` on top.

Nothing here loads SciPy before a model is fitted: a campaign starts at once.
"""

from tcgp.optimizer.optimizer import Optimizer
from tcgp.record.events import Retry
from tcgp.record.history import Correction, Evaluation, History, Proposal, SpaceExhausted
from tcgp.record.journal import JournalError, JournalInUse, JournalRescued
from tcgp.record.replay import Campaign, read_campaign
from tcgp.record.settings import Settings, check_positive_integer, check_seed

__all__ = [
    "Campaign",
    "Correction",
    "Evaluation",
    "History",
    "JournalError",
    "JournalInUse",
    "JournalRescued",
    "Optimizer",
    "Proposal",
    "Retry",
    "Settings",
    "SpaceExhausted",
    "check_positive_integer",
    "check_seed",
    "read_campaign",
]
