"""What the reference memory server keeps comes in and goes out again the same."""

import json
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.archives.exports.graph_exports import GraphExports
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.importers.sources.registry import SOURCES, found_in
from minutebook.record.records import Entity, Memory
from minutebook.record.writing.source_drafts import (
    EntityDraft,
    MemoryDraft,
    RelationDraft,
    UnreadPart,
)
from tests.features.importers.sources.transcripts import lines
from tests.features.importers.test_cli import done, refused
from tests.line_client import LineClient, initialize
from tests.terminal import Run
from tests.world import World, everything

GRAPH: Sequence[dict[str, Any]] = (
    {
        "type": "entity",
        "name": "Ana",
        "entityType": "person",
        "observations": ["Drinks tea", 'Line\nbreak "q"', "Works with Ben"],
    },
    {"type": "entity", "name": "Ben", "entityType": "person", "observations": []},
    {"type": "entity", "name": "Acme", "entityType": "company", "observations": ["Since 1999"]},
    {"type": "entity", "name": "++", "entityType": "language", "observations": ["Is ++"]},
    {"type": "relation", "from": "Ana", "to": "Acme", "relationType": "works_at"},
    {"type": "relation", "from": "Ana", "to": "Ben", "relationType": "knows"},
)
"""As the server writes it; an observation names another entity, and a name has no words."""


def graph_of(path: Path) -> list[str]:
    """Return what a file holds, whatever its order."""
    return sorted(path.read_text(encoding="utf-8").splitlines())


def taken(world: World, path: Path) -> Any:
    kind = SOURCES["server-memory"]
    source = kind.files(path)
    return world.app.get(SourceImports).run(
        world.caller, "server-memory", found_in(source, kind), lambda: 1.0, dry_run=False
    )


def written(world: World, path: Path) -> list[dict[str, Any]]:
    world.app.get(GraphExports).run(world.caller, path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_came_in_goes_out_the_same(run: Run, tmp_path: Path) -> None:
    path = lines(tmp_path / "memory.jsonl", *GRAPH)
    assert "entity 4, memory 5, relation 2" in done(run, "import", "server-memory", str(path))
    assert "Imported nothing" in done(run, "import", "server-memory", str(path))
    out = ("export", "--format", "server-memory")
    assert "entity 4, memory 5, relation 2" in done(run, *out, "out.jsonl")
    assert [json.loads(line) for line in graph_of(tmp_path / "out.jsonl")] == [
        json.loads(line) for line in graph_of(path)
    ]
    # So that a line that is appended stands alone.
    assert (tmp_path / "out.jsonl").read_bytes().endswith(b"}\n")
    assert "there already" in refused(run, *out, "out.jsonl")
    assert "--format" in refused(run, *out, "more.jsonl", "--sessions")
    other = ("--home", str(tmp_path / "other"))
    done(run, "import", "server-memory", "out.jsonl", *other)
    done(run, *out, "again.jsonl", *other)
    assert graph_of(tmp_path / "again.jsonl") == graph_of(tmp_path / "out.jsonl")


def test_an_observation_is_found_at_its_entity(world: World, tmp_path: Path) -> None:
    taken(world, lines(tmp_path / "memory.jsonl", *GRAPH))
    memories = world.store.find(Memory, everything("default"))
    assert {(each.title, each.content) for each in memories} >= {("Ana", "Drinks tea")}
    assert len(world.store.find(Entity, everything("default"))) == 4


def test_what_was_learned_here_goes_out_too(world: World, tmp_path: Path) -> None:
    world.entity("Ana", entity_type="person", description="Our cook")
    world.remember("Ana went to Rome")
    old = world.remember("Ana is in Paris")
    world.app.memories.invalidate(world.caller, old, "she left", None)
    world.remember("It rains")
    assert written(world, tmp_path / "out.jsonl") == [
        {
            "type": "entity",
            "name": "Ana",
            "entityType": "person",
            "observations": ["Our cook", "Ana went to Rome"],
        }
    ]
    done = world.app.get(GraphExports).run(world.caller, tmp_path / "more.jsonl")
    assert done.left_out == 1
    assert [each.act for each in world.trail()][-3:] == ["export"] * 3


def test_what_another_may_not_see_stays_here(world: World, tmp_path: Path) -> None:
    ana = world.by(user="ana")
    ana.entity("Secret project")
    ana.remember("The Secret project is on")
    assert written(world.by(user="ben"), tmp_path / "out.jsonl") == []


@pytest.mark.parametrize(
    "line",
    [
        {"type": "entity", "entityType": "x"},
        {"type": "entity", "name": "A", "entityType": "x", "observations": [7]},
        {"type": "relation", "from": "A", "to": None, "relationType": "x"},
        {"name": "A"},
    ],
)
def test_a_line_of_another_form_is_left_out(tmp_path: Path, line: dict[str, Any]) -> None:
    kind = SOURCES["server-memory"]
    source = kind.files(lines(tmp_path / "m.jsonl", line))
    assert any(isinstance(each, UnreadPart) for each in found_in(source, kind))


BARE = {
    "entities": [{k: v for k, v in e.items() if k != "type"} for e in GRAPH if "name" in e],
    "relations": [{k: v for k, v in e.items() if k != "type"} for e in GRAPH if "from" in e],
}
CUT = '{"type": "entity", "name": "Cut", "observations": ["half a'


@pytest.mark.parametrize(
    ("text", "damaged"),
    [
        (json.dumps(GRAPH), 0),
        (json.dumps(GRAPH, indent=2), 0),
        (json.dumps(BARE), 0),
        (json.dumps(BARE, indent=2), 0),
        ("\n".join(json.dumps(each, indent=2) for each in GRAPH), 0),
        ("".join(map(json.dumps, GRAPH)), 0),
        (CUT + "\n" + "\n".join(map(json.dumps, GRAPH)), 1),
        (json.dumps(GRAPH)[:-1] + ", " + CUT, 2),
        (json.dumps(BARE, indent=2)[:-3], 3),
        ("\0\0\n\0" + "\n".join(map(json.dumps, GRAPH)), 2),
    ],
    ids=range(10),
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_the_graph_is_read_in_each_form(
    tmp_path: Path, text: str, damaged: int, encoding: str
) -> None:
    if "\0" in text and encoding != "utf-8":
        pytest.skip("NULs and another encoding")
    (tmp_path / "m.json").write_bytes(text.encode(encoding))
    kind = SOURCES["server-memory"]
    found = list(found_in(kind.files(tmp_path), kind))
    drafts = Counter(type(each) for each in found)
    assert drafts.pop(UnreadPart, 0) == damaged
    assert drafts == {EntityDraft: 4, MemoryDraft: 5, RelationDraft: 2}


PEERS = Path(__file__).parents[4] / "benchmarks" / "peers"
SERVER = Path("node_modules", "@modelcontextprotocol", "server-memory", "dist", "index.js")


def with_server(server: Path, memory: Path, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """Call tools of the real server on a memory; return what each answered."""
    with subprocess.Popen(
        [shutil.which("node") or "node", str(server)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "MEMORY_FILE_PATH": str(memory)},
    ) as process:
        client = LineClient(process)
        client.answer_to("initialize", initialize("2025-06-18")["params"])
        answers = [
            client.answer_to("tools/call", {"name": name, "arguments": arguments})["result"]
            for name, arguments in calls
        ]
        assert process.stdin is not None
        process.stdin.close()
    return answers


@pytest.mark.slow
def test_a_memory_made_by_the_real_server_goes_there_and_back(run: Run, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PEERS / name, tmp_path)
    subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=tmp_path, check=True
    )
    server = tmp_path / SERVER
    entities = [
        {field: each[field] for field in ("name", "entityType", "observations")}
        for each in GRAPH
        if each["type"] == "entity"
    ]
    relations = [
        {field: each[field] for field in ("from", "to", "relationType")}
        for each in GRAPH
        if each["type"] == "relation"
    ]
    memory = tmp_path / "memory.jsonl"
    with_server(
        server,
        memory,
        ("create_entities", {"entities": entities}),
        ("create_relations", {"relations": relations}),
    )
    done(run, "import", "server-memory", str(memory))
    done(run, "export", "--format", "server-memory", "out.jsonl")
    assert sorted(graph_of(tmp_path / "out.jsonl")) == graph_of(memory)
    told = with_server(server, tmp_path / "out.jsonl", ("read_graph", {}))[0]
    read = told["structuredContent"]
    assert sorted(map(str, read["relations"])) == sorted(map(str, relations))
    assert sorted(each["name"] for each in read["entities"]) == ["++", "Acme", "Ana", "Ben"]
