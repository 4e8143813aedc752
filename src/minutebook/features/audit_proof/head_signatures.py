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
"""What a public key begins with when it is written."""

_KEY = re.compile(rf"{PREFIX}([A-Za-z0-9_-]{{43}})")
_SIGNED = re.compile(rf"({PREFIX}[A-Za-z0-9_-]{{43}}) ([A-Za-z0-9_-]{{86}})")

Fits = Callable[[str, bytes, bytes], bool]
"""Tells whether a public key, a message and a signature belong together."""


@dataclass(frozen=True, slots=True)
class Signed:
    """How far a trail is signed: by which key, up to which entry, when; `others` also signed it.

    `key` is None where no key was given to check by; `number` is 0 where it signed nothing.
    """

    key: str | None
    number: int = 0
    at: datetime | None = None
    others: tuple[str, ...] = ()
    broken: Break | None = None


def message_of(organization: str, number: int, digest: str) -> bytes:
    """Return the bytes that a signature of a trail's end signs."""
    document = ["minutebook trail head", organization, number, digest]
    return json.dumps(document, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def subject_of(head: Head) -> str:
    """Return the subject of the entry that signs a head."""
    return f"{head.number}:{head.digest}"


def public_key_text(raw: bytes) -> str:
    """Return a public key of 32 bytes as it is written."""
    return PREFIX + _text(raw)


def public_key_bytes(text: str) -> bytes:
    """Return the 32 bytes of a public key. Raises InvalidInput if the text is none."""
    match = _KEY.fullmatch(text.strip())
    if match is None:
        remedy = "must be a public key as `minutebook audit key` prints it ({prefix}…)"
        raise InvalidInput("--key", remedy, prefix=PREFIX)
    return _bytes(match[1])


def signed_text(key: str, signature: bytes) -> str:
    """Return the text that an entry keeps of a signature: the public key, and the signature by it."""
    return f"{key} {_text(signature)}"


class Signatures:
    """Reads the entries of a trail in order and checks the signatures of one key."""

    def __init__(self, key: str | None, fits: Fits) -> None:
        self._key = key
        self._fits = fits
        self._others: dict[str, None] = {}
        self._number = 0
        self._at: datetime | None = None
        self._broken: Break | None = None

    def add(self, entry: Entry) -> None:
        """Take the next entry of the trail."""
        if entry.act != SIGN or entry.outcome != DONE:
            return
        match = _SIGNED.fullmatch(entry.reason)
        if match is None or match[1] != self._key:
            if match is not None:
                self._others[match[1]] = None
            return
        before = entry.number - 1
        message = message_of(entry.organization, before, entry.previous)
        if entry.subject != f"{before}:{entry.previous}" or not self._fits(
            match[1], message, _bytes(match[2])
        ):
            self._broken = self._broken or Break(
                entry.number, "its signature does not fit the entry before it"
            )
            return
        self._number, self._at = before, entry.at

    def found(self) -> Signed:
        """Return how far the trail is signed, once all entries were read."""
        return Signed(self._key, self._number, self._at, tuple(self._others), self._broken)


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
