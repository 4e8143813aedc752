"""The audit trail: a chain of entries, each sealed with the digest of the one before."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime
from operator import attrgetter

from minutebook.record.origin import Origin
from minutebook.record.records import Entry, Head, Kind, Role

HEAD = "head"
"""The id of the one head that an organization's trail has."""

ERASE = "erase"
"""The act that leaves nothing of a record but its entries."""

UNDO = "undo"
"""The act that takes another back, by putting its records back as they were."""

DONE = "done"
"""The outcome of an act that was not refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """An act, done or refused, with the fields of its Entry that do not depend on its place in the trail."""

    actor: str
    role: Role
    act: str
    subject_kind: Kind
    subject: str
    request: str
    outcome: str = DONE
    before: str = ""
    after: str = ""
    token: str = ""
    origin: Origin | None = None
    reason: str = ""
    fingerprints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Break:
    """The first entry at which a trail does not hold, and why."""

    number: int
    reason: str


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def head_of(entry: Entry) -> Head:
    """Return the head of a trail that ends with this entry."""
    return Head(organization=entry.organization, id=HEAD, number=entry.number, digest=entry.digest)


def sealed(organization: str, last: Head | None, act: Act, at: datetime) -> Entry:
    """Return the entry of an act on the trail that ends with `last` (None if it has no entry yet)."""
    number = 1 if last is None else last.number + 1
    entry = Entry(
        organization=organization,
        id=str(number),
        number=number,
        at=at,
        previous="" if last is None else last.digest,
        digest="",
        **{f.name: getattr(act, f.name) for f in fields(act)},
    )
    return replace(entry, digest=_seal(entry))


def first_break(
    entries: Iterable[Entry], noted: Iterable[Head] = (), since: Head | None = None
) -> Break | None:
    """Return the first entry at which a trail, given in order, was changed, cut, reordered or added to; None if sound.

    `noted` are ends of the trail as they were noted at some time: the entries must still be there, so a removal of
    the last ones is found. `since` is the end before the first of the entries. Reads them once, keeping none.
    """
    previous, expected = ("", 1) if since is None else (since.digest, since.number + 1)
    ends = sorted(noted, key=lambda end: -end.number)
    for entry in entries:
        if entry.number != expected:
            return Break(expected, _gap(entry.number, expected))
        if entry.previous != previous:
            return Break(entry.number, "it does not carry the digest of the entry before")
        if entry.digest != _seal(entry):
            return Break(entry.number, "its digest does not fit what it says")
        while ends and ends[-1].number <= expected:
            if ends.pop().digest != entry.digest:
                return Break(entry.number, "its digest is not the one that was noted")
        previous, expected = entry.digest, expected + 1
    if ends:
        return Break(expected, f"it is missing: entry {ends[0].number} was noted as the end")
    return None


def _gap(number: int, expected: int) -> str:
    if number < expected:
        return f"it is missing: entry {number} stands there a second time"
    return f"it is missing: entry {number} follows"


def _seal(entry: Entry) -> str:
    document = dict(zip(_SEALED, _sealed_fields(entry), strict=True))
    document["at"] = entry.at.isoformat()
    document["origin"] = None if entry.origin is None else entry.origin.parts
    return hashlib.sha256(_encode(document).encode("ascii")).hexdigest()


_SEALED = sorted(f.name for f in fields(Entry) if f.name != "digest")
_sealed_fields = attrgetter(*_SEALED)
_encode = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
