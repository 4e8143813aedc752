"""The secret without which nobody accepts a proposal: kept as a hash, guessed slowly."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta

from minutebook.domain.caller import Caller
from minutebook.domain.errors import (
    Forbidden,
    GuessedTooOften,
    InvalidInput,
    StoreBusy,
    StoreError,
    WrongSecret,
)
from minutebook.domain.filters import default_organization
from minutebook.domain.records import Kind, Role
from minutebook.services.access.audit import Trail
from minutebook.services.access.visibility import Clock
from minutebook.services.ledger.secret_place import SecretPlace
from minutebook.store.named_locks import NamedLocks

LEAST_LENGTH = 8
"""Characters that a secret has at least."""

LONGEST_WAIT = timedelta(minutes=15)
"""How long a wrong guess puts off the next one at most; the first puts it off by a second."""

_SUBJECT = "secret"
_LOCK = "secret"
_PATIENCE = 30.0
_N, _R, _P = 2**15, 8, 1
_MEMORY = 2 * 128 * _N * _R


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is kept: the hash and how it was made, and the wrong guesses since a right one."""

    salt: str
    digest: str
    failures: int = 0
    failed_at: str | None = None


class Secret:
    """Pins a secret for a store, and compares guesses with it.

    `given` is what this process was started with, None without one. Its place holds a scrypt hash
    (RFC 7914; N = 2¹⁵, r = 8, p = 1), with the count of wrong guesses, which all processes share.
    """

    def __init__(
        self, place: SecretPlace, locks: NamedLocks, trail: Trail, clock: Clock, given: str | None
    ) -> None:
        self._place = place
        self._locks = locks
        self._trail = trail
        self._clock = clock
        self.given = given

    @property
    def is_set(self) -> bool:
        """Whether a secret is pinned."""
        return self._read() is not None

    def pin(self, caller: Caller) -> None:
        """Pin the secret that an admin's process was started with, unless one is pinned already."""
        if caller.role is Role.ADMIN and self.given is not None and not self.is_set:
            self.set(caller, self.given, unless_set=True)

    def set(
        self, caller: Caller, text: str, current: str | None = None, *, unless_set: bool = False
    ) -> None:
        """Pin a secret; if one is pinned, `current` must be it, or `unless_set` leaves it as it is.

        Raises Forbidden if the caller is no admin, InvalidInput if the text is too short, WrongSecret
        if `current` is wrong, GuessedTooOften if it comes too soon after a wrong one.
        """
        organization = default_organization(caller)
        with self._trail.audit_refusals(
            caller, organization, "set_secret", Kind.PROPOSAL, _SUBJECT
        ):
            if caller.role is not Role.ADMIN:
                reason = f"the role {caller.role} may not set the secret; an admin may"
                raise Forbidden("set_secret", reason, needs=Role.ADMIN)
            if len(text) < LEAST_LENGTH:
                raise InvalidInput("secret", f"must have at least {LEAST_LENGTH} characters")
            with _alone(self._locks):
                state = self._read()
                if state is not None:
                    if unless_set:
                        return
                    self._compare(state, "set_secret", current)
                salt = secrets.token_bytes(16)
                self._write(_Kept(salt.hex(), _digest(text, salt)))
        self._trail.log(caller, organization, "set_secret", Kind.PROPOSAL, [_SUBJECT])

    def is_another(self) -> bool:
        """Tell whether this process was started with another secret than the one that is pinned."""
        state = self._read()
        if state is None or self.given is None:
            return False
        return not hmac.compare_digest(_digest(self.given, bytes.fromhex(state.salt)), state.digest)

    def check(self, caller: Caller, act: str, proposal: str, text: str | None) -> None:
        """Check the secret that an act needs; every guess is audited.

        Raises WrongSecret if it is wrong, GuessedTooOften (without a look at the guess) if it comes too
        soon after a wrong one, Forbidden if none is set or none is given.
        """
        with (
            self._trail.audit_refusals(caller, None, act, Kind.PROPOSAL, proposal),
            _alone(self._locks),
        ):
            state = self._read()
            if state is None:
                reason = "no secret is set; an admin sets one by `minutebook secret set`"
                raise Forbidden(act, reason)
            self._compare(state, act, text)

    def _compare(self, state: _Kept, act: str, text: str | None) -> None:
        if text is None:
            raise Forbidden(
                act,
                "the secret is not given: start this process with AGENT_MEMORY_SECRET, or the setting "
                "agent_memory_secret; it is one secret for all servers of a store",
            )
        now = self._clock()
        if (opens := _opens(state, now)) > now:
            raise GuessedTooOften(act, "wrong secrets were given before", opens)
        digest = _digest(text, bytes.fromhex(state.salt))
        if hmac.compare_digest(digest, state.digest):
            if state.failures:
                self._write(replace(state, failures=0, failed_at=None))
            return
        failed = replace(state, failures=state.failures + 1, failed_at=now.isoformat())
        self._write(failed)
        raise WrongSecret(act, "the secret is another one")

    def _read(self) -> _Kept | None:
        text = self._place.read()
        if text is None:
            return None
        try:
            return _Kept(**json.loads(text))
        except (ValueError, RecursionError, TypeError) as error:
            raise StoreError(
                f"{self._place}: it cannot be read ({error}); remove it to set the secret anew"
            ) from error

    def _write(self, state: _Kept) -> None:
        self._place.write(json.dumps(asdict(state)))


@contextmanager
def _alone(locks: NamedLocks) -> Iterator[None]:
    with locks.hold(_LOCK, _PATIENCE) as is_held:
        if not is_held:
            raise StoreBusy("another process keeps comparing secrets; try again")
        yield


def _opens(state: _Kept, now: datetime) -> datetime:
    """Return the instant from which a guess is checked; each wrong one doubles the wait."""
    if state.failed_at is None:
        return now
    wait = min(timedelta(seconds=2.0 ** min(state.failures - 1, 20)), LONGEST_WAIT)
    # A clock that was set back must not keep the door shut for longer than the wait.
    return min(datetime.fromisoformat(state.failed_at), now) + wait


def _digest(text: str, salt: bytes) -> str:
    secret = text.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=_N, r=_R, p=_P, maxmem=2 * _MEMORY, dklen=32).hex()
