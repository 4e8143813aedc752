"""What belongs to no project is moved to those that it is about, after a review, and back."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.features.importers.sources.transcripts import lines, message
from tests.folders.test_finding import NAME, repository
from tests.terminal import Run, remembered


def read(run: Run, *words: str) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def repository_of(run: Run, id: str) -> object:
    return read(run, "show", id)["repository"]


@pytest.fixture
def api(tmp_path: Path) -> Path:
    return repository(tmp_path / "api")


@pytest.fixture
def ids(run: Run, api: Path, tmp_path: Path) -> dict[str, str]:
    """Memories and a session of a time when the folder was no repository yet."""
    (api / "AGENTS.md").write_text("# Rules\nMilk comes first.\n")
    said = [
        {**message(kind, f"u{n}", n, "kettle"), "sessionId": "s1", "cwd": str(api / "src")}
        for n, kind in enumerate(("user", "assistant"), 1)
    ]
    (api / "src").mkdir()
    lines(tmp_path / "in" / "s1.jsonl", *said)
    git = (api / ".git").rename(tmp_path / "git")
    assert read(run, "import", "claude-code", str(tmp_path / "in"))["new"] == {"turn": 1}
    assert read(run, "import", "instructions", str(api))["new"] == {"memory": 1}
    git.rename(api / ".git")
    (imported,) = read(run, "list")["memories"]
    return {
        "imported": imported["id"],
        "path": remembered(run, f"The kettle is built in {api}/src/kettle.py"),
        "nothing": remembered(run, "Tea at five"),
        "person": remembered(run, f"Hanna likes {api}", "--user", "hanna"),
    }


def sessions(run: Run) -> dict[str, object]:
    return {each["name"]: each["repository"] for each in read(run, "sessions")}


@pytest.mark.needs("audit_proof", "journal")
def test_what_was_noted_moves_after_a_review_and_back(
    run: Run, api: Path, ids: dict[str, str]
) -> None:
    shown = run("assign", input="n\n")
    assert f"{NAME}: 2 sure, 1 unsure" in shown.output
    assert "Nothing tells of 2 more" in shown.output
    assert sessions(run) == {"s1": None}
    before = read(run, "show", ids["imported"])
    run("summarize", "s1")
    told = read(run, "assign", "--yes")
    assert {each["kind"] for each in told["moved"]} == {"memory", "session"}
    assert (told["left"], sessions(run)) == ([], {"s1": NAME})
    after = read(run, "show", ids["imported"])
    assert (after["repository"], after["scope"]) == (NAME, "repository")
    assert after["updated_at"] == before["updated_at"]
    assert {repository_of(run, ids[each]) for each in ("path", "nothing", "person")} == {None}
    assert "kettle" in run("session", "s1").output
    assert len(read(run, "session", "s1")["summaries"]) == 1
    entries = read(run, "audit", "--act", "assign")
    assert {each["reason"] for each in entries} == {each["why"] for each in told["moved"]}
    assert "sound" in run("audit", "verify").output
    # What was imported is known again, wherever it belongs by now.
    assert read(run, "import", "instructions", str(api))["new"] == {}
    undone = read(run, "assign", "--undo", told["undo"], "--yes")
    assert len(undone["moved"]) == 2
    assert (sessions(run), repository_of(run, ids["imported"])) == ({"s1": None}, None)
    again = read(run, "assign", "--undo", told["undo"], "--yes")
    assert (again["moved"], len(again["left"])) == ([], 2)


@pytest.mark.needs("journal")
def test_a_plan_is_written_edited_and_applied(
    run: Run, ids: dict[str, str], tmp_path: Path
) -> None:
    plan = tmp_path / "plan.json"
    assert "Wrote 3 moves" in run("assign", "--plan", str(plan)).output
    document = json.loads(plan.read_text())
    again = read(run, "assign", "--plan", str(tmp_path / "again.json"))
    assert (again["plan"], len(again["moves"])) == (str(tmp_path / "again.json"), 3)
    assert {each["why"] for each in document["moves"] if each["id"] == ids["path"]} == {
        f"it names {tmp_path}/api/src/kettle.py"
    }
    document["moves"] = [
        {**each, "after": "acme/kettle"} for each in document["moves"] if each["id"] == ids["path"]
    ]
    plan.write_text(json.dumps(document))
    assert len(read(run, "assign", "--apply", str(plan), "--yes")["moved"]) == 1
    assert repository_of(run, ids["path"]) == "acme/kettle"
    assert sessions(run) == {"s1": None}
    # All of a project whose name changed; and one memory to all.
    renamed = read(run, "assign", "--from", "acme/kettle", "--to", "acme/pot", "--yes")
    assert len(renamed["moved"]) == 1
    read(run, "assign", ids["path"], "--to", "", "--yes")
    assert repository_of(run, ids["path"]) is None


@pytest.mark.needs("journal")
def test_setup_and_doctor_offer_the_step_until_a_person_decided(
    run: Run, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    offered = f"2 records of no project\n  2 of {NAME}"
    assert "2 records of no project: `minutebook assign` shows" in run("doctor").output
    assert offered in run("setup", "--dry-run").output
    moved = run("setup", input="y\n")
    assert offered in moved.output
    assert "Moved 2." in moved.output
    assert repository_of(run, ids["imported"]) == NAME
    assert "of no project" not in run("setup").output + run("doctor").output
    (note,) = (tmp_path / "home").glob("assigned-*.json")
    assert f"minutebook assign --undo {note}" in moved.output
    assert len(read(run, "assign", "--undo", str(note), "--yes")["moved"]) == 2
    assert repository_of(run, ids["imported"]) is None


def test_a_no_to_the_step_is_not_asked_again(
    run: Run, ids: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    assert "Move them to these projects? [y/N]" in run("setup", input="n\n").output
    assert "of no project" not in run("setup").output + run("doctor").output
    assert repository_of(run, ids["imported"]) is None


def test_what_is_locked_is_left_and_told(run: Run, ids: dict[str, str]) -> None:
    assert run("lock", ids["imported"], "--role", "admin").exit_code == 0
    told = read(run, "assign", "--yes")
    assert [each["id"] for each in told["left"]] == [ids["imported"]]
    assert "locked" in told["left"][0]["reason"]


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (["--to", "x"], "--to"),
        (["0" * 20], "--to"),
        (["0" * 20, "--to", "x", "--undo", "f"], "--to"),
        (["--apply", "none.json"], "none.json"),
        (["--apply", "bad.json"], "move 1"),
    ],
)
def test_what_cannot_be_read_is_refused(
    begun: Run, tmp_path: Path, words: list[str], wrong: str
) -> None:
    (tmp_path / "bad.json").write_text('{"moves": [{"kind": "memory"}]}')
    result = begun("assign", *words)
    assert result.exit_code == 1
    assert wrong in result.stderr
