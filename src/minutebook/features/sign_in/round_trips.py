"""Ways to a provider and back: the binding of the answer to the browser that set out, and to its request."""

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from minutebook.features.sign_in.faults import ProviderError, ProviderFault

LASTS = 600.0
"""Seconds that a person has to sign in at the provider."""

MOST_USED = 10_000
"""Round trips that are remembered as used; beyond it the oldest is forgotten."""

_LONGEST_PATH = 1500


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """One way to the provider: the values sent there, and where the browser goes in the end.

    `cookie` is kept by the browser; `state` and `nonce` come back from the provider, `verifier` goes
    there from this server alone.
    """

    cookie: str = field(repr=False)
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    onward: str

    @property
    def challenge(self) -> str:
        """The challenge that the provider compares the verifier with (S256, RFC 7636)."""
        return _encoded(hashlib.sha256(self.verifier.encode()).digest())


class RoundTrips:
    """Begins and ends round trips.

    Nothing is kept of one that was begun, so that nobody can fill the server with them: all but its
    cookie follows from the cookie and a key of this process.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, most_used: int = MOST_USED
    ) -> None:
        self._clock = clock
        self._most_used = most_used
        self._key = secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._used: dict[str, None] = {}

    def begin(self, onward: str) -> RoundTrip:
        """Return a new round trip, which ends at a path of this server."""
        path = onward if len(onward) <= _LONGEST_PATH else "/"
        body = _encoded(
            json.dumps([secrets.token_urlsafe(32), self._clock() + LASTS, path]).encode()
        )
        return self._trip(f"{body}.{self._drawn('cookie', body)}", body, path)

    def finish(self, cookie: str, state: str) -> RoundTrip:
        """Return the round trip of a browser's cookie, once.

        Raises ProviderError if the browser set out on none, or on another than the answer's `state`
        is of, or too long ago, or if it came back before.
        """
        body, _, seal = cookie.partition(".")
        if not hmac.compare_digest(seal.encode(), self._drawn("cookie", body).encode()):
            raise ProviderError(ProviderFault.STATE, "this browser did not begin it")
        secret, ends, path = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        trip = self._trip(cookie, body, path)
        if not hmac.compare_digest(state.encode(), trip.state.encode()):
            raise ProviderError(ProviderFault.STATE, "this browser began another")
        if self._clock() > ends:
            raise ProviderError(ProviderFault.LATE, "it took too long")
        with self._lock:
            if secret in self._used:
                raise ProviderError(ProviderFault.CODE, "it was used before")
            if len(self._used) >= self._most_used:
                del self._used[next(iter(self._used))]
            self._used[secret] = None
        return trip

    def _trip(self, cookie: str, body: str, path: str) -> RoundTrip:
        state, nonce, verifier = (
            self._drawn(name, body) for name in ("state", "nonce", "verifier")
        )
        return RoundTrip(cookie, state, nonce, verifier, path)

    def _drawn(self, what: str, body: str) -> str:
        text = f"{what} {body}".encode("utf-8", "surrogatepass")
        return _encoded(hmac.digest(self._key, text, hashlib.sha256))


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
