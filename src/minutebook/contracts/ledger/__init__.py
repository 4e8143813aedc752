"""The `ledger` contract: decisions on the record, and the truth that each chain of them leads to."""

from functools import cache

from minutebook.contracts.contract import Contract
from minutebook.contracts.ledger.adapter import OPERATIONS
from minutebook.contracts.ledger.resources import HANDLERS
from minutebook.contracts.ledger.wording import word


@cache
def ledger() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, handlers=HANDLERS)
