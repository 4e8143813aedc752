"""The upkeep of a SQLite file, its text indices and the indices in the folder beside it."""

import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import apsw

from minutebook.record.errors import StoreBusy
from minutebook.store.sql import change_feed, side_tables
from minutebook.store.sql.embeddings import forget_damaged
from minutebook.store.sql.upkeep import Upkeep, contradictions
from minutebook.store.sqlite import log_damage, text_analysis, texts
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.damage import page_faults
from minutebook.store.sqlite.errors import damaged
from minutebook.store.sqlite.indices import SqliteIndices
from minutebook.store.sqlite.missing_database import index_of

_PATIENCE = 0.1
"""Seconds that work in the background waits for its turn to write."""

log = logging.getLogger(__name__)


class SqliteUpkeep(Upkeep):
    """`Upkeep` of one file."""

    indices: SqliteIndices

    def __init__(self, path: Path, connections: Connections, *, receives: bool) -> None:
        super().__init__(connections, receives=receives)
        self._path = path
        self._connections = connections

    def _prepare(self, want: Callable[[], None]) -> None:
        for sentence, remedy in self._connections.file_faults():
            log.warning("%s Remedy: %s", sentence, remedy)
        self.indices = SqliteIndices(index_of(self._path), self._connections, self.spaces, want)

    def check(self) -> list[str]:
        """Return the faults of the store, a sentence each; nothing if all is sound.

        Derived data is checked only if the records are sound. Reads everything:
        some seconds for 100,000 records.
        """
        # A connection that searched before caches the structure of the text index, and would take
        # a merge by another process for damage.
        with self._connections.dedicated() as connection:
            wrong = list(page_faults(connection.raw))
        if not wrong:
            with self._connections.snapshot() as connection:
                wrong = [*contradictions(connection), *texts.gaps(connection)]
        return wrong or list(self.indices.gaps())

    def rebuild(self) -> None:
        """Make SQLite's own indices, the text indices and those in the folder anew from the records.

        Raises StoreDamaged if rows contradict one another.
        """
        with self._connections.writing_outside_feed() as connection:
            try:
                connection.run("REINDEX")
            except apsw.ConstraintError as error:
                raise damaged(
                    "{path}: two rows have one key ({error})", path=self._path, error=error
                ) from error
        with self._connections.writing_outside_feed() as connection:
            forget_damaged(connection)
            texts.rebuild(connection)
        self.indices.rebuild()

    def scrub(self) -> list[str]:
        """Remove every byte of removed records from text indices, file, log and indices beside it; leave no step to a person.

        Copies of a damaged log are removed too, since they may hold such records.
        Raises StoreBusy if a process reads an old state for too long, StoreError if a file cannot be written.
        """
        # First the indices, because they learn of removed records by the notes that `forget_words` removes.
        self.indices.scrub()
        with self._connections.writing_outside_feed() as connection:
            texts.purge(connection)
            of_links = not side_tables.are_deletions_kept(connection)
            change_feed.forget_words(connection, of_links=of_links)
        self._connections.rewrite()
        for copy in log_damage.kept(self._path):
            log.warning("%s is removed, since it may hold what was erased.", copy)
            copy.unlink()
        return []

    def to_analyse(self) -> int:
        """Return the number of texts still to be analysed anew, because another version analysed them."""
        with self._connections.reading() as connection:
            return text_analysis.remaining(connection)

    def _keep_house(self) -> None:
        if not self.is_open:
            return
        self._connections.checkpoint()
        self.indices.keep_up()
        if self.to_analyse():
            # Other writers come first, and a process that ends does not wait for this.
            with (
                suppress(StoreBusy),
                self._connections.writing_outside_feed(_PATIENCE) as connection,
            ):
                text_analysis.advance(connection)
            self._housekeeper.want()
