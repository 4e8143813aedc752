"""The tables' form: what lets any system hold the texts, and any server the database."""

from pathlib import Path

import pytest

from minutebook.features.postgres import tables
from minutebook.record.filters import Filter
from minutebook.store.sql.tables import ALL_TABLES
from tests.features.postgres.engine import PostgresEngine, RowsOf
from tests.features.postgres.server import server
from tests.store.promises import ACME
from tests.store.samples import entity

pytestmark = pytest.mark.usefixtures("postgres")


def test_every_text_sorts_by_code_point(rows_of: RowsOf) -> None:
    texts = rows_of(
        "SELECT table_name, column_name, collation_name FROM information_schema.columns"
        " WHERE table_schema = 'public' AND data_type = 'text'"
    )
    assert len(texts) > 100
    assert {collation for _, _, collation in texts} == {"C"}


def test_each_column_holds_null_where_a_field_may_be_none(rows_of: RowsOf) -> None:
    rows = rows_of(
        "SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns"
        " WHERE table_schema = 'public'"
    )
    nullable = {(table, column): may for table, column, may in rows}
    for table in ALL_TABLES:
        for name, column in table.columns.items():
            assert nullable[table.name, name] == column.is_optional, (table.name, name)


def test_nothing_is_used_that_holds_on_one_machine_only() -> None:
    folder = Path(tables.__file__).parent
    code = "\n".join(path.read_text().lower() for path in sorted(folder.glob("*.py")))
    for word in ("advisory", "listen ", "notify", "nextval", "create sequence", "create trigger"):
        assert word not in code


def test_names_that_another_analysis_made_are_listed_anew(tmp_path: Path) -> None:
    engine = PostgresEngine()
    with engine.fresh(tmp_path / "store") as store:
        store.put(entity("a", "Ana Maria", aliases=("The Boss",)))
        store.put(entity("b", "Bo", organization="zoo"))
        name = (tmp_path / "store" / "database").read_text()
        server().execute(
            "UPDATE names SET words = '[\"other\"]'; UPDATE identity SET analysis = 0", name
        )
        assert store.entities_named(ACME, ["ana", "maria"]) == []
        store.close()
        store.upkeep.open()
        assert store.entities_named(ACME, ["ana", "maria"]) == ["a"]
        assert store.entities_named(ACME, ["the", "boss"]) == ["a"]
        assert store.entities_named(Filter(organization="zoo"), ["bo"]) == ["b"]
        assert store.sequence("acme") == 1
