"""What a person says of a memory at the terminal, and how they change, end and list it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.terminal import Run, remembered


def done(run: Run, *arguments: str, **options: Any) -> str:
    result = run(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    return result.stderr


def shown(run: Run, id: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(done(run, "show", id, "--json"))
    return told


def listed(run: Run, *options: str) -> list[str]:
    told = json.loads(done(run, "list", "--json", *options))
    assert told["total"] == len(told["memories"])
    return [each["content"] for each in told["memories"]]


def test_all_that_is_said_of_a_memory_is_kept(run: Run) -> None:
    id = remembered(
        run,
        "The staging database listens on port 5432.",
        *("--type", "fact", "--title", "Staging port", "--importance", "7"),
        *("--tag", "db", "--tag", "staging", "--tag", "db", "--metadata", "source=wiki=7"),
        *("--valid-from", "2026-01-01T00:00+00:00", "--valid-until", "2099-01-01T00:00+00:00"),
    )
    assert (
        'metadata        {"source": "wiki=7", "tags": ["db", "staging"]}' in run("show", id).output
    )
    told = shown(run, id)
    assert (told["title"], told["type"], told["importance"]) == ("Staging port", "fact", 7.0)
    assert told["metadata"] == {"source": "wiki=7", "tags": ["db", "staging"]}
    assert told["valid_from"] == "2026-01-01T00:00:00+00:00"
    assert told["valid_until"] == "2099-01-01T00:00:00+00:00"


def test_a_memory_leads_to_others_and_takes_the_place_of_one(run: Run) -> None:
    old, near, cause = (remembered(run, text) for text in ("port 5432", "pooler", "outage"))
    new = remembered(
        run, "port 6543", "--link", near, "--link", f"{cause}:because of", "--supersedes", old
    )
    assert (shown(run, old)["superseded_by"], shown(run, old)["status"]) == (new, "superseded")
    edges = {(each["source"], each["target"], each["type"]) for each in shown(run, new)["edges"]}
    assert {(new, near, "related"), (near, new, "related")} < edges
    assert {(new, cause, "because of"), (new, old, "supersedes")} < edges


@pytest.mark.needs("audit_proof")
def test_nothing_is_kept_of_a_memory_that_cannot_lead_where_it_should(run: Run) -> None:
    old = remembered(run, "port 5432")
    done(run, "mark", old, "lock", "--role", "manager")
    assert "stays as it is: locked" in refused(run, "remember", "port 6543", "--supersedes", old)
    nothing = "0" * 20
    assert f"no memory {nothing}" in refused(run, "remember", "x", "--link", nothing)
    assert listed(run) == ["port 5432"]
    assert "Locked" in done(run, "audit", "--act", "invalidate")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--metadata", "source"], "--metadata must be KEY=VALUE (got 'source')"),
        (["--metadata", "=x"], "--metadata must be KEY=VALUE"),
        (["--valid-from", "soon"], "--valid-from must be a time like 2026-01-31T12:00, or a span"),
        (
            ["--valid-from", "2026-02-01", "--valid-until", "2026-01-01"],
            "valid_until must be later",
        ),
        (["--valid-until", "2020-01-01"], "valid_until must be later"),
    ],
)
def test_what_does_not_fit_is_a_sentence_and_nothing_is_kept(
    run: Run, options: list[str], said: str
) -> None:
    assert said in refused(run, "remember", "tea", *options)
    assert run("list").exit_code == 1 or listed(run) == []


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script that a test writes, which is run on the file that is edited."""
    script = tmp_path / "editor.py"
    monkeypatch.setenv("VISUAL", f'"{sys.executable}" "{script}"')
    return script


def test_an_edited_text_is_a_new_version(run: Run, editor: Path) -> None:
    id = remembered(run, "tea at five\nevery day", "--title", "Tea", "--tag", "tea")
    editor.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('five', 'six') + '\\n')\n"
    )
    said = done(run, "edit", id)
    assert said.startswith(f"Changed {id} ")
    assert said.endswith("; it is at version 2.\n")
    told = shown(run, id)
    assert (told["content"], told["title"]) == ("tea at six\nevery day", "Tea")
    assert told["metadata"] == {"tags": ["tea"]}
    assert [each["content"] for each in told["versions"]] == [
        "tea at five\nevery day",
        told["content"],
    ]


@pytest.mark.needs("undo")
def test_memories_are_moved_to_a_project_and_back(run: Run) -> None:
    ids = [remembered(run, f"tea at {hour}") for hour in ("five", "six")]
    assert done(run, "edit", *ids, ids[0], "--to", "shop") == "Moved 2 memories to shop.\n"
    assert [(shown(run, id)["scope"], shown(run, id)["repository"]) for id in ids] == [
        ("repository", "shop")
    ] * 2
    assert done(run, "edit", ids[0], "--to", "") == "Moved 1 memory to no project.\n"
    assert shown(run, ids[0])["scope"] == "organization"
    done(run, "undo", "--yes")
    assert shown(run, ids[0])["repository"] == "shop"


def test_of_memories_that_cannot_all_be_moved_none_is(run: Run) -> None:
    ids = [remembered(run, f"tea at {hour}") for hour in ("five", "six")]
    done(run, "mark", ids[1], "lock", "--role", "manager")
    assert run("edit", *ids, "--to", "shop").exit_code != 0
    assert [shown(run, id)["repository"] for id in ids] == [None, None]


def test_one_text_is_edited_at_a_time(run: Run) -> None:
    failed = run("edit", "a", "b")
    assert failed.exit_code != 0
    assert "unless --to moves several" in failed.stderr


def test_a_text_that_was_not_edited_makes_no_version(run: Run, editor: Path) -> None:
    id = remembered(run, "tea at five")
    editor.write_text("import sys\nopen(sys.argv[1], 'a').write('\\n')\n")
    assert done(run, "edit", id) == "Unchanged.\n"
    editor.write_text("")
    assert done(run, "edit", id) == "Unchanged.\n"
    assert len(shown(run, id)["versions"]) == 1


def test_what_cannot_be_kept_is_given_back_as_it_was_written(run: Run, editor: Path) -> None:
    id = remembered(run, "tea at five")
    done(run, "mark", id, "lock", "--role", "manager")
    editor.write_text("import sys\nopen(sys.argv[1], 'w').write('tea at six')\n")
    said = refused(run, "edit", id)
    assert said.startswith("tea at six\n")
    assert "stays as it is" in said
    editor.write_text("import sys\nopen(sys.argv[1], 'w').write('  ')\n")
    assert "must not be empty" in refused(run, "edit", id)


@pytest.mark.thorough
def test_an_edit_does_not_undo_what_was_changed_meanwhile(run: Run, editor: Path) -> None:
    id = remembered(run, "tea at five")
    editor.write_text(
        "import sys\n"
        "from minutebook.cli.opening import opened_here\n"
        "with opened_here({}) as (app, caller):\n"
        f"    app.memories.update(caller, '{id}', {{'content': 'tea at four'}})\n"
        "open(sys.argv[1], 'w').write('tea at six')\n"
    )
    assert "it was changed meanwhile; edit it again" in refused(run, "edit", id)
    assert shown(run, id)["content"] == "tea at four"


def test_a_memory_is_ended_with_a_reason_and_what_holds_in_its_place(run: Run) -> None:
    old, new = remembered(run, "port 5432"), remembered(run, "port 6543")
    said = done(run, "invalidate", old, "--reason", "moved", "--superseded-by", new)
    assert said.startswith(f"Ended {old} ")
    assert "): it held until" in said
    assert f"; {new} holds in its place." in said
    assert (shown(run, old)["reason"], shown(run, old)["superseded_by"]) == ("moved", new)
    assert "--reason must not be empty" in refused(run, "invalidate", new, "--reason", " ")


def test_a_list_is_of_the_time_author_tags_and_type_that_are_named(run: Run) -> None:
    remembered(run, "one", "--tag", "a", "--agent", "ana")
    remembered(run, "two", "--tag", "a", "--tag", "b", "--type", "fact", "--agent", "bo")
    remembered(run, "three", "--metadata", "tags=a", "--agent", "ana")
    assert listed(run, "--tag", "a") == ["two", "one"]
    assert listed(run, "--tag", "a", "--tag", "b") == ["two"]
    assert listed(run, "--tag", "a", "--type", "fact", "--author", "bo") == ["two"]
    assert listed(run, "--author", "ana") == ["three", "one"]
    assert listed(run, "--since", "1h") == ["three", "two", "one"]
    assert listed(run, "--until", "1h") == []
    assert listed(run, "--since", "2020-01-01", "--until", "2020-02-01") == []
    page = json.loads(done(run, "list", "--json", "--tag", "a", "--limit", "1", "--offset", "1"))
    assert ([each["content"] for each in page["memories"]], page["total"]) == (["one"], 2)
    assert "--since must be a time like" in refused(run, "list", "--since", "yesterday")


@pytest.mark.needs("ledger")
def test_a_search_takes_the_filters_of_a_list_and_finds_memories_alone_with_one(run: Run) -> None:
    remembered(run, "stone one", "--tag", "a", "--agent", "ana")
    remembered(run, "stone two", "--tag", "b", "--type", "fact", "--agent", "bo")
    done(
        run,
        "decide",
        "--title",
        "Build of stone",
        "--target",
        "wall",
        "--rationale",
        "Stone lasts for ages.",
    )

    def found(*filters: str) -> set[str]:
        shown = json.loads(done(run, "search", "stone", "--json", *filters))
        return {each.get("content", each.get("title")) for each in (hit["record"] for hit in shown)}

    assert found() == found("--since", "1h") == {"stone one", "stone two", "Build of stone"}
    assert found("--tag", "a") == found("--author", "ana") == {"stone one"}
    assert found("--type", "fact", "--status", "active") == {"stone two"}
    assert found("--until", "1h") == found("--scope", "user") == found("--client", "x") == set()
    assert "--type must be one of" in refused(run, "search", "stone", "--type", "rock")
