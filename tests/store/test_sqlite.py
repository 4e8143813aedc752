"""The embedded engine keeps the protocol's promises."""

from collections.abc import Iterator

import pytest

from tests.store.conformance import StoreConformance
from tests.store.small_index import small_index
from tests.store.sqlite_engine import SqliteEngine


class TestSqlite(StoreConformance):
    engine = SqliteEngine("normal")


@pytest.mark.thorough
class TestSqliteWithCodesAndFilesFromTheFirstRecordOn(StoreConformance):
    engine = SqliteEngine("normal")

    @pytest.fixture(scope="class", autouse=True)
    @staticmethod
    def sizes() -> Iterator[None]:
        with small_index():
            yield
