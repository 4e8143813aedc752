"""Exports records into a folder: a Markdown note for each, which Obsidian opens, or a CSV file for each kind."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any

from minutebook.app import App
from minutebook.features.archives.notes.note_folder import TABLE, AgreedFile, NoteFolder
from minutebook.features.archives.notes.organization_notes import OrganizationNotes
from minutebook.memory.access.visibility import VisibleMoment
from minutebook.record import policy
from minutebook.record.caller import Caller
from minutebook.record.filters import default_organization
from minutebook.record.instants import rfc3339
from minutebook.record.json_lines import json_line
from minutebook.record.origin import Origin
from minutebook.record.reason import count_of
from minutebook.record.records import CLASSES, Edge, Kind, Record

IN_TABLES = (
    *(Kind.MEMORY, Kind.ENTITY, Kind.RELATION, Kind.LINK),
    *(Kind.DECISION, Kind.TURN, Kind.SUMMARY),
)
"""The kinds that have a table among CSV files."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The beginnings of cells that spreadsheets would run as formulas."""

_HEARD_EVERY = 100


@dataclass(frozen=True, slots=True)
class FolderExported:
    """The number of records in a folder by kind, and the numbers of files changed and removed.

    `kept` are files that were left as they are, because somebody else wrote or edited them.
    """

    path: Path
    counts: Counter[Kind]
    changed: int
    removed: int
    kept: tuple[str, ...]


class FolderExports:
    """Exports the records that the caller may see; only files that differ are written."""

    def __init__(self, app: App) -> None:
        self._store, self._trail = app.infrastructure.records, app.trail

    def notes(self, caller: Caller, folder: Path) -> FolderExported:
        """Write a note for each memory, entity, decision and session, joined by links.

        Raises Refused if the caller may not export, InvalidInput if the folder does not fit,
        StoreError if a file cannot be written.
        """
        return self._run(caller, folder, "markdown", _write_notes)

    def tables(self, caller: Caller, folder: Path) -> FolderExported:
        """Write a CSV file for each kind, with a row for each record. Raises as `notes` does."""
        return self._run(caller, folder, "csv", _write_tables)

    def _run(
        self,
        caller: Caller,
        folder: Path,
        form: str,
        write: "Callable[[list[VisibleMoment], NoteFolder, Caller], Counter[Kind]]",
    ) -> FolderExported:
        home = default_organization(caller)
        with self._trail.audit_refusals(caller, None, "export", Kind.MEMORY, form):
            policy.check_may_export(caller, whole=False)
        seen = self._store.seen_by(caller)
        target = NoteFolder(folder, "PATH")
        with seen.moments() as moments:
            # Before the first file is written, so that there is no file without an entry in the trail.
            for name in seen.organizations or [home]:
                self._trail.log(caller, name, "export", Kind.MEMORY, [f"{form}: {folder}"])
            counts = write(moments, target, caller)
        target.remove_others(lambda each: (each.kind == TABLE) is (form == "csv"))
        target.save()
        changed = (len(target.written), len(target.removed), tuple(target.kept))
        return FolderExported(folder, counts, *changed)


def _write_notes(moments: list[VisibleMoment], folder: NoteFolder, caller: Caller) -> Counter[Kind]:
    """Write the notes of all organizations; return their number by kind."""
    counts: Counter[Kind] = Counter()
    for moment in moments:
        for agreed, pieces in OrganizationNotes(
            moment, folder.paths_in(moment.organization)
        ).files():
            if counts.total() % _HEARD_EVERY == 0:
                caller.call.progress(0.0, f"{count_of(counts.total(), 'note')}")
            folder.write(agreed, pieces)
            counts[Kind(agreed.kind)] += 1
    return counts


def _write_tables(
    moments: list[VisibleMoment], folder: NoteFolder, caller: Caller
) -> Counter[Kind]:
    counts: Counter[Kind] = Counter()
    for number, kind in enumerate(IN_TABLES):
        caller.call.progress(number / len(IN_TABLES), f"{kind}")
        folder.write(AgreedFile(TABLE, "", "", f"{kind}.csv"), _rows(moments, kind, counts))
    return counts


def _rows(moments: list[VisibleMoment], kind: Kind, counts: Counter[Kind]) -> Iterator[bytes]:
    """Yield a heading, then a line for each record; edges only if the caller may see both ends."""
    of = CLASSES[kind]
    names = [each.name for each in fields(of)]
    yield _row(names)
    for moment in moments:
        seen = _ends(moment, of)
        for record in moment.each(of):
            if isinstance(record, Edge) and not {record.source, record.target} <= seen:
                continue
            counts[kind] += 1
            yield _row(_cell(getattr(record, name)) for name in names)


def _ends(moment: VisibleMoment, of: type[Record]) -> set[str]:
    """Return the ids of the records that edges of a class may join."""
    if not issubclass(of, Edge):
        return set()
    return {record.id for end in set(of.joins) for record in moment.each(end)}


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
