"""Graphs of Neo4j and Graphiti: entities, what holds as relations, facts with their time."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from minutebook.domain.records import MemoryType
from minutebook.domain.writing.source_drafts import (
    EntityDraft,
    Found,
    MemoryDraft,
    RelationDraft,
    UnreadPart,
)
from minutebook.features.importers.sources.registry import SOURCES, found_in
from tests.features.importers.test_cli import done
from tests.terminal import Run

MADE = Path(__file__).parent / "made"

NODES: Sequence[dict[str, Any]] = (
    {"type": "node", "id": "0", "labels": ["Person"], "properties": {"name": "Ana", "born": 1980}},
    {"type": "node", "id": "1", "labels": ["City"], "properties": {"name": "Porto"}},
    {"type": "node", "id": "2", "labels": ["Thing"], "properties": {"weight": 3}},
)
EDGES: Sequence[dict[str, Any]] = (
    {
        "id": "0",
        "type": "relationship",
        "label": "LIVES_IN",
        "properties": {"since": 1993},
        "start": {"id": "0", "labels": ["Person"]},
        "end": {"id": "1", "labels": ["City"]},
    },
    {
        "id": "1",
        "type": "relationship",
        "label": "OWNS",
        "start": {"id": "0", "labels": ["Person"]},
        "end": {"id": "7", "labels": []},
    },
)


def found(path: Path) -> list[Found]:
    kind = SOURCES["neo4j"]
    return list(found_in(kind.files(path), kind))


def written(folder: Path, form: str) -> Path:
    path = folder / "all.json"
    by_id = {"nodes": {e["id"]: e for e in NODES}, "rels": {e["id"]: e for e in EDGES}}
    documents: dict[str, Any] = {
        "ARRAY_JSON": [*NODES, *EDGES],
        "JSON": {"nodes": NODES, "rels": EDGES},
        "JSON_ID_AS_KEYS": by_id,
    }
    if form == "JSON_LINES":
        path.write_text("".join(json.dumps(each) + "\n" for each in (*EDGES, *NODES)))
    else:
        path.write_text(json.dumps(documents[form]))
    return path


@pytest.mark.parametrize("form", ["JSON_LINES", "ARRAY_JSON", "JSON", "JSON_ID_AS_KEYS"])
def test_each_form_of_an_export_says_the_same(tmp_path: Path, form: str) -> None:
    told = found(written(tmp_path, form))
    entities = {(e.name, e.type) for e in told if isinstance(e, EntityDraft)}
    assert entities == {("Ana", "Person"), ("Porto", "City")}
    (relation,) = [each for each in told if isinstance(each, RelationDraft)]
    assert (relation.source, relation.type, relation.target) == ("Ana", "LIVES_IN", "Porto")
    texts = {each.content for each in told if isinstance(each, MemoryDraft)}
    assert texts == {"Ana\nborn: 1980", "Ana LIVES_IN Porto\nsince: 1993"}
    reasons = sorted(each.reason for each in told if isinstance(each, UnreadPart))
    assert reasons == [
        "the node has no name",
        "the relationship leads to a node without a name, or not here",
    ]


def test_two_graphs_that_number_alike_stay_two(tmp_path: Path) -> None:
    here = {each.key for each in found(written(tmp_path, "JSON"))[:-1] if hasattr(each, "key")}
    text = (tmp_path / "all.json").read_text().replace("Ana", "Ben").replace("Porto", "Rome")
    (tmp_path / "all.json").write_text(text)
    there = {each.key for each in found(tmp_path / "all.json") if hasattr(each, "key")}
    assert not here & there


def test_what_graphiti_core_wrote_keeps_when_a_fact_held() -> None:
    told = found(MADE / "graphiti.json")
    assert not [each for each in told if isinstance(each, UnreadPart)]
    kept = {each.content: each for each in told if isinstance(each, MemoryDraft)}
    old, new = kept["Ana works at the Lisbon office."], kept["Ana works at the Porto office."]
    june = datetime(2026, 6, 1, tzinfo=UTC)
    assert (old.at, old.until) == (datetime(2025, 1, 1, tzinfo=UTC), june)
    assert (new.at, new.until) == (june, None)
    assert old.metadata["group"] == "team"
    assert old.program == "graphiti"
    episode = kept["Ana: I moved from Lisbon to Porto on Monday."]
    assert (episode.type, episode.title) == (MemoryType.EPISODIC, "chat 1")
    assert "Ana Silva\nrole: lead" in kept
    entities = {each.name: each for each in told if isinstance(each, EntityDraft)}
    assert entities["Ana Silva"].description == "Ana leads the payments team in Lisbon."
    assert entities["Offices in Portugal"].type == "community"
    relations = [(e.source, e.type, e.target) for e in told if isinstance(e, RelationDraft)]
    assert relations == [("Ana Silva", "WORKS_AT", "Porto office")]


def test_a_fact_that_ceased_to_hold_is_ended_by_the_next_import(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    document = json.loads((MADE / "graphiti.json").read_text())
    old = next(each for each in document["edges"] if each["invalid_at"])
    ended = (old["invalid_at"], old["expired_at"])
    old["invalid_at"] = old["expired_at"] = None
    path.write_text(json.dumps(document))
    assert "memory 4" in done(run, "import", "graphiti", str(path))
    assert "here already" in done(run, "import", "neo4j", str(path))
    old["invalid_at"], old["expired_at"] = ended
    path.write_text(json.dumps(document))
    assert "(memory 1): changed" in done(run, "import", "graphiti", str(path))
    (line,) = [line for line in done(run, "list").splitlines() if "(until" in line]
    assert "(until 2026-06-01)" in line


@pytest.mark.parametrize(
    "content", ["", "[", "{}", "[1]", '{"nodes": 3}', '{"nodes": [[]]}', '{"type": "node"}\n5\n']
)
def test_what_is_no_graph_is_told(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    assert all(isinstance(each, UnreadPart) for each in found(path))
