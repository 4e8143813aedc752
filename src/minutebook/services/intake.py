"""One rule for records that come from elsewhere: by imports, archives, notes and other machines."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from minutebook.domain.records import Kind, Memory, Record
from minutebook.domain.writing.source_drafts import SourcePlace, UnreadPart
from minutebook.services.access.audit import Trail

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
    if here is not None and draft == here:
        return Verdict(Outcome.HERE)
    if was_removed:
        return Verdict(Outcome.REMOVED, REMOVED_HERE)
    if here is None:
        return Verdict(Outcome.NEW)
    return Verdict(Outcome.LEFT_OUT, held) if held else Verdict(Outcome.CHANGED)


def is_forgotten(record: Record | None) -> bool:
    """Tell whether a record is a memory that was forgotten and can be restored."""
    return isinstance(record, Memory) and record.deleted_at is not None


def was_removed(trail: Trail, kind: Kind, organization: str, id: str, here: Record | None) -> bool:
    """Tell whether a record was removed here by its name: forgotten, deleted or erased."""
    if here is not None:
        return is_forgotten(here)
    return trail.tells_removed(organization, kind, id)


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
        for part in other.left_out:
            self.leave_out(part)

    def nonzero(self) -> Iterator[tuple[Outcome, Counter[Kind]]]:
        """Yield the outcomes that there were, and of how many records of each kind."""
        return ((each, counts) for each, counts in self.counts.items() if counts.total())
