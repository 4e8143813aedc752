"""Ids of records: twenty lower-case alphanumerics in order of time, and the same as UUIDs.

Ids of decisions and proposals are for people to read: the kind, the time, and eight hexadecimal digits.
"""

import hashlib
import re
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import takewhile

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_LENGTH = 20
_RANDOM_BITS = 55
_VALUES = 36**_LENGTH
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHORT = re.compile(rf"[0-9a-z]{{{_LENGTH}}}")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_UUID_PART = re.compile(r"[0-9a-f-]{1,36}")
_DECISION = re.compile(r"(?:decision|proposal)_\d{8}T\d{12}Z_[0-9a-f]{8}")

RandomBits = Callable[[int], int]
"""Returns an integer of that many random bits, as `secrets.randbits` does."""


def new_id(now: datetime, randbits: RandomBits) -> str:
    """Make an id that sorts by the millisecond of `now`: 48 bits of time, then 55 random bits."""
    milliseconds = (now - _EPOCH) // timedelta(milliseconds=1)
    return _encode((milliseconds << _RANDOM_BITS) | randbits(_RANDOM_BITS))


def is_id(text: str) -> bool:
    """Tell whether the text has the form of an id."""
    return _SHORT.fullmatch(text) is not None


def decision_id(now: datetime, randbits: RandomBits) -> str:
    """Make a decision's id: `decision_`, the UTC time to the microsecond, 8 hexadecimal digits."""
    return f"decision_{_stamp(now)}_{randbits(32):08x}"


def proposal_id(now: datetime, randbits: RandomBits) -> str:
    """Make a proposal's id, which has the form of a decision's."""
    return f"proposal_{_stamp(now)}_{randbits(32):08x}"


def proposal_id_of(id: str) -> str:
    """Return the id of the proposal that is made of a source draft: always the same, so its time means nothing."""
    number = _decode(id)
    time = _EPOCH + timedelta(microseconds=(number >> 32) % 86_400_000_000)
    return f"proposal_{_stamp(time)}_{number & 0xFFFF_FFFF:08x}"


def ledger_id_of(text: str) -> str | None:
    """Read the id of a decision or proposal, with or without `.md`; None when it is neither."""
    id = text.removesuffix(".md")
    return id if _DECISION.fullmatch(id) else None


def uuid_of(id: str) -> uuid.UUID:
    """Write an id as a UUID (version 8, RFC 9562): the same 104 bits in its free fields."""
    number = _decode(id)
    high, low = number >> 60, number & ((1 << 60) - 1)
    return uuid.UUID(
        int=(high >> 12 << 80) | (0x8 << 76) | ((high & 0xFFF) << 64) | (0x2 << 62) | low
    )


def uuid_in(text: str) -> uuid.UUID | None:
    """Read a UUID in its usual form, five groups of hexadecimal digits; None when it is not one."""
    return uuid.UUID(text) if _UUID.fullmatch(text) else None


def may_be_in_uuid(part: str) -> bool:
    """Tell whether a text could be a part of a UUID in lower case."""
    return _UUID_PART.fullmatch(part) is not None


def start_of_ids(uuid_start: str) -> str:
    """Return the longest common beginning of all ids that contain a UUID beginning with `uuid_start`."""
    digits = uuid_start.replace("-", "")
    numbers = (_number_in(int(digits.ljust(32, fill)[:32], 16)) for fill in "0f")
    least, most = (_encode(min(number, _VALUES - 1)) for number in numbers)
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(least, most, strict=True))
    return "".join(digit for digit, _ in alike)


def uuid_named(name: str) -> uuid.UUID:
    """Return the UUID of an organization's or a repository's name.

    A name that is a UUID is its own. Any other has the UUID of version 5 (RFC 9562, section 5.5) of
    the URL `minutebook:NAME`; `uuid.uuid5` gives the same, but takes no lone surrogates.
    """
    text = f"minutebook:{name}".encode("utf-8", "surrogatepass")
    digest = hashlib.sha1(uuid.NAMESPACE_URL.bytes + text, usedforsecurity=False).digest()
    return uuid_in(name) or uuid.UUID(bytes=digest[:16], version=5)


def id_of(text: str) -> str | None:
    """Read an id from its own form or from any UUID; None when it is neither.

    A UUID that `uuid_of` made gives its id back. Any other UUID maps to an id by its digest, the
    same each time.
    """
    if is_id(text):
        return text
    try:
        number = uuid.UUID(text).int
    except ValueError:
        return None
    candidate = _number_in(number)
    if candidate < _VALUES and uuid_of(_encode(candidate)).int == number:
        return _encode(candidate)
    digest = hashlib.sha256(number.to_bytes(16, "big")).digest()
    return _encode(int.from_bytes(digest, "big") % _VALUES)


def derived_id(id: str, *scopes: str) -> str:
    """Return another id for the record of an id in some scopes, made from both by digest: the same each time."""
    digest = hashlib.sha256("\0".join((id, *scopes)).encode("utf-8", "surrogatepass")).digest()
    return _encode(int.from_bytes(digest, "big") % _VALUES)


def _stamp(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")


def _encode(number: int) -> str:
    digits = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 36)
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))


def _number_in(uuid: int) -> int:
    """Return the free fields of a UUID as one number: all but version and variant."""
    high = (uuid >> 80 << 12) | ((uuid >> 64) & 0xFFF)
    return (high << 60) | (uuid & ((1 << 60) - 1))


def _decode(id: str) -> int:
    return int(id, 36)
