"""The `knowledge` contract: semantic memory, a knowledge graph, time, and code."""

from functools import cache

from minutebook.contracts.contract import Contract
from minutebook.contracts.knowledge.adapter import OPERATIONS
from minutebook.contracts.knowledge.prompt_data import HANDLERS
from minutebook.contracts.knowledge.wording import word


@cache
def knowledge() -> Contract:
    """Return the contract, which is opened once: connections share its checks of arguments."""
    return Contract(__name__, OPERATIONS, word, handlers=HANDLERS)
