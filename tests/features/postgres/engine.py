"""The server engine, as the conformance tests open, kill and examine it."""

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, ClassVar, TypeAlias

import psycopg

from minutebook.features.postgres.store import PostgresStore
from minutebook.store.protocol import Tended
from minutebook.store.sql.tables import Value
from tests.features.postgres.server import server
from tests.store.engine import Engine

RowsOf: TypeAlias = Callable[[str], list[tuple[Any, ...]]]
"""Returns the rows that a statement reads from a database."""

_NAME = "database"
"""The file in a folder that names the store's database."""


class PostgresEngine(Engine):
    name = "postgres"
    version: ClassVar[int] = 16

    def make(self, folder: Path) -> None:
        super().make(folder)
        (folder / _NAME).write_text(_name_of(folder))
        server(self.version).make_store(_name_of(folder))

    def open(self, folder: Path) -> PostgresStore:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / _NAME).exists():
            server(self.version).make_empty(_name_of(folder))
            (folder / _NAME).write_text(_name_of(folder))
        url = server(self.version).url((folder / _NAME).read_text())
        return PostgresStore(url, folder / "index", durability="normal", pool=4)

    def crash(self, store: Tended, folder: Path) -> Path:
        # Of the index, files may come and go meanwhile: it has to put up with that.
        copy = Path(mkdtemp())
        shutil.copytree(folder, copy, dirs_exist_ok=True, ignore_dangling_symlinks=True)
        name = (folder / _NAME).read_text()
        server(self.version).execute(
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        )
        store.close()
        shutil.rmtree(folder, ignore_errors=True)
        return copy

    def execute(self, folder: Path, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        with psycopg.connect(server(self.version).url((folder / _NAME).read_text())) as connection:
            cursor = connection.execute(statement.replace("?", "%s").encode(), values)
            return [] if cursor.description is None else cursor.fetchall()

    def faults(self, store: Tended) -> list[str]:
        assert isinstance(store, PostgresStore)
        return store.upkeep.check()

    def discard(self, folder: Path) -> None:
        if (folder / _NAME).exists():
            server(self.version).drop((folder / _NAME).read_text())
        super().discard(folder)


def _name_of(folder: Path) -> str:
    return f"store_{hashlib.blake2b(os.fsencode(folder.resolve()), digest_size=12).hexdigest()}"


@contextmanager
def empty_store(folder: Path) -> Iterator[RowsOf]:
    """Make a store that holds nothing; yield what reads from its database."""
    engine = PostgresEngine()
    engine.make(folder)
    name = (folder / _NAME).read_text()

    def rows_of(statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(server().url(name)) as connection:
            return connection.execute(statement.encode()).fetchall()

    yield rows_of
    engine.discard(folder)
