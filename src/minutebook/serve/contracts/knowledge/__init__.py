"""The `knowledge` contract: semantic memory, a knowledge graph, time, and code."""

from collections import ChainMap
from collections.abc import Mapping
from functools import cache

from minutebook.feature import entries_of
from minutebook.serve.contracts.contract import Contract, Operation
from minutebook.serve.contracts.knowledge.adapter import OPERATIONS
from minutebook.serve.contracts.knowledge.wording import word
from minutebook.serve.contracts.resources import ResourceHandlers


def operations() -> Mapping[str, Operation]:
    """Return the operations by the names of their tools, with those of features."""
    return ChainMap(dict(OPERATIONS), *entries_of("knowledge.tools"))


@cache
def knowledge() -> Contract:
    """Return the contract, opened once: connections share its compiled checks of arguments.

    Tools and prompts of features that are not installed are left out.
    """
    handlers = ResourceHandlers(prompts=ChainMap({}, *entries_of("knowledge.prompts")))
    whole = Contract(__name__, operations(), word, handlers=handlers)
    if whole.tools.keys() <= operations().keys():
        return whole
    return whole.narrowed(read_only=False, tools=operations().keys())
