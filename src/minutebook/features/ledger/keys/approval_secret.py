"""The secret without which nobody accepts a proposal: kept as a hash, guessed slowly."""

import hashlib
import hmac
import json
import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Self

from minutebook.app import App
from minutebook.features.ledger.places import secret_place_of
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.record.caller import Caller
from minutebook.record.errors import (
    Forbidden,
    GuessedTooOften,
    InvalidInput,
    MinutebookError,
    StoreBusy,
    StoreError,
    WrongSecret,
)
from minutebook.record.filters import default_organization
from minutebook.record.reason import Reason
from minutebook.record.records import Kind, Role
from minutebook.store.named_locks import NamedLocks

logger = logging.getLogger(__name__)

LEAST_LENGTH = 8
"""Characters that a secret has at least."""

LONGEST_WAIT = timedelta(minutes=15)
"""How long a wrong guess puts off the next one at most; the first puts it off by a second."""

_ACT = "set_secret"
_SUBJECT = "secret"
_LOCK = "secret"
_WAIT_SECONDS = 30.0
# Cost, block size and parallelism of scrypt.
_N, _R, _P = 2**15, 8, 1
_MEMORY = 2 * 128 * _N * _R


@dataclass(frozen=True, slots=True)
class _PinnedSecret:
    """A pinned secret: its hash, the salt, and the number of wrong guesses since a right one."""

    salt: str
    digest: str
    failures: int = 0
    failed_at: str | None = None


@dataclass(frozen=True, slots=True)
class _ChangingSecret:
    """A secret that is being set: `kept` is valid once the organization's trail has its entry, until then `before` is."""

    kept: _PinnedSecret
    organization: str
    before: _PinnedSecret | None

    @classmethod
    def from_json(
        cls, kept: dict[str, Any], organization: str, before: dict[str, Any] | None
    ) -> Self:
        """Return it from its fields as JSON has them. Raises TypeError if they are others."""
        earlier = None if before is None else _PinnedSecret(**before)
        return cls(_PinnedSecret(**kept), organization, earlier)


class ApprovalSecret:
    """Pins a secret for a store, and compares guesses with it.

    `given` is the secret that this process was started with, or None. The store's secret place holds a scrypt
    hash (RFC 7914; N = 2¹⁵, r = 8, p = 1) with the count of wrong guesses, which all processes share.
    While a secret is being set, the place holds the one before, too: whether the trail has the entry of the change
    decides which is valid.
    """

    def __init__(self, app: App) -> None:
        self._place = secret_place_of(app)
        self._locks = app.infrastructure.locks
        self._trail, self._clock = app.trail, app.clock
        self.given = app.settings.of(LedgerSettings).agent_memory_secret

    @property
    def is_set(self) -> bool:
        """Whether a secret is pinned."""
        return self._read() is not None

    def pin(self, caller: Caller) -> None:
        """Pin the secret that this process was started with, if the caller is an admin and none is pinned."""
        if caller.role is Role.ADMIN and self.given is not None and not self.is_set:
            self.set(caller, self.given, unless_set=True)

    def set(
        self, caller: Caller, text: str, current: str | None = None, *, unless_set: bool = False
    ) -> None:
        """Pin a secret. If one is pinned already, `current` must be that one; with `unless_set` nothing is done.

        Raises Forbidden if the caller is no admin, InvalidInput if the text is too short, WrongSecret
        if `current` is wrong, GuessedTooOften if it comes too soon after a wrong one.
        """
        organization = default_organization(caller)
        with self._trail.audit_refusals(caller, organization, _ACT, Kind.PROPOSAL, _SUBJECT):
            if caller.role is not Role.ADMIN:
                reason = "the role {role} may not set the secret; an admin may"
                raise Forbidden(_ACT, reason, needs=Role.ADMIN, role=caller.role)
            if len(text) < LEAST_LENGTH:
                raise InvalidInput(
                    "secret", "must have at least {least} characters", least=LEAST_LENGTH
                )
            with _locked(self._locks):
                before = self._read()
                if before is not None:
                    if unless_set:
                        return
                    self._compare(before, _ACT, current)
                salt = secrets.token_bytes(16)
                pinned = _PinnedSecret(salt.hex(), _digest(text, salt))
                self._pin(caller, _ChangingSecret(pinned, organization, before))

    def differs_from_pinned(self) -> bool:
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
            _locked(self._locks),
        ):
            state = self._read()
            if state is None:
                raise Forbidden(
                    act, "no secret is set; an admin sets one by `minutebook ledger secret`"
                )
            self._compare(state, act, text)

    def _compare(self, pinned: _PinnedSecret, act: str, text: str | None) -> None:
        """Compare a guess with the pinned secret and count it. Raises as `check`."""
        if text is None:
            raise Forbidden(
                act,
                "the secret is not given: start this process with AGENT_MEMORY_SECRET, or the setting "
                "agent_memory_secret; it is one secret for all servers of a store",
            )
        now = self._clock()
        opens = _next_guess_at(pinned, now)
        if opens > now:
            raise GuessedTooOften(act, Reason("wrong secrets were given before"), opens)
        digest = _digest(text, bytes.fromhex(pinned.salt))
        if hmac.compare_digest(digest, pinned.digest):
            if pinned.failures:
                self._write(replace(pinned, failures=0, failed_at=None))
            return
        failed = replace(pinned, failures=pinned.failures + 1, failed_at=now.isoformat())
        self._write(failed)
        raise WrongSecret(act, "the secret is another one")

    def _pin(self, caller: Caller, change: _ChangingSecret) -> None:
        """Write the new secret with the hash of the one before, note it in the trail, then write the new one alone."""
        with self._trail.audited(
            caller, change.organization, _ACT, Kind.PROPOSAL, _SUBJECT
        ) as audit:
            audit.check()
            audit.changes(None, change.kept.digest)
            self._write(change)
        try:
            self._write(change.kept)
        except MinutebookError as error:
            # The new secret is valid: the trail has its entry. The next wrong guess writes it alone.
            logger.warning("The secret is set, but the hash of the one before stays: %s", error)

    def _read(self) -> _PinnedSecret | None:
        """Return the secret that is valid now, None if none is pinned. Raises StoreError if it cannot be read."""
        text = self._place.read()
        if text is None:
            return None
        try:
            fields = json.loads(text)
            is_change = "kept" in fields
            state = _ChangingSecret.from_json(**fields) if is_change else _PinnedSecret(**fields)
        except (ValueError, RecursionError, TypeError) as error:
            reason = "{place}: it cannot be read ({error}); remove it to set the secret anew"
            raise StoreError(reason, place=self._place, error=error) from error
        if isinstance(state, _PinnedSecret):
            return state
        is_entered = self._trail.has(
            state.organization, _ACT, Kind.PROPOSAL, _SUBJECT, state.kept.digest
        )
        return state.kept if is_entered else state.before

    def _write(self, state: _PinnedSecret | _ChangingSecret) -> None:
        self._place.write(json.dumps(asdict(state)))


@contextmanager
def _locked(locks: NamedLocks) -> Iterator[None]:
    with locks.hold(_LOCK, _WAIT_SECONDS) as is_held:
        if not is_held:
            raise StoreBusy("another process keeps comparing secrets; try again")
        yield


def _next_guess_at(pinned: _PinnedSecret, now: datetime) -> datetime:
    """Return the instant from which the next guess is checked; each wrong one doubles the wait."""
    if pinned.failed_at is None:
        return now
    wait = min(timedelta(seconds=2.0 ** min(pinned.failures - 1, 20)), LONGEST_WAIT)
    # If the clock was set back, the wait must not become longer.
    return min(datetime.fromisoformat(pinned.failed_at), now) + wait


def _digest(text: str, salt: bytes) -> str:
    secret = text.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(secret, salt=salt, n=_N, r=_R, p=_P, maxmem=2 * _MEMORY, dklen=32).hex()


def pin_first(app: App) -> None:
    """Pin the secret that accepts proposals, if an admin opens the store and none is pinned yet."""
    pin_secret(app, app.settings.caller(), "")


def pin_secret(app: App, caller: Caller, folder: str) -> None:
    """Pin the secret when a client connects to the daemon, if the caller is an admin and none is pinned yet."""
    app.get(ApprovalSecret).pin(caller)
