"""Exports records into a file, and imports them again."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from minutebook.app import App
from minutebook.config.places import data_directory
from minutebook.features.archives.archive_file import ArchiveWriter, JournalWriter, reading
from minutebook.features.archives.archive_lines import JOURNAL, KINDS, Mode, Owner
from minutebook.features.archives.archive_paths import ArchivePath, ArchivePaths
from minutebook.features.archives.importing import REPORT_EVERY, Import, Imported, verified
from minutebook.features.archives.settings import ArchiveSettings
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.memory.access.visibility import VisibleMoment
from minutebook.record import policy
from minutebook.record.caller import Caller, without_folder_scope
from minutebook.record.errors import Forbidden, InvalidInput
from minutebook.record.filters import default_organization, repository_of
from minutebook.record.records import CLASSES, Authorship, Kind, Record, Role
from minutebook.record.rights.roots import Roots
from minutebook.record.writing.decision_drafts import authorship_of
from minutebook.store.disk.atomic_file import new_file
from minutebook.store.disk.encryption import encrypting

EXPORT, IMPORT = "export", "import"


@dataclass(frozen=True, slots=True)
class Exported:
    """An exported file, and the number of its records by kind."""

    path: Path
    called: str
    """The name by which the caller knows the file."""
    counts: Mapping[Kind, int]


class Archives:
    """Exports records as lines of JSON, and imports them all or none.

    A file in the data directory of an encrypted store is encrypted; one elsewhere is plain.
    """

    def __init__(self, app: App) -> None:
        self._directory = data_directory(app.settings)
        self._infrastructure = app.infrastructure
        self._store, self._trail = app.infrastructure.records, app.trail
        self._embeddings, self._mentions = app.embeddings, app.mentions
        self._rebuilds = app.get(Rebuilds)
        settings = app.settings.of(ArchiveSettings)
        self._paths = ArchivePaths(settings.backups, Roots(settings.archive_roots, app.home))
        self._clock, self._rules = app.clock, app.rules

    def export(self, caller: Caller, kinds: Collection[Kind], path: str | None = None) -> Exported:
        """Write the records of some kinds that the caller may see to a new file below the allowed folders.

        Without a path the file is named after the present instant. Raises Refused if the caller may
        not export, InvalidInput if the path does not fit, StoreError if the file cannot be written.
        """
        self._check_may_export(caller, kinds)
        return self._write(
            caller, kinds, self._paths.new(caller, path, self._clock()), self._writer
        )

    def export_to(self, caller: Caller, kinds: Collection[Kind], path: Path) -> Exported:
        """Export as `export` does, to any path; for a person at the command line."""
        self._check_may_export(caller, kinds)
        return self._write(caller, kinds, ArchivePath(path, str(path)), self._writer)

    def export_journal_to(self, caller: Caller, path: Path) -> Exported:
        """Write turns and summaries to any path in the journal's published data model.

        It has no fields for scope, author and provenance: an import gives the records those of its caller.
        """
        self._check_may_export(caller, JOURNAL)
        archive = ArchivePath(path, str(path))
        return self._write(caller, JOURNAL, archive, lambda file, _: JournalWriter(file))

    def import_(self, caller: Caller, path: str, mode: Mode) -> Imported:
        """Import the turns and summaries of a file below the allowed folders, all or none.

        Raises Refused if the caller may not, InvalidInput if the path does not fit, InvalidArchive, with the line, if the
        file does not.
        """
        return self._read(caller, self._paths.known(caller, path), mode, again=True)

    def import_from(
        self,
        caller: Caller,
        path: Path,
        mode: Mode,
        *,
        is_own: bool = False,
        again: bool = False,
    ) -> Imported:
        """Import any records from any path; for the owner of an open store at the command line, else for an admin.

        A whole store's archive can be merged only. Existing memories with their versions, projects with
        their files and an organization's trail stay as they are. If the archive `is_own`, of another store of the
        same person, its claims about who wrote, verified, locked and decided are believed, and its trail is imported.
        Records that acts naming them removed here are left out, unless `again`.
        """
        archive = ArchivePath(path, str(path))
        return self._read(caller, archive, mode, is_own=is_own, again=again)

    def _read(
        self,
        caller: Caller,
        archive: ArchivePath,
        mode: Mode,
        *,
        is_own: bool = False,
        again: bool,
    ) -> Imported:
        kinds: Collection[Kind] = JOURNAL
        with self._trail.audit_refusals(caller, None, IMPORT, _subject(kinds), "archive"):
            policy.check_may_import(caller, self._rules(), whole=False)
            if is_own and authorship_of(caller) is Authorship.AGENT:
                reason = "the role {role} may not say whose a file is; a person may"
                raise Forbidden(IMPORT, reason, needs=Role.HUMAN, role=caller.role)
            # An import does not depend on the folder that the caller works in.
            caller = without_folder_scope(caller)
            owner = Owner(
                default_organization(caller), repository_of(caller), caller.user, caller.name
            )
        with reading(archive, owner, self._directory.keys) as reader:
            checked = verified(caller, reader)
            kinds = reader.counts
            with self._trail.audit_refusals(caller, None, IMPORT, _subject(kinds), reader.digest):
                policy.check_may_import(caller, self._rules(), whole=_is_whole(kinds))
                if _is_whole(kinds) and mode is Mode.REPLACE:
                    raise InvalidInput("mode", "must be merge for an archive of a whole store")
                work = Import(
                    self._infrastructure, self._mentions, caller, mode, is_own=is_own, again=again
                )
                # First the ledger's lock, then the store's, in the same order as for recording a decision.
                with (
                    self._rebuilds.rebuilding(checked.decided) as rebuildings,
                    self._store.transaction(*work.organizations(checked)),
                ):
                    work.run(reader, checked, rebuildings)
        self._embeddings.notify()
        return work.report

    def _writer(self, file: BinaryIO, counts: Mapping[Kind, int]) -> ArchiveWriter:
        return ArchiveWriter(file, self._clock(), counts)

    def _write(
        self,
        caller: Caller,
        kinds: Collection[Kind],
        archive: ArchivePath,
        writer_of: Callable[[BinaryIO, Mapping[Kind, int]], ArchiveWriter | JournalWriter],
    ) -> Exported:
        seen = self._store.seen_by(without_folder_scope(caller)).where(with_deleted=True)
        with seen.moments() as moments:
            parts = _parts(moments, kinds)
            counts: Counter[Kind] = Counter(dict.fromkeys(kinds, 0))
            for kind, _, size in parts:
                counts[kind] += size
            key = self._store.key if self._directory.holds(archive.path) else None
            with new_file(archive.path, archive.called) as plain, encrypting(plain, key) as file:
                writer = writer_of(file, counts)
                for done, record in enumerate(_records(parts)):
                    if done % REPORT_EVERY == 0:
                        caller.call.progress(done / counts.total(), f"record {done:,}")
                    writer.add(record)
                digest = writer.seal()
                # Before the file gets its name, so that there is no file without an entry in the trail.
                with self._store.transaction(*{moment.organization for _, moment, _ in parts}):
                    for kind, moment, size in parts:
                        if size:
                            self._trail.log(caller, moment.organization, EXPORT, kind, [digest])
        return Exported(archive.path, archive.called, counts)

    def _check_may_export(self, caller: Caller, kinds: Collection[Kind]) -> None:
        with self._trail.audit_refusals(caller, None, EXPORT, _subject(kinds), "archive"):
            policy.check_may_export(caller, whole=_is_whole(kinds))


_Part = tuple[Kind, VisibleMoment, int]
"""A kind, the reader of an organization's records, and their number."""


def _parts(moments: Sequence[VisibleMoment], kinds: Collection[Kind]) -> list[_Part]:
    return [
        (kind, moment, moment.count(CLASSES[kind]))
        for kind in KINDS
        if kind in kinds
        for moment in moments
    ]


def _records(parts: Sequence[_Part]) -> Iterator[Record]:
    for kind, moment, _ in parts:
        yield from moment.each(CLASSES[kind])


def _is_whole(kinds: Collection[Kind]) -> bool:
    """Tell whether kinds are more than those of sessions."""
    return not set(kinds) <= set(JOURNAL)


def _subject(kinds: Collection[Kind]) -> Kind:
    return min(kinds, default=Kind.TURN)
