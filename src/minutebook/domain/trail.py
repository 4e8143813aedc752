"""The audit trail: a chain of entries, each sealed with the digest of the one before."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import datetime

from minutebook.domain.records import Entry, Kind, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What was done or refused, by whom, to what; digests stand for texts."""

    actor: str
    role: Role
    act: str
    subject_kind: Kind
    subject: str
    request: str
    outcome: str = "done"
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Break:
    """The first entry at which a trail does not hold, and why."""

    number: int
    reason: str


def text_digest(text: str) -> str:
    """Give the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sealed(organization: str, last: Entry | None, act: Act, at: datetime) -> Entry:
    """Append an act to the trail that ends with `last` (None at its beginning)."""
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


def first_break(entries: Iterable[Entry]) -> Break | None:
    """Find where a trail, given in order, was changed, cut, reordered or added to; None if sound.

    A trail whose last entries were removed still holds; compare its length with one noted earlier.
    """
    previous, expected = "", 1
    for entry in entries:
        if entry.number != expected:
            return Break(expected, f"entry {expected} is missing, entry {entry.number} follows")
        if entry.previous != previous:
            return Break(entry.number, "it does not carry the digest of the entry before")
        if entry.digest != _seal(entry):
            return Break(entry.number, "its digest does not fit what it says")
        previous, expected = entry.digest, expected + 1
    return None


def _seal(entry: Entry) -> str:
    said = {f.name: getattr(entry, f.name) for f in fields(entry) if f.name != "digest"}
    said["at"] = entry.at.isoformat()
    line = json.dumps(said, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(line.encode("ascii")).hexdigest()
