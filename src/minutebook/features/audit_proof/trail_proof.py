"""The findings of a trail's proof."""

from dataclasses import dataclass

from minutebook.features.audit_proof.head_signatures import Signed
from minutebook.features.audit_proof.last_states import ErasedRecord, TrailDifference
from minutebook.record.records import Head
from minutebook.record.trust.trail import Break

NOT_PROVED = (
    "what searches and filters read beside the records: words, vectors, token states, mentions, digests",
    "the index of code: projects, files, chunks, commits; `minutebook index` makes it anew",
    "what records cite of code, which `minutebook doctor --repair` judges anew, and when one that nobody changes was confirmed",
    "the commits of decisions, and how far a ledger was followed: Git has both",
    "when a token was used last",
    "which records questions got",
    "suggestions of `minutebook tidy` that nobody applied",
    "records as they were before the acts of a day, which `minutebook undo` compares itself",
    "what is noted of syncs, moves and the order of changes",
)
"""The content of a store that is not compared with its trail."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The findings of the proof of an organization's trail."""

    organization: str
    head: Head | None
    """The end of the trail; None if it has no entries."""
    broken: Break | None
    """The first entry that breaks the trail; if there is one, no records were compared."""
    signed: Signed
    differences: tuple[TrailDifference, ...] = ()
    """Records that are not as the trail says."""
    erased: tuple[ErasedRecord, ...] = ()
    """Records that were erased, the earliest first."""

    @property
    def is_sound(self) -> bool:
        """Whether the trail holds, and the records are as it says."""
        return self.broken is None and self.signed.broken is None and not self.differences
