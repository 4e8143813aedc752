"""Takes acts back: lists them, names obstacles, and puts their records back as they were."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from minutebook.app import App
from minutebook.ask.operation import is_at_keyboard
from minutebook.feature import entries_of
from minutebook.features.undo.images import KEPT_FOR
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
"""The reason in the trail of an act that takes another back, with the entry's number."""

MOST_ENTRIES = 2_000
"""The latest entries of the trail among which the last acts are searched; also the most entries of one act that is named."""

_PUT_BACK = frozenset(
    {
        *("created", "update", "remove", "restore", "delete", "invalidate", "reinstate"),
        *("verify", "deprecate", "link", "unlink", "create", "relate", UNDO),
        *("add_turn", "summarize", "delete_summaries"),
    }
)
"""The core's acts that are taken back by putting their records back."""

_ORDER = (Kind.ENTITY, Kind.MEMORY, Kind.LINK, Kind.RELATION, Kind.TURN, Kind.SUMMARY)
"""The kinds that are put back, each after those that it needs; records are removed in the reverse order."""

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
"""The remedies for acts that are not taken back by putting records back."""


@dataclass(frozen=True, slots=True)
class FoundAct:
    """An act, and the number of the act that took it back; None if none did."""

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
        return [
            each for each in self._acts_of_day(caller, actor) if _may_take_back(caller, each.act)
        ][:limit]

    def last(self, caller: Caller) -> FoundAct:
        """Return the caller's own last act that is no undo and was not taken back. Raises Conflict if there is none."""
        for each in self._acts_of_day(caller, caller.name):
            is_undo = each.act.naming_entry.act == UNDO
            if is_own(caller, each.act) and not is_undo and each.taken_by is None:
                return each
        raise Conflict("undo", "no act of yours in the last day is left to take back")

    def read(self, caller: Caller, name: str) -> FoundAct:
        """Return the act of the last day with an entry of this number; `@organization` may follow the number.

        Raises NotFound if there is none, Forbidden if it is another's, InvalidInput if the name is no number.
        """
        number, _, organization = name.partition("@")
        if not number.isascii() or not number.isdecimal():
            remedy = "must be a number as `minutebook undo --list` has them (got {name!r})"
            raise InvalidInput("N", remedy, name=name[:50])
        home = organization or default_organization(caller)
        if int(number[:18]) < 1:
            raise NotFound("act", name)
        for each in self._acts_of_day(caller, None, {home: int(number[:18]) - MOST_ENTRIES}):
            numbers = [entry.number for entry in each.act.entries]
            if each.act.last_entry.organization == home and int(number[:18]) in numbers:
                if not _may_take_back(caller, each.act):
                    reason = "it is an act of {name!r}; an administrator may take it back"
                    raise Forbidden(UNDO, reason, needs=Role.ADMIN, name=each.act.last_entry.actor)
                return each
        raise NotFound("act", name)

    def _acts_of_day(
        self, caller: Caller, actor: str | None, after: Mapping[str, int] | None = None
    ) -> list[FoundAct]:
        """Return the acts of the last day by an actor (None: all), the latest first.

        They are among the latest MOST_ENTRIES entries or, with `after`, among those that follow an entry's number,
        by organization.
        """
        since, limit = self._clock() - KEPT_FOR, MOST_ENTRIES if after is None else None
        entries_with = partial(self._trail.entries, caller, since=since, after=after, limit=limit)
        taken_by: dict[tuple[str, int], int] = {}
        for act in done_acts(entries_with(act=UNDO)):
            named = _TAKES_BACK.search(act.last_entry.reason)
            # An undo that was itself taken back, by a later act, has no effect any more.
            if named and _act_key(act) not in taken_by:
                taken_by[act.last_entry.organization, int(named[1])] = act.last_entry.number
        acts = done_acts(entries_with(actor=actor))
        return [FoundAct(each, taken_by.get(_act_key(each))) for each in acts]

    def prune(self) -> None:
        """Remove the images that are older than a day."""
        for organization in self._store.organizations():
            self._rows.prune(organization, self._clock() - KEPT_FOR)

    def obstacle(self, caller: Caller, found: FoundAct) -> str:
        """Return why an act cannot be taken back, with a remedy; empty if it can be."""
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
        """Return the records of an act that the caller may see, as they are now or, if they were removed, as they were."""
        home = act.last_entry.organization
        seen = self._records.seen_in(home, without_folder_scope(caller)).where(with_deleted=True)
        ids = [(kind, id) for kind, id in act.changes if kind not in (Kind.VERSION, Kind.LINK)]
        found = (self._stored(home, kind, id) or self._rows.latest(home, id) for kind, id in ids)
        return [each for each in found if isinstance(each, TextRecord) and seen.passes(each)]

    def take_back(self, caller: Caller, name: str) -> DoneAct:
        """Take an act back: put all of its records back as they were, or none.

        Raises NotFound, Forbidden if it is another's, Conflict if it cannot be taken back or a record was changed
        since, Refused if the caller may not write to a record.
        """
        caller = without_folder_scope(caller)
        return self._take_back(caller, self.read(caller, name))

    def take_back_entries(
        self, caller: Caller, organization: str, numbers: Iterable[int], *, is_any: bool = False
    ) -> None:
        """Take back the part of an act that consists of some entries, of any day.

        Raises Conflict as `take_back` does. For another's act it raises what `read` does, unless `is_any`: then the
        code that calls this has checked the permission.
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
        """Keep the images of some entries for ever if `is_lasting`, else for a day from now on."""
        at = datetime.max.replace(tzinfo=UTC) if is_lasting else self._clock()
        self._rows.set_at(organization, entries, at)

    def _take_back(self, caller: Caller, found: FoundAct) -> DoneAct:
        act = found.act
        if obstacle := self.obstacle(caller, found):
            raise Conflict(str(act.last_entry.number), obstacle)
        reason = f"takes back {act.naming_entry.act}, entry {act.last_entry.number}"
        caller = with_call(caller, reason=reason)
        undoing = self._undoing(caller, act)
        if undoing.run is None:
            self._put_back(caller, act, undoing.after)
        else:
            undoing.run(caller)
        return act

    def _undoing(self, caller: Caller, act: DoneAct) -> Undoing:
        """Return the way in which an act is taken back, as features or the core have it."""
        answers = (undoing_of(self._app, caller, act) for undoing_of in entries_of("undo"))
        ways = [each for each in answers if each]
        # Several features may have a part in one act, as when a suggestion is settled by a confirmation.
        undoing = _joined_undoing(ways) if ways else _undoing_of_core(act)
        if undoing == Undoing() and not _KINDS.issuperset(kind for kind, _ in act.changes):
            return Undoing(
                Reason("it made proposals, too: `minutebook tidy refuse ID` declines one")
            )
        return undoing

    def _check_as_left(self, act: DoneAct) -> None:
        """Raise Conflict if a record is not as the act left it, or its state before the act is unknown."""
        home, images = act.last_entry.organization, self._images(act)
        before = {
            (kind, id_in_trail(kind, id)): fingerprint(each) for (kind, id), each in images.items()
        }
        for (kind, id), change in act.changes.items():
            if kind in (Kind.VERSION, Kind.LINK):
                continue
            if not _is_as_left(self._stored(home, kind, id), change.after):
                raise Conflict(id, self._changed_since(act, id))
            if change.before and not is_same_state(before.get((kind, id), ""), change.before):
                raise Conflict(id, Reason("how it was before is not known any more"))
            if kind is Kind.MEMORY and not change.before and change.after:
                self._check_unlinked(act, id)

    def _changed_since(self, act: DoneAct, id: str) -> Reason:
        about = Filter(
            organization=act.last_entry.organization, equal={"subject": id, "outcome": DONE}
        )
        entries = self._store.find(Entry, about, order=("-number",), limit=1)
        for entry in [each for each in entries if each.number > act.last_entry.number]:
            return Reason(
                "{actor} changed it since ({act}, {at}); `minutebook show {id}` shows it",
                actor=entry.actor,
                act=Word(entry.act),
                at=f"{entry.at.astimezone():%Y-%m-%d %H:%M}",
                id=id,
            )
        return Reason("it was changed since; `minutebook show {id}` shows it", id=id)

    def _check_unlinked(self, act: DoneAct, id: str) -> None:
        """Raise Conflict if a memory that the act created was linked to another since."""
        for edge in self._store.edges(act.last_entry.organization, [id]):
            if (
                isinstance(edge, Link)
                and (Kind.LINK, id_in_trail(Kind.LINK, edge.id)) not in act.changes
            ):
                raise Conflict(
                    id,
                    Reason("another memory was linked to it since: `minutebook show {id}`", id=id),
                )

    def _put_back(
        self, caller: Caller, act: DoneAct, after: Callable[[Caller], object] | None
    ) -> None:
        """Put the records of an act back as they were, remove those that it created, and call `after`, in one transaction."""
        images = self._images(act)
        with self._trail.audited_batch([act.last_entry.organization]):
            self._check_as_left(act)
            for kind in _ORDER:
                for record in [each for each in images.values() if each.kind is kind]:
                    self._restore(caller, record, images)
            for kind in reversed(_ORDER):
                for left in self._records_left(act, kind):
                    if left is not None and (kind, left.id) not in images:
                        self._remove(caller, left)
            if after is not None:
                after(caller)
        self._app.writer.announce([None])

    def _records_left(self, act: DoneAct, kind: Kind) -> Sequence[Record | None]:
        """Return the records of a kind that an act changed as they are now; None for one that is not there.

        Links are found by their ends, because the trail has only digests of their ids.
        """
        ids = [id for each, id in act.changes if each is kind]
        if kind is not Kind.LINK or not ids:
            return [self._stored(act.last_entry.organization, kind, id) for id in ids]
        ends = {id for each, id in act.changes if each is Kind.MEMORY}
        ends |= {each.subject for each in act.entries}
        edges = self._store.edges(act.last_entry.organization, sorted(ends))
        return [
            each for each in edges if isinstance(each, Link) and id_in_trail(kind, each.id) in ids
        ]

    def _restore(
        self,
        caller: Caller,
        record: Record,
        images: Mapping[tuple[Kind, str], Record],
    ) -> None:
        """Put a record back as it was, in an act of its own; a memory whose text changes gets a new version."""
        current = self._stored(record.organization, record.kind, record.id)
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
        """Put a memory back as it was; one that was removed with its versions, from the images."""
        restored = replace(memory, updated_at=self._clock())
        if current is None:
            policy.check_may_write(caller, self._rules(), memory.type, memory.scope)
            self._store.put(restored)
            for each in images.values():
                if isinstance(each, Version) and each.memory == memory.id:
                    self._store.put(each)
            self._app.mentions.note(restored)
            return
        policy.check_may_change(caller, self._rules(), current)
        policy.check_may_set_status(caller, current.status, memory.status)
        if memory.text == current.text:
            # `updated_at` tells when somebody last said that it holds, so it goes back, too.
            self._store.put(replace(memory, version=current.version))
        else:
            self._app.writer.put(caller, replace(restored, version=current.version + 1), None)

    def _remove(self, caller: Caller, record: Record) -> None:
        """Remove a record that an act created, in an act of its own."""
        with self._audited(caller, record) as audit:
            self._check_owned(audit, record)
            if isinstance(record, Memory):
                policy.check_may_delete(caller, self._rules(), record)
                self._app.supersession.check_may_remove(caller, record)
                self._app.supersession.close_gap(record)
            elif not isinstance(record, Edge):
                author, origin = getattr(record, "author"), getattr(record, "origin", None)  # noqa: B009
                policy.check_may_remove_work_of(caller, responsible_author(author, origin))
            if isinstance(record, TextRecord):
                audit.changes(record.text, None)
            self._store.delete(type(record), record.organization, record.id)

    @contextmanager
    def _audited(self, caller: Caller, record: Record) -> Iterator[AuditDraft]:
        """Audit an undo of one record; for a link the entry names the memory from which it leads, as for `link`."""
        kind, subject = record.kind, record.id
        if isinstance(record, Link):
            kind, subject = Kind.MEMORY, record.source
        with self._trail.audited(caller, record.organization, UNDO, kind, subject) as audit:
            yield audit

    def _check_owned(self, audit: AuditDraft, record: Record) -> None:
        """Raise Forbidden if the caller may not write to a record; an edge has the scope of its ends."""
        is_owned = not isinstance(record, Edge) or self._has_ends(record)
        audit.check(*([self._records.owned_by(record)] if is_owned else []))
        audit.note_before(record)

    def _has_ends(self, edge: Edge) -> bool:
        kind = Kind.MEMORY if isinstance(edge, Link) else Kind.ENTITY
        ends = (edge.source, edge.target)
        return all(self._stored(edge.organization, kind, id) is not None for id in ends)

    def _stored(self, organization: str, kind: Kind, id: str) -> Record | None:
        return self._store.get(CLASSES[kind], organization, id)

    def _images(self, act: DoneAct) -> dict[tuple[Kind, str], Record]:
        """Return by kind and id the records of an act as they were before its first entry that changed them."""
        numbers, first_numbers = [each.number for each in act.entries], act.first_numbers
        return {
            (each.kind, each.id): each
            for number, each in self._rows.images_of(act.last_entry.organization, numbers)
            if first_numbers.get((each.kind, id_in_trail(each.kind, each.id))) == number
        }


def _undoing_of_core(act: DoneAct) -> Undoing:
    name = act.naming_entry.act
    if name in _OTHER_WAYS:
        return Undoing(_OTHER_WAYS[name])
    return Undoing() if name in _PUT_BACK else Undoing(Reason("nothing takes back such an act"))


def _joined_undoing(ways: Sequence[Undoing]) -> Undoing:
    """Return the ways for parts of one act as one way; an obstacle to one part is one to all."""

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


def _act_key(act: DoneAct) -> tuple[str, int]:
    return act.last_entry.organization, act.last_entry.number


def _may_take_back(caller: Caller, act: DoneAct) -> bool:
    return _is_steward(caller) or is_own(caller, act)


def is_own(caller: Caller, act: DoneAct) -> bool:
    """Tell whether the caller did an act."""
    return (act.last_entry.actor, act.last_entry.token) == (caller.name, caller.token)


def _is_as_left(record: Record | None, state: str) -> bool:
    """Tell whether a record has the fingerprint with which an act left it ("": removed), counts of changes aside."""
    if record is None or not state:
        return record is None and not state
    now = fingerprint(record)
    differing = changed_fields(record.kind, state, now)
    return is_same_state(now, state) or (differing is not None and differing <= COUNTING)


def _text(record: Record | None) -> str | None:
    return record.text if isinstance(record, TextRecord) else None


def take_back(app: App, caller: Caller, name: str) -> str:
    """Take an act back; return the address of the page of the day."""
    app.get(Undo).take_back(caller, name)
    return "/today"


def jobs(app: App) -> Iterable[Job]:
    """Yield the job that removes the images that are older than a day."""
    yield Job("undo", lambda _: app.get(Undo).prune(), "undo was not pruned")
