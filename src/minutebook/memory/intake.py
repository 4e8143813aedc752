"""The one rule for foreign records: those from imports, archives, notes and other machines."""

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

MOST_LISTED = 1000
"""The most parts left out that a report lists one by one; it counts the rest."""

REMOVED_HERE = "it was removed here; --again takes it in"


class Outcome(StrEnum):
    """The outcome of a foreign record."""

    NEW = "new"
    CHANGED = "changed"
    HERE = "here"
    REMOVED = "removed"
    """An act that names it removed it here, so it is not taken in."""
    LEFT_OUT = "left_out"


WRITTEN = (Outcome.NEW, Outcome.CHANGED)
"""The outcomes by which the foreign record is written."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An outcome, and the reason if the record is left out or removed."""

    outcome: Outcome
    reason: str = ""


def verdict_on(
    draft: Record | None, here: Record | None, *, was_removed: bool = False, obstacle: str = ""
) -> Verdict:
    """Return the verdict on a foreign record: `draft` as it would be stored, `here` as it is now, None if it is not here.

    A draft of None is a record that was removed elsewhere. `obstacle` is the reason why the record here must not be
    changed; empty if it may be.
    """
    if was_removed:
        return Verdict(Outcome.REMOVED, REMOVED_HERE)
    if draft == here:
        return Verdict(Outcome.HERE)
    if here is None:
        return Verdict(Outcome.NEW)
    return Verdict(Outcome.LEFT_OUT, obstacle) if obstacle else Verdict(Outcome.CHANGED)


def is_forgotten(record: Record | None) -> bool:
    """Tell whether a record is a memory that was forgotten and can be restored."""
    return isinstance(record, Memory) and record.deleted_at is not None


class Removals:
    """Knows the records that acts naming them removed here: forgotten, deleted or erased. With `again` none counts as removed."""

    def __init__(self, infrastructure: Infrastructure, *, again: bool = False) -> None:
        self._store, self._trail = infrastructure.store, infrastructure.trail
        self.again = again

    def has_removed(self, kind: Kind, organization: str, id: str, here: Record | None) -> bool:
        """Tell whether a record was removed; `here` is the record with its id now, None if there is none."""
        if self.again or here is not None:
            return not self.again and is_forgotten(here)
        return self._trail.tells_removed(organization, kind, id)

    def has_removed_with(self, record: Record, here: Record | None) -> bool:
        """Tell whether a record, its parent, or a record that it joins was removed."""
        home, parent = record.organization, parent_of(record)
        joined = [parent] if parent is not None else []
        if isinstance(record, Edge):
            joined += zip(record.joins, (record.source, record.target), strict=True)
        return self.has_removed(record.kind, home, record.id, here) or any(
            self._store.get(of, home, id) is None and self.has_removed(of.kind, home, id, None)
            for of, id in joined
        )


def parent_of(record: Record) -> tuple[type[Record], str] | None:
    """Return class and id of the parent of a record, with which alone it is removed; None if it has no parent."""
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
    """The number of foreign records by outcome and kind, and the parts left out, with reasons."""

    counts: dict[Outcome, Counter[Kind]] = field(
        default_factory=lambda: {each: Counter() for each in Outcome}
    )
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: list[UnreadPart] = field(default_factory=list)
    """The first parts left out, at most MOST_LISTED."""

    def note(self, verdict: Verdict, kind: Kind, place: SourcePlace | None = None) -> None:
        """Count a verdict on a record; if it is left out, list it with its place in the source."""
        self.counts[verdict.outcome][kind] += 1
        if place is not None and verdict.reason:
            self.leave_out(UnreadPart(place, verdict.reason))

    def leave_out(self, part: UnreadPart) -> None:
        """Count a part left out by its reason, and list it if there is room."""
        self.reasons[part.reason] += 1
        if len(self.left_out) < MOST_LISTED:
            self.left_out.append(part)

    def add(self, other: "IntakeReport") -> None:
        """Add the counts of another report, once its batch is written."""
        for outcome, counts in other.counts.items():
            self.counts[outcome] += counts
        self.reasons += other.reasons
        self.left_out += other.left_out[: MOST_LISTED - len(self.left_out)]
