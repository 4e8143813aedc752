"""The widest door of a record, proved by the audit trail; and the memories that wait for a person's review."""

from datetime import datetime

from minutebook.memory.access.visibility import Clock, seen_by
from minutebook.memory.screening.instructions import marks_of
from minutebook.record.caller import Caller
from minutebook.record.filters import Filter
from minutebook.record.records import (
    Authorship,
    Decision,
    Entry,
    Head,
    Kind,
    Memory,
    MemoryType,
    Status,
)
from minutebook.record.trust.doors import (
    Door,
    Voice,
    door_of,
    voice_of_decision,
    voice_of_memory,
    waits_for_review,
)
from minutebook.record.trust.trail import HEAD
from minutebook.record.writing.turns import Session
from minutebook.store.protocol import Store

LOOKED_AT = 300
"""The most memories of a type or status, and decisions, that are read: the newest."""

KNOWN = 10_000
"""The most records of which the voice is cached, because reading their audit entries takes most of the time."""

TOLD_TYPES = (
    *(MemoryType.BUSINESS_RULE, MemoryType.SYSTEM_CONSTRAINT),
    *(MemoryType.PREFERENCE, MemoryType.CONVENTION, MemoryType.PROCEDURAL),
    *(MemoryType.USER_CONTEXT, MemoryType.RISK),
)
"""The types of memories that are told when a session starts if a person wrote or confirmed them, the most binding first."""

_NEWEST_FIRST = "-ingestion_time"
_BRINGS_TRAIL = frozenset({"import", "replace"})


_State = tuple[str, str, int, datetime, str]
"""A key for the voice of a record: every change of its voice changes one of these values."""


class Doors:
    """Asks the rule of doors about the records of a store."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._foreign: dict[str, int] = {}
        self._voices: dict[_State, Voice] = {}

    def widest_door(
        self,
        caller: Caller,
        record: Memory | Decision | Session,
        text: str | None = None,
        voice: Voice | None = None,
    ) -> Door:
        """Return the widest door through which a record reaches a caller that may see it.

        `text` is the text that is shown of it, None for its own; `voice` is its voice, None if the caller does not know it.
        """
        if isinstance(record, Session):
            shown, voice = [text or ""], Voice.AGENT
        else:
            client = "" if record.origin is None else record.origin.program
            # Author and client are shown with the text, and an agent chooses its own names.
            shown = [record.text if text is None else text, record.author, client]
            voice = self.voice(record) if voice is None else voice
        marked = voice is not Voice.PERSON and any(map(marks_of, shown))
        return door_of(record, voice, caller, reads_as_instructions=marked)

    def reads_as_instructions(self, record: Memory | Decision, shown: str) -> bool:
        """Tell whether the text that is shown of a record reads as instructions and is not a person's."""
        return bool(marks_of(shown)) and self.voice(record) is not Voice.PERSON

    def voice(self, record: Memory | Decision) -> Voice:
        """Return the voice of a record."""
        state = _state_of(record)
        voice = self._voices.get(state)
        if voice is None:
            if len(self._voices) >= KNOWN:
                self._voices.clear()
            voice = self._voices[state] = self._read_voice(record)
        return voice

    def _read_voice(self, record: Memory | Decision) -> Voice:
        if isinstance(record, Memory):
            foreign = self._foreign_entries(record.organization)
            return voice_of_memory(record, self._entries(record), foreign)
        is_persons = record.authorship is Authorship.HUMAN
        return voice_of_decision(record, () if is_persons else self._entries(record))

    def _entries(self, record: Memory | Decision) -> list[Entry]:
        """Return the entries about a record, newest first."""
        about = {"subject": record.id, "subject_kind": record.kind}
        where = Filter(organization=record.organization, equal=about)
        return self._store.find(Entry, where, order=("-number",))

    def memories_for_start(self, caller: Caller) -> list[tuple[Memory, Voice]]:
        """Return the memories of TOLD_TYPES that hold now and the caller may see, each with its voice.

        The locked ones come first, then the verified, then the others type by type, each the newest first.
        """
        found: dict[tuple[str, str], Memory] = {}
        conditions: list[dict[str, object]] = [
            {"status": Status.LOCKED},
            {"status": Status.VERIFIED},
        ]
        conditions += [{"type": each} for each in TOLD_TYPES]
        for equal in conditions:
            for memory in self._newest(caller, equal):
                if memory.type in TOLD_TYPES:
                    found.setdefault((memory.organization, memory.id), memory)
        return [(memory, self.voice(memory)) for memory in found.values()]

    def facts_for_start(self, caller: Caller) -> list[Memory]:
        """Return the newest facts (memories of types SEMANTIC and FACT) that hold now and the caller may see."""
        types = (MemoryType.SEMANTIC, MemoryType.FACT)
        return [memory for each in types for memory in self._newest(caller, {"type": each})]

    def waiting(self, caller: Caller) -> list[Memory]:
        """Return the memories of TOLD_TYPES that wait for a person's review, the newest first."""
        waiting = [
            memory
            for memory, voice in self.memories_for_start(caller)
            if waits_for_review(memory, voice)
        ]
        return sorted(waiting, key=lambda each: (each.ingestion_time, each.id), reverse=True)

    def _newest(self, caller: Caller, equal: dict[str, object]) -> list[Memory]:
        seen = seen_by(self._store, caller).narrowed(**equal).where(valid_at=self._clock())
        return seen.page(Memory, _NEWEST_FIRST, LOOKED_AT)

    def _foreign_entries(self, organization: str) -> int:
        """Return the number of the last entry that came with an archive, 0 if none did."""
        if organization not in self._foreign:
            if self._store.get(Head, organization, HEAD) is None:
                return 0
            # This never changes: an archive brings a trail only into an organization that has none.
            where = Filter(organization=organization, equal={"subject_kind": Kind.HEAD})
            entries = self._store.each(Entry, where, ["-number"])
            brought = (each.number for each in entries if each.act in _BRINGS_TRAIL)
            self._foreign[organization] = next(brought, 0)
        return self._foreign[organization]


def _state_of(record: Memory | Decision) -> _State:
    own = (record.organization, record.id)
    if isinstance(record, Memory):
        return (*own, record.version, record.updated_at, record.status)
    return (*own, 0, record.created_at, record.authorship)
