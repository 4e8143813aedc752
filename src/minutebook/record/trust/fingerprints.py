"""Fingerprints of whole records, kept in the trail: they tell that a record was changed, and in which fields."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from operator import attrgetter

from minutebook.record.origin import Origin
from minutebook.record.records import (
    Decision,
    Edge,
    Entity,
    Kind,
    Link,
    Memory,
    Proposal,
    Record,
    Relation,
    Summary,
    TextRecord,
    Token,
    Turn,
    Version,
    text_of,
)

FINGERPRINTED: tuple[type[Record], ...] = (
    *(Memory, Version, Decision, Proposal, Turn, Summary, Entity),
    *(Relation, Link, Token),
)
"""The records of which the trail has fingerprints."""

LEFT_OUT = {"organization", "id", "commit_id"}
"""Fields that no fingerprint covers: the two that name the record, and a decision's commit, which
changes without an act when Git's history is rewritten."""

_WHOLE = 43
"""Characters of the first part of a fingerprint: a SHA-256 in Base64."""
_PART = 3
"""Characters of the part for one field: 18 bits in Base64."""

_FIELDS = {
    of.kind: tuple(f.name for f in fields(of) if f.name not in LEFT_OUT) for of in FINGERPRINTED
}
"""The names of fields, in the order of the class. A new field is added at the end, with a default."""

_values_of = {kind: attrgetter(*names) for kind, names in _FIELDS.items()}


def _columns(of: type[Record]) -> tuple[list[str], list[object], list[bytes]]:
    """Return three lists with an item for each field: its name, its default, and its bytes if it holds the default."""
    covered = [f for f in fields(of) if f.name not in LEFT_OUT]
    absent = [f"{f.name}=\n".encode("ascii") for f in covered]
    return [f.name for f in covered], [f.default for f in covered], absent


_COLUMNS = {of.kind: _columns(of) for of in FINGERPRINTED}
_encode = json.JSONEncoder(ensure_ascii=True, sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Fingerprinted:
    """The effect of an act on a record: its fingerprint before ("" if unknown) and after ("" if it was removed).

    `id` is the record's, as `id_in_trail` returns it.
    """

    kind: Kind
    id: str
    before: str
    after: str

    def text(self) -> str:
        """Return it as a text for an entry of the trail."""
        return " ".join((self.kind, self.before, self.after, self.id))

    @classmethod
    def from_text(cls, text: str) -> "Fingerprinted":
        """Return the value that `text` wrote. Raises ValueError if it is not of that form."""
        kind, before, after, id = text.split(" ", 3)
        return cls(Kind(kind), id, before, after)


def has_fingerprint(kind: Kind) -> bool:
    """Tell whether the trail has fingerprints of records of a kind."""
    return kind in _FIELDS


def id_in_trail(kind: Kind, id: str) -> str:
    """Return the id by which entries name a record: a digest for a link, as its id holds a user's word."""
    return hashlib.sha256(_encode(id).encode("ascii")).hexdigest()[:32] if kind is Kind.LINK else id


def fingerprint(record: Record) -> str:
    """Return a record's fingerprint: the SHA-256 of all its fields, then 18 bits of each field's, in Base64.

    Each is salted with the record's own text, so that after the text is erased nobody can test guesses
    of the other fields. A field that holds its default counts as absent, so that fingerprints stay valid when
    a class gets a new field.
    """
    encoded = [
        absent if value == default else f"{name}={_encoded(value)}\n".encode("ascii")
        for name, default, absent, value in zip(
            *_COLUMNS[record.kind], _values_of[record.kind](record), strict=True
        )
    ]
    salt = _salt(record)
    digests = b"".join([hashlib.sha256(salt + each).digest()[:3] for each in encoded])
    whole = hashlib.sha256(
        salt + b"".join([each for each in encoded if not each.endswith(b"=\n")])
    ).digest()
    # Of the four characters of three bytes the first three: 18 bits.
    fours = b64encode(digests).decode()
    parts = [fours[at : at + _PART] for at in range(0, len(fours), 4)]
    return b64encode(whole).decode()[:_WHOLE] + "".join(parts)


def fields_changed_since(before: str, record: Record) -> tuple[str, ...]:
    """Return the names of a record's fields that differ from an earlier fingerprint of it.

    Returns none if the text, which salts all fields, differs: then no field can be compared.
    """
    after = fingerprint(record)
    pairs = list(zip(_FIELDS[record.kind], _parts(before), _parts(after), strict=False))
    names = tuple(name for name, then, now in pairs if then != now)
    return names if len(names) < len(pairs) else ()


COUNTING = frozenset({"updated_at", "version"})
"""The fields of a memory that count its changes."""


def changed_fields(kind: Kind, before: str, after: str) -> frozenset[str] | None:
    """Return the names of the fields in which two fingerprints of one record differ; None if either lacks some."""
    names, then, now = _FIELDS[kind], list(_parts(before)), list(_parts(after))
    if not len(names) == len(then) == len(now):
        return None
    return frozenset(
        name for name, one, other in zip(names, then, now, strict=True) if one != other
    )


def is_same_state(one: str, other: str) -> bool:
    """Tell whether two fingerprints are of the same record in the same state."""
    return one[:_WHOLE] == other[:_WHOLE]


def _parts(text: str) -> Iterable[str]:
    return (text[at : at + _PART] for at in range(_WHOLE, len(text), _PART))


def _salt(record: Record) -> bytes:
    salt = _encode([record.organization, record.kind, record.id, _text(record)])
    return hashlib.sha256(salt.encode("ascii")).digest()


def _text(record: Record) -> str:
    match record:
        case TextRecord():
            return record.text
        case Version():
            return text_of(record.title, record.content)
        case Edge():
            # Its type is all that somebody wrote, and is compared as a field.
            return ""
        case _:
            return str(getattr(record, "name"))  # noqa: B009


def _encoded(value: object) -> str:
    """Return a field's value as ASCII, the same before the record is stored and after it is read back."""
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat()
        case bool() | str() | None:
            return _encode(value)
        case int() | float():
            return _encode(float(value))
        case Origin():
            return _encode(value.parts)
        case Mapping():
            return _encode(dict(value))
        case _:
            return _encode(value)
