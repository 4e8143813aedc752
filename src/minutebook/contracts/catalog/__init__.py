"""The `catalog` contract: structured facts, preferences and rules of an organization."""

from minutebook.contracts.catalog.adapter import OPERATIONS, admit
from minutebook.contracts.catalog.resources import HANDLERS
from minutebook.contracts.catalog.wording import word
from minutebook.contracts.contract import Contract


def catalog() -> Contract:
    """Open the contract."""
    return Contract(__name__, OPERATIONS, word, gate=admit, handlers=HANDLERS)
