"""Creates, rotates and revokes tokens, and authenticates callers by a token's secret."""

import base64
import hashlib
import hmac
import logging
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta

from minutebook.memory.access.audit import AuditDraft, Trail
from minutebook.memory.access.visibility import Clock
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, InvalidInput, NotFound, StoreError, Unidentified
from minutebook.record.filters import Filter
from minutebook.record.ids import RandomBits, new_id
from minutebook.record.policy import Scope
from minutebook.record.reason import Reason
from minutebook.record.records import SYSTEM_ORGANIZATION, Kind, Role, Token
from minutebook.record.rights.grants import (
    SIGNED_BEFORE,
    SIGNED_WITH_ID,
    Grant,
    NewToken,
    caller_with,
    check_expiry,
    check_grant,
    grant_of,
    home_of,
)
from minutebook.store.protocol import Tended
from minutebook.store.token_uses import TokenUses

log = logging.getLogger(__name__)

PREFIX = "mbk_"
"""The beginning of every secret, by which people and scanners for leaked secrets recognize it."""

USE_IS_NOTED_EVERY = timedelta(hours=1)
"""The time after which a process records the use of a token again."""

REFUSAL_IS_ENTERED_EVERY = timedelta(minutes=1)
"""The time after which the same refusal is audited again: repeated attempts do not fill the trail."""

NOBODY = "unknown"
"""The subject of the refusal of an unknown token."""

_SECRET_BITS = 256
_CLOCKS_DIFFER = timedelta(seconds=30)
_SECRET = re.compile(PREFIX + r"([0-9a-z]{20})([A-Za-z0-9_-]{43})")
_STRANGER = Caller(name=NOBODY, role=Role.VIEWER)
_ALL = Filter(organization=SYSTEM_ORGANIZATION)
_TOKENS = Scope(SYSTEM_ORGANIZATION)


class Tokens:
    """Creates, rotates and revokes tokens, and authenticates their bearers.

    A secret is the prefix, the token's id and 256 random bits. Each use reads the store, so that a
    token that was revoked in one process is refused by every other.
    """

    def __init__(self, store: Tended, trail: Trail, clock: Clock, randbits: RandomBits) -> None:
        self._store = store
        self._trail = trail
        self._clock = clock
        self._randbits = randbits
        self._lock = threading.Lock()
        self._trusts_issuer = False
        self._is_shared = False
        self._entered: dict[tuple[str, str], datetime] = {}
        self._noted: dict[str, datetime] = {}

    def trust_issuer(self) -> None:
        """Accept the signed tokens of an issuer, too; from now on the store counts as shared."""
        self._trusts_issuer = self._is_shared = True

    def is_shared(self) -> bool:
        """Tell whether the store is shared: a token was ever created, or an issuer's are accepted.

        Revoked tokens count: they are kept, so that a store which was shared stays so.
        """
        if not self._is_shared:
            self._is_shared = bool(self._store.find(Token, _ALL, limit=1))
        return self._is_shared

    def create(self, caller: Caller, grant: Grant) -> NewToken:
        """Make a token.

        Raises Forbidden to all but the owner of the data directory, InvalidInput if the grant is
        unfit or has ended.
        """
        now = self._clock()
        check_grant(grant)
        check_expiry(grant.expires_at, now)
        id = new_id(now, self._randbits)
        secret = self._new_secret(id)
        token = Token(
            organization=SYSTEM_ORGANIZATION,
            id=id,
            name=grant.name,
            role=grant.role,
            digest=_digest(secret),
            author=caller.name,
            created_at=now,
            bound_organization=grant.organization,
            bound_repositories=grant.repositories,
            bound_user=grant.user,
            expires_at=grant.expires_at,
        )
        with self._audited(caller, "create_token", token) as audit:
            policy.check_may_issue(caller)
            audit.check(_TOKENS)
            self._store.put(token)
        return NewToken(token, secret)

    def list(self, caller: Caller) -> Sequence[Token]:
        """Return every token, newest first.

        Raises Forbidden if the caller is not the owner of the data directory.
        """
        policy.check_may_issue(caller)
        return self._store.find(Token, _ALL, order=("-created_at",))

    def last_uses(self, caller: Caller) -> Mapping[str, datetime]:
        """Return the instant of each token's last use, within an hour, by its id; tokens that were never used are left out.

        Raises Forbidden if the caller is not the owner of the data directory.
        """
        policy.check_may_issue(caller)
        return TokenUses(self._store.database).latest()

    def revoke(self, caller: Caller, id: str) -> Token:
        """Revoke a token for good.

        Raises Forbidden if the caller is not the owner of the data directory, NotFound if there is no
        such token, Conflict if it was revoked before.
        """
        with self._audited(caller, "revoke_token", self._read(id)) as audit:
            policy.check_may_issue(caller)
            audit.check(_TOKENS)
            known = self._read_live(id)
            audit.note_before(known)
            token = replace(known, revoked_at=self._clock())
            self._store.put(token)
        return token

    def revoke_signed(self, caller: Caller, name: str, *, is_id: bool = False) -> Token:
        """Revoke the signed tokens of a name (`sub`) that were issued until now, or the one of an id (`jti`).

        Raises Forbidden if the caller is not the owner of the data directory, InvalidInput if no issuer's
        tokens are accepted, or the name is unfit.
        """
        if not self._trusts_issuer:
            raise InvalidInput("jwt_issuer", "must be set: no signed tokens are accepted here")
        check_grant(Grant(name=name, role=Role.VIEWER))
        now, what = self._clock(), SIGNED_WITH_ID if is_id else SIGNED_BEFORE
        noted = Token(
            organization=SYSTEM_ORGANIZATION,
            id=_id_of_signed(what, name),
            name=name,
            role=Role.VIEWER,
            digest=what,
            author=caller.name,
            created_at=now,
            revoked_at=now,
        )
        with self._audited(caller, "revoke_token", noted) as audit:
            policy.check_may_issue(caller)
            audit.check(_TOKENS)
            audit.note_before(noted)
            self._store.put(noted)
        return noted

    def check_signed(self, subject: str, id: str | None, issued_at: datetime | None) -> None:
        """Raise Unidentified, and audit that, if a signed token was revoked, by its id or by its name (`subject`).

        A revocation by name covers tokens that were issued before it or do not tell when they were issued.
        """
        by_name = self._get(_id_of_signed(SIGNED_BEFORE, subject))
        by_id = None if id is None else self._get(_id_of_signed(SIGNED_WITH_ID, id))
        if by_name is not None and by_name.revoked_at is not None and issued_at is not None:
            by_name = by_name if issued_at <= by_name.revoked_at + _CLOCKS_DIFFER else None
        if (noted := by_id or by_name) is not None:
            raise self.audited_refusal("Revoked", Reason("this token was revoked"), noted)

    def rotate(self, caller: Caller, id: str, expires_at: datetime | None) -> NewToken:
        """Replace the secret and the expiry of a token; the old secret is invalid from now on.

        Raises Forbidden as `create` does, NotFound if there is no such token, Conflict if it was
        revoked, InvalidInput if `expires_at` is past.
        """
        check_expiry(expires_at, self._clock())
        secret = self._new_secret(id)
        with self._audited(caller, "rotate_token", self._read(id)) as audit:
            policy.check_may_issue(caller)
            audit.check(_TOKENS)
            known = self._read_live(id)
            audit.note_before(known)
            token = replace(known, digest=_digest(secret), expires_at=expires_at)
            self._store.put(token)
        return NewToken(token, secret)

    def caller_of(self, secret: str) -> Caller:
        """Return the caller that a secret authenticates.

        Raises Unidentified, and audits that, if the secret is unknown, revoked or expired.
        """
        parts = _SECRET.fullmatch(secret)
        token = None if parts is None else self._get(parts[1])
        if token is None:
            raise self.audited_refusal("Unknown", Reason("this token is not one of this server's"))
        if not hmac.compare_digest(_digest(secret), token.digest):
            raise self.audited_refusal(
                "WrongSecret", Reason("this token is not one of this server's"), token
            )
        now, caller = self._clock(), caller_with(grant_of(token), token.id)
        if token.revoked_at is not None:
            raise self.audited_refusal("Revoked", Reason("this token was revoked"), token, caller)
        if token.expires_at is not None and token.expires_at <= now:
            reason = Reason("this token expired at {end:%FT%TZ}", end=token.expires_at)
            raise self.audited_refusal("Expired", reason, token, caller)
        self._note_use(token.id, now)
        return caller

    def audited_refusal(
        self, outcome: str, reason: Reason, token: Token | None = None, who: Caller = _STRANGER
    ) -> Unidentified:
        """Audit that a request was not authenticated, at most once a minute for each cause; return the error for it."""
        subject, where = (
            (NOBODY, SYSTEM_ORGANIZATION) if token is None else (token.id, home_of(token))
        )
        now = self._clock()
        with self._lock:
            last = self._entered.get((subject, outcome))
            if last is not None and timedelta() <= now - last < REFUSAL_IS_ENTERED_EVERY:
                return Unidentified(reason)
            self._entered[subject, outcome] = now
        try:
            self._trail.log(who, where, "enter", Kind.TOKEN, [subject], outcome)
        except StoreError:
            with self._lock:
                self._entered.pop((subject, outcome), None)
            raise
        return Unidentified(reason)

    def _audited(
        self, caller: Caller, act: str, token: Token
    ) -> AbstractContextManager[AuditDraft]:
        """Audit an act on a token in the organization that it is bound to; tokens are stored in the system's."""
        home, also = home_of(token), [SYSTEM_ORGANIZATION]
        return self._trail.audited(caller, home, act, Kind.TOKEN, token.id, also=also)

    def _note_use(self, id: str, now: datetime) -> None:
        """Store the use of a token once an hour, in a thread, so that its bearer does not wait for writers."""
        with self._lock:
            last = self._noted.get(id)
            if last is not None and timedelta() <= now - last < USE_IS_NOTED_EVERY:
                return
            self._noted[id] = now
        threading.Thread(target=self._write_use, args=(id, now), name="use", daemon=True).start()

    def _write_use(self, id: str, now: datetime) -> None:
        try:
            TokenUses(self._store.database).note(id, now)
        except StoreError as error:
            log.warning("the use of token %s was not written down: %s", id, error)
            with self._lock:
                self._noted.pop(id, None)

    def _new_secret(self, id: str) -> str:
        drawn = self._randbits(_SECRET_BITS).to_bytes(_SECRET_BITS // 8)
        return PREFIX + id + base64.urlsafe_b64encode(drawn).decode().rstrip("=")

    def _get(self, id: str) -> Token | None:
        return self._store.get(Token, SYSTEM_ORGANIZATION, id)

    def _read(self, id: str) -> Token:
        token = self._get(id)
        if token is None:
            raise NotFound(Kind.TOKEN, id)
        return token

    def _read_live(self, id: str) -> Token:
        token = self._read(id)
        if token.revoked_at is not None:
            raise Conflict(id, "it was revoked already; make another by `minutebook token create`")
        return token


def _id_of_signed(what: str, name: str) -> str:
    """Return the id of the record of a revocation of signed tokens; no token of ours has such an id."""
    return f"{what}-{_digest(name)[:32]}"


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
