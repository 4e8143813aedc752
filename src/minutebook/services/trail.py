"""Every act leaves an entry: in the transaction of the act, or in one of its own if refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from minutebook.domain import trail
from minutebook.domain.errors import Refused
from minutebook.domain.filters import Filter
from minutebook.domain.policy import Caller
from minutebook.domain.records import Entry, Kind
from minutebook.services.reach import Clock
from minutebook.store.protocol import Store


@dataclass(slots=True)
class Deed:
    """What the entry of an act under way will say beyond who, what and when."""

    organization: str
    subject: str
    digests: tuple[str, str] = ("", "")
    idle: bool = field(default=False)

    def changes(self, before: str | None, after: str | None) -> None:
        """Note the digests of a text as it was and as it is; None where there is none."""
        self.digests = (
            "" if before is None else trail.text_digest(before),
            "" if after is None else trail.text_digest(after),
        )

    def changes_nothing(self) -> None:
        """Leave no entry: nothing came of the act."""
        self.idle = True


class Trail:
    """Writes the audit trail and proves it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    @contextmanager
    def guard(
        self, caller: Caller, organization: str, act: str, kind: Kind, subject: str
    ) -> Iterator[None]:
        """Enter a refusal raised inside, then let it go on."""
        try:
            yield
        except Refused as refusal:
            deed = Deed(organization, subject)
            with self._store.transaction():
                self._enter(caller, deed, act, kind, type(refusal).__name__)
            raise

    @contextmanager
    def act(
        self, caller: Caller, organization: str, act: str, kind: Kind, subject: str
    ) -> Iterator[Deed]:
        """Run an act as one transaction that ends with its entry; a refusal is entered alone."""
        deed = Deed(organization, subject)
        with (
            self.guard(caller, organization, act, kind, subject),
            self._store.transaction(),
        ):
            yield deed
            if not deed.idle:
                self._enter(caller, deed, act, kind, "done")

    def first_break(self, organization: str) -> trail.Break | None:
        """Find where an organization's trail does not hold, or None."""
        entries = self._store.find(Kind.ENTRY, Filter(organization=organization), order=["number"])
        return trail.first_break(cast("list[Entry]", entries))

    def _enter(self, caller: Caller, deed: Deed, act: str, kind: Kind, outcome: str) -> None:
        here = Filter(organization=deed.organization)
        last = self._store.find(Kind.ENTRY, here, order=["-number"], limit=1)
        before, after = deed.digests
        said = trail.Act(
            actor=caller.name,
            role=caller.role,
            act=act,
            subject_kind=kind,
            subject=deed.subject,
            request=caller.request,
            outcome=outcome,
            before=before,
            after=after,
        )
        tail = cast("Entry", last[0]) if last else None
        self._store.put(trail.sealed(deed.organization, tail, said, self._clock()))
