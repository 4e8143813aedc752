"""The doors through which records reach an agent: on request, unasked, or as a rule.

One table for hooks, resources and prompts. The author that a record names is a claim; whose words it
holds is proved by the audit trail of this store.
"""

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum, StrEnum

from minutebook.record.caller import Caller
from minutebook.record.policy import PROTECTED_TYPES
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Authorship,
    Decision,
    Entry,
    Kind,
    Memory,
    MemoryType,
    Role,
    Status,
)
from minutebook.record.trust.acts import MASK, TAKE_IN, TAKE_IN_PERSONS
from minutebook.record.trust.fingerprints import COUNTING, Fingerprinted, changed_fields
from minutebook.record.trust.trail import DONE, UNDO, text_digest
from minutebook.record.writing.turns import Session

LASTING_TYPES = frozenset(
    {MemoryType.PROCEDURAL, MemoryType.CONVENTION, MemoryType.PREFERENCE},
)
"""The types of lasting memories that an agent may write: they are no rules."""

_PERSONS = frozenset({Role.HUMAN, Role.MANAGER, Role.ARCHITECT, Role.ADMIN})
_WRITES = frozenset({"created", "update", "restore"})
_CONFIRMS = frozenset({"verify", "lock"})
_CONFIRMED = frozenset({Status.VERIFIED, Status.LOCKED})
_TYPE_AND_PLACE = frozenset({"type", "scope", "repository", "user"})


class Voice(StrEnum):
    """The known source of a record's words: a person, an agent, or elsewhere.

    PERSON: a person wrote or confirmed them. AGENT: an agent wrote them. CLAIMED: they came from
    elsewhere (an archive, another program or machine), and nobody here confirmed them.
    """

    PERSON = "person"
    AGENT = "agent"
    CLAIMED = "claimed"


class Door(IntEnum):
    """The widest door that a record passes; it passes the narrower ones, too.

    ASKED: whoever asks and may see it. UNASKED: also those who did not ask, as a fact with its date
    and author. AS_RULE: also as a rule, in full.
    """

    ASKED = 0
    UNASKED = 1
    AS_RULE = 2


def door_of(
    record: Memory | Decision | Session,
    voice: Voice,
    caller: Caller,
    *,
    reads_as_instructions: bool,
) -> Door:
    """Return the widest door through which a record reaches a caller that may see it.

    A person's words pass every door. Those of an agent, or from elsewhere, are told unasked only in the
    project that they belong to, and not if their type is one of rules or they read as instructions.
    """
    if voice is Voice.PERSON:
        return Door.AS_RULE
    is_rule = isinstance(record, Memory) and record.type in PROTECTED_TYPES
    if reads_as_instructions or is_rule or not is_of_project(caller, record):
        return Door.ASKED
    return Door.UNASKED


def waits_for_review(memory: Memory, voice: Voice) -> bool:
    """Tell whether a memory waits for a person's review: an agent's rule, or text from elsewhere."""
    return voice is Voice.CLAIMED or (voice is Voice.AGENT and memory.type in PROTECTED_TYPES)


def is_of_project(caller: Caller, record: Memory | Decision | Session) -> bool:
    """Tell whether a record belongs to the project that a caller works in.

    If no folder sets a scope and the caller is bound to no repository, the whole store is one project.
    Records of the system's organization belong to no project.
    """
    if record.organization == SYSTEM_ORGANIZATION:
        return False
    if caller.repositories is not None:
        return record.repository in caller.repositories
    return caller.folder_scope is None or record.repository == caller.folder_scope.repository


def voice_of_decision(decision: Decision, entries: Iterable[Entry]) -> Voice:
    """Return the voice of a decision: a person's if a person recorded it, or accepted it by an entry of the trail.

    The ledger decides who may bring a decision into the tables under a person's name.
    """
    is_accepted = any(
        entry.act == "accept" and entry.outcome == DONE and entry.role in _PERSONS
        for entry in entries
    )
    is_persons = decision.authorship is Authorship.HUMAN or is_accepted
    return Voice.PERSON if is_persons else Voice.AGENT


def voice_of_memory(memory: Memory, entries: Iterable[Entry], foreign: int = 0) -> Voice:
    """Return the voice of a memory, by its entries on the trail, newest first.

    It is a person's if a person wrote the present text, or verified or locked it since, here or on another
    machine of theirs, and no agent moved it since to another type or place. An undo gives back the voice from before.
    Entries up to the number `foreign` came with an archive, and prove nothing.
    """
    digest, is_moved = text_digest(memory.text), False
    for entry in _still_in_force(memory, entries):
        is_foreign = entry.number <= foreign
        is_persons = entry.role in _PERSONS and not is_foreign
        if entry.act == TAKE_IN_PERSONS and entry.after == digest and is_persons:
            return Voice.AGENT if is_moved else Voice.PERSON
        if entry.act == TAKE_IN and entry.after == digest:
            return Voice.CLAIMED
        if entry.after == digest != entry.before:
            if entry.act == MASK:
                digest = entry.before
            elif is_foreign or entry.act not in _WRITES:
                return Voice.CLAIMED
            else:
                return Voice.PERSON if is_persons and not is_moved else Voice.AGENT
        elif is_persons and entry.act in _CONFIRMS and memory.status in _CONFIRMED:
            if not is_moved:
                return Voice.PERSON
        elif not is_persons and not is_foreign:
            is_moved = is_moved or _moves(entry, memory)
    return Voice.CLAIMED


def _still_in_force(memory: Memory, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yield the entries of acts on a memory, newest first, leaving out each undo and the acts that it took back."""
    acts = [e for e in entries if e.outcome == DONE and e.subject_kind is Kind.MEMORY]
    index = 0
    while index < len(acts):
        undone = _undone_by(acts, index, memory)
        if undone is None:
            yield acts[index]
        index = (index if undone is None else undone) + 1


def _undone_by(acts: Sequence[Entry], undo: int, memory: Memory) -> int | None:
    """Return the index of the oldest act that the act at index `undo` took back; None if it is no undo, or took back none.

    That is the first earlier act which found the memory in the state that the undo put back.
    """
    put_back = _state(acts[undo], memory) if acts[undo].act == UNDO else None
    if put_back is None:
        return None
    for index in range(undo + 1, len(acts)):
        state = _state(acts[index], memory)
        if state is not None and _differ_only_in_counts(state.before, put_back.after):
            return index
    return None


def _differ_only_in_counts(state: str, other: str) -> bool:
    fields = changed_fields(Kind.MEMORY, state, other) if state and other else None
    return fields is not None and fields <= COUNTING


def _state(entry: Entry, memory: Memory) -> Fingerprinted | None:
    """Return the state of a memory before and after an act; None if the trail does not tell it."""
    changes = map(Fingerprinted.from_text, entry.fingerprints)
    own = [each for each in changes if (each.kind, each.id) == (Kind.MEMORY, memory.id)]
    return own[-1] if own else None


def _moves(entry: Entry, memory: Memory) -> bool:
    """Tell whether an act gave a memory another type or place, or may have, if the trail does not tell."""
    if not entry.after or entry.act in (TAKE_IN, TAKE_IN_PERSONS):
        return False
    state = _state(entry, memory)
    fields = None if state is None else changed_fields(Kind.MEMORY, state.before, state.after)
    return fields is None or bool(_TYPE_AND_PLACE & fields)
