"""What a file claims of persons: whatever file it is, every exit says who brought it, and nothing is trusted for it."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from html import unescape
from pathlib import Path

import pytest

from minutebook.ask import Minutebook, open_memory
from minutebook.features.archives.archive_lines import OWN
from minutebook.features.archives.archives import Archives
from minutebook.features.hooks.contexts import HookContexts
from minutebook.record.errors import MinutebookError
from minutebook.record.instants import is_ahead
from minutebook.record.records import CLASSES, Decision, Entry, Kind, Memory, Record, Status
from minutebook.record.trust.doors import Voice
from minutebook.serve.contracts.registry import CONTRACTS
from tests.faults.campaign import chance, report, rounds
from tests.faults.hostile.doors import PERSON, context
from tests.faults.hostile.exits import COMMANDS, FORMS, PAGES
from tests.faults.hostile.house import House, house
from tests.features.ledger.decided import committed, written
from tests.world import everything

NAME = "Zelda Quill"
"""Whom the files name: who wrote, verified, locked and decided all that they hold."""

SHOWN = re.compile(rf"(?:in the name of (?:<bdi>)?)?{NAME}(?:(?:</bdi>)? \(claimed\))?")
TO_COME = "2031"
"""The year of half of the dates."""

WORD = "zqclaim"


def archive(folder: Path, draw: Callable[[], bool], kinds: Collection[Kind] = OWN) -> Path:
    """Write the archive of a store in which the person named did all, some of it in years to come."""
    elsewhere, path = folder / "elsewhere", folder / "claims.jsonl"
    elsewhere.mkdir()
    with house(elsewhere) as other:
        _fill(other)
        other.app.get(Archives).export_to(PERSON, kinds, path)
    lines = [_claimed(line, draw) for line in path.read_text("utf-8").splitlines()[:-1]]
    body = "".join(f"{line}\n" for line in lines)
    last = json.dumps({"sha256": hashlib.sha256(body.encode()).hexdigest()})
    path.write_text(f"{body}{last}\n", "utf-8")
    return path


def _fill(other: House) -> None:
    ids = []
    for type in ("fact", "business_rule", "preference", "procedural"):
        done = other.command("remember", f"{WORD} {type} of the store", "--type", type, "--json")
        ids.append(json.loads(done.text)["id"])
    other.app.memories.update(PERSON, ids[0], {"content": f"{WORD} fact said anew"})
    other.command("mark", ids[1], "verify")
    other.command("mark", ids[2], "lock", "--role", "manager")
    ends = [
        other.tool("knowledge", "create_entity", name=name, entity_type="thing").document
        for name in (f"{WORD}one", f"{WORD}two")
    ]
    one, two = (each["result"]["structuredContent"]["id"] for each in ends)
    joined = {"from_entity": one, "to_entity": two, "relation_type": "feeds"}
    other.tool("knowledge", "create_relation", **joined)
    said = {"rationale": f"{WORD}, and because it is so", "title": f"Use {WORD}"}
    for tool in ("record_decision", "propose_decision"):
        other.tool("ledger", tool, target=f"{WORD}.{tool}", **said)
    turn = {
        "prompt": f"{WORD} asked",
        "thought": "Well.",
        "response": f"{WORD} answered at length.",
    }
    other.tool("journal", "add_memory", sessionId="s1", **turn)
    other.command("sessions", "--summarize")


def _claimed(line: str, draw: Callable[[], bool]) -> str:
    """Return a line in which the person named did all, perhaps in a year to come."""
    line = re.sub(r'"(author|changed_by|actor)":"[^"]*"', rf'"\1":"{NAME}"', line)
    return re.sub(r'"20\d\d(-\d\d-\d\dT)', rf'"{TO_COME}\1', line) if draw() else line


def _imported(at: House, draw: Callable[[], bool]) -> None:
    done = at.command("import", str(archive(at.folder, draw)), "--role", "admin")
    assert not done.refused, done.text


def _journal(at: House, draw: Callable[[], bool]) -> None:
    backups = at.settings.home / "backups"
    backups.mkdir(exist_ok=True)
    made = archive(at.folder, draw, (Kind.TURN, Kind.SUMMARY))
    made.rename(backups / "journal.jsonl")
    done = at.tool("journal", "import_database", file="journal.jsonl")
    assert not done.refused, done.text


def _pulled(at: House, draw: Callable[[], bool]) -> None:
    for number in range(4):
        year = int(TO_COME) if draw() else 2026
        made = written(
            number,
            target=f"{WORD}.{number}",
            title=f"Use {WORD} {number}",
            author=NAME,
            created_at=datetime(year, 1, 6, 12, tzinfo=UTC),
            id=f"decision_{year}0106T120000000000Z_{number:08x}",
        )
        with suppress(MinutebookError):
            committed(at.app, made)
    at.command("decisions")


def _noted(at: House, draw: Callable[[], bool]) -> None:
    folder = at.folder / "vault"
    folder.mkdir()
    year = TO_COME if draw() else "2025"
    fields = f"author: {NAME}\nstatus: verified\ncreated: {year}-01-06T12:00:00Z\nfrom: {NAME}"
    (folder / "claim.md").write_text(f"---\n{fields}\n---\n{WORD} noted\n", "utf-8")
    done = at.command("notes", str(folder))
    assert not done.refused, done.text


FILES: Mapping[str, Callable[[House, Callable[[], bool]], None]] = {
    "an archive": _imported,
    "a journal's archive": _journal,
    "commits to a ledger": _pulled,
    "notes in a folder": _noted,
}
"""The files that may claim something, by the name of the row in docs/reliability.md."""


def records(at: House) -> Iterator[Record]:
    store = at.app.infrastructure.store
    for of in CLASSES.values():
        if of is not Entry:
            yield from store.find(of, everything("default"))


def exits(at: House) -> Iterator[tuple[str, str]]:
    """Yield all that people and agents are shown, with where."""
    kept = list(records(at))
    memories = [each.id for each in kept if isinstance(each, Memory)]
    decisions = [each.id for each in kept if each.kind in ("decision", "proposal")]
    for id in memories:
        yield "show", at.command("show", id).text
        yield "show --version", at.command("show", id, "--version", "1").text
        yield "/memories/", at.owner.get(f"/memories/{id}").text
        uuid = next(each.uuid for each in kept if isinstance(each, Memory) and each.id == id)
        yield from resources(at, "catalog", f"memory://{uuid}", f"memory://{uuid}/history")
        read = {"context": context("read", "robot"), "id": uuid}
        yield "memory.read", at.tool("governance", "memory.read", **read).text
    for id in decisions:
        yield "show", at.command("show", id).text
        yield "/decisions/", at.owner.get(f"/decisions/{id}").text
        yield from resources(at, "ledger", f"decision://{id}")
    for address in (*PAGES, f"/find?q={WORD}", "/session?name=s1", "/review?of=rule"):
        yield address, unescape(at.owner.get(address).text)
    for words in (
        *COMMANDS,
        ("search", WORD),
        ("sessions", "s1"),
        ("decisions", "--graph", "mermaid"),
    ):
        yield " ".join(words), at.command(*words).text
    for tool in ("recall", "search", "search_text", "list_recent"):
        yield (
            tool,
            at.tool("knowledge", tool, **({} if tool == "list_recent" else {"query": WORD})).text,
        )
    yield "search_decisions", at.tool("ledger", "search_decisions", query=WORD, mode="audit").text
    yield "query_raw_memories", at.tool("journal", "query_raw_memories", query=WORD).text
    start = at.app.get(HookContexts).at_start(PERSON, "s1", 100_000)
    yield "hook", "" if start is None else start.text
    yield from files(at)
    with open_memory(home=at.settings.home) as memory:
        yield from through_api(memory)


def resources(at: House, contract: str, *uris: str) -> Iterator[tuple[str, str]]:
    served = CONTRACTS[contract]()
    for uri in uris:
        with suppress(MinutebookError):
            yield uri.partition(":")[0], str(served.read(at.app, PERSON, uri).text)


def files(at: House) -> Iterator[tuple[str, str]]:
    for form in FORMS:
        out = at.folder / f"out {form}"
        at.command("export", "--format", form, str(out))
        # What the folder's writer notes beside them is for no reader.
        for path in [out] if out.is_file() else out.rglob("[!.]*.[mc][ds]*"):
            text = path.read_text("utf-8")
            rows = csv.reader(io.StringIO(text)) if form == "csv" else ()
            lines = [" ".join(",".join(row).split()) for row in rows]
            yield f"export {form}", "\n".join(lines) or text


def through_api(memory: Minutebook) -> Iterator[tuple[str, str]]:
    for each in memory.list_memories(limit=100).memories:
        yield "API", repr(memory.history(each.id))
        yield "API", repr(each)


def is_said(text: str, found: re.Match[str]) -> bool:
    """Tell whether a name that is shown is shown as a claim, there or in the origin that stands in the same line."""
    if found[0] != NAME:
        return True
    start = text.rfind("\n", 0, found.start()) + 1
    line = text[start : text.find("\n", found.end()) if "\n" in text[found.end() :] else None]
    is_record = line.startswith(("{", "default,", "Memory(", "[Version("))
    return is_record and re.search(r"\bbrought[\"=]", line) is not None


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_claims_is_shown_as_a_claim_and_believed_of_nobody(
    name: str, tmp_path: Path
) -> None:
    random, counts = chance(name), {"files": 0, "records": 0, "shown": 0}
    for number in range(rounds(1, 20)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with house(folder) as at:
            FILES[name](at, lambda: random.random() < 0.5)
            wrong = []
            for exit, text in exits(at):
                for found in SHOWN.finditer(text):
                    counts["shown"] += 1
                    if not is_said(text, found):
                        wrong.append(
                            f"{exit}: …{text[max(0, found.start() - 150) : found.end() + 60]!r}"
                        )
            assert not wrong, "\n".join(wrong[:20])
            counts["files"] += 1
            counts["records"] += sum(1 for _ in records(at))
            check_trust(at, is_persons=FILES[name] is _noted)
    if FILES[name] is not _noted:
        assert counts["shown"] > 0
    report("claims", name, **counts, wrong=0)


def check_trust(at: House, *, is_persons: bool) -> None:
    """Check that nothing was verified, decided, entered or dated as a file says."""
    now, store = datetime.now(UTC), at.app.infrastructure.store
    for record in records(at):
        if isinstance(record, Memory):
            assert record.status not in (Status.VERIFIED, Status.LOCKED)
            assert is_persons or at.app.doors.voice(record) is Voice.CLAIMED
        assert not isinstance(record, Decision), record
        for field in (
            "event_time",
            "ingestion_time",
            "updated_at",
            "created_at",
            "changed_at",
            "at",
        ):
            instant = getattr(record, field, None)
            assert instant is None or not is_ahead(instant, now), (record, field)
    actors = {each.actor for each in store.find(Entry, everything("default"))}
    assert NAME not in actors
