"""The `catalog` contract: structured facts, preferences and rules of an organization."""

from functools import cache

from minutebook.contracts.contract import Contract
from minutebook.features.catalog.contract.adapter import OPERATIONS, admit
from minutebook.features.catalog.contract.resources import HANDLERS
from minutebook.features.catalog.contract.wording import word


@cache
def catalog() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, gate=admit, handlers=HANDLERS)
