"""The `knowledge` contract: semantic memory, a knowledge graph, time, and code."""

from minutebook.contracts.contract import Contract
from minutebook.contracts.knowledge.adapter import OPERATIONS
from minutebook.contracts.knowledge.wording import word


def knowledge() -> Contract:
    """Open the contract."""
    return Contract(__name__, OPERATIONS, word)
