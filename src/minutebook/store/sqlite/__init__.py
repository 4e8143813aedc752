"""The embedded engine: one SQLite file that any number of processes share."""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import apsw

from minutebook.disk.encryption import Key, Keys
from minutebook.disk.network_files import network_type
from minutebook.domain.errors import StoreBusy
from minutebook.domain.filters import Filter
from minutebook.domain.records import Record, TextRecord
from minutebook.search.text import TextQuery
from minutebook.store.sidecar.words import match
from minutebook.store.sql import change_feed, side_tables
from minutebook.store.sql.checks import contradictions
from minutebook.store.sql.embeddings import forget_damaged
from minutebook.store.sql.store import SqlStore
from minutebook.store.sqlite import checks, log_damage, text_analysis, texts
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.counts import Counts
from minutebook.store.sqlite.errors import damaged
from minutebook.store.sqlite.indices import SqliteIndices
from minutebook.store.sqlite.missing_database import index_of
from minutebook.store.sqlite.snapshot import SqliteMoment
from minutebook.store.values import Candidate, T

_PATIENCE = 0.1
"""Seconds for which work in the background waits for its turn to write."""

log = logging.getLogger(__name__)


class SqliteStore(SqlStore):
    """A `Store` in one file, with a write-ahead log, a lock file and an index folder beside it.

    `durability="full"` waits until a write is on the disk; `"normal"` may lose the last moments
    when the machine (not the process) fails. A writer waits `writer_wait` seconds for others.
    Opening raises StoreError, StoreTooNew, StoreBusy or StoreDamaged, and StoreLost for a missing
    or empty file if its own traces, or files or folders of `beside`, show that there was a store. Only
    one that `receives` can be opened while records are being moved into it. The key of an encrypted file
    is taken from `keys`, or EncryptionKeyMissing is raised; a file that is made is encrypted with `new_key`.
    """

    recovery = "restore a backup"

    def __init__(
        self,
        path: Path,
        *,
        durability: Literal["full", "normal"] = "full",
        writer_wait: float = 30.0,
        beside: Sequence[Path] = (),
        receives: bool = False,
        keys: Keys | None = None,
        new_key: Key | None = None,
    ) -> None:
        self._path = path
        self._connections = Connections(
            path,
            keys=keys,
            new_key=new_key,
            beside=tuple(beside),
            synchronous=durability,
            writer_wait=writer_wait,
        )
        super().__init__(self._connections, receives=receives)

    def _prepare(self, want: Callable[[], None]) -> SqliteIndices:
        for sentence, remedy in self.file_faults():
            log.warning("%s Remedy: %s", sentence, remedy)
        indices = SqliteIndices(index_of(self._path), self._connections, self._spaces, want)
        self._counts = Counts(indices.columns)
        return indices

    def _first_named(
        self, number: int, of: type[Record], where: Filter, order: Sequence[str], needed: int
    ) -> Filter:
        return self._indices.named(number, of, where, order, needed)

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""
        number = self._connections.number_of(where.organization)
        if number is None:
            return 0
        with self._connections.reading() as connection:
            return self._counts.count(connection, number, of, where)

    def _ranked(
        self, number: int, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        view = None
        # Inside a transaction, for phrases and for few records the database itself has to, or is as quick.
        if not (query.phrases or self._connections.is_writing) and self._indices.is_large(
            number, of
        ):
            view = self._indices.prompt_words(number, of)
        if view is not None:
            return match(view, self._indices.conditions(number, of, where), query.terms, limit)
        with self._connections.snapshot() as connection:
            return texts.ranked(connection, number, of, where, query, limit)

    def _holding(self, number: int, of: type[T], where: Filter, phrase: Sequence[str]) -> list[T]:
        with self._connections.snapshot() as connection:
            return texts.holding(connection, number, of, where, phrase)

    @contextmanager
    def moment(self) -> Iterator[SqliteMoment]:
        """Open a snapshot of the whole file that can be copied; it may stay open long."""
        with self._connections.stream() as connection:
            yield SqliteMoment(connection.raw, self._connections.key)

    def check(self) -> list[str]:
        """Return the faults of the store, a sentence each; nothing if all is sound.

        What is derived is looked at only when what it is derived from is sound. Reads everything:
        some seconds for 100,000 records.
        """
        # A connection that searched before keeps a picture of the text index, and would take for
        # damage what another process has merged since.
        with self._connections.dedicated() as connection:
            wrong = list(checks.pages(connection.raw))
        if not wrong:
            with self._connections.snapshot() as connection:
                wrong = [*contradictions(connection), *texts.gaps(connection)]
        return wrong or list(self._indices.gaps())

    def rebuild(self) -> None:
        """Make SQLite's own indices, the text indices and those of the folder anew from the records.

        Raises StoreDamaged if rows contradict one another.
        """
        with self._connections.beside() as connection:
            try:
                connection.run("REINDEX")
            except apsw.ConstraintError as error:
                raise damaged(
                    "{path}: two rows have one key ({error})", path=self._path, error=error
                ) from error
        with self._connections.beside() as connection:
            forget_damaged(connection)
            texts.rebuild(connection)
        self._indices.rebuild()

    def scrub(self) -> list[str]:
        """Leave nothing of removed records in text indices, file, log and the indices beside it; return nothing.

        Copies of a damaged log go too, since they may hold it.
        Raises StoreBusy if somebody reads an old state for too long, StoreError if a file cannot be written.
        """
        with self._connections.beside() as connection:
            texts.purge(connection)
            if not side_tables.are_deletions_kept(connection):
                change_feed.forget_links(connection)
        self._connections.rewrite()
        self._indices.scrub()
        for copy in log_damage.kept(self._path):
            log.warning("%s is removed, since it may hold what was erased.", copy)
            copy.unlink()
        return []

    def to_analyse(self) -> int:
        """Count the texts with a text index that is being made anew, as another version analysed them."""
        with self._connections.reading() as connection:
            return text_analysis.remaining(connection)

    def check_writes(self) -> None:
        """Raise StoreError unless the file commits a write at this moment, StoreBusy where others write just now."""
        with self._connections.beside(wait=1.0) as connection:
            # The same number again, which is a page of the log all the same.
            connection.raw.pragma("user_version", connection.raw.pragma("user_version"))

    def file_faults(self) -> list[tuple[str, str]]:
        """Return the faults of the file's place and of its log, with the remedies.

        The place is wrong where several machines can have the file at once.
        """
        found = [
            (
                f"The write-ahead log of {self._path} was damaged: writes behind the damage were acknowledged "
                f"and could not be read. The log as it was is kept as {copy.name}.",
                "compare with `minutebook audit` what is missing, bring it back from a backup "
                "(`minutebook restore`) or write it anew, then remove that file",
            )
            for copy in log_damage.kept(self._path)
        ]
        kind = network_type(self._path)
        if kind is None:
            return found
        return [
            *found,
            (
                f"{self._path} is on a network file system ({kind}), where the locks of two machines "
                "do not see each other: used by both at once, the database would be damaged.",
                "keep the data directory on a disk of this machine (`--home`); several machines use a "
                "PostgreSQL server (the setting `store`), or `minutebook sync`",
            ),
        ]

    def _keep_house(self) -> None:
        if not self._is_open:
            return
        self._connections.checkpoint()
        self._indices.keep_up()
        if self.to_analyse():
            # Whoever else writes comes first, and a process that ends does not wait for them.
            with suppress(StoreBusy), self._connections.beside(_PATIENCE) as connection:
                text_analysis.advance(connection)
            self._housekeeper.want()
