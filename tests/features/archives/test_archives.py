"""Exports and imports: equal when they come back, all or nothing, and nobody else's."""

import hashlib
import json
import os
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.archives.archive_lines import JOURNAL, KINDS, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.archives.importing import Imported
from minutebook.memory.intake import Outcome
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import Forbidden, InvalidArchive, InvalidInput, ScopeViolation
from minutebook.record.json_lines import line_of
from minutebook.record.records import CLASSES, Category, Kind, Memory, Role, Summary, Turn
from minutebook.record.writing.turns import summary_id, turn_id
from tests.examples import parametrize_in_part
from tests.world import NOON, Opener, World, everything

AGENT = Caller(name="ana", role=Role.AGENT)
ADMIN = Caller(name="root", role=Role.ADMIN, writes_system=True)


def archives(world: World) -> Archives:
    """Return the archives of a world."""
    return world.app.get(Archives)


def turn(number: int = 0, **fields: Any) -> Turn:
    at = NOON + timedelta(milliseconds=number)
    plain: dict[str, Any] = {
        "organization": "default",
        "id": turn_id(at),
        "session": f"s{number % 3}",
        "at": at,
        "prompt": f"prompt {number}",
        "thought": "東京\n\u2028 'quoted'",
        "response": "done",
        "author": "ana",
    }
    return Turn(**{**plain, **fields})


def summary(session: str = "s0", **fields: Any) -> Summary:
    plain: dict[str, Any] = {
        "organization": "default",
        "id": summary_id(session, fields.get("repository"), fields.get("user")),
        "session": session,
        "at": NOON,
        "title": "Bread",
        "summary": "The bread was baked.",
        "category": Category.BUGFIX,
        "turn_count": 4,
        "quality": 80,
        "productivity": 70,
        "impact": 60,
        "complexity": 0,
        "technologies": ("python",),
        "made_by": "extractive",
        "reasons": {"quality": "no errors"},
        "last_turn": "mem_1",
        "author": "ana",
    }
    return Summary(**{**plain, **fields})


def put(world: World, *records: Turn | Summary) -> None:
    with world.store.transaction(*{record.organization for record in records}):
        for record in records:
            world.store.put(record)


def journal(world: World, organization: str = "default") -> list[Turn | Summary]:
    found: list[Any] = []
    for kind in JOURNAL:
        found += world.store.find(CLASSES[kind], everything(organization))
    return found


def responses(world: World) -> list[str]:
    return [each.response for each in journal(world) if isinstance(each, Turn)]


def exported(world: World, caller: Caller = AGENT, path: str | None = None) -> Path:
    return archives(world).export(caller, JOURNAL, path).path


def imported(world: World, path: Path, mode: Mode = Mode.MERGE, caller: Caller = AGENT) -> Imported:
    """Import a file, copied to where the world allows it."""
    own = archives(world).export(ADMIN, JOURNAL).path.with_name("given.jsonl")
    own.write_bytes(path.read_bytes())
    return archives(world).import_(caller, str(own), mode)


# Sessions that come back


def test_sessions_come_back_equal(opener: Opener) -> None:
    one, two = opener(), opener(name="two")
    put(one, *(turn(n) for n in range(20)), summary())
    told = imported(two, exported(one))
    assert journal(two) == journal(one)
    assert told.imported == {Kind.TURN: 20, Kind.SUMMARY: 1}
    assert not told.counts[Outcome.HERE]


def test_an_export_says_how_many_there_are_and_where(world: World) -> None:
    put(world, turn(1), turn(2))
    told = archives(world).export(AGENT, JOURNAL)
    assert told.counts == {Kind.TURN: 2, Kind.SUMMARY: 0}
    lines = told.path.read_bytes().splitlines()
    assert json.loads(lines[0])["counts"] == {"turn": 2, "summary": 0}
    whole = b"".join(line + b"\n" for line in lines[:-1])
    assert json.loads(lines[-1]) == {"sha256": hashlib.sha256(whole).hexdigest()}


def test_only_the_kinds_that_are_asked_for_are_exported(world: World) -> None:
    put(world, turn(), summary())
    told = archives(world).export(AGENT, [Kind.SUMMARY])
    assert told.counts == {Kind.SUMMARY: 1}
    assert b"prompt" not in told.path.read_bytes()


def test_merging_skips_what_is_there_and_changes_nothing_of_it(opener: Opener) -> None:
    one, two = opener(), opener(name="two")
    put(one, turn(1), turn(2))
    put(two, turn(1, response="mine"), turn(3))
    told = imported(two, exported(one))
    assert (told.imported, told.counts[Outcome.HERE]) == ({Kind.TURN: 1}, {Kind.TURN: 1})
    assert responses(two) == ["mine", "done", "done"]


def test_replacing_puts_the_archive_in_the_place_of_what_is_there(opener: Opener) -> None:
    one, two = opener(), opener(name="two")
    put(one, *(turn(n) for n in range(520)))
    put(two, *(turn(n, response="mine") for n in range(500, 540)), summary())
    told = imported(two, exported(one), Mode.REPLACE)
    assert journal(two) == journal(one)
    assert told.imported == {Kind.TURN: 520}
    assert told.displaced == {Kind.TURN: 20, Kind.SUMMARY: 1}


def test_replacing_leaves_kinds_that_the_archive_does_not_hold(world: World) -> None:
    put(world, turn())
    path = archives(world).export(AGENT, [Kind.TURN]).path
    put(world, summary())
    archives(world).import_(AGENT, str(path), Mode.REPLACE)
    assert journal(world) == [turn(), summary()]


def test_what_is_replaced_by_the_same_keeps_its_vectors(world: World) -> None:
    put(world, *(turn(n) for n in range(5)))
    world.app.embeddings.backfill_batch()
    archives(world).import_(AGENT, str(exported(world)), Mode.REPLACE)
    space = world.app.embeddings.space
    assert world.store.count_vectors(Turn, everything("default"), space) == 5


def test_what_is_imported_is_found_by_its_meaning_soon(opener: Opener) -> None:
    one, two = opener(), opener(name="two")
    put(one, turn(1, prompt="where is the kettle"))
    imported(two, exported(one))
    assert two.app.embeddings.backfill_batch() == 1


def test_an_import_and_an_export_leave_entries(world: World) -> None:
    put(world, turn())
    path = exported(world)
    put(world, turn(1))
    archives(world).import_(AGENT, str(path), Mode.REPLACE)
    acts = [(each.act, each.subject_kind, each.outcome) for each in world.trail()]
    assert acts == [("export", Kind.TURN, "done"), ("replace", Kind.TURN, "done")]
    assert len({each.subject for each in world.trail()}) == 1
    assert world.app.trail.verify("default") is None


# What a caller may


def test_a_viewer_neither_exports_nor_imports(world: World) -> None:
    viewer = replace(AGENT, role=Role.VIEWER)
    path = exported(world)
    with pytest.raises(Forbidden):
        archives(world).export(viewer, JOURNAL)
    with pytest.raises(Forbidden):
        archives(world).import_(viewer, str(path), Mode.MERGE)
    assert [each.outcome for each in world.trail()] == ["Forbidden", "Forbidden"]


def test_callers_export_what_they_may_see(world: World) -> None:
    put(world, turn(1, user="ana"), turn(2, user="bo"), turn(3, organization="zoo"))
    held = replace(AGENT, organization="default", user="ana")
    said = exported(world, held).read_text()
    assert "prompt 1" in said
    assert "prompt 2" not in said
    assert "prompt 3" not in said


def test_a_record_of_another_scope_stops_an_import_and_nothing_is_changed(opener: Opener) -> None:
    one, two = opener(), opener(name="two")
    put(one, turn(1, user="ana"), turn(2, user="bo"))
    path = exported(one)
    held = replace(AGENT, user="ana")
    with pytest.raises(ScopeViolation, match="belongs to"):
        imported(two, path, caller=held)
    assert journal(two) == []
    with pytest.raises(ScopeViolation):
        imported(two, path, caller=replace(AGENT, organization="zoo"))


def test_replacing_touches_nothing_beyond_the_callers_scope(world: World) -> None:
    mine, wide, theirs = turn(1, user="ana"), turn(2), turn(3, user="bo")
    put(world, mine, wide, theirs)
    held = replace(AGENT, user="ana")
    put(world, *(replace(each, response="as it was") for each in (mine, wide)))
    path = exported(world, held)
    put(world, mine, wide, turn(4, user="ana"))
    told = archives(world).import_(held, str(path), Mode.REPLACE)
    assert responses(world) == ["as it was", "done", "done"]
    assert (told.imported, told.counts[Outcome.LEFT_OUT], told.displaced) == (
        {Kind.TURN: 1},
        {Kind.TURN: 1},
        {Kind.TURN: 1},
    )


def test_an_agent_replaces_only_what_it_wrote(world: World) -> None:
    path = exported(world)
    put(world, turn(1), turn(2, author="bo"))
    told = archives(world).import_(AGENT, str(path), Mode.REPLACE)
    assert (told.displaced, told.counts[Outcome.LEFT_OUT]) == ({Kind.TURN: 1}, {Kind.TURN: 1})
    told = archives(world).import_(replace(AGENT, role=Role.HUMAN), str(path), Mode.REPLACE)
    assert told.displaced == {Kind.TURN: 1}


def test_more_than_sessions_is_brought_in_by_the_owner_at_the_command_line(
    opener: Opener, tmp_path: Path
) -> None:
    one, two = opener(), opener(name="two")
    one.remember("tea at five")
    path = tmp_path / "whole.jsonl"
    archives(one).export_to(ADMIN, KINDS, path)
    agent = replace(ADMIN, role=Role.AGENT)
    for caller in (AGENT, agent, replace(ADMIN, writes_system=False)):
        with pytest.raises(Forbidden):
            archives(two).import_from(caller, path, Mode.MERGE)
    with pytest.raises(Forbidden):
        archives(one).export_to(replace(ADMIN, user="ana"), KINDS, tmp_path / "other.jsonl")
    with pytest.raises(InvalidInput, match="merge"):
        archives(two).import_from(ADMIN, path, Mode.REPLACE)
    assert two.app.infrastructure.store.find(Memory, everything("default")) == []
    archives(two).import_from(replace(ADMIN, role=Role.HUMAN), path, Mode.MERGE)
    assert len(two.app.infrastructure.store.find(Memory, everything("default"))) == 1


# Files that do not hold


def whole_line(text: str) -> bytes:
    return text.encode() + b"\n"


def sealed(*lines: bytes) -> bytes:
    """Close lines with the digest that fits them."""
    body = b"".join(lines)
    return body + whole_line(json.dumps({"sha256": hashlib.sha256(body).hexdigest()}))


def headed(turns: int, **changes: Any) -> bytes:
    plain = {"format": "minutebook-archive", "version": 1, "counts": {"turn": turns}}
    return whole_line(json.dumps(plain | changes))


FIRST, SECOND = line_of(turn(1)), line_of(turn(2))
BROKEN = FIRST.replace(b'"done"', b"5")

WRONG: dict[str, tuple[bytes, int | None, str]] = {
    "empty": (b"", None, "empty"),
    "no JSON": (b"hello\n", 1, "JSON object"),
    "another program's": (b'{"a": 1}\n', 1, "header"),
    "no header": (FIRST, 1, "header"),
    "later version": (sealed(headed(0, version=2)), 1, "must be 1: a later version of Minutebook"),
    "from before the first release": (sealed(headed(0, version=4)), 1, "before the first release"),
    "of no version": (sealed(headed(0, version=0)), 1, "before the first release"),
    "another format": (sealed(headed(0, format="x")), 1, "minutebook-archive"),
    "strange counts": (sealed(headed(0, counts={"turn": "many"})), 1, "how many"),
    "strange kind": (sealed(headed(0, counts={"rumour": 1})), 1, "rumour"),
    "kind left out": (sealed(headed(0, counts={"mention": 1})), 1, "mention"),
    "not sealed": (headed(1) + FIRST, None, "before its last line"),
    "cut in a line": (headed(2) + FIRST + SECOND[:30], 3, "JSON object"),
    "too few": (sealed(headed(2), FIRST), 3, "counts say 2"),
    "too many": (sealed(headed(1), FIRST, SECOND), 4, "counts say 1"),
    "changed": (
        sealed(headed(1), FIRST).replace(b"prompt 1", b"prompt 7"),
        3,
        "changed or damaged",
    ),
    "after the seal": (sealed(headed(1), FIRST) + SECOND, 4, "after the seal"),
    "twice": (sealed(headed(3), FIRST, SECOND, FIRST), 4, "earlier line"),
    "a blank line": (sealed(headed(1), b"\n", FIRST), 2, "empty"),
    "a field that does not fit": (sealed(headed(2), SECOND, BROKEN), 3, "response must be a text"),
    "a kind not in the header": (sealed(headed(1), line_of(summary())), 2, "summary"),
    "a score that none has": (
        sealed(headed(0, counts={"summary": 1}), line_of(summary(quality=101))),
        2,
        "quality",
    ),
    "an id that cannot be kept": (sealed(headed(1), line_of(turn(id="x" * 201))), 2, "200 bytes"),
    "a session that none has": (sealed(headed(1), line_of(turn(session=""))), 2, "sessionId"),
    "out of order": (
        sealed(headed(0, counts={"turn": 1, "summary": 1}), line_of(summary()), FIRST),
        3,
        "must stand before",
    ),
}


@parametrize_in_part("mode", Mode)
@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_does_not_hold_is_refused_by_line_and_changes_nothing(
    world: World, name: str, mode: Mode
) -> None:
    content, line, reason = WRONG[name]
    put(world, turn(0))
    path = exported(world).with_name("wrong.jsonl")
    path.write_bytes(content)
    before = world.contents()
    with pytest.raises(InvalidArchive, match=reason) as raised:
        archives(world).import_(AGENT, "wrong.jsonl", mode)
    assert raised.value.line == line
    assert world.contents() == before


def test_a_line_too_long_is_refused_before_it_is_read(world: World) -> None:
    path = exported(world).with_name("long.jsonl")
    with path.open("wb") as file:
        file.truncate((64 << 20) + 2)
    with pytest.raises(InvalidArchive, match="longer than"):
        archives(world).import_(AGENT, "long.jsonl", Mode.MERGE)


@pytest.mark.thorough
def test_a_file_that_changes_while_it_is_read_changes_nothing(world: World) -> None:
    path = exported(world).with_name("changing.jsonl")
    lines = [line_of(turn(n)) for n in range(2000)]
    path.write_bytes(sealed(headed(2000), *lines))

    def progress(part: float, what: str) -> None:
        if part >= 0.5:
            path.write_bytes(sealed(headed(2000), *lines[:-1], line_of(turn(2000))))

    with pytest.raises(InvalidArchive, match="changed while"):
        archives(world).import_(with_call(AGENT, progress=progress), str(path), Mode.MERGE)
    assert journal(world) == []


@pytest.mark.thorough
def test_an_import_can_be_called_off_and_changes_nothing(world: World) -> None:
    path = exported(world).with_name("long.jsonl")
    path.write_bytes(sealed(headed(1500), *(line_of(turn(n)) for n in range(1500))))

    def progress(part: float, what: str) -> None:
        if part > 0.6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        archives(world).import_(with_call(AGENT, progress=progress), str(path), Mode.MERGE)
    assert journal(world) == []
    assert archives(world).import_(AGENT, str(path), Mode.MERGE).imported == {Kind.TURN: 1500}


def test_what_fails_elsewhere_during_an_import_is_not_told_of_the_file(world: World) -> None:
    path = exported(world)

    def progress(part: float, what: str) -> None:
        raise FileNotFoundError("something else")

    with pytest.raises(FileNotFoundError, match="something else"):
        archives(world).import_(with_call(AGENT, progress=progress), str(path), Mode.MERGE)


# Memory Core's own exports


def foreign(number: int, **metadata: Any) -> bytes:
    said: dict[str, Any] = {
        "id": f"mem_2025-10-08T12:00:0{number}.000Z",
        "embedding": [0.1] * 768,
        "metadata": {
            "prompt": f"prompt {number}",
            "thought": "hm",
            "response": "done",
            "sessionId": "session_1",
            "timestamp": f"2025-10-08T12:00:0{number}.000Z",
            "type": "agent-interaction",
            **metadata,
        },
        "document": "User Prompt: …",
    }
    return whole_line(json.dumps(said))


def foreign_summary(**metadata: Any) -> bytes:
    said = {
        "id": "summary_session_1",
        "embedding": None,
        "metadata": {
            "sessionId": "session_1",
            "timestamp": 1759924800000,
            "memoryCount": 2,
            "title": "Bread",
            "category": "feature",
            "quality": 80,
            "productivity": 79.6,
            "impact": 60,
            "complexity": 50,
            "technologies": "neo.mjs, nodejs,",
            **metadata,
        },
        "document": "The bread was baked.",
    }
    return whole_line(json.dumps(said))


def test_memory_cores_lines_of_both_collections_are_read(world: World) -> None:
    path = exported(world).with_name("memory-backup.jsonl")
    held = replace(AGENT, organization="acme", user="bo")
    path.write_bytes(foreign(1) + foreign(2, timestamp=1759924800002) + foreign_summary())
    told = archives(world).import_(held, path.name, Mode.MERGE)
    assert told.imported == {Kind.TURN: 2, Kind.SUMMARY: 1}
    first, second, third = journal(world, "acme")
    assert isinstance(first, Turn)
    assert isinstance(third, Summary)
    assert (first.id, first.prompt, first.session) == (
        "mem_2025-10-08T12:00:01.000Z",
        "prompt 1",
        "session_1",
    )
    assert {(each.author, each.user) for each in (first, second, third)} == {("ana", "bo")}
    assert first.at.isoformat() == "2025-10-08T12:00:01+00:00"
    assert second.at.isoformat() == "2025-10-08T12:00:00.002000+00:00"
    assert third.id == summary_id("session_1", None, "bo")
    assert (third.technologies, third.category, third.productivity, third.turn_count) == (
        ("neo.mjs", "nodejs"),
        Category.FEATURE,
        80,
        2,
    )
    assert third.made_by == "memory-core"
    assert (
        archives(world).import_(held, path.name, Mode.MERGE).counts[Outcome.HERE] == told.imported
    )


def test_a_summary_that_memory_core_made_stands_until_its_session_grows(world: World) -> None:
    path = exported(world).with_name("both.jsonl")
    path.write_bytes(foreign(1) + foreign(2) + foreign_summary())
    archives(world).import_(AGENT, path.name, Mode.MERGE)
    assert world.app.summaries.summarize_all(AGENT).done == []
    world.app.sessions.add(AGENT, "session_1", "and the crust?", "hm", "brown")
    assert [each.turn_count for each in world.app.summaries.summarize_all(AGENT).done] == [3]


def test_a_memory_without_a_thought_and_with_an_id_of_its_own_is_read(world: World) -> None:
    said = json.loads(foreign(1, timestamp=1759924800002))
    said["id"] = "0b0e2f0a-7a7e-4c70-9d3f-0a6f3f1c2d11"
    del said["metadata"]["thought"]
    path = exported(world).with_name("memory-backup.jsonl")
    path.write_bytes(whole_line(json.dumps(said)))
    archives(world).import_(AGENT, path.name, Mode.MERGE)
    (found,) = journal(world)
    assert isinstance(found, Turn)
    assert (found.id, found.thought) == (said["id"], "")


def test_a_category_that_memory_core_made_up_is_kept_as_a_reason(world: World) -> None:
    path = exported(world).with_name("summaries-backup.jsonl")
    path.write_bytes(foreign_summary(category="Refactor", technologies=["a", "b"]))
    archives(world).import_(AGENT, path.name, Mode.MERGE)
    (found,) = journal(world)
    assert isinstance(found, Summary)
    assert found.category is Category.OTHER
    assert "Refactor" in found.reasons["category"]


@pytest.mark.parametrize(
    ("lines", "line", "reason"),
    [
        (foreign(1) + foreign(2, prompt=None), 2, "prompt"),
        (foreign(1) + foreign(2, timestamp="noon"), 2, "timestamp"),
        (foreign(1) + foreign(2, timestamp=1e30), 2, "timestamp"),
        (foreign(1) + foreign(2, timestamp=None), 2, "timestamp"),
        (foreign(1) + foreign(1), 2, "earlier line"),
        (foreign(1) + foreign(2)[:40], 2, "JSON object"),
        (foreign(1) + whole_line('{"id": "a", "metadata": []}'), 2, "metadata"),
        (foreign(1) + FIRST, 2, "header"),
        (foreign_summary(quality="high"), 1, "quality"),
        (foreign_summary(quality=1e400), 1, "JSON object"),
        (foreign_summary(quality=101), 1, "quality"),
        (foreign_summary(technologies=5), 1, "technologies"),
    ],
)
def test_a_foreign_line_that_does_not_hold_is_named(
    world: World, lines: bytes, line: int, reason: str
) -> None:
    path = exported(world).with_name("memory-backup.jsonl")
    path.write_bytes(lines)
    with pytest.raises(InvalidArchive, match=reason) as raised:
        archives(world).import_(AGENT, path.name, Mode.REPLACE)
    assert raised.value.line == line
    assert journal(world) == []


# Where files may be


def test_paths_are_held_to_the_folders_that_are_allowed(world: World, tmp_path: Path) -> None:
    own = exported(world).parent
    assert own == tmp_path / "one" / "backups"
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.jsonl").write_bytes(sealed(headed(0)))
    (own / "link").symlink_to(outside)
    (own / "a.jsonl").symlink_to(outside / "a.jsonl")
    (own / "loop").symlink_to(own / "loop")
    for path in (
        str(outside / "a.jsonl"),
        "../minutebook.db",
        "../../outside/a.jsonl",
        "link/a.jsonl",
        "a.jsonl",
        "/etc/passwd",
        "/dev/zero",
        "/proc/self/mem",
        "loop",
        "",
        "a\0b",
        "~/a.jsonl/../../../outside/a.jsonl",
    ):
        with pytest.raises(InvalidInput, match="file"):
            archives(world).import_(AGENT, path, Mode.MERGE)
        with pytest.raises(InvalidInput, match="file"):
            archives(world).export(AGENT, JOURNAL, path)
    assert [each.name for each in outside.iterdir()] == ["a.jsonl"]


def test_folders_can_be_allowed(opener: Opener, tmp_path: Path) -> None:
    world = opener(archive_roots=(tmp_path / "mine", tmp_path / "yours"))
    (tmp_path / "yours").mkdir()
    assert exported(world).parent == tmp_path / "mine"
    assert exported(world, path=str(tmp_path / "yours" / "a.jsonl")).is_file()
    with pytest.raises(InvalidInput, match="archive_roots"):
        exported(world, path=str(tmp_path / "one" / "backups" / "a.jsonl"))


def test_what_is_no_plain_file_is_not_read(world: World) -> None:
    own = exported(world).parent
    os.mkfifo(own / "pipe")
    (own / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(InvalidInput, match="plain file"):
            archives(world).import_(AGENT, name, Mode.MERGE)
    with pytest.raises(InvalidInput, match="there is no"):
        archives(world).import_(AGENT, "nothing.jsonl", Mode.MERGE)


def test_an_export_takes_no_name_that_is_taken_and_none_but_its_owner_reads_it(
    world: World,
) -> None:
    path = exported(world, path="a.jsonl")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    before = path.read_bytes()
    put(world, turn())
    with pytest.raises(InvalidInput, match="there already"):
        exported(world, path="a.jsonl")
    assert path.read_bytes() == before
    assert len({exported(world), exported(world), exported(world)}) == 3
    assert not list(path.parent.glob(".*"))
