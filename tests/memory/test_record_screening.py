"""Secrets in what is written: masked before anything keeps them, or said to be there."""

import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from benchmarks.secret_samples import filled
from minutebook.app import App
from minutebook.features.archives.archive_lines import OWN, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.code.projects import Projects
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.caller import Call, Caller, with_call
from minutebook.record.policy import Redact
from minutebook.record.records import Entry, Memory, MemoryType, Role, Turn
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.source_drafts import Found, MemoryDraft, SourcePlace, TurnDraft
from tests.features.ledger.decided import draft
from tests.world import NOON, Opener, WordEmbedder, World, everything, ready, worlds

TEXT, (SECRET,) = filled("The deploy key is {{GitHub token}} until May.", Random(1))
HIDDEN = "[secret: GitHub token]"
ADMIN = Caller(name="ada", role=Role.ADMIN, organization="acme")


@pytest.fixture(scope="module")
def open_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opener]:
    with worlds(tmp_path_factory.mktemp("screening").resolve()) as opener:
        yield opener


def asking() -> Caller:
    """A caller with a request of its own, and a reason that gives a secret away."""
    return with_call(replace(ADMIN, call=Call(request="one")), reason=TEXT, notes={})


def fact(content: str = TEXT, **said: Any) -> Draft:
    return Draft(content=content, type=MemoryType.FACT, **said)


def entity(app: App, caller: Caller) -> None:
    ends = [app.entities.create_entity(caller, f"{TEXT} {n}", TEXT, TEXT, None) for n in "ab"]
    app.entities.create_relation(caller, ends[0].id, ends[1].id, TEXT, 1.0)


def memory(app: App, caller: Caller) -> Memory:
    return app.memories.store(caller, fact("Tea at five"))


WRITES: dict[str, Callable[[App, Caller], object]] = {
    "store": lambda a, c: a.memories.store(c, fact(title=TEXT, metadata={"a": [{"b": TEXT}]})),
    "store_joined": lambda a, c: a.memories.store_joined(
        c, fact(), [(memory(a, c).id, TEXT)], [memory(a, c).id], TEXT
    ),
    "write": lambda a, c: a.memories.write(c, fact(id="mine")),
    "overwrite": lambda a, c: [
        a.memories.write(c, fact("Tea", id="own")),
        a.memories.write(c, fact(id="own")),
    ],
    "write_all": lambda a, c: a.memories.write_all([(c, fact())]),
    "update": lambda a, c: a.memories.update(c, memory(a, c).id, {"content": TEXT}),
    "invalidate": lambda a, c: a.memories.invalidate(c, memory(a, c).id, TEXT, None),
    "deprecate": lambda a, c: a.status.deprecate(c, memory(a, c).id, TEXT),
    "create_entity": entity,
    "record": lambda a, c: a.get(DecisionActs).record(
        c, draft(TEXT, TEXT, rationale=TEXT, consequences=(TEXT,))
    ),
    "supersede": lambda a, c: a.get(DecisionActs).supersede(
        c,
        [a.get(DecisionActs).record(c, draft("api")).id],
        draft("api", TEXT, rationale=TEXT),
    ),
    "propose": lambda a, c: a.get(Proposals).propose(c, draft("ui", TEXT, rationale=TEXT)),
    "add": lambda a, c: a.sessions.add(c, "monday", TEXT, TEXT, TEXT),
    "summarize": lambda a, c: [
        a.sessions.add(c, "friday", TEXT, "", TEXT),
        a.summaries.summarize(c, "friday"),
    ],
}
"""What people and agents write, with a secret in each text."""


def test_where_secrets_are_masked_nothing_keeps_one(open_one: Opener, tmp_path: Path) -> None:
    embedder = WordEmbedder()
    world = open_one(
        ready(embedder), name="mask", redact=Redact.MASK, index_roots={"acme": (tmp_path,)}
    )
    world.app.embedding.wait(60)
    for act, write in WRITES.items():
        caller = asking()
        write(world.app, caller)
        facts: Any = caller.call.notes["secrets"].facts["found"]
        assert {each["kind"] for each in facts} == {"GitHub token"}, act
        assert {each["action"] for each in facts} == {"masked"}, act
    (tmp_path / ".env").write_text(f"TOKEN={SECRET}\n")
    (tmp_path / "a.py").write_text(f'def brew():\n    return "{SECRET}"\n')
    world.app.get(Projects).index(asking(), str(tmp_path))
    kept = "\n".join(map(repr, world.kept().values()))
    trail = "\n".join(map(repr, world.store.find(Entry, everything("acme"))))
    assert kept.count(HIDDEN) > len(WRITES)
    assert HIDDEN in trail
    assert any(HIDDEN in text for text in embedder.embedded)
    assert SECRET not in kept + trail + "\n".join(embedder.embedded)
    ledger = next(Path(world.app.database.place).parent.glob("ledgers/*"))
    history = subprocess.run(
        ["git", "-C", ledger, "log", "-p", "--all"], capture_output=True, text=True, check=True
    ).stdout
    assert HIDDEN in history
    assert SECRET not in history


def test_by_itself_it_warns_of_what_is_written_and_masks_what_is_captured(
    open_one: Opener,
) -> None:
    world, caller = open_one(name="default"), asking()
    kept = world.app.memories.store(caller, fact())
    assert world.app.memories.read(caller, kept.id).content == TEXT
    note = caller.call.notes["secrets"]
    assert note.facts == {"found": [{"kind": "GitHub token", "field": "content", "action": "kept"}]}
    assert "GitHub token in content" in note.text
    assert SECRET not in note.text
    turn = world.app.sessions.add(caller, "s", TEXT, "", "Done.")
    assert (turn.prompt, turn.response) == (TEXT.replace(SECRET, HIDDEN), "Done.")
    assert "GitHub token in prompt" in caller.call.notes["secrets"].text


def test_only_what_changes_is_looked_at(open_one: Opener) -> None:
    world = open_one(name="default")
    kept = world.app.memories.store(asking(), fact())
    caller = asking()
    world.app.memories.update(caller, kept.id, {"importance": 5.0})
    assert "secrets" not in caller.call.notes
    world.app.memories.update(caller, kept.id, {"title": TEXT})
    assert caller.call.notes["secrets"].facts == {
        "found": [{"kind": "GitHub token", "field": "title", "action": "kept"}]
    }


def test_switched_off_nothing_is_looked_at(open_one: Opener) -> None:
    world, caller = open_one(name="off", redact=Redact.OFF), asking()
    turn = world.app.sessions.add(caller, "s", TEXT, "", "")
    world.app.memories.store(caller, fact())
    assert turn.prompt == TEXT
    assert "secrets" not in caller.call.notes


def test_the_name_of_a_field_of_metadata_tells_of_its_value(open_one: Opener) -> None:
    world, caller = open_one(name="meta", redact=Redact.MASK), asking()
    said = {"password": "Xk29-sLq0", "tags": ["a"], "count": 3}
    kept = world.app.memories.store(caller, fact("Tea", metadata=said))
    hidden = {"password": "[secret: password or key]", "tags": ["a"], "count": 3}
    assert world.app.memories.read(caller, kept.id).metadata == hidden


def test_a_secret_in_the_name_of_a_field_is_masked_and_no_field_is_lost(
    open_one: Opener,
) -> None:
    other, _ = filled("{{GitHub token}}", Random(2))
    world = open_one(name="names", redact=Redact.MASK)
    told = world.app.memories.store(ADMIN, fact("Tea", metadata={SECRET: "first", other: "second"}))
    assert told.metadata == {HIDDEN: "first", f"{HIDDEN}'": "second"}


def test_an_archive_is_imported_as_it_is_and_its_secrets_are_named(
    open_one: Opener, tmp_path: Path
) -> None:
    world = open_one(name="archive", redact=Redact.OFF)
    owner = Caller(name="ada", role=Role.ADMIN, writes_system=True)
    world.app.memories.store(owner, fact())
    world.app.sessions.add(owner, "s", TEXT, "", "")
    path = tmp_path / "all.jsonl"
    world.app.get(Archives).export_to(owner, OWN, path)
    other = open_one(name="other", redact=Redact.MASK)
    caller = with_call(owner, notes={})
    other.app.get(Archives).import_from(caller, path, Mode.MERGE, is_own=True)

    def records(of: World) -> list[Any]:
        return [
            each for kind in (Memory, Turn) for each in of.store.find(kind, everything("default"))
        ]

    assert records(other) == records(world)
    facts: Any = caller.call.notes["secrets"].facts["found"]
    assert {(each["field"], each["action"]) for each in facts} == {
        ("content", "kept"),
        ("prompt", "kept"),
    }


def test_an_import_from_another_program_masks_its_turns_and_names_the_rest(
    open_one: Opener,
) -> None:
    world, caller = open_one(name="sources"), asking()
    said: dict[str, Any] = {"place": SourcePlace("a.jsonl", 1), "program": "other"}
    found: list[Found] = [
        TurnDraft(key="1", session="s", at=NOON, prompt=TEXT, thought="", response="", **said),
        MemoryDraft(key="2", content=TEXT, type=MemoryType.FACT, **said),
    ]
    for _ in range(2):
        world.app.get(SourceImports).run(caller, "other", found, lambda: 1.0, dry_run=False)
    (turn,) = world.store.find(Turn, everything("acme"))
    (kept,) = world.store.find(Memory, everything("acme"))
    assert (turn.prompt, kept.content) == (TEXT.replace(SECRET, HIDDEN), TEXT)
    facts: Any = caller.call.notes["secrets"].facts["found"]
    assert [(each["field"], each["action"]) for each in facts] == [
        ("content", "kept"),
        ("prompt", "masked"),
    ]
