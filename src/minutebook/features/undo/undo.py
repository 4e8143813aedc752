"""Take acts back: list them, name the obstacles, put their records back as they were."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from minutebook.app import App
from minutebook.ask.operation import is_at_keyboard
from minutebook.feature import entries_of
from minutebook.features.undo.images import KEPT
from minutebook.features.undo.rows import ImageRows
from minutebook.memory.access.audit import AuditDraft
from minutebook.memory.jobs import Job
from minutebook.record import policy
from minutebook.record.caller import Caller, with_call, without_folder_scope
from minutebook.record.errors import Conflict, Forbidden, InvalidInput, NotFound
from minutebook.record.filters import Filter, default_organization
from minutebook.record.origin import responsible_author
from minutebook.record.reason import Reason, Word
from minutebook.record.records import (
    CLASSES,
    Edge,
    Entry,
    Kind,
    Link,
    Memory,
    Record,
    Role,
    TextRecord,
    Version,
)
from minutebook.record.trust.done_acts import DoneAct, Undoing, done_acts
from minutebook.record.trust.fingerprints import (
    COUNTING,
    changed_fields,
    fingerprint,
    id_in_trail,
    is_same_state,
)
from minutebook.record.trust.trail import DONE, UNDO

_TAKES_BACK = re.compile(r"^takes back [^,]*, entry (\d+)$")
"""The reason that the trail keeps of an act that takes another back."""

MOST_ENTRIES = 2_000
"""Entries of the trail in which the last acts are looked for, the latest; entries of one act that is named, at most."""

_PUT_BACK = frozenset(
    {
        *("created", "update", "remove", "restore", "delete", "invalidate", "reinstate"),
        *("verify", "deprecate", "link", "unlink", "create", "relate", UNDO),
        *("add_turn", "summarize", "delete_summaries"),
    }
)
"""The core's acts that are taken back by putting their records back."""

_ORDER = (Kind.ENTITY, Kind.MEMORY, Kind.LINK, Kind.RELATION, Kind.TURN, Kind.SUMMARY)
"""The kinds that are put back, each after those that it needs; they are removed the other way round."""

_KINDS = frozenset({*_ORDER, Kind.VERSION})
"""All kinds that are put back; decisions and proposals are in Git, tokens are secrets."""

_OTHER_WAYS = {
    "lock": Reason("`minutebook mark ID unlock` opens it again"),
    "unlock": Reason("`minutebook mark ID lock` locks it again"),
    "reset": Reason("all of it was removed for good; a backup may have it: `minutebook backup`"),
    "create_token": Reason("`minutebook token revoke ID` takes a token back"),
    "revoke_token": Reason("a revoked token stays so; `minutebook token create` makes another"),
    "rotate_token": Reason("the earlier secret is gone; `minutebook token rotate` makes another"),
}
"""What helps instead where a record is not put back."""


@dataclass(frozen=True, slots=True)
class FoundAct:
    """An act, and the number of the act that took it back, None if none did."""

    act: DoneAct
    taken_by: int | None


class Undo:
    """Lists the acts of the last day, and takes one back."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._store = app.infrastructure.store
        self._records = app.infrastructure.records
        self._trail = app.infrastructure.trail
        self._rows = ImageRows(app.infrastructure.database)
        self._rules = app.infrastructure.rules
        self._clock = app.infrastructure.clock
        self._embeddings = app.infrastructure.embeddings

    def acts(self, caller: Caller, limit: int) -> list[FoundAct]:
        """Return the acts of the last day that the caller may take back, the latest first.

        Raises Forbidden to callers that see a part of an organization.
        """
        actor = None if _is_steward(caller) else caller.name
        return [each for each in self._found(caller, actor) if _may(caller, each.act)][:limit]

    def last(self, caller: Caller) -> FoundAct:
        """Return the caller's own last act that takes none back and is not taken back. Raises Conflict if there is none."""
        for each in self._found(caller, caller.name):
            is_undo = each.act.named.act == UNDO
            if is_own(caller, each.act) and not is_undo and each.taken_by is None:
                return each
        raise Conflict("undo", "no act of yours in the last day is left to take back")

    def read(self, caller: Caller, name: str) -> FoundAct:
        """Return the act of the last day that ended with an entry of that number; `@organization` may follow.

        Raises NotFound, Forbidden if it is another's, InvalidInput for what is no number.
        """
        number, _, organization = name.partition("@")
        if not number.isascii() or not number.isdecimal():
            remedy = "must be a number as `minutebook undo --list` has them (got {name!r})"
            raise InvalidInput("N", remedy, name=name[:50])
        home = organization or default_organization(caller)
        if int(number[:18]) < 1:
            raise NotFound("act", name)
        for each in self._found(caller, None, {home: int(number[:18]) - MOST_ENTRIES}):
            numbers = [entry.number for entry in each.act.entries]
            if each.act.last.organization == home and int(number[:18]) in numbers:
                if not _may(caller, each.act):
                    reason = "it is an act of {name!r}; an administrator may take it back"
                    raise Forbidden(UNDO, reason, needs=Role.ADMIN, name=each.act.last.actor)
                return each
        raise NotFound("act", name)

    def _found(
        self, caller: Caller, actor: str | None, after: Mapping[str, int] | None = None
    ) -> list[FoundAct]:
        """Return the acts of the day: of the latest entries, or all that follow entries with some numbers."""
        since, limit = self._clock() - KEPT, MOST_ENTRIES if after is None else None
        looked_at = partial(self._trail.entries, caller, since=since, after=after, limit=limit)
        entries, undone = looked_at(actor=actor), looked_at(act=UNDO)
        taken: dict[tuple[str, int], int] = {}
        for act in done_acts(undone):
            named = _TAKES_BACK.search(act.last.reason)
            # One that was itself taken back, by a later act, takes nothing back any more.
            if named and _key(act) not in taken:
                taken[act.last.organization, int(named[1])] = act.last.number
        return [FoundAct(each, taken.get(_key(each))) for each in done_acts(entries)]

    def prune(self) -> None:
        """Remove the images that are older than a day."""
        for organization in self._store.organizations():
            self._rows.prune(organization, self._clock() - KEPT)

    def obstacle(self, caller: Caller, found: FoundAct) -> str:
        """Return why an act cannot be taken back, with a remedy; an empty text if it can."""
        act = found.act
        if (by := found.taken_by) is not None:
            return Reason("it was taken back; `minutebook undo {number}` does it again", number=by)
        undoing = self._undoing(caller, act)
        if undoing.obstacle or undoing.run is not None:
            return undoing.obstacle
        try:
            self._check_as_left(act)
        except Conflict as error:
            return error.reason
        return ""

    def subjects(self, caller: Caller, act: DoneAct) -> list[Record]:
        """Return the records of an act that the caller may see, as they are, or were if they are gone."""
        home = act.last.organization
        seen = self._records.seen_in(home, without_folder_scope(caller)).where(with_deleted=True)
        ids = [(kind, id) for kind, id in act.made if kind not in (Kind.VERSION, Kind.LINK)]
        found = (self._kept(home, kind, id) or self._rows.latest(home, id) for kind, id in ids)
        return [each for each in found if isinstance(each, TextRecord) and seen.passes(each)]

    def take_back(self, caller: Caller, name: str) -> DoneAct:
        """Take an act back: all of its records are as they were, or none.

        Raises NotFound, Forbidden if it is another's, Conflict if it cannot be taken back or a record was changed
        since, and what may not be written as any other act does.
        """
        caller = without_folder_scope(caller)
        return self._take_back(caller, self.read(caller, name))

    def take_back_entries(
        self, caller: Caller, organization: str, numbers: Iterable[int], *, is_any: bool = False
    ) -> None:
        """Take back the part of an act that has some entries, of any day; `is_any`: the caller has asked whether they may.

        Raises Conflict as `take_back` does; of another's act what `read` does.
        """
        ids = frozenset(map(str, numbers))
        where = Filter(organization=organization, ids=ids)
        entries = self._store.find(Entry, where, order=("number",)) if ids else []
        if not entries:
            raise Conflict(UNDO, Reason("how it was before is not known any more"))
        act = DoneAct(tuple(entries))
        for each in [] if is_any else entries:
            if not is_own(caller, DoneAct((each,))):
                self.read(caller, f"{each.number}@{organization}")
        self._take_back(without_folder_scope(caller), FoundAct(act, None))

    def keep(self, organization: str, entries: Sequence[int], *, is_lasting: bool) -> None:
        """Keep the images of some entries for good, or for a day from now on."""
        at = datetime.max.replace(tzinfo=UTC) if is_lasting else self._clock()
        self._rows.set_at(organization, entries, at)

    def _take_back(self, caller: Caller, found: FoundAct) -> DoneAct:
        act = found.act
        if obstacle := self.obstacle(caller, found):
            raise Conflict(str(act.last.number), obstacle)
        reason = f"takes back {act.named.act}, entry {act.last.number}"
        caller = with_call(caller, reason=reason)
        undoing = self._undoing(caller, act)
        if undoing.run is None:
            self._put_back(caller, act, undoing.after)
        else:
            undoing.run(caller)
        return act

    def _undoing(self, caller: Caller, act: DoneAct) -> Undoing:
        ways = [found for way in entries_of("undo") if (found := way(self._app, caller, act))]
        # A suggestion may be settled by confirming what nobody changes: both are taken back.
        undoing = _joined(ways) if ways else _of_core(act)
        if undoing == Undoing() and not _KINDS.issuperset(kind for kind, _ in act.made):
            return Undoing(
                Reason("it made proposals, too: `minutebook tidy refuse ID` declines one")
            )
        return undoing

    def _check_as_left(self, act: DoneAct) -> None:
        """Raise Conflict if a record is not as the act left it, or its state before is not known."""
        home, images = act.last.organization, self._images(act)
        before = {
            (kind, id_in_trail(kind, id)): fingerprint(each) for (kind, id), each in images.items()
        }
        for (kind, id), made in act.made.items():
            if kind in (Kind.VERSION, Kind.LINK):
                continue
            now = self._kept(home, kind, id)
            is_as_left = now is None if not made.after else _is(now, made.after)
            if not is_as_left:
                raise Conflict(id, self._changed_since(act, id))
            if made.before and not is_same_state(before.get((kind, id), ""), made.before):
                raise Conflict(id, Reason("how it was before is not known any more"))
            if kind is Kind.MEMORY and not made.before and made.after:
                self._check_alone(act, id)

    def _changed_since(self, act: DoneAct, id: str) -> Reason:
        about = Filter(organization=act.last.organization, equal={"subject": id, "outcome": DONE})
        entries = self._store.find(Entry, about, order=("-number",), limit=1)
        for entry in [each for each in entries if each.number > act.last.number]:
            return Reason(
                "{actor} changed it since ({act}, {at}); `minutebook show {id}` shows it",
                actor=entry.actor,
                act=Word(entry.act),
                at=f"{entry.at.astimezone():%Y-%m-%d %H:%M}",
                id=id,
            )
        return Reason("it was changed since; `minutebook show {id}` shows it", id=id)

    def _check_alone(self, act: DoneAct, id: str) -> None:
        """Raise Conflict if something else leads to a memory that the act made."""
        for edge in self._store.edges(act.last.organization, [id]):
            if (
                isinstance(edge, Link)
                and (Kind.LINK, id_in_trail(Kind.LINK, edge.id)) not in act.made
            ):
                raise Conflict(
                    id,
                    Reason("another memory was linked to it since: `minutebook show {id}`", id=id),
                )

    def _put_back(
        self, caller: Caller, act: DoneAct, after: Callable[[Caller], object] | None
    ) -> None:
        organization, images = act.last.organization, self._images(act)
        with self._trail.audited_batch([organization]):
            self._check_as_left(act)
            was = {(kind, id_in_trail(kind, id)): record for (kind, id), record in images.items()}
            for kind in _ORDER:
                for record in [each for key, each in was.items() if key[0] is kind]:
                    self._restore(caller, record, images)
            for kind in reversed(_ORDER):
                for record in [each for each in self._made(act, kind) if each is not None]:
                    if (kind, id_in_trail(kind, record.id)) not in was:
                        self._remove(caller, record)
            if after is not None:
                after(caller)
        self._app.writer.announce([None])

    def _made(self, act: DoneAct, kind: Kind) -> Sequence[Record | None]:
        """Return the records of a kind that an act left; of links the trail has digests of ids alone."""
        ids = [id for of, id in act.made if of is kind]
        if kind is not Kind.LINK or not ids:
            return [self._kept(act.last.organization, kind, id) for id in ids]
        ends = {id for of, id in act.made if of is Kind.MEMORY} | {e.subject for e in act.entries}
        edges = self._store.edges(act.last.organization, sorted(ends))
        return [
            each for each in edges if isinstance(each, Link) and id_in_trail(kind, each.id) in ids
        ]

    def _restore(
        self,
        caller: Caller,
        record: Record,
        images: Mapping[tuple[Kind, str], Record],
    ) -> None:
        """Put a record back as it was; a memory has a new version where its text is another, never fewer."""
        current = self._kept(record.organization, record.kind, record.id)
        with self._audited(caller, record) as audit:
            for each in filter(None, (current, record)):
                self._check_owned(audit, each)
            if isinstance(record, Memory):
                assert current is None or isinstance(current, Memory)
                self._restore_memory(caller, record, current, images)
            elif isinstance(record, Edge) and not self._has_ends(record):
                audit.changes_nothing()
                return
            else:
                self._store.put(record)
                self._app.mentions.note(record)
            if isinstance(record, TextRecord):
                audit.changes(_text(current), record.text)

    def _restore_memory(
        self,
        caller: Caller,
        memory: Memory,
        current: Memory | None,
        images: Mapping[tuple[Kind, str], Record],
    ) -> None:
        back = replace(memory, updated_at=self._clock())
        if current is None:
            policy.check_may_write(caller, self._rules(), memory.type, memory.scope)
            self._store.put(back)
            for each in images.values():
                if isinstance(each, Version) and each.memory == memory.id:
                    self._store.put(each)
            self._app.mentions.note(back)
            return
        policy.check_may_change(caller, self._rules(), current)
        policy.check_may_set_status(caller, current.status, back.status)
        back = replace(back, version=current.version)
        if back.text == current.text:
            # When it was last said to hold is as before, too.
            self._store.put(replace(back, updated_at=memory.updated_at))
        else:
            self._app.writer.put(caller, replace(back, version=current.version + 1), None)

    def _remove(self, caller: Caller, record: Record) -> None:
        """Remove a record that an act made."""
        with self._audited(caller, record) as audit:
            self._check_owned(audit, record)
            if isinstance(record, Memory):
                policy.check_may_delete(caller, self._rules(), record)
                self._app.supersession.check_may_leave(caller, record)
                self._app.supersession.close_gap(record)
            elif not isinstance(record, Edge):
                author, origin = getattr(record, "author"), getattr(record, "origin", None)  # noqa: B009
                policy.check_may_remove_work_of(caller, responsible_author(author, origin))
            if isinstance(record, TextRecord):
                audit.changes(record.text, None)
            self._store.delete(type(record), record.organization, record.id)

    @contextmanager
    def _audited(self, caller: Caller, record: Record) -> Iterator[AuditDraft]:
        """Begin the act on one record; that on a link is of the memory from which it leads, as `link` has it."""
        kind, subject = record.kind, record.id
        if isinstance(record, Link):
            kind, subject = Kind.MEMORY, record.source
        with self._trail.audited(caller, record.organization, UNDO, kind, subject) as audit:
            yield audit

    def _check_owned(self, audit: AuditDraft, record: Record) -> None:
        """Raise Forbidden if the caller may not write to a record; an edge belongs to its ends."""
        is_owned = not isinstance(record, Edge) or self._has_ends(record)
        audit.check(*([self._records.owned_by(record)] if is_owned else []))
        audit.note_before(record)

    def _has_ends(self, edge: Edge) -> bool:
        of = Kind.MEMORY if isinstance(edge, Link) else Kind.ENTITY
        ends = (edge.source, edge.target)
        return all(self._kept(edge.organization, of, id) is not None for id in ends)

    def _kept(self, organization: str, kind: Kind, id: str) -> Record | None:
        return self._store.get(CLASSES[kind], organization, id)

    def _images(self, act: DoneAct) -> dict[tuple[Kind, str], Record]:
        """Return the records as they were before the first entry of an act that changed them."""
        numbers, first = [each.number for each in act.entries], act.first
        return {
            (each.kind, each.id): each
            for number, each in self._rows.images_of(act.last.organization, numbers)
            if first.get((each.kind, id_in_trail(each.kind, each.id))) == number
        }


def _of_core(act: DoneAct) -> Undoing:
    name = act.named.act
    if name in _OTHER_WAYS:
        return Undoing(_OTHER_WAYS[name])
    return Undoing() if name in _PUT_BACK else Undoing(Reason("nothing takes back such an act"))


def _joined(ways: Sequence[Undoing]) -> Undoing:
    """Return one way of several, each for a part of one act: an obstacle to one stops all."""

    def after(caller: Caller) -> None:
        for each in ways:
            if each.after is not None:
                each.after(caller)

    obstacle = next((each.obstacle for each in ways if each.obstacle), "")
    run = next((each.run for each in ways if each.run), None)
    return Undoing(obstacle, run, after if any(each.after for each in ways) else None)


def _is_steward(caller: Caller) -> bool:
    """Tell whether the caller may take the acts of others back: an administrator, or the owner of this machine."""
    return caller.role is Role.ADMIN or (is_at_keyboard(caller) and caller.role is not Role.AGENT)


def _key(act: DoneAct) -> tuple[str, int]:
    return act.last.organization, act.last.number


def _may(caller: Caller, act: DoneAct) -> bool:
    return _is_steward(caller) or is_own(caller, act)


def is_own(caller: Caller, act: DoneAct) -> bool:
    """Tell whether the caller did an act."""
    return (act.last.actor, act.last.token) == (caller.name, caller.token)


def _is(record: Record | None, state: str) -> bool:
    """Tell whether a record is as an act left it, but for the fields that count its changes."""
    if record is None:
        return False
    now = fingerprint(record)
    differing = changed_fields(record.kind, state, now)
    return is_same_state(now, state) or (differing is not None and differing <= COUNTING)


def _text(record: Record | None) -> str | None:
    return record.text if isinstance(record, TextRecord) else None


def take_back(app: App, caller: Caller, name: str) -> str:
    """Take an act back; lead to the page of the day."""
    app.get(Undo).take_back(caller, name)
    return "/today"


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that removes the images that are older than a day."""
    yield Job("undo", lambda _: app.get(Undo).prune(), "undo was not pruned")
