"""The `catalog` contract: structured facts, preferences and rules of an organization."""

from functools import cache

from minutebook.contracts.catalog.adapter import OPERATIONS, admit
from minutebook.contracts.catalog.resources import HANDLERS
from minutebook.contracts.catalog.wording import word
from minutebook.contracts.contract import Contract


@cache
def catalog() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, gate=admit, handlers=HANDLERS)
