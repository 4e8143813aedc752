"""Every operation by its name: those of the core, and those of the features."""

from collections.abc import Mapping
from functools import cache

from minutebook.ask import day, graph, journal, memories, upkeep
from minutebook.ask.operation import Operation
from minutebook.feature import entries_of, features
from minutebook.record.errors import InvalidInput, NotFound
from minutebook.record.records import Record


@cache
def operations() -> Mapping[str, Operation[..., object]]:
    """Return every operation by its name."""
    core = (module.OPERATIONS for module in (memories, graph, journal, day, upkeep))
    return {each.name: each for group in (*core, *entries_of("operations")) for each in group}


def operation_named(name: str) -> Operation[..., object]:
    """Return the operation of a name. Raises InvalidInput if there is none."""
    if name not in operations():
        raise InvalidInput(name[:50], "is no operation")
    return operations()[name]


def operation_to_show(id: str) -> Operation[[str], Record]:
    """Return the operation that reads a decision or a proposal. Raises NotFound if no feature keeps them."""
    kind = id.partition("_")[0]
    for feature in features():
        if kind in feature.shows:
            read: Operation[[str], Record] = feature.load(feature.shows[kind])
            return read
    raise NotFound(kind, id)
