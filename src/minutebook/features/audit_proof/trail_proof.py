"""The findings of a trail's proof."""

from dataclasses import dataclass

from minutebook.features.audit_proof.head_signatures import Signed
from minutebook.features.audit_proof.last_texts import ErasedRecord, TrailDifference
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
"""What stands in a store and is not compared with its trail."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The findings of the proof of an organization's trail.

    Where it ends, where it breaks, if it does, how far it is signed, which records are not as it
    says, and which were erased.
    """

    organization: str
    head: Head | None
    broken: Break | None
    signed: Signed
    differences: tuple[TrailDifference, ...] = ()
    erased: tuple[ErasedRecord, ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether the trail holds, and the records are as it says."""
        return self.broken is None and self.signed.broken is None and not self.differences
