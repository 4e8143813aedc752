"""What lets a cluster (Citus) hold the tables as they are, each organization whole on one machine.

Citus demands the column by which rows are spread in each unique key, draws no numbers on most nodes, and
sends a statement to one machine only if it says whose rows it means. A table or a statement that is
added without regard to that fails here, where no cluster is needed.
"""

import ast
import re
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

import minutebook
from minutebook.features.migration.rows import Transfer
from minutebook.features.postgres.distribution import ON_EVERY_NODE, by_key, by_organization
from minutebook.features.postgres.store import PostgresStore
from minutebook.record.records import Memory
from minutebook.store.protocol import Tended
from minutebook.store.values import Carried
from tests.features.postgres.engine import PostgresEngine, RowsOf
from tests.features.postgres.server import server
from tests.store.everything import ask_everything, one_of_each, write_everything
from tests.store.samples import memory
from tests.store.small_index import small_index

pytestmark = pytest.mark.usefixtures("postgres")

LEADING = dict.fromkeys(by_organization(), "organization") | by_key()
"""The column by which the rows of a table are spread."""


def test_each_table_has_its_place(rows_of: RowsOf) -> None:
    tables = rows_of("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    placed = [*ON_EVERY_NODE, *LEADING]
    assert sorted(name for (name,) in tables) == sorted(placed)


def test_each_unique_key_leads_with_the_column_by_which_rows_are_spread(rows_of: RowsOf) -> None:
    keys = rows_of(
        "SELECT i.indrelid::regclass::text, a.attname, i.indisprimary FROM pg_index AS i"
        " JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
        " WHERE i.indisunique AND i.indrelid IN"
        " (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)"
    )
    wrong = [(table, column) for table, column, _ in keys if LEADING.get(table, column) != column]
    assert wrong == []
    # By its primary key a row is found while a shard is moved under load.
    with_primary = {table for table, _, is_primary in keys if is_primary}
    assert with_primary == {*ON_EVERY_NODE, *LEADING}


def test_each_foreign_key_stays_inside_an_organization(rows_of: RowsOf) -> None:
    keys = rows_of(
        "SELECT c.conrelid::regclass::text, a.attname, b.attname FROM pg_constraint AS c"
        " JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]"
        " JOIN pg_attribute AS b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1]"
        " WHERE c.contype = 'f'"
    )
    assert [key for key in keys if key[1:] != ("organization", "organization")] == []


def test_nothing_draws_a_number_by_itself(rows_of: RowsOf) -> None:
    assert rows_of("SELECT relname FROM pg_class WHERE relkind = 'S'") == []
    assert rows_of("SELECT attrelid::regclass FROM pg_attribute WHERE attidentity <> ''") == []
    assert rows_of("SELECT tgrelid::regclass FROM pg_trigger") == []
    # On each node a default is worked out by itself.
    drawn = rows_of(
        "SELECT adrelid::regclass::text, pg_get_expr(adbin, adrelid) FROM pg_attrdef"
        " WHERE pg_get_expr(adbin, adrelid) LIKE '%(%'"
    )
    assert drawn == []


SCATTERED = {
    "all organizations, for who looks after all": r"^SELECT o\.name FROM organizations AS o JOIN feeds",
    "records of any that lack vectors": r"^SELECT o\.name, .* JOIN organizations .* LIMIT %s$",
    "doctor: contradictions": r"^SELECT count\(\*\) FROM \w+ AS r (WHERE|LEFT JOIN (feeds|organizations))",
    "doctor: damaged vectors and token states": r"^SELECT r\.organization, r\.id, r\.sequence(, r\.states| FROM \w+ AS r +JOIN spaces)",
    "doctor: indices": r"^SELECT DISTINCT organization, space FROM",
    "doctor --repair: terms": r"^UPDATE \w+ SET analysis = NULL$",
    "texts that await their terms": r"^SELECT r\.organization, r\.id, r\.text_digest,",
    "how many of them": r"^SELECT sum\(count\)::bigint FROM",
    "migrate: what was moved": r"^SELECT o\.name FROM organizations AS o JOIN feeds AS f .* LEFT JOIN migrated",
    "migrate: its end": r"^UPDATE migrated AS m SET sequence = f\.sequence FROM feeds AS f",
}
"""The statements that ask every machine, by what for; each is rare or asked in the background."""

_NAMED = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)")
_TIED = re.compile(
    r"\borganization = (?:%s|%\(number\)s|\d+)"
    r"|\borganization = \w+\.organization"
    r"|INTO \w+(?: AS \w+)? \(organization,"
    r"|INTO (?:feeds|migrated) VALUES \(%s, "
)


@pytest.mark.thorough
@pytest.mark.needs("recall_log", "tidying", "undo")
def test_each_statement_says_whose_rows_it_means(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from minutebook.store.sql.change_feed import ProgramMarks
    from tests.features.citations.samples import write_citations
    from tests.features.recall_log.samples import write_recalls
    from tests.features.tidying.samples import write_suggestions
    from tests.features.undo.samples import write_images

    statements = recorded(monkeypatch)
    engine = PostgresEngine()
    with small_index(), engine.fresh(tmp_path / "store") as store, engine.fresh(tmp_path) as other:
        assert isinstance(store, PostgresStore)
        assert isinstance(other, PostgresStore)
        statements.clear()
        fill(other)
        write_everything(store)
        write_recalls(store)
        write_suggestions(store)
        write_images(store)
        write_citations(store)
        ProgramMarks(store.database).put("acme", "follower", {"sequence": 7})
        assert ProgramMarks(store.database).marks_of("acme") == {"follower": {"sequence": 7}}
        ask_everything(store)
        look_after(store)
        server().execute("UPDATE identity SET texts = 0", (tmp_path / "store/database").read_text())
        store.upkeep.to_analyse()
    of_records = {sql for sql in statements if set(by_organization()) & set(_NAMED.findall(sql))}
    assert set().union(*(_NAMED.findall(sql) for sql in of_records)) >= set(by_organization())
    untied = {sql for sql in of_records if not is_tied(sql)}
    assert {
        sql for sql in untied if not any(re.search(way, sql) for way in SCATTERED.values())
    } == set()
    assert [
        use for use, way in SCATTERED.items() if not any(re.search(way, sql) for sql in untied)
    ] == []
    # What is on every node is given as a value: an expression might come to another on each.
    everywhere = [
        sql
        for sql in statements
        if re.search(rf"\b(?:INTO|UPDATE|DELETE FROM) (?:{'|'.join(ON_EVERY_NODE)})\b", sql)
    ]
    assert everywhere
    assert [sql for sql in everywhere if "SELECT" in sql or "CONFLICT" in sql] == []
    # More than one at once is locked by one statement each: a machine locks no rows of another's.
    locking = [sql for sql in statements if sql.endswith("FOR UPDATE") and "feeds" in sql]
    assert any(sql.count(" FOR UPDATE") > 1 for sql in locking)
    assert all(sql.count(" FOR UPDATE") == sql.count("FROM feeds") for sql in locking)


def test_a_snapshot_settles_its_moment_where_each_organization_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with PostgresEngine().fresh(tmp_path / "store") as store:
        for name in ("acme", "zoo"):
            store.put(memory("a", organization=name))
        asked = recorded(monkeypatch)
        with store.snapshot("acme", "zoo"):
            assert asked[-1] == "SELECT sequence FROM feeds WHERE organization = %s"


def is_tied(sql: str) -> bool:
    """Tell whether a statement ties each mention of a table of records to an organization."""
    mentions = [name for name in _NAMED.findall(sql) if name in by_organization()]
    return len(_TIED.findall(sql)) >= len(mentions)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 FROM memories AS r WHERE r.organization = %s AND r.id = %s", True),
        ("SELECT 1 FROM memories AS r WHERE r.id = %s", False),
        ("SELECT 1 FROM memories WHERE organization = 3 UNION ALL SELECT 1 FROM turns", False),
        ("DELETE FROM names WHERE entity = %s", False),
        (
            "WITH d AS (UPDATE feeds SET a = 1 WHERE organization = %s) UPDATE turns SET a = 1",
            False,
        ),
    ],
)
def test_a_statement_that_says_it_not_is_noticed(sql: str, *, expected: bool) -> None:
    assert is_tied(sql) is expected


def recorded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have every statement of this thread and of the store's own noted from now on."""
    statements: list[str] = []
    guard = threading.Lock()

    def note(of: type[Any], name: str) -> None:
        real = getattr(of, name)

        def noting(self: Any, query: str | bytes, *given: Any, **named: Any) -> Any:
            with guard:
                statements.append(query if isinstance(query, str) else query.decode())
            return real(self, query, *given, **named)

        monkeypatch.setattr(of, name, noting)

    note(psycopg.Cursor, "execute")
    note(psycopg.Cursor, "executemany")
    note(psycopg.ServerCursor, "execute")
    return statements


def fill(store: Tended) -> None:
    taking = Transfer(store.database)
    taking.begin("another")
    taking.receive("acme", [Carried(each, None) for each in one_of_each()], [(Memory, "b")], 1)
    taking.received("acme")
    taking.end()


def look_after(store: Tended) -> None:
    assert store.upkeep.check() == []
    store.upkeep.rebuild()
    leases = store.database.leases
    assert leases is not None
    leases.take("a", "one", 600)
    with store.transaction("acme"):
        assert leases.keep("a", "one")
    leases.release("a", "one")


SEVERAL = {
    ("memory/access/audit.py", "audited"): "an act on a token: the system's and the token's own",
    ("memory/access/audit.py", "audited_batch"): "many memories in one call",
    ("memory/access/audit.py", "_append_refusals"): "refused acts",
    ("features/archives/archives.py", "_read"): "an import is taken in at once or not at all",
    ("features/archives/archives.py", "_write"): "an export's entries",
    ("features/archives/copies/backups.py", "make"): "a copy of a file; a server's store has none",
    ("features/archives/exports/graph_exports.py", "run"): "an export's entries",
    ("features/erasure/erasing.py", "scrub"): "what features hold of deleted records goes at once",
    ("features/migration/migration.py", "run"): "nobody writes to what is moved",
    (
        "features/sync/machines.py",
        "_take_verified",
    ): "a change file is taken in whole; a server's store has none",
    ("features/sync/machines.py", "send"): "as that",
    ("features/sync/machines.py", "compact_if_due"): "as that",
}
"""Where a transaction may be about several organizations: two machines then settle it together."""


@pytest.mark.whole
def test_few_transactions_are_about_several_organizations() -> None:
    package = Path(minutebook.__file__).parent
    found = set()
    for path in sorted(
        [*package.joinpath("memory").rglob("*.py"), *package.joinpath("features").rglob("*.py")]
    ):
        text = path.read_text(encoding="utf-8")
        if ".transaction(" not in text:
            continue
        functions = [
            each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)
        ]
        for function in functions:
            calls = [each for each in ast.walk(function) if isinstance(each, ast.Call)]
            if any(is_about_several(call) for call in calls):
                found.add((path.relative_to(package).as_posix(), function.name))
    assert found == set(SEVERAL)


def is_about_several(call: ast.Call) -> bool:
    """Tell whether a call begins a transaction of possibly several organizations."""
    is_star = any(isinstance(each, ast.Starred) for each in call.args)
    is_transaction = isinstance(call.func, ast.Attribute) and call.func.attr == "transaction"
    return is_transaction and (is_star or len(call.args) > 1)
