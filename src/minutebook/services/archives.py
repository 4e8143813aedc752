"""Take records out into a file, and bring them in again."""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from minutebook.domain import policy
from minutebook.domain.archive import JOURNAL, KINDS, Mode, Owner, whole_of
from minutebook.domain.errors import InvalidArchive, InvalidInput, StoreError
from minutebook.domain.filters import Filter, home_of, repository_of
from minutebook.domain.instants import rfc3339
from minutebook.domain.lines import line_of
from minutebook.domain.policy import Caller
from minutebook.domain.records import Edge, Entity, Kind, Memory, Record, Summary, Turn
from minutebook.services.archive_file import Reader, Writer, reading
from minutebook.services.ledgers import Ledgers
from minutebook.services.mentions import Mentions
from minutebook.services.new_file import new_file
from minutebook.services.reach import Clock, filters
from minutebook.services.trail import Trail
from minutebook.services.vectors import Embedded
from minutebook.store.protocol import Snapshot, Store

EXPORT, IMPORT = "export", "import"
SUFFIX = ".jsonl"

_HEARD_EVERY = 1000
_KEY_BYTES = 16

Keys: TypeAlias = NDArray[np.bytes_]
"""A digest a record, sorted; shape (records,)."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A file that was made, and how many records of which kinds it holds."""

    path: Path
    counts: Mapping[Kind, int]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, by kind.

    `skipped` were there already. `removed` were not in the archive, which replaced them. `kept`
    would have been removed or changed, were they the caller's to change.
    """

    mode: Mode
    imported: Counter[Kind] = field(default_factory=Counter)
    skipped: Counter[Kind] = field(default_factory=Counter)
    removed: Counter[Kind] = field(default_factory=Counter)
    kept: Counter[Kind] = field(default_factory=Counter)


class Archives:
    """Exports records as lines of JSON, and imports them all or none.

    `roots` are the folders where callers may name files; the first is where files go that nobody
    named, and is made on first use.
    """

    def __init__(
        self,
        store: Store,
        trail: Trail,
        embedded: Embedded,
        mentions: Mentions,
        ledgers: Ledgers,
        roots: Sequence[Path],
        clock: Clock,
    ) -> None:
        self._store = store
        self._trail = trail
        self._embedded = embedded
        self._mentions = mentions
        self._ledgers = ledgers
        self._roots = roots
        self._clock = clock

    def export(self, caller: Caller, kinds: Collection[Kind], path: str | None = None) -> Exported:
        """Write what the caller may see of some kinds to a new file below the roots.

        Raises Refused, InvalidInput for a path, StoreError where the file cannot be written.
        """
        with self._trail.guard(caller, home_of(caller), EXPORT, _subject(kinds), "archive"):
            policy.check_may_export(caller, whole=_is_whole(kinds))
        return self.export_to(caller, kinds, self._new_path(path))

    def export_to(self, caller: Caller, kinds: Collection[Kind], path: Path) -> Exported:
        """Do the same wherever a person at the command line says."""
        with self._trail.guard(caller, home_of(caller), EXPORT, _subject(kinds), "archive"):
            policy.check_may_export(caller, whole=_is_whole(kinds))
        with self._store.snapshot() as moment:
            parts = [
                (kind, replace(where, with_deleted=True))
                for kind in KINDS
                if kind in kinds
                for where in filters(moment, caller)
            ]
            sizes = [moment.count(kind, where) for kind, where in parts]
            counts: Counter[Kind] = Counter(dict.fromkeys(kinds, 0))
            for (kind, _), size in zip(parts, sizes, strict=True):
                counts[kind] += size
            with new_file(path) as file:
                writer = Writer(file, self._clock(), counts)
                for record in _heard(caller, _all(moment, parts), sum(sizes)):
                    writer.add(line_of(record))
                digest = writer.seal()
        with self._store.transaction():
            for (kind, where), size in zip(parts, sizes, strict=True):
                if size:
                    self._trail.note(caller, where.organization, EXPORT, kind, [digest])
        return Exported(path, counts)

    def import_(self, caller: Caller, path: str, mode: Mode) -> Imported:
        """Bring in the turns and summaries of a file below the roots, all or none.

        Raises Refused, InvalidInput for a path, InvalidArchive with the line that does not hold.
        """
        policy.check_may_import(caller, whole=False)
        return self.import_from(caller, self._known_path(path), mode)

    def import_from(self, caller: Caller, path: Path, mode: Mode) -> Imported:
        """Do the same, and bring in other kinds too, from wherever a person says."""
        owner = Owner(home_of(caller), repository_of(caller), caller.user, caller.name)
        with reading(path, owner) as reader:
            keys = _verified(caller, reader)
            kinds = reader.counts
            is_whole = _is_whole(kinds)
            with ExitStack() as act:
                said = (caller, home_of(caller), IMPORT, _subject(kinds), reader.digest)
                act.enter_context(self._trail.guard(*said))
                policy.check_may_import(caller, whole=is_whole)
                if is_whole and mode is Mode.REPLACE:
                    raise InvalidInput("mode", "must be merge for an archive of the whole store")
                act.enter_context(self._store.transaction())
                done = _Import(self, caller, mode, reader)
                done.take_all()
                if mode is Mode.REPLACE:
                    done.remove_others(keys)
                done.end()
        self._embedded.want()
        return done.told


class _Import:
    """One import under way, inside its transaction."""

    def __init__(self, archives: Archives, caller: Caller, mode: Mode, reader: Reader) -> None:
        self._of = archives
        self._caller = caller
        self._mode = mode
        self._reader = reader
        self._touched: set[tuple[str, Kind]] = set()
        self.told = Imported(mode)
