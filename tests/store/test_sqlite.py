"""The embedded engine keeps the protocol's promises."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from minutebook.store.protocol import Store
from minutebook.store.sqlite import SqliteStore
from tests.store.conformance import StoreConformance
from tests.store.small_index import small_index


class TestSqlite(StoreConformance):
    def make(self, folder: Path) -> Store:
        return SqliteStore(folder / "store.db", durability="normal")


class TestSqliteWithCodesAndFilesFromTheFirstRecordOn(StoreConformance):
    @pytest.fixture(scope="class", autouse=True)
    @staticmethod
    def sizes() -> Iterator[None]:
        with small_index():
            yield

    def make(self, folder: Path) -> Store:
        return SqliteStore(folder / "store.db", durability="normal")
