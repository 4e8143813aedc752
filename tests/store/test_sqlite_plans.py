"""No question reads more rows than it must: each takes the index that was made for it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from minutebook.record.filters import Filter
from minutebook.record.records import (
    Category,
    CodeChunk,
    Decision,
    DecisionStatus,
    Entity,
    Entry,
    File,
    Link,
    Memory,
    Mention,
    Proposal,
    ProposalStatus,
    Relation,
    Status,
    Summary,
    Turn,
    Version,
)
from minutebook.store.sqlite import SqliteStore
from minutebook.text.words import parse_query
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
BOTH = [ACME, Filter(organization="zoo")]


def equal(**values: object) -> Filter:
    return replace(ACME, equal=values)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A store with a record of each kind, which no test changes."""
    store = SqliteStore(tmp_path_factory.mktemp("plans") / "store.db", durability="normal")
    graph = (memory("a"), version("a"), entity("e"), edge(Mention, "a", "e"), entry(1))
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
    store.put(replace(memory("z"), organization="zoo"))
    vectored = ((Memory, "a"), (CodeChunk, "c"), (Decision, "d"), (Turn, "t"))
    for of, id in vectored:
        store.put_vectors(of, "acme", id, SPACES[0], unit(1, 2, 3, 4)[None])
    yield store
    store.close()


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (lambda s: s.get(Memory, "acme", "a"), "memories_1 (organization=? AND id=?)"),
        (
            lambda s: s.get(Link, "acme", "a"),
            "PRIMARY KEY (organization=? AND kind=? AND id=?)",
        ),
        (lambda s: s.find(Memory, ACME, limit=1), "memories_1 (organization=?)"),
        (
            lambda s: s.find(Memory, ACME, order=["-ingestion_time"], limit=9),
            "memories_by_time (organization=?)",
        ),
        (
            lambda s: s.find(Memory, ACME, order=["-updated_at"], limit=9),
            "memories_by_update (organization=?)",
        ),
        (
            lambda s: s.find(Memory, equal(status=Status.SUPERSEDED), limit=1),
            "memories_by_status (organization=? AND status=?)",
        ),
        (
            lambda s: s.find(Memory, replace(ACME, ids=frozenset({"a", "b"}))),
            "memories_1 (organization=? AND id=?)",
        ),
        (lambda s: s.count(Memory, ACME), "COVERING INDEX memories_by_time"),
        (
            lambda s: s.count(Memory, replace(ACME, users=frozenset("u"))),
            "COVERING INDEX memories_by_time",
        ),
        (
            lambda s: s.find(File, equal(project="a")),
            "files_by_project (organization=? AND project=?)",
        ),
        (
            lambda s: s.find(CodeChunk, equal(project="a", path="b"), order=["start_line"]),
            "chunks_by_project (organization=? AND project=? AND path=?)",
        ),
        (
            lambda s: s.find(CodeChunk, equal(name="a"), limit=9),
            "chunks_by_name (organization=? AND name=?)",
        ),
        (
            lambda s: s.count(CodeChunk, replace(equal(project="a"), users=frozenset("u"))),
            "COVERING INDEX chunks_by_project (organization=? AND project=?)",
        ),
        (
            lambda s: s.count_vectors(CodeChunk, equal(project="a"), SPACES[0]),
            "COVERING INDEX chunks_by_project (organization=? AND project=?)",
        ),
        (
            lambda s: s.find(Decision, equal(target_key="a", status=DecisionStatus.ACTIVE)),
            "decisions_by_target (organization=? AND target_key=? AND status=?)",
        ),
        (
            lambda s: s.find(
                Decision,
                equal(target_key="a", status=DecisionStatus.ACTIVE, repository=None, user=None),
            ),
            "decisions_by_target (organization=? AND target_key=? AND status=?)",
        ),
        (
            lambda s: s.find(Decision, equal(target_key="a", repository=None, user=None)),
            "decisions_by_target (organization=? AND target_key=?)",
        ),
        (
            lambda s: s.find(Decision, equal(status=DecisionStatus.ACTIVE), limit=9),
            "decisions_by_status (organization=? AND status=?)",
        ),
        (
            lambda s: s.find(Decision, replace(ACME, ids=frozenset("ab"))),
            "(organization=? AND id=?)",
        ),
        (
            lambda s: s.without_vectors([Decision], SPACES[0], 9),
            "decisions_by_space (organization=? AND space=?)",
        ),
        (
            lambda s: s.find(Proposal, equal(status=ProposalStatus.PENDING)),
            "proposals_by_status (organization=? AND status=?)",
        ),
        (
            lambda s: s.find(Turn, equal(session="s"), order=["at"], limit=9),
            "turns_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.find(Turn, equal(session="s"), order=["-at"], limit=1),
            "turns_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.find(
                Turn, equal(session="s", repository=None, user="u"), order=["at"], limit=9
            ),
            "turns_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.count(Turn, replace(equal(session="s"), users=frozenset("u"))),
            "COVERING INDEX turns_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.groups(Turn, ACME, ("session", "repository", "user"), "at"),
            "COVERING INDEX turns_by_session (organization=?)",
        ),
        (
            lambda s: s.ids(Turn, ACME, ["at"]),
            "turns_by_time (organization=?)",
        ),
        (
            lambda s: s.find(Summary, ACME, order=["-at"], limit=9),
            "summaries_by_time (organization=?)",
        ),
        (
            lambda s: s.find(Summary, equal(category=Category.BUGFIX), order=["-at"], limit=9),
            "summaries_by_category (organization=? AND category=?)",
        ),
        (
            lambda s: s.find(Summary, equal(session="s", repository=None, user=None)),
            "summaries_by_session (organization=? AND session=?)",
        ),
        (
            lambda s: s.find(Version, equal(memory="a"), order=["number"]),
            "versions_by_memory (organization=? AND memory=?)",
        ),
        (
            lambda s: s.find(Entity, equal(name="a", type="b", user=None), limit=1),
            "entities_by_name (organization=? AND name=?)",
        ),
        (
            lambda s: s.find(Relation, equal(source="a", target="b", type="c"), limit=1),
            "(organization=? AND target=? AND kind=?)",
        ),
        (
            lambda s: s.find(Entry, ACME, order=["-number"], limit=1),
            "entries_by_number (organization=?)",
        ),
        (
            lambda s: s.find(Entry, equal(subject="a"), order=["number"]),
            "entries_by_subject (organization=? AND subject=?)",
        ),
        (
            lambda s: s.ids(Memory, ACME, ["-ingestion_time"]),
            "COVERING INDEX memories_by_time (organization=?)",
        ),
        (
            lambda s: s.page(Memory, BOTH, order=["-ingestion_time"], limit=9, offset=9),
            "COVERING INDEX memories_by_time (organization=?)",
        ),
        (
            lambda s: s.page(Summary, BOTH, order=["-at"], limit=9, offset=9),
            "COVERING INDEX summaries_by_time (organization=?)",
        ),
        (lambda s: s.edges("acme", ["a", "b"]), "edges_by_source (organization=? AND source=?)"),
        (lambda s: s.edges("acme", ["a"], 5), "edges_by_target (organization=? AND target=?)"),
        (
            lambda s: s.ties("acme", ["a"], 5),
            "COVERING INDEX edges_by_source (organization=? AND source=?)",
        ),
        (
            lambda s: s.ties("acme", ["a", "b"], 5),
            "COVERING INDEX edges_by_target (organization=? AND target=?)",
        ),
        (
            lambda s: s.find(Relation, equal(target="e")),
            "edges_by_target (organization=? AND target=? AND kind=?)",
        ),
        (lambda s: s.entities_named(ACME, ["ana"]), "PRIMARY KEY (organization=? AND first=?)"),
        (
            lambda s: s.without_vectors([Memory], SPACES[0], 9),
            "memories_by_space (organization=? AND space>?)",
        ),
        (
            lambda s: s.without_vectors([Memory], replace(SPACES[0], states="one"), 9, ["acme"]),
            "memories_by_space (organization=? AND space=? AND states>?)",
        ),
        (
            lambda s: s.token_states(Memory, "acme", "ab", replace(SPACES[0], states="one")),
            "COVERING INDEX sqlite_autoindex_memories_1 (organization=? AND id=?)",
        ),
        (
            lambda s: s.upkeep.states_size(Memory, "acme"),
            "COVERING INDEX memories_states_by_size (organization=?)",
        ),
        (lambda s: s.changes("acme", 3), "memories_by_sequence (organization=? AND sequence>?"),
        (
            lambda s: s.nearest(Memory, ACME, SPACES[0], unit(1, 0, 0, 0), 9),
            "memories_by_sequence (organization=? AND sequence>?",
        ),
        (
            lambda s: s.match(Memory, ACME, parse_query("bread"), 9),
            "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            lambda s: s.match(Memory, equal(user="u"), parse_query("bread"), 9),
            "SEARCH r USING INTEGER PRIMARY KEY (rowid=?)",
        ),
        (
            lambda s: s.holding_words(Memory, replace(ACME, ids=frozenset("a")), [["bread"]]),
            "sqlite_autoindex_memories_1 (organization=? AND id=?",
        ),
        (
            lambda s: s.matches_phrase(Memory, ACME, ["bread"]),
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
    connection = store.database._reader().connection.raw
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
        if sql.startswith(("SELECT", "WITH"))
        for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)
    ]
