"""What every test starts from."""

import logging

import pytest


@pytest.fixture(autouse=True)
def enabled_logger():
    """Enable our logger again: Alembic, which Optuna's databases use, disables all that exist."""
    logging.getLogger("tcgp").disabled = False
