"""The `ledger` contract: decisions on the record, and the truth that each chain of them leads to."""

from minutebook.contracts.contract import Contract
from minutebook.contracts.ledger.adapter import OPERATIONS
from minutebook.contracts.ledger.resources import HANDLERS
from minutebook.contracts.ledger.wording import word


def ledger() -> Contract:
    """Open the contract."""
    return Contract(__name__, OPERATIONS, word, handlers=HANDLERS)
