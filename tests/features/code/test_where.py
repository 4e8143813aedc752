"""Where a memory belongs that is written in a folder, as a person asks and as commands heed it."""

import json
from pathlib import Path
from typing import Any

import pytest

from minutebook.config import load
from minutebook.config.whereabouts import repository_known
from tests.config.folders.test_finding import NAME, git, repository, with_commit
from tests.terminal import Run, remembered


@pytest.fixture
def on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_SCOPE_FROM_FOLDER", "on")


def asked(run: Run, *arguments: str) -> dict[str, Any]:
    result = run("where", *arguments, "--json")
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def repository_of(run: Run, id: str) -> object:
    return json.loads(run("show", id, "--json").stdout)["repository"]


def test_where_tells_the_project_its_source_and_what_follows(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "api")
    told = asked(run, str(folder))
    place = told["place"]
    assert (place["repository"], place["root"], told["writes_go_to"]) == (NAME, str(folder), None)
    assert place["source"] == f"the remote origin in {folder / '.git' / 'config'}"
    assert told["origins"] == {}
    said = run("where", str(folder)).output
    assert "At the terminal folders have no say" in said
    monkeypatch.setenv("MINUTEBOOK_SCOPE_FROM_FOLDER", "on")
    assert asked(run, str(folder))["writes_go_to"] == NAME
    assert f"belongs to {NAME}" in run("where", str(folder)).output
    held = asked(run, str(folder), "--repository", "acme/web", "--organization", "acme")
    assert held["held_to"] == {"organization": "acme", "repository": "acme/web", "user": None}
    assert (held["origins"].keys(), held["writes_go_to"]) == (
        {"organization", "repository"},
        "acme/web",
    )
    assert asked(run, str(tmp_path))["place"]["repository"] is None


def test_where_counts_what_is_kept_here_and_names_nothing_by_itself(
    run: Run, on: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = repository(tmp_path / "api", None)
    assert "has no remote" in run("where", str(folder)).output
    assert not (folder / ".git" / "minutebook").exists()
    remembered(run, "Tea at five")
    monkeypatch.chdir(folder)
    here = remembered(run, "The kettle is new")
    shared = remembered(run, "Biscuits are everyone's", "--everywhere")
    assert str(repository_of(run, here)).startswith("local/api-")
    assert repository_of(run, shared) is None
    kept = asked(run)["kept"]
    assert isinstance(kept, dict)
    assert [kept[each]["memory"] for each in ("of_no_repository", "shown_here", "in_all")] == [
        2,
        3,
        3,
    ]
    assert "1 of this project, 2 of none, 3 in all" in run("where").output


def test_search_and_list_show_what_is_of_the_folders_project_and_of_none(
    run: Run, on: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(run, "Kettle of none")
    for name in ("api", "web"):
        monkeypatch.chdir(repository(tmp_path / name, f"https://github.com/acme/{name}.git"))
        remembered(run, f"Kettle of {name}")
        remembered(run, f"Kettle of {name} for all", "--everywhere")

    def told(*words: str) -> set[str]:
        read = json.loads(run(*words, "--json").stdout)
        is_list = words[0] == "list"
        found = read["memories"] if is_list else [each["record"] for each in read]
        return {each["content"] for each in found}

    shared = {"Kettle of none", "Kettle of api for all", "Kettle of web for all"}
    for words in (("list",), ("search", "kettle")):
        assert told(*words) == {"Kettle of web", *shared}
        assert told(*words, "--everywhere") == {"Kettle of web", "Kettle of api", *shared}
        assert told(*words, "--repository", "github.com/acme/api") >= {"Kettle of api"}
        monkeypatch.setenv("MINUTEBOOK_SCOPE_FROM_FOLDER", "off")
        assert told(*words) == {"Kettle of web", "Kettle of api", *shared}
        monkeypatch.setenv("MINUTEBOOK_SCOPE_FROM_FOLDER", "on")
    monkeypatch.chdir(tmp_path)
    assert told("list") == {"Kettle of web", "Kettle of api", *shared}


def test_a_claim_is_believed_and_no_longer(run: Run, tmp_path: Path) -> None:
    folder = repository(tmp_path / "api")
    assert "nothing" in run("where", str(folder), "--trust").output
    (folder / ".minutebook.toml").write_text('repository = "acme/api"\n')
    told = run("where", str(folder))
    assert told.exit_code == 0
    assert "minutebook where --trust" in told.stderr
    assert asked(run, str(folder), "--trust")["place"]["repository"] == "acme/api"
    assert asked(run, str(folder))["place"]["also"] == [NAME]
    assert asked(run, str(folder), "--distrust")["place"]["repository"] == NAME
    assert run("where", str(folder), "--distrust").exit_code == 1
    assert run("where", "--trust", "--distrust").exit_code == 1


@pytest.mark.needs("importers", "journal")
def test_an_import_gives_each_session_the_repository_of_its_folder_once(
    run: Run, on: None, tmp_path: Path
) -> None:
    from tests.features.importers.sources.transcripts import lines, message

    api = with_commit(repository(tmp_path / "api"))
    git(api, "worktree", "add", "-q", "../side")
    said = [
        (
            session,
            [
                {
                    **message(kind, f"{session}{n}", n, "kettle"),
                    "sessionId": session,
                    "cwd": str(folder),
                }
                for n, kind in enumerate(("user", "assistant"), 1)
            ],
        )
        for session, folder in (("s1", api), ("s2", tmp_path / "side"), ("s3", tmp_path / "gone"))
    ]
    for session, messages in said:
        lines(tmp_path / "in" / f"{session}.jsonl", *messages)
    for count in (3, 0):
        told = json.loads(run("import", "claude-code", str(tmp_path / "in"), "--json").stdout)
        assert told["counts"]["new"].get("turn", 0) == count
    listed = json.loads(run("sessions", "--json").stdout)
    kept = {each["session"]["name"]: each["session"]["repository"] for each in listed}
    assert kept == {"s1": NAME, "s2": NAME, "s3": None}


@pytest.mark.needs("importers")
def test_instructions_of_two_projects_stay_two(run: Run, on: None, tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = repository(tmp_path / name / "api", f"git@example.org:{name}/api")
        (folder / "AGENTS.md").write_text(f"# Rules\nThe kettle of {name}.\n")
        for count in (1, 0):
            told = json.loads(run("import", "instructions", str(folder), "--json").stdout)
            assert told["counts"]["new"].get("memory", 0) == count, told
    found = json.loads(run("list", "--json").stdout)["memories"]
    assert {each["repository"] for each in found} == {"example.org/a/api", "example.org/b/api"}


@pytest.mark.needs("ledger")
def test_what_is_decided_in_a_folder_is_of_its_project(
    run: Run, on: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decided(target: str, *more: str) -> str:
        told = ("--target", target, "--title", "Use SQLite", "--rationale", "One file is enough.")
        result = run("decide", *told, *more)
        assert result.exit_code == 0, result.output
        return result.stdout.strip()

    monkeypatch.chdir(repository(tmp_path / "api"))
    here = decided("database")
    assert repository_of(run, here) == NAME
    assert repository_of(run, decided("editor", "--everywhere")) is None
    monkeypatch.chdir(tmp_path)
    # It takes the place of what it replaces, whatever folder this is.
    assert repository_of(run, decided("database", "--supersedes", here)) == NAME


@pytest.mark.needs("hooks")
def test_the_last_session_is_that_of_the_project_or_else_of_the_folder(
    on: None, tmp_path: Path
) -> None:
    from minutebook.features.hooks.known import Known

    here, clone = repository(tmp_path / "api"), repository(tmp_path / "clone")
    other = repository(tmp_path / "web", "https://github.com/acme/web.git")
    bare = tmp_path / "notes"
    for folder in (bare, here / "src"):
        folder.mkdir()
    entries = [
        {"outcome": "captured", "folder": str(folder), "session": folder.name}
        for folder in (bare, here, clone, other, tmp_path)
    ]
    known = Known([*entries, {"outcome": "answered", "folder": str(here)}], "api")
    together = repository_known(load({"home": str(tmp_path / "store")}))
    assert known.sessions_in(here, together) == {"clone"}
    assert known.sessions_in(here / "src", together) == {"clone"}
    assert known.sessions_in(other, together) == {"web"}
    assert known.sessions_in(bare, together) == {"notes"}
    apart = repository_known(load({"scope_from_folder": "off"}))
    assert known.sessions_in(here, apart) == set()
    assert known.sessions_in(clone, apart) == {"clone"}
