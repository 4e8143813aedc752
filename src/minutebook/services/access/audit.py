"""The audit trail: one entry an act, in its transaction, or in one of its own if it was refused."""

import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice, takewhile

from minutebook.domain import policy, trail
from minutebook.domain.caller import Caller
from minutebook.domain.errors import Fault, MinutebookError, Refused
from minutebook.domain.filters import Filter, default_organization
from minutebook.domain.policy import Owned
from minutebook.domain.records import SYSTEM_ORGANIZATION, Entry, Head, Kind
from minutebook.screening.secrets import masked
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
    """The audit entry of an act under way, and its permission check.

    Before it writes, an act calls `check` or `may` for every record that it puts or removes, so
    that one rule decides for all acts on all kinds; an act that called neither fails at its end.
    """

    caller: Caller
    act: str
    organization: str
    subject: str
    digests: tuple[str, str] = ("", "")
    idle: bool = field(default=False)
    has_asked: bool = field(default=False)

    def check(self, *records: Owned) -> None:
        """Raise Forbidden or ScopeViolation if the caller may not write to a record's scope.

        Without a record: the act calls `may` for each that it finds, and there may be none.
        """
        self.has_asked = True
        for record in records:
            policy.check_may_write_to(self.caller, self.act, record)

    def may(self, record: Owned) -> bool:
        """Tell whether the caller may write to a record's scope; for acts that skip records."""
        self.has_asked = True
        return policy.may_write_to(self.caller, record)

    def changes(self, before: str | None, after: str | None) -> None:
        """Set the digests of a text before and after; None where there is no text."""
        self.digests = (
            "" if before is None else trail.text_digest(before),
            "" if after is None else trail.text_digest(after),
        )

    def changes_nothing(self) -> None:
        """Write no entry: the act changed nothing."""
        self.idle = True


@dataclass(frozen=True, slots=True)
class Proof:
    """Where an organization's trail ends, and where it breaks, if it does."""

    organization: str
    head: Head | None
    broken: trail.Break | None


@dataclass(frozen=True, slots=True)
class _Refusal:
    """An entry to write for a refused act."""

    audit: AuditDraft
    kind: Kind
    outcome: str


class _Batch(threading.local):
    """The refusals of a batch, written once its transaction is undone; None outside a batch."""

    refusals: list[_Refusal] | None = None


class Trail:
    """Writes the audit trail, shows it and proves it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._batch = _Batch()

    @contextmanager
    def audit_refusals(
        self, caller: Caller, organization: str | None, act: str, kind: Kind, subject: str
    ) -> Iterator[None]:
        """Write an entry for a Refused that is raised inside, and raise it again.

        With no organization, it goes to the caller's own; so does one in the system's, whose trail
        everyone may read.
        """
        try:
            yield
        except Refused as error:
            home = organization
            if home is None or home == SYSTEM_ORGANIZATION:
                home = default_organization(caller)
            audit = AuditDraft(caller, act, home, subject)
            refusal = _Refusal(audit, kind, type(error).__name__)
            if self._batch.refusals is None:
                self._append_refusals([refusal])
            else:
                self._batch.refusals.append(refusal)
            raise

    @contextmanager
    def audit_errors(
        self, caller: Caller, act: str, subject: str, kinds: tuple[type[MinutebookError], ...]
    ) -> Iterator[None]:
        """Write an entry for errors of some classes that are raised inside, and raise them again."""
        try:
            yield
        except kinds as error:
            home, outcome = default_organization(caller), type(error).__name__
            self.log(caller, home, act, Kind.MEMORY, [subject], outcome)
            raise

    @contextmanager
    def audited(
        self,
        caller: Caller,
        organization: str,
        act: str,
        kind: Kind,
        subject: str,
        *,
        also: Collection[str] = (),
    ) -> Iterator[AuditDraft]:
        """Run an act as one transaction that ends with its entry; of a refusal only the entry stays.

        The entry goes to `organization`, where the act may write; so may it to those of `also`.
        Raises Fault, with nothing changed, if the act never called `check` or `may`.
        """
        audit = AuditDraft(caller, act, organization, subject)
        with (
            self.audit_refusals(caller, organization, act, kind, subject),
            self._store.transaction(organization, *also),
        ):
            yield audit
            if not audit.idle:
                if not audit.has_asked:
                    raise Fault(act, caller.call.request)
                self._append(audit, kind, DONE)

    @contextmanager
    def audited_batch(self, organizations: Collection[str]) -> Iterator[None]:
        """Run several acts as one transaction; if one is refused, only the refusals' entries stay.

        The acts write to these organizations alone.
        """
        self._batch.refusals = []
        try:
            with self._store.transaction(*organizations):
                yield
        finally:
            refusals, self._batch.refusals = self._batch.refusals, None
            if refusals:
                self._append_refusals(refusals)

    def log(
        self,
        caller: Caller,
        organization: str,
        act: str,
        kind: Kind,
        subjects: Sequence[str],
        outcome: str = DONE,
    ) -> None:
        """Write one entry a subject for an act that changed no record, such as a read."""
        with self._store.transaction(organization):
            for subject in subjects:
                self._append(AuditDraft(caller, act, organization, subject), kind, outcome)

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
        after: Mapping[str, int] | None = None,
        limit: int | None = None,
    ) -> list[Entry]:
        """Return the entries of the caller's organizations that meet every condition, newest first.

        `after` names organizations with the number of an entry: only those that follow it. Raises Forbidden if the caller is bound to a repository or a user.
        """
        policy.check_may_audit(caller)
        conditions = {"actor": actor, "act": act, "subject": subject, "outcome": outcome}
        equal = {name: value for name, value in conditions.items() if value is not None}
        found: list[Entry] = []
        for where in filters(self._store, caller):
            here = replace(narrowed(where, **equal), client=client)
            last = 0 if after is None else after.get(where.organization, 0)
            newest_first = self._store.each(Entry, here, ["-number"])
            entries = takewhile(partial(_follows, last), newest_first)
            found += islice((e for e in entries if since is None or e.at >= since), limit)
        found.sort(key=lambda e: (e.at, e.organization, e.number), reverse=True)
        return found[:limit]

    def ends(self, caller: Caller) -> dict[str, int]:
        """Return the number of the last entry of each of the caller's organizations.

        Raises Forbidden as `entries` does.
        """
        policy.check_may_audit(caller)
        heads = [self.head(where.organization) for where in filters(self._store, caller)]
        return {head.organization: head.number for head in heads if head is not None}

    def head(self, organization: str) -> Head | None:
        """Return the last entry's number and digest: note it elsewhere to prove the trail against it."""
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
        """Verify the trail of each of the caller's organizations.

        A noted head belongs to the one organization to which the caller is bound. Raises Forbidden
        if the caller may not read the trail.
        """
        policy.check_may_audit(caller)
        proofs = []
        for where in filters(self._store, caller):
            name = where.organization
            broken = self.verify(name, noted if name == caller.organization else None)
            proofs.append(Proof(name, self.head(name), broken))
        return proofs

    def _append_refusals(self, refusals: Sequence[_Refusal]) -> None:
        with self._store.transaction(*(each.audit.organization for each in refusals)):
            for each in refusals:
                self._append(each.audit, each.kind, each.outcome)

    def _append(self, audit: AuditDraft, kind: Kind, outcome: str) -> None:
        caller, (before, after) = audit.caller, audit.digests
        act = trail.Act(
            actor=caller.name,
            role=caller.role,
            act=audit.act,
            subject_kind=kind,
            subject=audit.subject[:LONGEST_WORD],
            request=caller.call.request[:LONGEST_WORD],
            outcome=outcome,
            before=before,
            after=after,
            token=caller.token,
            origin=caller.call.origin,
            # What is sealed can never be taken out again.
            reason=masked(caller.call.reason),
        )
        last = self.head(audit.organization)
        entry = trail.sealed(audit.organization, last, act, self._clock())
        self._store.put(entry)
        self._store.put(trail.head_of(entry))


def _follows(number: int, entry: Entry) -> bool:
    return entry.number > number
