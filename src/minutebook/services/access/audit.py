"""Every act leaves an entry: in the transaction of the act, or in one of its own if refused."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from minutebook.domain import policy, trail
from minutebook.domain.caller import Caller
from minutebook.domain.errors import Fault, MinutebookError, Refused
from minutebook.domain.filters import Filter, default_organization
from minutebook.domain.policy import Owned
from minutebook.domain.records import SYSTEM_ORGANIZATION, Entry, Head, Kind
from minutebook.services.access.visibility import Clock, filters, narrowed
from minutebook.store.protocol import Store

EVERYTHING = "*"
"""The subject of an act that concerns all records."""

DONE = "done"
"""The outcome of an act that was not refused."""

LONGEST_WORD = 1000
"""Characters that an entry keeps of a subject or a request's name: callers choose both."""


@dataclass(slots=True)
class AuditDraft:
    """An act under way: whether it may touch a record, and what its entry will say of it.

    Before it writes, an act asks `check` or `may` for every record that it puts or removes, so that
    one rule decides for all acts on all kinds; one that never asked fails when it ends.
    """

    caller: Caller
    act: str
    organization: str
    subject: str
    digests: tuple[str, str] = ("", "")
    idle: bool = field(default=False)
    has_asked: bool = field(default=False)

    def check(self, *records: Owned) -> None:
        """Refuse the act on what the caller may only read; Forbidden, ScopeViolation.

        Without a record: the act asks `may` of each that it finds, and there may be none.
        """
        self.has_asked = True
        for record in records:
            policy.check_may_write_to(self.caller, self.act, record)

    def may(self, record: Owned) -> bool:
        """Tell whether the act may touch a record, for acts on many that leave some as they are."""
        self.has_asked = True
        return policy.may_write_to(self.caller, record)

    def changes(self, before: str | None, after: str | None) -> None:
        """Note the digests of a text as it was and as it is; None where there is none."""
        self.digests = (
            "" if before is None else trail.text_digest(before),
            "" if after is None else trail.text_digest(after),
        )

    def changes_nothing(self) -> None:
        """Leave no entry: nothing came of the act."""
        self.idle = True


@dataclass(frozen=True, slots=True)
class Proof:
    """Where an organization's trail ends, and where it breaks, if it does."""

    organization: str
    head: Head | None
    broken: trail.Break | None


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What the entry of a refusal will say."""

    deed: AuditDraft
    kind: Kind
    outcome: str


class _Together(threading.local):
    """The refusals that wait for the transaction around them to be undone; None outside one."""

    refusals: list[_Refusal] | None = None


class Trail:
    """Writes the audit trail, shows it and proves it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._together = _Together()

    @contextmanager
    def guard(
        self, caller: Caller, organization: str, act: str, kind: Kind, subject: str
    ) -> Iterator[None]:
        """Enter a refusal raised inside, then let it go on.

        Everyone reads what concerns the system's records, so that who was refused one of them is
        entered where the caller is at home.
        """
        try:
            yield
        except Refused as error:
            home = (
                default_organization(caller)
                if organization == SYSTEM_ORGANIZATION
                else organization
            )
            deed = AuditDraft(caller, act, home, subject)
            refusal = _Refusal(deed, kind, type(error).__name__)
            if self._together.refusals is None:
                self._enter_refusals([refusal])
            else:
                self._together.refusals.append(refusal)
            raise

    @contextmanager
    def audit_errors(
        self, caller: Caller, act: str, subject: str, kinds: tuple[type[MinutebookError], ...]
    ) -> Iterator[None]:
        """Enter errors of some kinds as refusals of an act on a memory, then let them go on."""
        try:
            yield
        except kinds as error:
            home, outcome = default_organization(caller), type(error).__name__
            self.note(caller, home, act, Kind.MEMORY, [subject], outcome)
            raise

    @contextmanager
    def act(
        self, caller: Caller, organization: str, act: str, kind: Kind, subject: str
    ) -> Iterator[AuditDraft]:
        """Run an act as one transaction that ends with its entry; a refusal is entered alone.

        Raises Fault, with nothing changed, if the act wrote without asking the deed whether it may.
        """
        deed = AuditDraft(caller, act, organization, subject)
        with (
            self.guard(caller, organization, act, kind, subject),
            self._store.transaction(),
        ):
            yield deed
            if not deed.idle:
                if not deed.has_asked:
                    raise Fault(act, caller.call.request)
                self._enter(deed, kind, DONE)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Run several acts as one transaction; of a refused one nothing stays but its refusal."""
        self._together.refusals = []
        try:
            with self._store.transaction():
                yield
        finally:
            refusals, self._together.refusals = self._together.refusals, None
            if refusals:
                self._enter_refusals(refusals)

    def note(
        self,
        caller: Caller,
        organization: str,
        act: str,
        kind: Kind,
        subjects: Sequence[str],
        outcome: str = DONE,
    ) -> None:
        """Enter an act that changed nothing, such as a reading: one entry a subject."""
        with self._store.transaction():
            for subject in subjects:
                self._enter(AuditDraft(caller, act, organization, subject), kind, outcome)

    def entries(
        self,
        caller: Caller,
        *,
        actor: str | None = None,
        act: str | None = None,
        subject: str | None = None,
        outcome: str | None = None,
        client: str | None = None,
        since: datetime | None = None,
        limit: int | None = None,
    ) -> list[Entry]:
        """Give the entries of the caller's organizations that meet every condition, newest first.

        Forbidden to a caller held to a part of an organization.
        """
        policy.check_may_audit(caller)
        asked = {"actor": actor, "act": act, "subject": subject, "outcome": outcome}
        equal = {name: value for name, value in asked.items() if value is not None}
        found: list[Entry] = []
        for where in filters(self._store, caller):
            here = replace(narrowed(where, **equal), client=client)
            entries = self._store.each(Entry, here, ["-number"])
            found += islice((e for e in entries if since is None or e.at >= since), limit)
        found.sort(key=lambda e: (e.at, e.organization, e.number), reverse=True)
        return found[:limit]

    def head(self, organization: str) -> Head | None:
        """Give the end of an organization's trail: what to note elsewhere, to prove it against."""
        return self._store.get(Head, organization, trail.HEAD)

    def verify(self, organization: str, noted: Head | None = None) -> trail.Break | None:
        """Find where an organization's trail does not hold, or None; in constant memory.

        The removal of its last entries shows by its head, which is kept apart, or by one that was
        noted elsewhere. Entries that others append meanwhile do no harm.
        """
        head = self.head(organization)
        ends = sorted((end for end in (head, noted) if end is not None), key=lambda h: h.number)
        last = 0

        def watched() -> Iterator[Entry]:
            nonlocal last
            everything = Filter(organization=organization)
            for entry in self._store.each(Entry, everything, ["number"]):
                assert isinstance(entry, Entry)
                last = entry.number
                yield entry

        broken = trail.first_break(watched(), ends)
        if broken is None:
            head = self.head(organization)
            end = 0 if head is None else head.number
            if last > end:
                return trail.Break(end + 1, f"it was added: the trail ends with entry {end}")
        return broken

    def prove(self, caller: Caller, noted: Head | None = None) -> list[Proof]:
        """Verify the trail of each of the caller's organizations; Forbidden as for `entries`.

        A noted head is of the one organization that the caller is held to.
        """
        policy.check_may_audit(caller)
        proofs = []
        for where in filters(self._store, caller):
            name = where.organization
            broken = self.verify(name, noted if name == caller.organization else None)
            proofs.append(Proof(name, self.head(name), broken))
        return proofs

    def _enter_refusals(self, refusals: Sequence[_Refusal]) -> None:
        with self._store.transaction():
            for each in refusals:
                self._enter(each.deed, each.kind, each.outcome)

    def _enter(self, deed: AuditDraft, kind: Kind, outcome: str) -> None:
        caller, (before, after) = deed.caller, deed.digests
        said = trail.Act(
            actor=caller.name,
            role=caller.role,
            act=deed.act,
            subject_kind=kind,
            subject=deed.subject[:LONGEST_WORD],
            request=caller.call.request[:LONGEST_WORD],
            outcome=outcome,
            before=before,
            after=after,
            token=caller.token,
            origin=caller.call.origin,
        )
        last = self.head(deed.organization)
        entry = trail.sealed(deed.organization, last, said, self._clock())
        self._store.put(entry)
        self._store.put(trail.head_of(entry))
