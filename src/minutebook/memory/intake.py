"""One rule for records that come from elsewhere: by imports, archives, notes and other machines."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from minutebook.memory.infrastructure import Infrastructure
from minutebook.record.records import (
    CodeChunk,
    Edge,
    Entry,
    File,
    Head,
    Kind,
    Memory,
    Project,
    Record,
    Version,
)
from minutebook.record.trust.trail import HEAD
from minutebook.record.writing.source_drafts import SourcePlace, UnreadPart

TOLD = 1000
"""Parts left out, one by one, that a report holds; it counts the rest."""

REMOVED_HERE = "it was removed here; --again takes it in"


class Outcome(StrEnum):
    """The outcome of a foreign record."""

    NEW = "new"
    CHANGED = "changed"
    HERE = "here"
    REMOVED = "removed"
    """It was removed here by its name, and stays so."""
    LEFT_OUT = "left_out"


WRITTEN = (Outcome.NEW, Outcome.CHANGED)
"""The outcomes after which the store holds what came."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome, and the reason of one that leaves a record out."""

    outcome: Outcome
    reason: str = ""


def verdict_on(
    draft: Record | None, here: Record | None, *, was_removed: bool = False, held: str = ""
) -> Verdict:
    """Return the verdict on a foreign record: `draft` as it would be kept, `here` what stands in its place.

    `held` is the reason for which what is here does not follow the draft; empty if it may. A draft of None
    is a record that went elsewhere.
    """
    if was_removed:
        return Verdict(Outcome.REMOVED, REMOVED_HERE)
    if draft == here:
        return Verdict(Outcome.HERE)
    if here is None:
        return Verdict(Outcome.NEW)
    return Verdict(Outcome.LEFT_OUT, held) if held else Verdict(Outcome.CHANGED)


def is_forgotten(record: Record | None) -> bool:
    """Tell whether a record is a memory that was forgotten and can be restored."""
    return isinstance(record, Memory) and record.deleted_at is not None


class Removals:
    """The records that were removed here by their name: forgotten, deleted or erased; none if wanted `again`."""

    def __init__(self, infrastructure: Infrastructure, *, again: bool = False) -> None:
        self._store, self._trail = infrastructure.store, infrastructure.trail
        self.again = again

    def tell(self, kind: Kind, organization: str, id: str, here: Record | None) -> bool:
        """Tell whether a record was removed; `here` stands in its place."""
        if self.again or here is not None:
            return not self.again and is_forgotten(here)
        return self._trail.tells_removed(organization, kind, id)

    def tell_of(self, record: Record, here: Record | None) -> bool:
        """Tell whether a record, its whole, or one that it joins was removed."""
        home, whole = record.organization, whole_of(record)
        joined = [whole] if whole is not None else []
        if isinstance(record, Edge):
            joined += zip(record.joins, (record.source, record.target), strict=True)
        return self.tell(record.kind, home, record.id, here) or any(
            self._store.get(of, home, id) is None and self.tell(of.kind, home, id, None)
            for of, id in joined
        )


def whole_of(record: Record) -> tuple[type[Record], str] | None:
    """Return class and id of the record that a record is part of; None for one that stands by itself.

    A part goes only with its whole: where the whole was there before, its parts were too.
    """
    match record:
        case Version():
            return Memory, record.memory
        case File() | CodeChunk():
            return Project, record.project
        case Entry():
            return Head, HEAD
        case _:
            return None


@dataclass(slots=True)
class IntakeReport:
    """How many foreign records of each kind had which outcome, and the parts left out, with reasons."""

    counts: dict[Outcome, Counter[Kind]] = field(
        default_factory=lambda: {each: Counter() for each in Outcome}
    )
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: list[UnreadPart] = field(default_factory=list)
    """The first of them, at most TOLD."""

    def note(self, verdict: Verdict, kind: Kind, place: SourcePlace | None = None) -> None:
        """Count a verdict; one that leaves a record out is told with the place where it stands."""
        self.counts[verdict.outcome][kind] += 1
        if place is not None and verdict.reason:
            self.leave_out(UnreadPart(place, verdict.reason))

    def leave_out(self, part: UnreadPart) -> None:
        """Tell a part left out."""
        self.reasons[part.reason] += 1
        if len(self.left_out) < TOLD:
            self.left_out.append(part)

    def add(self, other: "IntakeReport") -> None:
        """Add the counts of another report, once its batch is written."""
        for outcome, counts in other.counts.items():
            self.counts[outcome] += counts
        self.reasons += other.reasons
        self.left_out += other.left_out[: TOLD - len(self.left_out)]
