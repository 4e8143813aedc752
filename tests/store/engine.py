"""How an engine joins the conformance tests: the state machine and the processes take it from here."""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from minutebook.store.protocol import Tended
from minutebook.store.sql.tables import Value

ENGINES = {
    "dict": "tests.store.dict_engine.DictEngine",
    "postgres": "tests.features.postgres.engine.PostgresEngine",
    "sqlite": "tests.store.sqlite_engine.SqliteEngine",
}
"""The engines by name, for processes that are told which one to open."""


class Engine(ABC):
    """The stores of one engine; a folder, which need not be there, stands for each."""

    name: ClassVar[str]
    """Its key in `ENGINES`."""

    def make(self, folder: Path) -> None:
        """Make a store without records, sooner than `open` would: from a template, say."""
        folder.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def open(self, folder: Path) -> Tended:
        """Open a store as a server does, made if it is missing; any process may, at any time."""

    def crash(self, store: Tended, folder: Path) -> Path:
        """End an open store that gets no chance to tidy up; return the folder that has it now."""
        raise NotImplementedError

    def execute(self, folder: Path, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        """Run a statement, values at its `?`, on the database of a folder past any store; return the rows."""
        raise NotImplementedError

    def faults(self, store: Tended) -> list[str]:
        """Say what the engine itself finds wrong with an open store."""
        return []

    def discard(self, folder: Path) -> None:
        """Remove a store that is closed."""
        shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def fresh(self, folder: Path) -> Iterator[Tended]:
        """Return a store without records, discarded afterwards."""
        self.make(folder)
        store = self.open(folder)
        try:
            yield store
        finally:
            store.close()
            self.discard(folder)


def engine_named(name: str) -> Engine:
    """Return the engine that is known by a name in `ENGINES`."""
    module, _, of = ENGINES[name].rpartition(".")
    engine: Engine = getattr(import_module(module), of)()
    return engine
