"""Pairs of memories that a client's model may word as one: the model's prompt, and the place of its text."""

from collections.abc import Iterator

from minutebook.features.tidying.findings import Topic
from minutebook.features.tidying.inbox import Inbox
from minutebook.features.tidying.judging.wordings import merged_ids
from minutebook.features.tidying.looking.notes import LONGEST_NOTE
from minutebook.memory.access.doors import Doors
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, Refused
from minutebook.record.records import Memory
from minutebook.record.trust.doors import Door
from minutebook.record.writing.drafts import ScopeKey, resolve_scope

LOOKED_THROUGH = 200
"""Suggestions among which pairs are looked for."""


def wordable(inbox: Inbox, doors: Doors, caller: Caller, limit: int) -> list[tuple[Memory, Memory]]:
    """Return pairs that wait as duplicates, of the place where a new memory of the caller's would be.

    Left out are texts of more than LONGEST_NOTE characters together, pairs of which a wording waits already, and
    pairs with a text that is told only to who asks.
    """
    merges = inbox.listing(caller, LOOKED_THROUGH, kinds=frozenset({Topic.MERGE})).waiting
    worded = [_wording_of(each.records) for each in merges]
    pairs = inbox.listing(caller, LOOKED_THROUGH, kinds=frozenset({Topic.DUPLICATE})).waiting
    found: list[tuple[Memory, Memory]] = []
    for one, other in (each for pair in pairs for each in _memories(pair.records)):
        if len(found) == limit:
            break
        is_short = len(one.text) + len(other.text) <= LONGEST_NOTE
        is_new = not any({one.id, other.id} <= ids for ids in worded)
        if not (is_short and is_new and _is_in_reach(caller, one)):
            continue
        if all(doors.widest_door(caller, each) >= Door.UNASKED for each in (one, other)):
            found.append((one, other))
    return found


def _memories(records: tuple[object, ...]) -> Iterator[tuple[Memory, Memory]]:
    match records:
        case (Memory() as one, Memory() as other):
            yield one, other


def _wording_of(records: tuple[object, ...]) -> frozenset[str]:
    wording = records[0]
    return frozenset(merged_ids(wording.metadata) if isinstance(wording, Memory) else ())


def _is_in_reach(caller: Caller, memory: Memory) -> bool:
    """Tell whether the caller's writing for the memory's user would be beside it."""
    try:
        here = resolve_scope(caller, None, None, memory.user)
    except (Refused, InvalidInput):
        return False
    return here == ScopeKey(memory.organization, memory.scope, memory.repository, memory.user)
