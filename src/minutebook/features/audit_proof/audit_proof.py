"""Proving a trail: its chain of entries, its signatures, and its digests of records."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain

from minutebook.app import App
from minutebook.features.audit_proof.head_signatures import Signatures
from minutebook.features.audit_proof.last_states import NAMES, NO_ENTRY, LastStates, TrailDifference
from minutebook.features.audit_proof.trail_key import is_valid_signature
from minutebook.features.audit_proof.trail_proof import Proof
from minutebook.memory.access.audit import break_among, entries_of, head_of
from minutebook.memory.access.visibility import seen_by
from minutebook.memory.maintenance.doctor import Check, Finding
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.filters import Filter, open_organizations
from minutebook.record.records import SYSTEM_ORGANIZATION, Entry, Head, Kind, Token
from minutebook.record.rights.grants import home_of
from minutebook.record.trust.fingerprints import FINGERPRINTED, id_in_trail
from minutebook.record.trust.trail import HEAD
from minutebook.store.protocol import Snapshot, Store, Tended

MOST_HELD = 200_000
"""The most records of which a proof holds digests at a time, about 1 KiB each."""


class TrailProving:
    """Proves the trails of a caller's organizations."""

    def __init__(self, app: App) -> None:
        self._store = app.infrastructure.store

    def prove(
        self, caller: Caller, noted: Sequence[Head] = (), key: str | None = None
    ) -> list[Proof]:
        """Prove the trail of each of the caller's organizations, and compare the records with it.

        Each trail must hold the ends that were `noted` of it; an end of a trail that is not here is a
        break. `key` is the public key that signatures are checked by. Raises Forbidden if the caller may
        not read the trail.
        """
        policy.check_may_audit(caller)
        by_name: dict[str, list[Head]] = {}
        for head in noted:
            by_name.setdefault(head.organization, []).append(head)
        proofs = [
            prove_trail(self._store, name, by_name.pop(name, ()), key)
            for name in seen_by(self._store, caller).organizations
        ]
        open_here = open_organizations(caller)
        absent = [name for name in by_name if open_here is None or name in open_here]
        return proofs + [prove_trail(self._store, name, by_name[name], key) for name in absent]


def prove_trail(
    store: Store,
    organization: str,
    noted: Collection[Head] = (),
    key: str | None = None,
    *,
    most_held: int = MOST_HELD,
) -> Proof:
    """Prove a trail, its signatures by a key, and the records, all as of one moment.

    It holds two digests of `most_held` records at a time, and reads trail and records once for each such
    part of them. If the trail breaks, the records are not compared.
    """
    signatures = Signatures(key, is_valid_signature)

    def with_signatures(entries: Iterator[Entry]) -> Iterator[Entry]:
        for entry in entries:
            yield entry
            signatures.add(entry)

    with store.snapshot(*{organization, SYSTEM_ORGANIZATION}) as moment:
        head = head_of(moment, organization)
        parts = 1 + _size(moment, organization, head) // most_held
        texts = LastStates(0, parts)
        entries = texts.add_each(with_signatures(entries_of(moment, organization)))
        broken = break_among(head, entries, noted)
        proof = Proof(organization, head, broken, signatures.result())
        if broken is not None:
            return proof
        proof = _compare_part(moment, proof, texts)
        for part in range(1, parts):
            texts = LastStates(part, parts)
            for _ in texts.add_each(entries_of(moment, organization)):
                pass
            proof = _compare_part(moment, proof, texts)
        named = {each.id for each in proof.differences if each.kind is Kind.ENTITY}
        beside = (
            each
            for each in _differences_outside_records(moment, organization)
            if each.id not in named
        )
        return replace(proof, differences=(*proof.differences, *beside))


def _size(moment: Snapshot, organization: str, head: Head | None) -> int:
    """Return about how many records a trail is about."""
    here = Filter(organization=organization, with_deleted=True)
    count = sum(moment.count(of, here) for of in FINGERPRINTED)
    return max(count, 0 if head is None else head.number)


def _compare_part(moment: Snapshot, proof: Proof, texts: LastStates) -> Proof:
    """Return a proof with the comparison of one part of the records added."""
    differences = tuple(_differences(moment, proof.organization, texts))
    return replace(
        proof,
        differences=proof.differences + differences,
        erased=tuple(sorted((*proof.erased, *texts.erased()), key=lambda each: each.at)),
    )


def _differences(
    moment: Snapshot, organization: str, texts: LastStates
) -> Iterator[TrailDifference]:
    """Yield the records of one part that are not as the trail says."""
    everything = Filter(organization=organization, with_deleted=True)
    found = (moment.each(of, everything) for of in FINGERPRINTED if of is not Token)
    for record in chain(*found, _tokens(moment, organization, texts)):
        if texts.holds(record.kind, id_in_trail(record.kind, record.id)):
            difference = texts.difference(record)
            if difference is not None:
                yield difference
    yield from texts.missing()


def _differences_outside_records(moment: Snapshot, organization: str) -> Iterator[TrailDifference]:
    """Yield ends that are of no trail, and entities that are not found by their names."""
    for head in moment.each(Head, Filter(organization=organization)):
        if head.id != HEAD:
            yield TrailDifference(Kind.HEAD, head.id, NO_ENTRY)
    for id in moment.wrong_names(organization):
        yield TrailDifference(Kind.ENTITY, id, NAMES)


def _tokens(moment: Snapshot, organization: str, texts: LastStates) -> Iterator[Token]:
    """Yield the tokens that this trail has a state of, for any organization by now, and those for this organization."""
    for token in moment.each(Token, Filter(organization=SYSTEM_ORGANIZATION)):
        if texts.knows(token) or home_of(token) == organization:
            yield token


_OUTSIDE = "someone changed the store outside Minutebook; compare with a backup"


def checks(app: App) -> Iterable[Check]:
    """Yield the check of the trails and of the records that they prove."""
    yield Check("The audit trail", lambda: _trail_findings(app.infrastructure.store))


def _trail_findings(store: Tended) -> list[Finding]:
    findings = []
    for organization in store.organizations():
        proof = prove_trail(store, organization)
        if proof.broken is not None:
            broken = f"breaks at entry {proof.broken.number}: {proof.broken.reason}"
            findings.append(Finding(f"The audit trail of {organization} {broken}.", _OUTSIDE))
        if proof.differences:
            first = proof.differences[0]
            more = len(proof.differences) - 1
            others = f", and {more:,} more" if more else ""
            finding = f"Records of {organization} are not as its audit trail says: {first.kind} {first.id}{others}."
            findings.append(Finding(finding, f"`minutebook audit verify` names them; {_OUTSIDE}"))
    return findings
