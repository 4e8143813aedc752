"""What each caller may see and change, worked out from the contracts' table of one policy and not from the code.

It reads what is kept past the store, so that it knows what there is, and decides for itself who may know of it.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from minutebook.record.ids import id_of
from minutebook.record.records import (
    Edge,
    Entity,
    Kind,
    LedgerMark,
    Link,
    Memory,
    Mention,
    Record,
    Relation,
    Version,
)

SYSTEM = "~system"
STEWARDS = frozenset({"manager", "architect", "admin"})
PROTECTED = frozenset({"business_rule", "system_constraint"})
CANARY = re.compile(r"canary[0-9a-f]{8}", re.IGNORECASE)
ID = re.compile(
    r"(?<![0-9a-z])(?:[0-9a-z]{20}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?![0-9a-z])"
    r"|(?:decision|proposal)_\d{8}T\d{12}Z_[0-9a-f]{8}"
)
NAMES = frozenset(f"canary0000000{number}" for number in range(1, 7))
"""Canaries in the names of scopes, which stand in every record of theirs."""

Key = tuple[str, Kind, str]
Change = tuple[Record | None, Record | None]
"""A record before and after an act; None where there was or is none."""


@dataclass(frozen=True)
class Who:
    """A caller as the policy looks at them; None for a scope binds to none.

    `is_local` stands at the machine's own command line and shows no token; `is_narrowed` is in a repository
    by the context of a call alone, and the token names none.
    """

    name: str
    role: str
    organization: str | None = None
    repositories: frozenset[str] | None = None
    user: str | None = None
    is_local: bool = False
    is_narrowed: bool = False

    @property
    def is_repository_bound(self) -> bool:
        """Whether the token names repositories."""
        return self.repositories is not None and not self.is_local and not self.is_narrowed

    @property
    def is_held(self) -> bool:
        """Whether they see a part of their organization only."""
        return self.repositories is not None or self.user is not None

    def at(self, organization: str, repository: str) -> "Who":
        """The same as a context of governance narrows them; their token binds as before."""
        return replace(
            self,
            organization=organization,
            repositories=frozenset({repository}),
            is_narrowed=self.repositories is None,
        )

    def may_be_at(self, organization: str, repository: str) -> bool:
        """Whether a context of governance may name that place."""
        return self.organization in (None, organization) and (
            self.repositories is None or repository in self.repositories
        )


@dataclass(frozen=True)
class Place:
    """Whose a record is: an organization's, perhaps of one repository or one user alone."""

    organization: str
    repository: str | None = None
    user: str | None = None

    @property
    def is_wide(self) -> bool:
        """Whether it is the whole organization's."""
        return self.repository is None and self.user is None

    def holds(self, other: "Place") -> bool:
        """Whether everybody who sees what stands there sees what stands here."""
        return (
            self.organization == other.organization
            and self.repository in (None, other.repository)
            and self.user in (None, other.user)
        )


def sees_place(who: Who, place: Place) -> bool:
    """Read and search inside own scopes: the organization's and the system's; never another's."""
    return (
        (who.organization in (None, place.organization) or place.organization == SYSTEM)
        and (who.repositories is None or place.repository in (None, *who.repositories))
        and (who.user is None or place.user in (None, who.user))
    )


class View:
    """What is kept, as it was last looked at."""

    def __init__(self) -> None:
        self.records: Mapping[Key, Record] = {}
        self._canaries: dict[Key, frozenset[str]] = {}
        self._holders: dict[str, set[Key]] = {}
        self._named: dict[str, set[Key]] = {}

    def update(self, records: Mapping[Key, Record]) -> list[Change]:
        """Take what is kept now; what changed since."""
        before = self.records
        if records is before:
            return []
        keys = [key for key in {**before, **records} if before.get(key) is not records.get(key)]
        changed = [(before.get(key), records.get(key)) for key in keys]
        for key in keys:
            for canary in self._canaries.pop(key, ()):
                self._holders[canary].discard(key)
            if (record := records.get(key)) is not None:
                self._canaries[key] = canaries(repr(record))
                for canary in self._canaries[key]:
                    self._holders.setdefault(canary, set()).add(key)
                self._named.setdefault(record.id, set()).add(key)
        self.records = dict(records)
        return [each for each in changed if each[0] != each[1]]

    def of(self, kind: type[Record]) -> list[Any]:
        """All records of a kind, in the order of their ids."""
        found = [each for each in self.records.values() if type(each) is kind]
        return sorted(found, key=lambda each: (each.organization, each.id))

    def places(self, record: Record) -> Iterator[Place | None]:
        """Where a record stands: an edge where both of its ends do; None for nowhere."""
        if isinstance(record, Version):
            yield from self._end(Memory, record.organization, record.memory)
        elif isinstance(record, Edge):
            ends: tuple[type[Record], type[Record]] = (Memory, Memory)
            if isinstance(record, Relation):
                ends = (Entity, Entity)
            if isinstance(record, Mention):
                ends = (Memory, Entity)
            for kind, id in zip(ends, (record.source, record.target), strict=True):
                yield from self._end(kind, record.organization, id)
        else:
            yield place_of(record)

    def _end(self, kind: type[Record], organization: str, id: str) -> Iterator[Place | None]:
        end = self.records.get((organization, kind.kind, id))
        yield None if end is None else place_of(end)

    def sees(self, who: Who, record: Record) -> bool:
        """Whether a caller may know of a record."""
        return all(each is not None and sees_place(who, each) for each in self.places(record))

    def holders(self, canary: str) -> list[Record]:
        """The records that hold a canary."""
        return [self.records[key] for key in self._holders.get(canary, ())]

    def named(self, id: str) -> list[Record]:
        """The records that have an id."""
        return [self.records[key] for key in self._named.get(id, ()) if key in self.records]


def place_of(record: Record) -> Place:
    """Where a record that is no edge stands."""
    return Place(
        record.organization, getattr(record, "repository", None), getattr(record, "user", None)
    )


def canaries(text: str) -> frozenset[str]:
    """The canaries in a text."""
    return frozenset(each.lower() for each in CANARY.findall(text))


def leaks(view: View, who: Who, text: str, sent: str, gone: list[Change]) -> Iterator[str]:
    """What of a text its reader may not know: canaries and ids that they did not send themselves."""
    before = [each for each, _ in gone if each is not None]
    known = canaries(sent)
    for canary in canaries(text) - known:
        held = [*view.holders(canary), *(each for each in before if canary in canaries(repr(each)))]
        if not any(_saw(view, who, each) for each in held):
            where = sorted({f"{each.kind} {each.id}" for each in held})
            yield f"{canary} of {', '.join(where) or 'nothing that is kept'}"
    for shown in {*map(_plain, ID.findall(text))} - {*map(_plain, ID.findall(sent))}:
        named = view.named(shown)
        if named and not any(_saw(view, who, each) for each in named):
            yield f"the id {shown} of {named[0].kind} of {place_of(named[0])}"


def _plain(shown: str) -> str:
    return id_of(shown) or shown


def _saw(view: View, who: Who, record: Record) -> bool:
    # The old text of a memory that is gone by now is whose the memory was.
    if isinstance(record, Edge | Version) and None in list(view.places(record)):
        return who.organization in (None, record.organization)
    return view.sees(who, record)


def may_write_to(who: Who, place: Place, *, writes_system: bool) -> bool:
    """Whether the policy lets a caller write at all where a record stands, or is to stand."""
    if who.role == "viewer" or not sees_place(who, place):
        return False
    if who.is_repository_bound and place.is_wide:
        return False
    return place.organization != SYSTEM or writes_system


def trespasses(
    view: View,
    who: Who,
    changes: list[Change],
    sent: str,
    *,
    writes_system: bool,
    unlocks: bool,
) -> Iterator[str]:
    """What of the changes that an act made its caller may not make."""
    ended = {each.id for each, left in changes if each is not None and left is None}
    succeeded = {
        old.id: (old.superseded_by, new.superseded_by)
        for old, new in changes
        if isinstance(old, Memory) and isinstance(new, Memory)
        if old.superseded_by != new.superseded_by
    }
    for before, after in changes:
        record = after or before
        assert record is not None
        if isinstance(record, LedgerMark):
            continue
        if isinstance(record, Mention):
            if who.organization not in (None, record.organization):
                yield f"a mention in {record.organization} was changed"
            continue
        places = [
            place
            for each in (before, after)
            if each is not None
            for place in view.places(each)
            if place is not None
        ]
        if _follows(before, after, ended, succeeded):
            continue
        if isinstance(record, Link | Relation):
            # An edge stands where both ends are: it is wide if both are.
            narrow = [each for each in places if not each.is_wide]
            places = narrow or places
        for place in places:
            if not may_write_to(who, place, writes_system=writes_system):
                yield f"{record.kind} {record.id} of {place} was changed"
        yield from _broken_lock(who, before, after, unlocks=unlocks)
        yield from _carried_out(view, before, after, places, sent)


def _follows(
    before: Record | None,
    after: Record | None,
    ended: set[str],
    succeeded: Mapping[str, tuple[str | None, str | None]],
) -> bool:
    """Tell whether a change only keeps references whole, wherever the other end of them is.

    An edge goes with either of its ends, and when a memory gets another successor; what a memory took the place
    of names no successor that is gone, and is linked to the next one.
    """
    if isinstance(after, Link) and before is None and after.type == "supersedes":
        gone, following = succeeded.get(after.target, (None, None))
        return gone in ended and following == after.source
    if isinstance(before, Edge) and after is None:
        is_replaced = before.type == "supersedes" and before.target in succeeded
        return is_replaced or bool(ended & {before.source, before.target})
    if isinstance(before, Memory) and isinstance(after, Memory) and before.superseded_by in ended:
        rest = replace(before, superseded_by=after.superseded_by, status=after.status)
        return rest == after
    return False


def _broken_lock(
    who: Who, before: Record | None, after: Record | None, *, unlocks: bool
) -> Iterator[str]:
    if not isinstance(before, Memory) or before.locked_by is None:
        return
    if not isinstance(after, Memory):
        yield f"the locked memory {before.id} was removed"
    elif after.locked_by is None and not unlocks:
        yield f"the locked memory {before.id} was unlocked by an act that unlocks nothing"
    elif after.locked_by is not None:
        yield f"the locked memory {before.id} was changed"


def _carried_out(
    view: View, before: Record | None, after: Record | None, places: list[Place], sent: str
) -> Iterator[str]:
    """Name texts that came into a record, unsent, from where fewer people see them."""
    if after is None or isinstance(after, Edge | Version):
        return
    for canary in canaries(repr(after)) - canaries(repr(before)) - canaries(sent) - NAMES:
        others = [each for each in view.holders(canary) if each is not after]
        others = [each for each in others if not isinstance(each, Edge | Version)]
        there = [place for each in others for place in view.places(each) if place is not None]
        if there and not any(each.holds(place) for each in there for place in places):
            yield f"{canary} was carried out of {there[0]} to {after.kind} {after.id} of {places}"


@dataclass(frozen=True)
class Rule:
    """What the policy is asked for an act: by whom, in which store, through which contract."""

    who: Who
    policy: str
    contract: str

    @property
    def is_governed(self) -> bool:
        """Whether rules and shared scopes are kept from agents."""
        return self.policy == "governed" or self.contract == "governance"

    @property
    def writes_system(self) -> bool:
        """System scope: by catalog in an open store, else at the command line, in a governed one by stewards."""
        if self.who.is_local:
            return self.policy == "open" or self.who.role in STEWARDS
        return self.contract == "catalog" and self.policy == "open"

    def verdict(self, view: View, need: str, target: Record) -> str:
        """Say what an act on a record must come to: `unknown`, `refused`, `done`, or `free` if the table is silent.

        `need` is see, change, delete, lock, unlock, verify or supersede.
        """
        is_deleted = isinstance(target, Memory) and target.deleted_at is not None
        if not view.sees(self.who, target):
            return "unknown"
        if is_deleted:
            return "free" if self.who.is_local or self.contract == "typed" else "unknown"
        if need == "see":
            return "done"
        if self.who.role == "viewer":
            return "refused"
        (place,) = set(view.places(target))
        assert place is not None
        if not may_write_to(self.who, place, writes_system=self.writes_system):
            return "refused"
        if isinstance(target, Memory):
            return self._of_memory(need, target)
        if need == "supersede" and self.who.role == "agent":
            return "refused" if getattr(target, "authorship", "") == "human" else "free"
        return "free"

    def _of_memory(self, need: str, memory: Memory) -> str:
        is_agent, sets_status = self.who.role == "agent", self._sets_status
        if need == "unlock" and memory.locked_by is None and self.contract == "catalog":
            # What unlocks there is a status, which any other memory may get as well.
            need = "change"
        if need in ("lock", "unlock"):
            if self.who.role not in STEWARDS and not sets_status:
                return "refused"
            is_fitting = (memory.locked_by is None) is (need == "lock")
            return "done" if is_fitting and self.who.role in STEWARDS else "free"
        if memory.locked_by is not None:
            return "refused"
        if need == "verify":
            return "refused" if is_agent and not sets_status else "done"
        if is_agent and self.is_governed and memory.type in PROTECTED:
            return "refused"
        if (
            is_agent
            and self.contract == "governance"
            and memory.scope in ("organization", "system")
        ):
            return "refused"
        if is_agent and need == "delete" and memory.author != self.who.name:
            return "refused"
        return "done"

    @property
    def _sets_status(self) -> bool:
        return self.contract == "catalog" and self.policy == "open"
