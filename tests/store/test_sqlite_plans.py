"""No question reads more rows than it must: each takes the index that was made for it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from minutebook.domain.filters import Filter
from minutebook.domain.records import Category, DecisionStatus, Kind, ProposalStatus, Status
from minutebook.search.text import parse_query
from minutebook.store.sqlite import SqliteStore
from tests.store.samples import (
    INSTANTS,
    SPACES,
    chunk,
    decision,
    edge,
    entity,
    entry,
    file,
    memory,
    proposal,
    summary,
    turn,
    unit,
    version,
)

ACME = Filter(organization="acme", valid_at=INSTANTS[0])


def equal(**values: object) -> Filter:
    return replace(ACME, equal=values)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    graph = (memory("a"), version("a"), entity("e"), edge(Kind.MENTION, "a", "e"), entry(1))
    for record in (
        *graph,
        file("f"),
        chunk("c"),
        decision("d"),
        proposal("p"),
        turn("t"),
        summary("s"),
    ):
        store.put(record)
    vectored = ((Kind.MEMORY, "a"), (Kind.CHUNK, "c"), (Kind.DECISION, "d"), (Kind.TURN, "t"))
    for kind, id in vectored:
        store.put_vectors(kind, "acme", id, SPACES[0], unit(1, 2, 3, 4)[None])
    yield store
    store.close()


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (lambda s: s.get(Kind.MEMORY, "acme", "a"), "memories_1 (organization=? AND id=?)"),
        (
            lambda s: s.get(Kind.LINK, "acme", "a"),
            "PRIMARY KEY (organization=? AND kind=? AND id=?)",
        ),
        (lambda s: s.find(Kind.MEMORY, ACME, limit=1), "memories_1 (organization=?)"),
        (
            lambda s: s.find(Kind.MEMORY, ACME, order=["-ingestion_time"], limit=9),
            "memories_by_time (organization=?)",
        ),
        (
            lambda s: s.find(Kind.MEMORY, ACME, order=["-updated_at"], limit=9),
            "memories_by_update (organization=?)",
        ),
        (
            lambda s: s.find(Kind.MEMORY, equal(status=Status.SUPERSEDED), limit=1),
            "memories_by_status (organization=? AND status=?)",
        ),
        (
            lambda s: s.find(Kind.MEMORY, replace(ACME, ids=frozenset({"a", "b"}))),
            "memories_1 (organization=? AND id=?)",
        ),
        (lambda s: s.count(Kind.MEMORY, ACME), "COVERING INDEX memories_by_time"),
        (
            lambda s: s.count(Kind.MEMORY, replace(ACME, users=frozenset("u"))),
            "COVERING INDEX memories_by_time",
        ),
        (
            lambda s: s.find(Kind.FILE, equal(project="a")),
            "files_by_project (organization=? AND project=?)",
        ),
        (
            lambda s: s.find(Kind.CHUNK, equal(project="a", path="b"), order=["start_line"]),
            "chunks_by_project (organization=? AND project=? AND path=?)",
        ),
        (
            lambda s: s.find(Kind.CHUNK, equal(name="a"), limit=9),
            "chunks_by_name (organization=? AND name=?)",
        ),
        (
            lambda s: s.count(Kind.CHUNK, replace(equal(project="a"), users=frozenset("u"))),
            "COVERING INDEX chunks_by_project (organization=? AND project=?)",
        ),
        (
            lambda s: s.count_vectors(Kind.CHUNK, equal(project="a"), SPACES[0]),
            "COVERING INDEX chunks_by_project (organization=? AND project=?)",
        ),
        (
            lambda s: s.find(Kind.DECISION, equal(target_key="a", status=DecisionStatus.ACTIVE)),
            "decisions_by_target (organization=? AND target_key=? AND status=?)",
        ),
        (
            lambda s: s.find(
                Kind.DECISION,
                equal(target_key="a", status=DecisionStatus.ACTIVE, repository=None, user=None),
            ),
            "decisions_by_target (organization=? AND target_key=? AND status=?)",
        ),
        (
            lambda s: s.find(Kind.DECISION, equal(target_key="a", repository=None, user=None)),
            "decisions_by_target (organization=? AND target_key=?)",
        ),
        (
            lambda s: s.find(Kind.DECISION, equal(status=DecisionStatus.ACTIVE), limit=9),
            "decisions_by_status (organization=? AND status=?)",
        ),
        (
            lambda s: s.find(Kind.DECISION, replace(ACME, ids=frozenset("ab"))),
            "(organization=? AND id=?)",
        ),
        (
            lambda s: s.without_vectors(Kind.DECISION, "acme", SPACES[0], 9),
            "decisions_by_space (organization=? AND space=?)",
        ),
        (
            lambda s: s.find(Kind.PROPOSAL, equal(status=ProposalStatus.PENDING)),
            "proposals_by_status (organization=? AND status=?)",
        ),
        (
            lambda s: s.find(Kind.TURN, equal(session="s"), order=["at"], limit=9),
            "turns_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.find(Kind.TURN, equal(session="s"), order=["-at"], limit=1),
            "turns_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.find(
                Kind.TURN, equal(session="s", repository=None, user="u"), order=["at"], limit=9
            ),
            "turns_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.count(Kind.TURN, replace(equal(session="s"), users=frozenset("u"))),
            "COVERING INDEX turns_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.groups(Kind.TURN, ACME, ("session", "repository", "user"), "at"),
            "COVERING INDEX turns_by_session (organization=?)",
        ),
        (
            lambda s: s.ids(Kind.TURN, ACME, ["at"]),
            "turns_by_time (organization=?)",
        ),
        (
            lambda s: s.find(Kind.SUMMARY, ACME, order=["-at"], limit=9),
            "summaries_by_time (organization=?)",
        ),
        (
            lambda s: s.find(Kind.SUMMARY, equal(category=Category.BUGFIX), order=["-at"], limit=9),
            "summaries_by_category (organization=? AND category=?)",
        ),
        (
            lambda s: s.find(Kind.SUMMARY, equal(session="s", repository=None, user=None)),
            "summaries_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.find(Kind.VERSION, equal(memory="a"), order=["number"]),
            "versions_by_memory (organization=? AND memory=?)",
        ),
        (
            lambda s: s.find(Kind.ENTITY, equal(name="a", type="b", user=None), limit=1),
            "entities_by_name (organization=? AND name=?)",
        ),
        (
            lambda s: s.find(Kind.RELATION, equal(source="a", target="b", type="c"), limit=1),
            "(organization=? AND target=? AND kind=?)",
        ),
        (
            lambda s: s.find(Kind.ENTRY, ACME, order=["-number"], limit=1),
            "entries_by_number (organization=?)",
        ),
        (
            lambda s: s.find(Kind.ENTRY, equal(subject="a"), order=["number"]),
            "entries_by_subject (organization=? AND subject=?)",
        ),
        (
            lambda s: s.ids(Kind.MEMORY, ACME, ["-ingestion_time"]),
            "COVERING INDEX memories_by_time (organization=?)",
        ),
        (lambda s: s.edges("acme", ["a", "b"]), "edges_by_source (organization=? AND source=?)"),
        (lambda s: s.edges("acme", ["a"], 5), "edges_by_target (organization=? AND target=?)"),
        (lambda s: s.entities_named(ACME, ["ana"]), "PRIMARY KEY (organization=? AND first=?)"),
        (
            lambda s: s.without_vectors(Kind.MEMORY, "acme", SPACES[0], 9),
            "memories_by_space (organization=? AND space=?)",
        ),
        (lambda s: s.changes("acme", 3), "memories_by_sequence (organization=? AND sequence>?)"),
        (
            lambda s: s.nearest(Kind.MEMORY, ACME, SPACES[0], unit(1, 0, 0, 0), 9),
            "memories_by_sequence (organization=? AND sequence>?)",
        ),
        (
            lambda s: s.match(Kind.MEMORY, ACME, parse_query("bread"), 9),
            "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            lambda s: s.match(Kind.MEMORY, equal(user="u"), parse_query("bread"), 9),
            "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            lambda s: s.matches_phrase(Kind.MEMORY, ACME, ["bread"]),
            "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)",
        ),
    ],
)
def test_a_question_takes_the_index_made_for_it(
    store: SqliteStore, ask: Callable[[SqliteStore], object], index: str
) -> None:
    plans = _plans(store, ask)
    assert any(index in step for step in plans), plans
    tables = ("SCAN r", "SCAN memories", "SCAN edges", "SCAN names", "SCAN n ", "SCAN deletions")
    assert not any(step.startswith(tables) for step in plans), plans


def test_organizations_are_named_without_reading_their_records(store: SqliteStore) -> None:
    plans = _plans(store, SqliteStore.organizations)
    assert all(step.startswith("SCAN o") for step in plans if step.startswith("SCAN"))


def _plans(store: SqliteStore, ask: Callable[[SqliteStore], object]) -> list[str]:
    """Ask, and give each step by which SQLite found the answers."""
    connection = store._connections._reader().connection
    asked: list[tuple[str, Any]] = []

    def note(_: object, sql: str, values: Any) -> bool:
        asked.append((sql, values))
        return True

    connection.exec_trace = note
    ask(store)
    connection.exec_trace = None
    return [
        str(row[-1])
        for sql, values in asked
        if sql.startswith("SELECT")
        for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)
    ]
