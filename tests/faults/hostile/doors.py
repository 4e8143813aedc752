"""Every door by which text comes in, each with what puts the items of the set through it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import mkdtemp
from typing import Literal

from minutebook.features.archives.archive_lines import OWN
from minutebook.features.archives.archives import Archives
from minutebook.features.hooks.capture import capture
from minutebook.features.hooks.events import read_event
from minutebook.features.sync.machines import MachineSync
from minutebook.features.sync.remotes import FolderRemote
from minutebook.record.caller import Caller
from minutebook.record.policy import Redact
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.faults.hostile.house import Answer, House, house
from tests.faults.hostile.items import Item
from tests.faults.hostile.source_files import SOURCE_FILES
from tests.features.ledger.decided import committed, written

PERSON = Caller(name="ada", role=Role.HUMAN, writes_system=True)
GOVERNED = "8f14e45f-ceea-467f-a0e6-3d2b7e0b3c11"
"""The organization and the repository that the governance contract asks for, each a UUID."""

Each = Callable[[House, Item], list[Answer]]
All = Callable[[House, Sequence[Item]], list[Answer]]
Kept = Literal["memory", "governed", "turn", "decision", "code", ""]
"""By which search it is found again; empty: it is only shown."""


@dataclass(frozen=True)
class Door:
    """A way in: what puts one item through it, or all at once.

    `kept`: as which kind of record. `captured`: nobody wrote it on purpose. `as_it_is`: what comes by it stays as
    another store had it. `exact`: it keeps every character; else white space may change, and marks of Markdown.
    """

    each: Each | None = None
    all: All | None = None
    kept: Kept = "memory"
    captured: bool = False
    as_it_is: bool = False
    exact: bool = True
    names: bool = True
    """An answer names the secrets of its item."""


def _store(h: House, item: Item) -> list[Answer]:
    note = {"note": item.text, "list": [{"deep": item.text}], item.bare[:100]: "key"}
    return [h.tool("knowledge", "store_memory", content=item.text, metadata=note)]


def _before(h: House, item: Item) -> str:
    """Keep a memory that is changed then, by the service itself, since pages and tools have limits of their own."""
    draft = Draft(content=f"before {item.word}", type=MemoryType.FACT)
    return h.app.memories.store(replace(PERSON, organization="default"), draft).id


def _update(h: House, item: Item) -> list[Answer]:
    id = _before(h, item)
    return [h.tool("knowledge", "update_memory", id=id, content=item.text)]


def _entities(h: House, item: Item) -> list[Answer]:
    made = [
        h.tool("knowledge", "create_entity", name=f"{end} {item.text}", entity_type=item.text, description=item.text)
        for end in ("one", "two")
    ]  # fmt: skip
    if any(each.refused for each in made):
        return made
    one, two = (each.document["result"]["structuredContent"]["id"] for each in made)
    named = {"from_entity": one, "to_entity": two, "relation_type": item.text}
    return [*made, h.tool("knowledge", "create_relation", **named)]


def _invalidate(h: House, item: Item) -> list[Answer]:
    id = _before(h, item)
    return [h.tool("knowledge", "invalidate", id=id, reason=item.text)]


def _govern(h: House, item: Item) -> list[Answer]:
    told = {
        "context": context("write", "robot" if item.secrets else item.text),
        "content": item.text,
        "type": "fact",
    }
    return [h.tool("governance", "memory-write", **told)]


def context(intent: str, agent: str) -> dict[str, str]:
    """Return the context of a governed call."""
    ids = {"organization_id": GOVERNED, "repository_id": GOVERNED}
    return {"agent_id": agent, "intent": intent, "request_id": "r", **ids}


def _catalog(h: House, item: Item) -> list[Answer]:
    told = {"organization": "default", "scope_type": "organization", "memory_type": "business_rule"}
    return [
        h.tool(
            "catalog",
            "memory-write",
            **told,
            current_content=item.text,
            title=item.text,
            metadata={"tags": [item.text]},
        )
    ]


def _batch(h: House, items: Sequence[Item]) -> list[Answer]:
    told = {"organization": "default", "scope_type": "organization", "memory_type": "risk"}
    some = [
        {**told, "current_content": each.text, "title": each.word} for each in items if each.carries
    ]
    return [
        h.tool("catalog", "memory-batch-write", items=some[at : at + 20])
        for at in range(0, len(some), 20)
    ]


def _turn(item: Item) -> dict[str, str]:
    return {
        "prompt": item.text,
        "thought": item.text,
        "response": item.text,
        # A name of a session with control characters is refused.
        "sessionId": f"{item.bare[:99]} {item.word}"
        if item.bare.isprintable() and not item.secrets
        else item.word,
    }


def _decision(item: Item) -> dict[str, object]:
    return {
        "title": item.text,
        "target": f"{item.bare[:80]} {item.word}",
        "rationale": f"It is so because of this: {item.text}",
        "consequences": [item.text],
    }


def _page(h: House, item: Item) -> list[Answer]:
    if not item.carries:
        # No browser can send it.
        return [Answer("", refused=True)]
    id = _before(h, item)
    fields = {"text": item.text, "title": item.text[:200], "version": "1", "reason": item.text}
    shown = h.form(f"/memories/{id}/edit", **fields)
    return [shown]


def _remember(h: House, item: Item) -> list[Answer]:
    if "\0" in item.text:
        # No argument of a process can hold it.
        return [Answer("", refused=True)]
    tail = ["--title", item.text, "--tag", item.text, "--metadata", f"note={item.text}"]
    return [h.command("remember", *tail, "--", item.text)]


def _names(h: House, item: Item) -> list[Answer]:
    if "\0" in item.text:
        return [Answer("", refused=True)]
    return [h.command("remember", "--agent", item.text, "--user", item.text, f"by {item.word}")]


def _decide(h: House, item: Item) -> list[Answer]:
    if "\0" in item.text:
        return [Answer("", refused=True)]
    told = _decision(item)
    named = ("--title", str(told["title"]), "--target", str(told["target"]))
    given = [f"{flag}={text}" for flag, text in zip(named[::2], named[1::2], strict=True)]
    return [h.command("decide", *given, f"--rationale={told['rationale']}")]


def _transcript(h: House, items: Sequence[Item]) -> list[Answer]:
    configuration = h.folder / "claude"
    SOURCE_FILES["claude-code"](configuration / "projects", items)
    outcomes = []
    for path in sorted((configuration / "projects").rglob("*.jsonl")):
        told = {"hook_event_name": "SessionEnd", "session_id": path.stem, "cwd": str(h.folder), "transcript_path": str(path)}  # fmt: skip
        caller = replace(PERSON, organization="default", role=Role.AGENT)
        outcome = capture(h.app, h.settings, caller, "claude-code", read_event(told), configuration)
        outcomes.append(Answer(outcome, outcome != "captured"))
    return outcomes


def importing(name: str) -> Door:
    """Return the door of a source."""

    def bring(h: House, items: Sequence[Item]) -> list[Answer]:
        folder = h.folder / f"source {name}"
        folder.mkdir()
        SOURCE_FILES[name](folder, items)
        return [h.command("import", name, str(folder))]

    is_turn = name in TURNS
    return Door(all=bring, kept="turn" if is_turn else "memory", captured=is_turn, exact=False)


TURNS = ("claude-code", "codex", "copilot-cli", "gemini-cli", "chat-export")


def _notes(h: House, items: Sequence[Item]) -> list[Answer]:
    for each in items:
        if each.carries:
            _store(h, replace(each, bare="Tea", secrets=()))
    folder = h.folder / "vault"
    answers = [h.command("notes", str(folder))]
    words = {each.word: each for each in items}
    for path in folder.rglob("*.md"):
        text = path.read_text("utf-8")
        found = next((words[word] for word in words if f"\nTea {word}" in text), None)
        if found is not None and found.carries:
            path.write_text(text.replace(f"\nTea {found.word}", f"\n{found.text}", 1), "utf-8")
    return [*answers, h.command("notes", str(folder))]


def _elsewhere(h: House, items: Sequence[Item], act: Callable[[House], None]) -> None:
    """Fill another store, which looks for no secrets, and let something be done with it."""
    folder = Path(mkdtemp(dir=h.folder))
    with house(folder, Redact.OFF) as other:
        for each in items:
            _store(other, each)
            other.tool("journal", "add_memory", **_turn(each))
            other.tool("ledger", "propose_decision", **_decision(each))
        act(other)


def _archive(h: House, items: Sequence[Item]) -> list[Answer]:
    path = h.folder / "archive.jsonl"
    _elsewhere(
        h,
        items,
        lambda other: _ignore(other.app.get(Archives).export_to(PERSON, OWN, path)),
    )
    return [h.command("import", str(path), "--role", "admin")]


def _journal(h: House, items: Sequence[Item]) -> list[Answer]:
    backups = h.settings.home / "backups"
    backups.mkdir(exist_ok=True)
    _elsewhere(
        h, items, lambda other: _ignore(other.app.get(Archives).export_journal_to(PERSON, backups / "journal.jsonl"))
    )  # fmt: skip
    return [h.tool("journal", "import_database", file="journal.jsonl")]


def _sync(h: House, items: Sequence[Item]) -> list[Answer]:
    (h.folder / "remote").mkdir()
    remote = str(h.folder / "remote")
    _elsewhere(
        h, items, lambda other: _ignore(other.app.get(MachineSync).run(PERSON, FolderRemote(Path(remote))))
    )  # fmt: skip
    return [h.command("sync", remote)]


def _pulled(h: House, items: Sequence[Item]) -> list[Answer]:
    h.tool(
        "ledger", "record_decision", **_decision(replace(items[0], bare="First", word="zqfirst"))
    )
    decisions = [
        written(
            number,
            target=f"{each.bare[:80]} {each.word}",
            title=each.text,
            rationale=f"It is so because of this: {each.text}",
            consequences=(each.text,),
            author=each.text,
            created_at=datetime.now(UTC),
        )
        for number, each in enumerate(items, 100)
        if each.carries and "\0" not in each.text
    ]
    answers = []
    for each in decisions:
        try:
            committed(h.app, each)
        except ValueError as error:
            answers.append(Answer(str(error), refused=True))
    return answers


def _code(h: House, items: Sequence[Item]) -> list[Answer]:
    project = h.folder / "project"
    project.mkdir()
    for each in items:
        if not each.carries:
            continue
        # Names of files are no secrets: a project is known by them.
        name = "x" if each.secrets else "".join(c for c in each.bare if c not in "/\0")[:60]
        body = f"# {each.word}\ndef brew_{each.word}():\n    '''{each.text}'''\n"
        try:
            (project / f"{each.word} {name}.py").write_text(body, "utf-8")
        except OSError:
            (project / f"{each.word}.py").write_text(body, "utf-8")
    return [h.command("index", str(project))]


def _ignore(value: object) -> None:
    """Do nothing with what an act returned."""


DOORS: Mapping[str, Door] = {
    "MCP knowledge: store_memory": Door(_store),
    "MCP knowledge: update_memory": Door(_update),
    "MCP knowledge: create_entity, create_relation": Door(_entities, kept=""),
    "MCP knowledge: invalidate": Door(_invalidate, kept=""),
    "MCP governance: memory-write": Door(_govern, kept="governed"),
    "MCP catalog: memory-write": Door(_catalog),
    "MCP catalog: memory-batch-write": Door(all=_batch),
    "MCP journal: add_memory": Door(
        lambda h, item: [h.tool("journal", "add_memory", **_turn(item))], kept="turn", captured=True
    ),
    "plain HTTP: /add_memory": Door(
        lambda h, item: [h.rest("/add_memory", _turn(item))], kept="turn", captured=True
    ),
    "MCP ledger: record_decision": Door(
        lambda h, item: [h.tool("ledger", "record_decision", **_decision(item))],
        kept="decision",
        exact=False,
    ),
    "MCP ledger: propose_decision": Door(
        lambda h, item: [h.tool("ledger", "propose_decision", **_decision(item))], kept=""
    ),
    "pages: forms": Door(_page, exact=False),
    "command: remember": Door(_remember),
    "command: --agent, --user": Door(_names, kept="", names=False, as_it_is=True),
    "command: decide": Door(_decide, kept="decision", exact=False),
    "hook: a transcript": Door(all=_transcript, kept="turn", captured=True, exact=False),
    **{f"import {name}": importing(name) for name in SOURCE_FILES},
    "notes: a folder that was edited": Door(all=_notes, exact=False),
    "archive": Door(all=_archive, as_it_is=True),
    "MCP journal: import_database": Door(all=_journal, kept="turn", as_it_is=True),
    "sync between machines": Door(all=_sync, as_it_is=True, names=False),
    "ledger: commits that were pulled": Door(
        all=_pulled, kept="decision", as_it_is=True, exact=False, names=False
    ),
    "MCP knowledge: code of a project": Door(all=_code, kept="code", captured=True, exact=False),
}  # fmt: skip
"""The doors for texts, by the name of the row in docs/reliability.md."""
