"""The `ledger` contract: decisions on the record, and the truth that each chain of them leads to."""

from functools import cache

from minutebook.features.ledger.contract.adapter import OPERATIONS
from minutebook.features.ledger.contract.resources import HANDLERS
from minutebook.features.ledger.contract.wording import word
from minutebook.serve.contracts.contract import Contract


@cache
def ledger() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, handlers=HANDLERS)
