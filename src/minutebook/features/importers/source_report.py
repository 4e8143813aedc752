"""What became of the drafts of a source: how many were new, changed or here, and what was left out."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from minutebook.domain.records import Kind
from minutebook.domain.writing.source_drafts import UnreadPart

TOLD = 1000
"""What was left out, one by one, that a report holds; it counts the rest."""


class Outcome(StrEnum):
    """The outcome of a draft."""

    NEW = "new"
    CHANGED = "changed"
    HERE = "here"


@dataclass(slots=True)
class SourceReport:
    """How many drafts of each kind were new, changed, or here already; and the parts left out, with reasons."""

    counts: dict[Outcome, Counter[Kind]] = field(
        default_factory=lambda: {each: Counter() for each in Outcome}
    )
    reasons: Counter[str] = field(default_factory=Counter)
    left_out: list[UnreadPart] = field(default_factory=list)
    """The first of them, at most TOLD."""

    def leave_out(self, each: UnreadPart) -> None:
        """Count the part left out."""
        self.reasons[each.reason] += 1
        if len(self.left_out) < TOLD:
            self.left_out.append(each)
