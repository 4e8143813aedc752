"""Signatures of a trail's end, kept as entries of the trail: the signed text and its form."""

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from minutebook.record.errors import InvalidInput
from minutebook.record.records import Entry, Head
from minutebook.record.trust.trail import DONE, Break

SIGN = "sign_head"
"""The act that signs the entry before it, and by its digest all entries before that."""

PREFIX = "ed25519:"
"""The beginning of a public key in text form."""

_KEY = re.compile(rf"{PREFIX}([A-Za-z0-9_-]{{43}})")
_SIGNED = re.compile(rf"({PREFIX}[A-Za-z0-9_-]{{43}}) ([A-Za-z0-9_-]{{86}})")

SignatureCheck = Callable[[str, bytes, bytes], bool]
"""Tells of a public key in text form, a message and a signature whether the signature is of the message by the key."""


@dataclass(frozen=True, slots=True)
class Signed:
    """How far a trail is signed by one key, if at all."""

    key: str | None
    """The public key that signatures were checked by; None if none was given."""
    number: int = 0
    """The number of the last signed entry; 0 if the key signed none."""
    at: datetime | None = None
    """The time of the last signature."""
    others: tuple[str, ...] = ()
    """Other public keys that signed the trail; their signatures were not checked."""
    broken: Break | None = None
    """The first signature by the key that does not fit its entry."""


def message_of(organization: str, number: int, digest: str) -> bytes:
    """Return the bytes that the signature of a trail's end is of, by the number and digest of its last entry."""
    document = ["minutebook trail head", organization, number, digest]
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def subject_of(head: Head) -> str:
    """Return the subject of the entry that signs a head."""
    return f"{head.number}:{head.digest}"


def public_key_text(raw: bytes) -> str:
    """Return the text form of a public key of 32 bytes."""
    return PREFIX + _to_base64(raw)


def public_key_bytes(text: str) -> bytes:
    """Return the 32 bytes of a public key. Raises InvalidInput if the text is none."""
    match = _KEY.fullmatch(text.strip())
    if match is None:
        remedy = "must be a public key as `minutebook audit key` prints it ({prefix}…)"
        raise InvalidInput("--key", remedy, prefix=PREFIX)
    return _from_base64(match[1])


def signed_text(key: str, signature: bytes) -> str:
    """Return the text that an entry keeps of a signature: the public key, and the signature by it."""
    return f"{key} {_to_base64(signature)}"


class Signatures:
    """Reads the entries of a trail in order and checks the signatures of one key."""

    def __init__(self, key: str | None, is_valid: SignatureCheck) -> None:
        self._key = key
        self._is_valid = is_valid
        self._others: dict[str, None] = {}
        self._number = 0
        self._at: datetime | None = None
        self._broken: Break | None = None

    def add(self, entry: Entry) -> None:
        """Check the next entry of the trail, if it is a signature."""
        if entry.act != SIGN or entry.outcome != DONE:
            return
        match = _SIGNED.fullmatch(entry.reason)
        if match is None or match[1] != self._key:
            if match is not None:
                self._others[match[1]] = None
            return
        before = entry.number - 1
        message = message_of(entry.organization, before, entry.previous)
        signature = _from_base64(match[2])
        names_end = entry.subject == f"{before}:{entry.previous}"
        if names_end and self._is_valid(match[1], message, signature):
            self._number, self._at = before, entry.at
        elif self._broken is None:
            reason = "its signature does not fit the entry before it"
            self._broken = Break(entry.number, reason)

    def result(self) -> Signed:
        """Return how far the trail is signed by the entries added so far."""
        return Signed(self._key, self._number, self._at, tuple(self._others), self._broken)


def _to_base64(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _from_base64(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
