"""The sign-ins of browsers, in memory only, so that all end with the server."""

import hashlib
import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from minutebook.record.caller import Caller

IDLE = 8 * 3600.0
"""Seconds without a request after which a person must sign in again."""

LONGEST = 7 * 24 * 3600.0
"""Seconds after which a person must sign in again in any case."""

LINK_LASTS = 120.0
"""Seconds within which a one-time link must be followed."""

MOST = 1000
"""Browsers that are signed in at once, at most; the one unused for longest is signed out first."""


class IdentityProof(Protocol):
    """A proof of a person's identity from another server."""

    async def check(self) -> None:
        """Raise Unidentified if the proof was revoked, StoreError if that cannot be read."""

    async def sign_out_url(self) -> str | None:
        """Return the URL at which a browser signs out at that server, too; None if there is none."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """The sign-in of a browser.

    `who` is the Authorization header of a token, which is authenticated at each request, or a caller: the owner, by a
    one-time link, or a person with a `proof`, which is checked at each request. `csrf` is the key that every form of this
    browser must send. `ends` is its end, `used` its last use, by the clock of `SignIns`.
    """

    who: str | Caller = field(repr=False)
    csrf: str = field(repr=False)
    ends: float
    used: float
    proof: IdentityProof | None = None


class SignIns:
    """Begins, finds and ends the sign-ins of browsers.

    `owner` is the caller that a one-time link signs in, None if there are no links. `folder` is the folder in
    which the owner opened the pages.
    """

    def __init__(
        self,
        owner: Caller | None = None,
        clock: Callable[[], float] = time.monotonic,
        folder: Path | None = None,
    ) -> None:
        self.owner = owner
        self.folder = folder
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, SignIn] = {}
        self._links: dict[str, float] = {}
        self._key = secrets.token_bytes(32)

    def begin(
        self, who: str | Caller, lasts: float = LONGEST, proof: IdentityProof | None = None
    ) -> str:
        """Sign a browser in for `lasts` seconds, LONGEST at most; return the secret for its cookie."""
        secret, now = secrets.token_urlsafe(32), self._clock()
        ends = now + min(lasts, LONGEST)
        sign_in = SignIn(who, secrets.token_urlsafe(32), ends, now, proof)
        with self._lock:
            self._kept = {key: each for key, each in self._kept.items() if not _is_over(each, now)}
            if len(self._kept) >= MOST:
                del self._kept[min(self._kept, key=lambda key: self._kept[key].used)]
            self._kept[_digest(secret)] = sign_in
        return secret

    def find(self, secret: str) -> SignIn | None:
        """Return the sign-in of a cookie's secret, and note its use; None if there is none, or it has ended."""
        key, now = _digest(secret), self._clock()
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            if _is_over(found, now):
                del self._kept[key]
                return None
            self._kept[key] = replace(found, used=now)
            return found

    def peek(self, secret: str) -> SignIn | None:
        """Return the sign-in of a cookie's secret, without noting its use; None as in `find`."""
        with self._lock:
            found = self._kept.get(_digest(secret))
        return None if found is None or _is_over(found, self._clock()) else found

    def end(self, secret: str) -> None:
        """Sign a browser out."""
        with self._lock:
            self._kept.pop(_digest(secret), None)

    def link(self) -> str:
        """Return the key of a new one-time link, which signs the owner in."""
        key = secrets.token_urlsafe(32)
        with self._lock:
            self._links[_digest(key)] = self._clock() + LINK_LASTS
        return key

    def redeem(self, key: str) -> bool:
        """Use up a one-time link; return whether its key was valid."""
        with self._lock:
            ends = self._links.pop(_digest(key), None)
        return self.owner is not None and ends is not None and self._clock() < ends

    def form_key(self, visitor: str) -> str:
        """Return the key that the sign-in form of a browser that is not signed in must send back."""
        return hmac.new(self._key, visitor.encode(), hashlib.sha256).hexdigest()


def _is_over(sign_in: SignIn, now: float) -> bool:
    return now - sign_in.used > IDLE or now > sign_in.ends


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
