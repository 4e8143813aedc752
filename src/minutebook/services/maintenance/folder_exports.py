"""Take records out into a folder: a Markdown note each, which Obsidian opens, or a CSV file a kind."""

import csv
import hashlib
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias

from minutebook.disk.mirrored_folder import MirroredFolder
from minutebook.domain import notes, policy
from minutebook.domain.caller import Caller
from minutebook.domain.filters import Filter, default_organization
from minutebook.domain.instants import rfc3339
from minutebook.domain.json_lines import json_line
from minutebook.domain.notes import Target
from minutebook.domain.origin import Origin
from minutebook.domain.records import (
    CLASSES,
    DEFAULT_ORGANIZATION,
    Decision,
    Edge,
    Entity,
    Kind,
    Link,
    Memory,
    Mention,
    Record,
    Relation,
    Summary,
    Turn,
)
from minutebook.domain.turns import turns_of
from minutebook.services.access.audit import Trail
from minutebook.services.access.visibility import filters
from minutebook.store.protocol import Snapshot, Store

IN_TABLES = (
    *(Kind.MEMORY, Kind.ENTITY, Kind.RELATION, Kind.LINK),
    *(Kind.DECISION, Kind.TURN, Kind.SUMMARY),
)
"""The kinds that have a table among CSV files."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that spreadsheets would run."""

_HEARD_EVERY = 100

_Links: TypeAlias = Mapping[str, list[tuple[str, Target]]]
"""By the id of a record, what it leads to: the type of the edge, and the note."""


@dataclass(frozen=True, slots=True)
class FolderExported:
    """How many records of which kinds a folder holds, and what was done to its files.

    `kept` names files that were left as they are, since somebody else wrote or edited them.
    """

    path: Path
    counts: Counter[Kind]
    changed: int
    removed: int
    kept: tuple[str, ...]


class FolderExports:
    """Writes what the caller may see; the same records make the same files, so that few are written."""

    def __init__(self, store: Store, trail: Trail) -> None:
        self._store = store
        self._trail = trail

    def notes(self, caller: Caller, folder: Path) -> FolderExported:
        """Write a note each memory, entity, decision and session, joined by links.

        Raises Refused if the caller may not export, InvalidInput if the folder does not fit,
        StoreError if a file cannot be written.
        """
        return self._run(caller, folder, "markdown", _Notes.write)

    def tables(self, caller: Caller, folder: Path) -> FolderExported:
        """Write a CSV file a kind, a record a row. Raises as `notes` does."""
        return self._run(caller, folder, "csv", _write_tables)

    def _run(
        self,
        caller: Caller,
        folder: Path,
        form: str,
        write: "Callable[[Snapshot, list[Filter], MirroredFolder, Caller], Counter[Kind]]",
    ) -> FolderExported:
        home = default_organization(caller)
        with self._trail.audit_refusals(caller, None, "export", Kind.MEMORY, form):
            policy.check_may_export(caller, whole=False)
        wheres = filters(self._store, caller)
        target = MirroredFolder(folder)
        with self._store.snapshot(*(where.organization for where in wheres)) as moment:
            # Before the first file is there: none is of which the trail knows nothing.
            for name in sorted({where.organization for where in wheres} or {home}):
                self._trail.log(caller, name, "export", Kind.MEMORY, [f"{form}: {folder}"])
            counts = write(moment, wheres, target, caller)
        target.finish()
        return FolderExported(folder, counts, target.changed, target.removed, tuple(target.kept))


class _Notes:
    """The notes of one organization."""

    @staticmethod
    def write(
        moment: Snapshot, wheres: list[Filter], folder: MirroredFolder, caller: Caller
    ) -> Counter[Kind]:
        """Write the notes of all organizations; return how many of each kind."""
        counts: Counter[Kind] = Counter()
        for where in wheres:
            work = _Notes(moment, where)
            for kind, name, pieces in work.files():
                if counts.total() % _HEARD_EVERY == 0:
                    caller.call.progress(0.0, f"{counts.total():,} notes")
                folder.write(name, pieces)
                counts[kind] += 1
        return counts

    def __init__(self, moment: Snapshot, where: Filter) -> None:
        self._moment = moment
        self._where = where
        name = where.organization
        self._root = "" if name == DEFAULT_ORGANIZATION else f"organizations/{notes.slug(name)}/"
        self._targets: dict[str, Target] = {}
        self._paths: set[str] = set()
        for memory in moment.each(Memory, where):
            self._name("memories", notes.memory_label(memory), memory.id)
        for entity in moment.each(Entity, where):
            self._name("entities", entity.name, entity.id)
        for decision in moment.each(Decision, where):
            self._name("decisions", decision.title, decision.id)

    def files(self) -> Iterator[tuple[Kind, str, Iterable[bytes]]]:
        """Yield kind, name and content of each note."""
        links = self._links(Mention, Link)
        for memory in self._moment.each(Memory, self._where):
            own = links.get(memory.id, [])
            if memory.superseded_by in self._targets:
                own = [("superseded_by", self._targets[memory.superseded_by]), *own]
            yield self._file(memory, notes.memory_note(memory, own))
        links = self._links(Relation)
        for entity in self._moment.each(Entity, self._where):
            yield self._file(entity, notes.entity_note(entity, links.get(entity.id, [])))
        for decision in self._moment.each(Decision, self._where):
            own = [
                (type, self._targets[id])
                for type, ids in (
                    ("supersedes", decision.supersedes),
                    ("superseded_by", decision.superseded_by),
                )
                for id in ids
                if id in self._targets
            ]
            yield self._file(decision, notes.decision_note(decision, own))
        yield from self._sessions()

    def _sessions(self) -> Iterator[tuple[Kind, str, Iterable[bytes]]]:
        """Yield the sessions one by one; of their turns no more than ids are held."""
        firsts: dict[tuple[str, str | None, str | None], Turn] = {}
        for turn in self._moment.each(Turn, self._where):
            key = (turn.session, turn.repository, turn.user)
            first = firsts.get(key)
            if first is None or turn.at < first.at:
                firsts[key] = replace(turn, prompt="", thought="", response="")
        for (session, repository, user), first in firsts.items():
            here = turns_of(self._where.organization, session, repository, user)
            summary = next(iter(self._moment.each(Summary, here)), None)
            turns = sorted(self._moment.each(Turn, here), key=lambda turn: (turn.at, turn.id))
            whose = hashlib.sha256(json_line({"": [session, repository, user]})).hexdigest()
            target = notes.target_of(f"{self._root}sessions", session, whose)
            pieces = notes.session_note(session, first, summary, turns)
            yield Kind.TURN, f"{target.path}.md", (piece.encode() for piece in pieces)

    def _name(self, folder: str, label: str, id: str) -> None:
        target = notes.target_of(f"{self._root}{folder}", label, id)
        if target.path in self._paths:
            # Two ids that end alike: the other's note must stay.
            whole = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
            target = replace(target, path=f"{target.path}-{whole}")
        self._paths.add(target.path)
        self._targets[id] = target

    def _file(self, record: Record, text: str) -> tuple[Kind, str, Iterable[bytes]]:
        return record.kind, f"{self._targets[record.id].path}.md", [text.encode()]

    def _links(self, *classes: type[Edge]) -> _Links:
        """Return what the records lead to, as far as the caller may see it, in the order of the notes."""
        links: dict[str, list[tuple[str, Target]]] = defaultdict(list)
        everything = Filter(organization=self._where.organization)
        for of in classes:
            for edge in self._moment.each(of, everything):
                if edge.source in self._targets and edge.target in self._targets:
                    links[edge.source].append((edge.type, self._targets[edge.target]))
        for own in links.values():
            own.sort(key=lambda link: (link[0], link[1].path))
        return links


def _write_tables(
    moment: Snapshot, wheres: list[Filter], folder: MirroredFolder, caller: Caller
) -> Counter[Kind]:
    counts: Counter[Kind] = Counter()
    for number, kind in enumerate(IN_TABLES):
        caller.call.progress(number / len(IN_TABLES), f"{kind}")
        folder.write(f"{kind}.csv", _rows(moment, wheres, kind, counts))
    return counts


def _rows(
    moment: Snapshot, wheres: list[Filter], kind: Kind, counts: Counter[Kind]
) -> Iterator[bytes]:
    """Yield a heading, then a line a record; edges only where the caller may see both ends."""
    of = CLASSES[kind]
    names = [each.name for each in fields(of)]
    yield _row(names)
    for where in wheres:
        seen = _ends(moment, where, of)
        for record in moment.each(of, where):
            if isinstance(record, Edge) and not {record.source, record.target} <= seen:
                continue
            counts[kind] += 1
            yield _row(_cell(getattr(record, name)) for name in names)


def _ends(moment: Snapshot, where: Filter, of: type[Record]) -> set[str]:
    """Return the ids of what edges of a class may join."""
    if not issubclass(of, Edge):
        return set()
    return {record.id for end in set(of.joins) for record in moment.each(end, where)}


def _row(cells: Iterable[str]) -> bytes:
    line = io.StringIO()
    csv.writer(line, lineterminator="\r\n").writerow(cells)
    return line.getvalue().encode("utf-8", "replace")


def _cell(value: Any) -> str:
    """Return a value as a cell: instants as RFC 3339, lists and objects as JSON; no cell is a formula."""
    match value:
        case None:
            return ""
        case datetime():
            return rfc3339(value)
        case Origin():
            return json_line(value.parts).decode().strip() if value.parts else ""
        case Mapping():
            return json_line(dict(value)).decode().strip()
        case tuple() | list():
            return json_line({"": list(value)}).decode().strip()[4:-1]
        case str():
            return f"'{value}" if value.startswith(_FORMULA) else str(value)
        case _:
            return str(value)
