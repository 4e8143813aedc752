"""Proving a trail: its chain, its signatures, and the records against its digests."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import chain

from minutebook.domain.filters import Filter
from minutebook.domain.records import SYSTEM_ORGANIZATION, Entry, Head, Kind, Token
from minutebook.domain.rights.grants import home_of
from minutebook.domain.trust.fingerprints import FINGERPRINTED, id_in_trail
from minutebook.domain.trust.trail import HEAD, Break, first_break
from minutebook.domain.trust.trail_texts import NAMES, NO_ENTRY, LastTexts, TrailDifference
from minutebook.features.audit_proof.head_signatures import Signatures
from minutebook.features.audit_proof.trail_key import fits
from minutebook.features.audit_proof.trail_proof import Proof
from minutebook.store.protocol import Snapshot, Store

MOST_HELD = 200_000
"""Records of which a proof holds digests at a time, about 1 KiB each."""


def chain_break(store: Store, organization: str, noted: Collection[Head] = ()) -> Break | None:
    """Find where an organization's trail does not hold, or None; in constant memory.

    The removal of its last entries shows by its head, which is kept apart, or by those that were
    noted elsewhere. Entries that others append meanwhile do no harm.
    """
    with store.snapshot(organization) as moment:
        return _chain_break(_head(moment, organization), _entries(moment, organization), noted)


def proof_of(
    store: Store,
    organization: str,
    noted: Collection[Head] = (),
    key: str | None = None,
    *,
    most_held: int = MOST_HELD,
) -> Proof:
    """Verify a trail, its signatures by a key, and the records, all as of one moment.

    Holds two digests of `most_held` records at a time, and reads trail and records once for each such
    part of them. A trail that breaks says nothing of the records.
    """
    signatures = Signatures(key, fits)

    def heard(entries: Iterator[Entry]) -> Iterator[Entry]:
        for entry in entries:
            yield entry
            signatures.add(entry)

    with store.snapshot(*{organization, SYSTEM_ORGANIZATION}) as moment:
        head = _head(moment, organization)
        parts = 1 + _size(moment, organization, head) // most_held
        texts = LastTexts(0, parts)
        entries = texts.heard(heard(_entries(moment, organization)))
        broken = _chain_break(head, entries, noted)
        proof = Proof(organization, head, broken, signatures.found())
        if broken is not None:
            return proof
        proof = _compared(moment, proof, texts)
        for part in range(1, parts):
            texts = LastTexts(part, parts)
            for _ in texts.heard(_entries(moment, organization)):
                pass
            proof = _compared(moment, proof, texts)
        named = {each.id for each in proof.differences if each.kind is Kind.ENTITY}
        beside = (each for each in _beside(moment, organization) if each.id not in named)
        return replace(proof, differences=(*proof.differences, *beside))


def _size(moment: Snapshot, organization: str, head: Head | None) -> int:
    """Return about how many records a trail tells of."""
    here = Filter(organization=organization, with_deleted=True)
    count = sum(moment.count(of, here) for of in FINGERPRINTED)
    return max(count, 0 if head is None else head.number)


def _compared(moment: Snapshot, proof: Proof, texts: LastTexts) -> Proof:
    """Add to a proof the comparison of a part of the records with the trail."""
    differences = tuple(_differences(moment, proof.organization, texts))
    return replace(
        proof,
        differences=proof.differences + differences,
        erased=tuple(sorted((*proof.erased, *texts.erased()), key=lambda each: each.at)),
    )


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


def _differences(
    moment: Snapshot, organization: str, texts: LastTexts
) -> Iterator[TrailDifference]:
    everything = Filter(organization=organization, with_deleted=True)
    found = (moment.each(of, everything) for of in FINGERPRINTED if of is not Token)
    for record in chain(*found, _tokens(moment, organization, texts)):
        if texts.holds(record.kind, id_in_trail(record.kind, record.id)):
            difference = texts.difference(record)
            if difference is not None:
                yield difference
    yield from texts.missing()


def _beside(moment: Snapshot, organization: str) -> Iterator[TrailDifference]:
    """Yield the differences outside the records: ends that no trail has, names of entities."""
    for head in moment.each(Head, Filter(organization=organization)):
        if head.id != HEAD:
            yield TrailDifference(Kind.HEAD, head.id, NO_ENTRY)
    for id in moment.wrong_names(organization):
        yield TrailDifference(Kind.ENTITY, id, NAMES)


def _tokens(moment: Snapshot, organization: str, texts: LastTexts) -> Iterator[Token]:
    """Yield the tokens of which this trail tells, whomever they are for by now, and those for this organization."""
    for token in moment.each(Token, Filter(organization=SYSTEM_ORGANIZATION)):
        if texts.knows(token) or home_of(token) == organization:
            yield token


def _head(moment: Snapshot, organization: str) -> Head | None:
    here = Filter(organization=organization, ids=frozenset({HEAD}))
    return next(moment.each(Head, here), None)


def _entries(moment: Snapshot, organization: str) -> Iterator[Entry]:
    return moment.each(Entry, Filter(organization=organization), ["number"])
