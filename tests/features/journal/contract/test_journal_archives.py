"""Export and import through the journal: files below the backups' folder, all or nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.archives.archive_lines import JOURNAL
from minutebook.features.archives.archives import Archives
from minutebook.record.records import Role
from tests.features.journal.contract.journaled import Client
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World


@pytest.fixture
def client(world: World) -> Client:
    return filled(world)


def filled(world: World) -> Client:
    """A client that has written three sessions and summarised them."""
    made = Client(world).by(session="session_own", role=Role.HUMAN, name="ana")
    for session in ("s1", "s2", "s3"):
        for number in range(3):
            made.add(f"{session} {number}", session, thought="t", response="r")
    made.call("summarize_sessions")
    return made


def records(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(file).read_text(encoding="utf-8").splitlines()]


@requirement(
    "journal/database/export",
    "journal/results/export",
    "journal/archives/jsonl",
    "journal/archives/include",
)
def test_both_kinds_are_written_below_the_backups_one_record_a_line(client: Client) -> None:
    done = client.call("export_database")
    (file,) = done["files"]
    assert Path(file).parent.name == "backups"
    assert done["counts"] == {"memories": 9, "summaries": 3}
    assert "9 memories, 3 summaries" in done["message"]
    # A header before, a seal after.
    assert len(records(file)) == 9 + 3 + 2


@requirement("journal/database/include")
def test_what_is_included_is_chosen(client: Client) -> None:
    assert client.call("export_database", include=["summaries"])["counts"] == {"summaries": 3}
    assert client.call("export_database", include=["memories"])["counts"] == {"memories": 9}
    name, message = client.refused("export_database", include=["entities"])
    assert (name, "memories" in message) == ("Invalid arguments", True)
    assert client.refused("export_database", include=[])[0] == "Invalid arguments"


@requirement("journal/archives/merge", "journal/results/import", "journal/database/import")
def test_a_merge_keeps_what_exists_and_counts_it_as_skipped(client: Client) -> None:
    (file,) = client.call("export_database")["files"]
    before = client.world.kept()
    again = client.call("import_database", file=file)
    assert (again["imported"], again["skipped"], again["mode"]) == (0, 12, "merge")
    assert client.world.kept() == before
    client.call("delete_all_summaries")
    again = client.call("import_database", file=file, mode="merge")
    assert (again["imported"], again["skipped"]) == (3, 9)
    assert client.world.kept() == before


@requirement("journal/archives/replace", "journal/database/mode")
def test_a_replacement_swaps_the_included_kinds_and_no_other(client: Client) -> None:
    (file,) = client.call("export_database", include=["memories"])["files"]
    before = client.prompts("s1")
    client.add("later", "s1")
    client.add("later", "s4")
    done = client.by(role=Role.ADMIN).call("import_database", file=file, mode="replace")
    assert done["mode"] == "replace"
    assert client.prompts("s1") == before
    assert client.prompts("s4") == []
    assert client.call("get_all_summaries")["total"] == 3


@requirement("journal/archives/bad-line")
def test_a_bad_line_is_named_by_its_number_and_nothing_is_changed(client: Client) -> None:
    (file,) = client.call("export_database")["files"]
    lines = Path(file).read_text(encoding="utf-8").splitlines()
    lines[4] = "this is no record"
    Path(file).write_text("\n".join(lines) + "\n", encoding="utf-8")
    client.call("delete_all_summaries")
    before = client.world.kept()
    name, message = client.refused("import_database", file=file)
    assert name == "Import failed"
    assert "line 5" in message
    assert "Nothing was changed" in message
    assert client.world.kept() == before


@requirement("journal/archives/foreign")
def test_lines_of_memory_cores_own_exports_are_read(client: Client, tmp_path: Path) -> None:
    turn = {
        "id": "mem_2025-10-08T12:00:00.000Z",
        "embedding": [0.1, 0.2],
        "metadata": {
            "sessionId": "session_1696800000000",
            "timestamp": "2025-10-08T12:00:00.000Z",
            "prompt": "Who is there?",
            "thought": "Someone.",
            "response": "Me.",
            "type": "agent-interaction",
        },
        "document": "User Prompt: Who is there?\nAgent Thought: Someone.\nAgent Response: Me.",
    }
    (folder,) = {Path(file).parent for file in client.call("export_database")["files"]}
    file = folder / "memory-backup.jsonl"
    file.write_text(json.dumps(turn) + "\n", encoding="utf-8")
    done = client.call("import_database", file=str(file))
    assert (done["imported"], done["skipped"]) == (1, 0)
    (found,) = client.call("get_session_memories", sessionId="session_1696800000000")["memories"]
    assert (found["prompt"], found["response"]) == ("Who is there?", "Me.")
    assert found["timestamp"] == "2025-10-08T12:00:00.000000Z"


@requirement("journal/archives/data-model")
def test_lines_of_the_published_data_model_go_in_and_out(client: Client, tmp_path: Path) -> None:
    turns = client.call("get_session_memories", sessionId="s1")["memories"]
    summaries = client.call("get_all_summaries")["summaries"]
    archives = client.world.app.get(Archives)
    done = archives.export_journal_to(client.world.caller, tmp_path / "journal.jsonl")
    lines = records(str(done.path))
    assert [each for each in lines if each["sessionId"] == "s1" and "prompt" in each] == turns
    own = {name for each in lines if "title" in each for name in each}
    shown = {each["id"]: {name: each[name] for name in own} for each in summaries}
    assert {each["id"]: each for each in lines if "title" in each} == shown

    client.call("delete_all_summaries")
    folder = Path(client.call("export_database")["files"][0]).parent
    (folder / "journal.jsonl").write_bytes(done.path.read_bytes())
    again = client.call("import_database", file=str(folder / "journal.jsonl"))
    assert (again["imported"], again["skipped"]) == (3, 9)
    back = client.call("get_all_summaries")["summaries"]
    assert {each["id"]: {name: each[name] for name in own} for each in back} == shown


@requirement("journal/archives/paths")
def test_paths_outside_the_allowed_folders_are_refused(client: Client, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("", encoding="utf-8")
    for path in (str(outside), "../outside.jsonl", "/etc/passwd", "a\0b"):
        name, message = client.refused("import_database", file=path)
        assert (name, "`file`" in message) == ("Invalid arguments", True)


def test_a_file_that_is_not_there_is_said_so(client: Client) -> None:
    name, _ = client.refused("import_database", file="nosuch.jsonl")
    assert name in {"Invalid arguments", "Import failed"}


def test_what_one_store_exported_another_takes_in_equal(opener: Opener) -> None:
    one, other = filled(opener(name="one")), Client(opener(name="other"))
    other = other.by(session="session_own", role=Role.HUMAN, name="ana")
    (file,) = one.call("export_database")["files"]
    there = Path(other.call("export_database")["files"][0]).parent / "from-one.jsonl"
    there.write_bytes(Path(file).read_bytes())
    assert other.call("import_database", file=str(there))["imported"] == 12
    mine = {key: each for key, each in one.world.kept().items() if key[1] in JOURNAL}
    theirs = {key: each for key, each in other.world.kept().items() if key[1] in JOURNAL}
    assert theirs == mine
