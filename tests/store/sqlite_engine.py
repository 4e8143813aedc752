"""The embedded engine, as the conformance tests open, kill and examine it."""

import gc
import shutil
from contextlib import closing, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Literal

import apsw

from minutebook.store.protocol import Tended
from minutebook.store.sql.tables import Value
from minutebook.store.sqlite import SqliteStore
from tests.empty_database import empty_database
from tests.store.engine import Engine

DATABASE = "store.db"


class SqliteEngine(Engine):
    name = "sqlite"

    def __init__(self, durability: Literal["full", "normal"] = "full") -> None:
        self._durability = durability

    def make(self, folder: Path) -> None:
        empty_database(folder / DATABASE)

    def open(self, folder: Path) -> SqliteStore:
        folder.mkdir(parents=True, exist_ok=True)
        # What a test says of many writers does not depend on how busy the machine is.
        return SqliteStore(folder / DATABASE, durability=self._durability, writer_wait=300.0)

    def crash(self, store: Tended, folder: Path) -> Path:
        # Another store opens what this one left lying there.
        copy = Path(mkdtemp())
        for path in sorted(folder.rglob("*")):
            # Of the index, files may come and go meanwhile: it has to put up with that.
            with suppress(FileNotFoundError):
                _copy(path, copy / path.relative_to(folder))
        store.close()
        shutil.rmtree(folder, ignore_errors=True)
        gc.collect()
        return copy

    def execute(self, folder: Path, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        with closing(apsw.Connection(str(folder / DATABASE))) as connection:
            return list(connection.execute(statement, values))

    def faults(self, store: Tended) -> list[str]:
        assert isinstance(store, SqliteStore)
        return store.upkeep.check()


def _copy(path: Path, copy: Path) -> None:
    if path.is_dir():
        copy.mkdir()
    else:
        shutil.copy(path, copy)
