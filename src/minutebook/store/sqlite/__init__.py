"""The embedded engine: one SQLite file that any number of processes share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from minutebook.record.filters import Filter
from minutebook.record.records import Record, TextRecord
from minutebook.store.disk.encryption import Key, Keys
from minutebook.store.sidecar.words import WordView, holding_words, match
from minutebook.store.sql.store import SqlStore
from minutebook.store.sqlite import texts
from minutebook.store.sqlite.connections import Connections
from minutebook.store.sqlite.upkeep import SqliteUpkeep
from minutebook.store.values import Candidate, T
from minutebook.text.words import TextQuery


class SqliteStore(SqlStore):
    """A `Store` in one file, with a write-ahead log, a lock file and an index folder beside it.

    `durability="full"` waits until a write is on the disk; `"normal"` may lose the last moments
    when the machine (not the process) fails. A writer waits `writer_wait` seconds for others.
    Only a store that `receives` can be opened while records are being moved into it. The key of an encrypted file
    is taken from `keys`; a new file is encrypted with `new_key`.
    With `or_reads` a file that cannot be written is opened for reading. Opening raises StoreError, StoreTooNew, StoreBusy,
    StoreDamaged, EncryptionKeyMissing, and StoreLost for a missing or empty file if traces of it, or files or folders
    in `beside`, show that there was a store.
    """

    database: Connections
    upkeep: SqliteUpkeep

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
        or_reads: bool = False,
    ) -> None:
        connections = Connections(
            path,
            keys=keys,
            new_key=new_key,
            beside=tuple(beside),
            synchronous=durability,
            writer_wait=writer_wait,
            or_reads=or_reads,
        )
        super().__init__(SqliteUpkeep(path, connections, receives=receives))

    def _with_first_ids(
        self, number: int, of: type[Record], where: Filter, order: Sequence[str], needed: int
    ) -> Filter:
        return self.upkeep.indices.with_first_ids(number, of, where, order, needed)

    def count(self, of: type[Record], where: Filter) -> int:
        """Count the selected records."""
        number = self.database.number_of(where.organization)
        if number is None:
            return 0
        with self.database.reading() as connection:
            return self.upkeep.indices.counts.count(connection, number, of, where)

    def _ranked(
        self, number: int, of: type[TextRecord], where: Filter, query: TextQuery, limit: int
    ) -> list[Candidate]:
        view = None if query.phrases else self._word_index(number, of)
        if view is not None:
            return match(
                view, self.upkeep.indices.conditions(number, of, where), query.terms, limit
            )
        with self.database.snapshot() as connection:
            return texts.ranked(connection, number, of, where, query, limit)

    def _word_index(self, number: int, of: type[TextRecord]) -> WordView | None:
        """Return the index of words; None if the database searches them: inside a transaction, and if the records are few."""
        indices = self.upkeep.indices
        is_quicker = not self.database.is_writing and indices.is_large(number, of)
        return indices.prompt_words(number, of) if is_quicker else None

    def _holding_words(
        self, number: int, of: type[TextRecord], where: Filter, words: Sequence[Sequence[str]]
    ) -> list[set[str]]:
        if (view := self._word_index(number, of)) is not None:
            return holding_words(view, self.upkeep.indices.conditions(number, of, where), words)
        with self.database.snapshot() as connection:
            return texts.holding_words(connection, number, of, where, words)

    def _holding(self, number: int, of: type[T], where: Filter, phrase: Sequence[str]) -> list[T]:
        with self.database.snapshot() as connection:
            return texts.holding(connection, number, of, where, phrase)
