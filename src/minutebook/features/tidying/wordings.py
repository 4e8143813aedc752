"""Pairs of memories that a client's model may be asked to word as one."""

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
"""Suggestions among which pairs are searched for."""


def wordable(inbox: Inbox, doors: Doors, caller: Caller, limit: int) -> list[tuple[Memory, Memory]]:
    """Return at most `limit` pairs of duplicates in the scope where a new memory of the caller's would be.

    It leaves out texts of more than LONGEST_NOTE characters together, pairs with a wording that waits already, and
    pairs with a text that may not be shown unasked.
    """
    merges = inbox.listing(caller, LOOKED_THROUGH, kinds=frozenset({Topic.MERGE})).suggestions
    wordings = [each.records[0] for each in merges]
    worded = [set(merged_ids(each.metadata)) for each in wordings if isinstance(each, Memory)]
    pairs = inbox.listing(caller, LOOKED_THROUGH, kinds=frozenset({Topic.DUPLICATE})).suggestions
    found: list[tuple[Memory, Memory]] = []
    for pair in pairs:
        one, other = pair.records
        if len(found) == limit:
            break
        if not isinstance(one, Memory) or not isinstance(other, Memory):
            continue
        is_short = len(one.text) + len(other.text) <= LONGEST_NOTE
        is_new = not any({one.id, other.id} <= ids for ids in worded)
        if not (is_short and is_new and _is_where_caller_writes(caller, one)):
            continue
        if all(doors.widest_door(caller, each) >= Door.UNASKED for each in (one, other)):
            found.append((one, other))
    return found


def _is_where_caller_writes(caller: Caller, memory: Memory) -> bool:
    """Tell whether a new memory of the caller's for the memory's user would have the memory's scope."""
    try:
        here = resolve_scope(caller, None, None, memory.user)
    except (Refused, InvalidInput):
        return False
    return here == ScopeKey(memory.organization, memory.scope, memory.repository, memory.user)
