"""Round trips of a browser to the provider: each answer belongs to one browser and to its one request."""

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
"""Round trips that are remembered as used, at most; the oldest is forgotten first."""

_LONGEST_PATH = 1500


@dataclass(frozen=True, slots=True)
class RoundTrip:
    """One round trip to the provider; `onward` is the path to which the browser goes in the end.

    The browser keeps `cookie`; the provider sends `state` and `nonce` back; only this server sends `verifier`.
    """

    cookie: str = field(repr=False)
    state: str = field(repr=False)
    nonce: str = field(repr=False)
    verifier: str = field(repr=False)
    onward: str

    @property
    def challenge(self) -> str:
        """The challenge that the provider compares the verifier with (S256, RFC 7636)."""
        return _base64(hashlib.sha256(self.verifier.encode()).digest())


class RoundTrips:
    """Begins and finishes round trips.

    Nothing is stored of a round trip that has begun, so that nobody can fill the memory: its values are derived
    from its cookie and a key of this process.
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
        """Return a new round trip, after which the browser goes to the path `onward`."""
        path = onward if len(onward) <= _LONGEST_PATH else "/"
        body = _base64(
            json.dumps([secrets.token_urlsafe(32), self._clock() + LASTS, path]).encode()
        )
        return self._trip(f"{body}.{self._derived('cookie', body)}", body, path)

    def finish(self, cookie: str, state: str) -> RoundTrip:
        """Return the round trip of a browser's cookie, only once.

        Raises ProviderError if the cookie is not valid, or `state` is of another round trip, or it began more than
        LASTS seconds ago, or was finished before.
        """
        body, _, seal = cookie.partition(".")
        if not hmac.compare_digest(seal.encode(), self._derived("cookie", body).encode()):
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
            self._derived(name, body) for name in ("state", "nonce", "verifier")
        )
        return RoundTrip(cookie, state, nonce, verifier, path)

    def _derived(self, what: str, body: str) -> str:
        text = f"{what} {body}".encode("utf-8", "surrogatepass")
        return _base64(hmac.digest(self._key, text, hashlib.sha256))


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
