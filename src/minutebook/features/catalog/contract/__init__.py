"""The `catalog` contract: structured facts, preferences and rules of an organization."""

from functools import cache

from minutebook.features.catalog.contract.adapter import OPERATIONS, admit
from minutebook.features.catalog.contract.resources import HANDLERS
from minutebook.features.catalog.contract.wording import word
from minutebook.serve.contracts.contract import Contract


@cache
def catalog() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, gate=admit, handlers=HANDLERS)
