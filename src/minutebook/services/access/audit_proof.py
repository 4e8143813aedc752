"""Proving a trail: its chain, its signatures, and the records against its digests."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from minutebook.domain.filters import Filter
from minutebook.domain.fingerprints import FINGERPRINTED
from minutebook.domain.head_signatures import Signatures, Signed
from minutebook.domain.records import Entry, Head
from minutebook.domain.trail import Break, first_break
from minutebook.domain.trail_texts import Difference, Erased, LastTexts
from minutebook.services.access.trail_key import fits
from minutebook.store.protocol import Snapshot, Store


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found of an organization's trail.

    Where it ends, where it breaks, if it does, how far it is signed, which records are not as it
    says, which records were erased, and of how many the trail has no fingerprint.
    """

    organization: str
    head: Head | None
    broken: Break | None
    signed: Signed
    differences: tuple[Difference, ...] = ()
    erased: tuple[Erased, ...] = ()
    uncovered: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether the trail holds, and the records are as it says."""
        return self.broken is None and self.signed.broken is None and not self.differences


def chain_break(store: Store, organization: str, noted: Collection[Head] = ()) -> Break | None:
    """Find where an organization's trail does not hold, or None; in constant memory.

    The removal of its last entries shows by its head, which is kept apart, or by those that were
    noted elsewhere. Entries that others append meanwhile do no harm.
    """
    with store.snapshot(organization) as moment:
        return _chain_break(_head(moment, organization), _entries(moment, organization), noted)


def proof_of(
    store: Store, organization: str, noted: Collection[Head] = (), key: str | None = None
) -> Proof:
    """Verify a trail, its signatures by a key, and the records, all as of one moment.

    Holds two digests a record. A trail that breaks says nothing of the records.
    """
    texts, signatures = LastTexts(), Signatures(key, fits)

    def heard(entries: Iterator[Entry]) -> Iterator[Entry]:
        for entry in entries:
            texts.add(entry)
            signatures.add(entry)
            yield entry

    with store.snapshot(organization) as moment:
        head = _head(moment, organization)
        broken = _chain_break(head, heard(_entries(moment, organization)), noted)
        signed = signatures.found()
        if broken is not None:
            return Proof(organization, head, broken, signed)
        differences = tuple(_differences(moment, organization, texts))
        erased = tuple(texts.erased())
        return Proof(organization, head, None, signed, differences, erased, texts.uncovered)


def _chain_break(
    head: Head | None, entries: Iterator[Entry], noted: Collection[Head]
) -> Break | None:
    last = 0

    def watched() -> Iterator[Entry]:
        nonlocal last
        for entry in entries:
            last = entry.number
            yield entry

    broken = first_break(watched(), [*noted, *([] if head is None else [head])])
    end = 0 if head is None else head.number
    if broken is None and last > end:
        return Break(end + 1, f"it was added: the trail ends with entry {end}")
    return broken


def _differences(moment: Snapshot, organization: str, texts: LastTexts) -> Iterator[Difference]:
    everything = Filter(organization=organization, with_deleted=True)
    for of in FINGERPRINTED:
        for record in moment.each(of, everything):
            difference = texts.difference(record)
            if difference is not None:
                yield difference
    yield from texts.missing()


def _head(moment: Snapshot, organization: str) -> Head | None:
    return next(moment.each(Head, Filter(organization=organization)), None)


def _entries(moment: Snapshot, organization: str) -> Iterator[Entry]:
    return moment.each(Entry, Filter(organization=organization), ["number"])
