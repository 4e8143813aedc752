"""Each column of each table, edited by SQL: `audit verify` or `doctor` finds it, or its table is listed as not proved."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.audit_proof.audit_proof import prove_trail
from minutebook.features.audit_proof.trail_proof import NOT_PROVED
from minutebook.features.citations.rows import CitationRows
from minutebook.features.recall_log.rows import RecallRows
from minutebook.features.tidying.findings import Suggestion, Topic
from minutebook.features.tidying.rows import TidyRows
from minutebook.features.undo.rows import ImageRows
from minutebook.memory.access.audit import Trail
from minutebook.record.errors import StoreError
from minutebook.record.records import SYSTEM_ORGANIZATION, Kind, Memory, Mention, Relation, Version
from minutebook.store.protocol import Tended
from minutebook.store.sql.tables import Value
from minutebook.store.token_uses import TokenUses
from tests.faults.campaign import report
from tests.features.audit_proof.test_fingerprints import CALLER, SAMPLES, acting, kept, value_for
from tests.features.citations.samples import judged_record
from tests.features.recall_log.samples import logged
from tests.store.engine import Engine, engine_named
from tests.store.samples import START, chunk, edge, entity, file, mark, project
from tests.world import NOON

SEARCHED, CODE, CITED, GIT, USED, RECALLED, SUGGESTED, BEFORE, NOTED = NOT_PROVED

LISTED = {
    SEARCHED: (
        r"text_.*",
        r".*_vectors",
        r".*_states",
        "spaces",
        r".*\.(space|states|vectors|token_states|terms|analysis|target_key)",
        r".*\.(client|metadata_digest|text_digest)",
        r"names\.place",
    ),
    CODE: ("projects", "files", "chunks", "commits"),
    CITED: ("citations.*",),
    GIT: ("ledgers", r"decisions\.commit_id"),
    USED: ("uses", r"tokens\.last_used_at"),
    RECALLED: ("recalls", "recalled"),
    SUGGESTED: ("suggestions",),
    BEFORE: ("undo_images",),
    NOTED: (
        "sync_.*",
        "migrat.*",
        "leases",
        "shared_values",
        "numbers",
        "identity",
        "side_tables",
        "format",
        "deletions",
        "marks",
        "feeds",
        r".*\.(sequence|row)",
    ),
}
"""Tables, and columns of any, that stand for what each sentence of the list says."""

FOR_NULL: dict[str, Value] = {
    **dict.fromkeys(("space", "due", "analysis", "source_sequence", "entry"), 1),
    **dict.fromkeys(("vectors", "token_states", "terms"), b"forged"),
}
"""What is written where there is nothing, and a text would not be taken."""

SKIPPED = re.compile(r"sqlite_.*|text_\w+_(data|idx|content|docsize|config)")
"""Tables of SQLite itself, and those below a table of its text index."""


@dataclass(frozen=True)
class Filled:
    """A store with a row in each table that a reader is shown, and the way to edit it past the store."""

    engine: Engine
    folder: Path
    store: Tended

    def read(self, statement: str, *values: Value) -> list[tuple[Any, ...]]:
        return self.engine.execute(self.folder, statement, *values)

    def columns(self) -> Iterator[tuple[str, str]]:
        """Yield every table and column that the database itself names."""
        if self.engine.name == "sqlite":
            found = self.read(
                "SELECT t.name, c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c"
                " WHERE t.type = 'table'"
            )
        else:
            found = self.read(
                "SELECT table_name, column_name FROM information_schema.columns"
                " WHERE table_schema = current_schema()"
            )
        for table, column in sorted((str(table), str(column)) for table, column in found):
            if not SKIPPED.fullmatch(table):
                yield table, column

    def finds(self) -> bool:
        """Tell whether `audit verify` or `doctor` finds anything."""
        try:
            names = self.store.organizations()
            proofs = [
                prove_trail(self.store, name) for name in {*names, "acme", SYSTEM_ORGANIZATION}
            ]
            return not all(each.is_sound for each in proofs) or bool(self.engine.faults(self.store))
        except StoreError:
            return True


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Filled]:
    engine = engine_named(request.param)
    with engine.fresh(tmp_path / "store") as store:
        memory, version = SAMPLES[Memory], SAMPLES[Version]
        assert isinstance(memory, Memory)
        with acting(store, "create", memory) as audit:
            store.put(memory)
            store.put(version)
            audit.changes(None, memory.text)
        for record in SAMPLES.values():
            if record not in (memory, version):
                kept(store, record)
        kept(store, entity("named", "Ana Bo", aliases=("Ann",)))
        for derived in (project(), file(), chunk(), mark(), edge(Mention, "m1", "e1", id="z")):
            store.put(derived)
        TokenUses(store.database).note("a", START)
        RecallRows(store.database).write("acme", [logged("r", "a")])
        CitationRows(store.database).put("acme", [judged_record("a")])
        subjects = ((Kind.MEMORY, "a"), (Kind.MEMORY, "b"))
        found = Suggestion(
            organization="acme",
            id="s",
            finding=Topic.DUPLICATE,
            certainty=0.5,
            subjects=subjects,
            found_at=START,
            first_entry=1,
            entry=1,
        )
        TidyRows(store.database).add("acme", [found])
        ImageRows(store.database).add("acme", 1, NOON, [memory])
        Trail(store, lambda: NOON).log(CALLER, "acme", "read", Kind.MEMORY, ["a"])
        yield Filled(engine, tmp_path / "store", store)


def listed(table: str, column: str) -> str | None:
    """Return the sentence that says that a column is not proved."""
    for sentence, names in LISTED.items():
        for name in names:
            if re.fullmatch(name, table) or re.fullmatch(name, f"{table}.{column}"):
                return sentence
    return None


def place(filled: Filled, table: str) -> str:
    """Return the condition for one row of a table, none of a mention."""
    columns = [column for name, column in filled.columns() if name == table]
    if table == "edges":
        return f"id = '{SAMPLES[Relation].id}'"
    for column in ("number", "id", "words"):
        if column in columns:
            return f'"{column}" = (SELECT min("{column}") FROM {table})'
    return "1 = 1"


def test_a_store_as_it_was_written_is_sound(filled: Filled) -> None:
    assert not filled.finds()


Statement = tuple[str, list[Value]]


def edits(filled: Filled) -> Iterator[tuple[str, str, Statement, list[Statement]]]:
    """Yield table, column ("" for a row), an edit, and what takes it back.

    Raises AssertionError for a table that is empty and not listed.
    """
    for table in sorted({table for table, _ in filled.columns()}):
        columns = [column for name, column in filled.columns() if name == table]
        where, names = place(filled, table), ", ".join(f'"{each}"' for each in columns)
        rows = filled.read(f"SELECT {names} FROM {table} WHERE {where}")
        if len(rows) != 1:
            assert all(listed(table, each) for each in columns), f"{table}: fill it, or list it"
            continue
        row = list(rows[0])
        marks = ", ".join("?" * len(columns))
        insert = f"INSERT INTO {table}({names}) VALUES ({marks})"
        same = " AND ".join(f'"{each}" IS NOT DISTINCT FROM ?' for each in columns)
        delete = f"DELETE FROM {table} WHERE {same}"
        for at, column in enumerate(columns):
            # Far enough to be nobody else's.
            new = row[at] + 999 if type(row[at]) is int else value_for(table, column, row[at])
            if isinstance(row[at], bool):
                new = not row[at]
            if row[at] is None:
                new = FOR_NULL.get(column, new)
            edited = [*row[:at], new, *row[at + 1 :]]
            update = f'UPDATE {table} SET "{column}" = ? WHERE {same}'
            yield table, column, (update, [new, *row]), [(delete, edited), (insert, row)]
        yield table, "", (delete, row), [(insert, row)]
        if "id" in columns and not listed(table, "id"):
            other = [
                None if column == "row" else "forged" if column == "id" else value
                for column, value in zip(columns, row, strict=True)
            ]
            yield table, "", (insert, other), [(f"DELETE FROM {table} WHERE id = ?", ["forged"])]


def test_each_edit_of_a_column_and_each_row_taken_out_or_put_in_is_found_or_listed(
    filled: Filled,
) -> None:
    count, found, unnoticed, needed = 0, 0, list[str](), set[str]()
    for table, column, edit, back in edits(filled):
        sentence = listed(table, column)
        count += 1
        filled.read(edit[0], *edit[1])
        if filled.finds():
            found += 1
        elif sentence is None:
            unnoticed.append(f"{table}.{column}: {edit[0]}")
        else:
            needed.add(sentence)
        for statement, values in back:
            filled.read(statement, *values)
    assert not filled.finds(), "all is as it was"
    assert not unnoticed, "\n".join(unnoticed)
    assert needed == set(NOT_PROVED), "nothing is listed that is proved"
    report(
        "edits",
        filled.engine.name,
        tables=len({table for table, _ in filled.columns()}),
        edits=count,
        found=found,
        listed=count - found,
        unnoticed=0,
    )
