"""What a person does at a terminal to decide, to see what was decided, and to accept."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from minutebook.features.ledger.cli import HINT, TEMPLATE, read_template
from minutebook.record.errors import InvalidInput
from tests.serve.contracts.requirements import requirement
from tests.terminal import Run, remembered

WHY = "It keeps what it was given, through power cuts too."
SECRET = "open sesame, said the admin"


def done(run: Run, *arguments: str, **options: str) -> str:
    result = run(*arguments, **options)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(run: Run, *arguments: str, **options: str) -> str:
    result = run(*arguments, **options)
    assert result.exit_code == 1, result.output
    return result.stderr


def decide(run: Run, target: str, title: str, *more: str) -> str:
    told = ("--target", target, "--title", title, "--rationale", WHY)
    return done(run, "decide", *told, *more).strip()


def propose(run: Run, target: str, title: str) -> str:
    """Propose as an agent does, through the contract."""
    from dataclasses import replace

    from minutebook.cli.opening import made_here
    from minutebook.features.ledger.contract import ledger
    from minutebook.record.records import Role

    with made_here({}) as (app, caller):
        asks = replace(caller, role=Role.AGENT, name="claude")
        told = {"target": target, "title": title, "rationale": WHY}
        answer = ledger().call(app, asks, "propose_decision", told)
        assert answer.content is not None, answer.text
        id: str = answer.content["proposal_id"]
        return id


@pytest.mark.usefixtures("begun")
def test_what_was_decided_is_listed_one_line_a_target(run: Run) -> None:
    assert "Nothing was decided." in done(run, "decisions")
    first = decide(run, "database", "Use SQLite", "--consequence", "one file")
    decide(run, "cache", "Use none")
    second = decide(run, "database", "Use PostgreSQL", "--supersedes", f"{first}.md")
    lines = done(run, "decisions").splitlines()
    assert [line.split()[0] for line in lines] == ["cache", "database"]
    assert lines[1].split()[-1] == second
    assert "Use PostgreSQL" in lines[1]
    told = json.loads(done(run, "decisions", "--json"))
    assert [each["target"] for each in told] == ["cache", "database"]


def test_a_history_is_a_tree_with_dates_and_authors(run: Run) -> None:
    first = decide(run, "database", "Use SQLite", "--agent", "ana")
    second = decide(run, "database", "Use DuckDB", "--supersedes", first, "--agent", "ben")
    decide(run, "cache", "Use none")
    newest, oldest = done(run, "decisions", "--history", "database").splitlines()
    assert newest.startswith("● 20")
    assert oldest.startswith("○ 20")
    assert "Use DuckDB  ben (human)" in newest
    assert "Use SQLite  ana (human)" in oldest
    assert (newest.split()[-1], oldest.split()[-1]) == (second, first)
    assert "Nothing was decided on colour." in done(run, "decisions", "--history", "colour")


def test_decisions_are_drawn_as_mermaid_and_dot(run: Run) -> None:
    first = decide(run, "database", "Use SQLite")
    second = decide(run, "database", "Use DuckDB", "--supersedes", first)
    other = decide(run, "cache", "Use none")
    mermaid = done(run, "decisions", "--graph", "mermaid")
    assert mermaid.startswith("flowchart LR\n")
    assert mermaid.count('"]:::') == 3
    assert mermaid.count(" --> ") == 1
    dot = done(run, "decisions", "--graph", "dot")
    assert f'"{first}" -> "{second}";' in dot
    assert other in dot
    assert other not in done(run, "decisions", "--graph", "dot", "--history", "database")


def test_a_target_is_decided_once_and_the_error_says_how_to_go_on(run: Run) -> None:
    id = decide(run, "database", "Use SQLite")
    told = ("--target", "database", "--title", "Use MySQL", "--rationale", WHY)
    assert f"--supersedes {id}" in refused(run, "decide", *told)
    assert "rationale must have at least" in refused(
        run, "decide", "--target", "x", "--title", "y", "--rationale", "short"
    )
    unknown = "decision_20200101T000000000000Z_00000000"
    assert f"there is no decision {unknown}" in refused(
        run, "decide", *told, "--supersedes", unknown
    )
    assert "may only read" in refused(run, "decide", *told, "--role", "viewer")


def test_a_search_finds_what_holds_beside_memories(run: Run) -> None:
    first = decide(run, "database", "Keep rows in Paradox")
    second = decide(run, "database", "Keep rows in SQLite", "--supersedes", first)
    memory = remembered(run, "Paradox is in the cellar")
    found = done(run, "search", "paradox", "--explain")
    assert second in found
    assert memory in found
    assert first not in found
    assert found.count("lexical") == 2
    told = json.loads(done(run, "search", "paradox", "--json"))
    kinds = {each["record"]["id"]: each["record"]["kind"] for each in told}
    assert kinds == {second: "decision", memory: "memory"}


def test_a_decision_has_its_vectors_when_the_command_ends(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "built-in")
    decide(run, "storage", "Keep everything in one file")
    assert json.loads(done(run, "status", "--json"))["to_embed"] == 0


def test_a_decision_is_shown_whole(run: Run) -> None:
    id = decide(run, "database", "Use SQLite", "--consequence", "one file", "--consequence", "fast")
    shown = done(run, "show", f"{id}.md")
    assert WHY in shown
    assert "one file, fast" in shown
    assert json.loads(done(run, "show", id, "--json"))["title"] == "Use SQLite"
    unknown = "decision_20200101T000000000000Z_00000000"
    assert f"there is no decision {unknown}" in refused(run, "show", unknown)


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that an editor puts in place of what it was given; what that was is kept beside it."""
    text, program = tmp_path / "written.md", tmp_path / "editor.py"
    program.write_text(
        "import pathlib, sys\n"
        f"given, text = pathlib.Path(sys.argv[1]), pathlib.Path({str(text)!r})\n"
        "text.with_suffix('.given').write_bytes(given.read_bytes())\n"
        "if text.exists():\n"
        "    given.write_bytes(text.read_bytes())\n"
        "    import os\n"
        "    os.utime(given, (2e9, 2e9))\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {program}")
    return text


def test_what_is_not_given_is_written_in_the_editor(run: Run, editor: Path) -> None:
    editor.write_text(
        "# Use SQLite\n\nTarget: database\n\n## Rationale\n\nOne file.\n\n## Against what\n\n"
        "A server.\n\n## Consequences\n\n- one file\n- no\n  server\n\n" + HINT
    )
    done(run, "decide", "--target", "data")
    given = editor.with_suffix(".given").read_text()
    assert "Target: data\n" in given
    (told,) = json.loads(done(run, "decisions", "--json"))
    assert (told["title"], told["target"]) == ("Use SQLite", "database")
    assert told["rationale"] == "One file.\n\n## Against what\n\nA server."
    assert told["consequences"] == ["one file", "no server"]


@pytest.mark.usefixtures("begun")
def test_nothing_is_decided_when_nothing_was_saved(run: Run, editor: Path) -> None:
    assert "nothing was saved" in refused(run, "decide")
    assert "Nothing was decided." in done(run, "decisions")


def test_what_was_written_is_shown_again_where_it_was_refused(run: Run, editor: Path) -> None:
    decide(run, "database", "Use SQLite")
    editor.write_text("# Use MySQL\n\nTarget: database\n\n## Rationale\n\nI know it well.\n")
    error = refused(run, "decide")
    assert "I know it well." in error
    assert "--supersedes" in error


def test_the_template_is_read_as_it_was_filled() -> None:
    filled = TEMPLATE.format(title="t", target="a b", rationale="r\n\ns", consequences="-") + HINT
    assert read_template(filled) == ("t", "a b", "r\n\ns", ())
    empty = TEMPLATE.format(title="", target="", rationale="", consequences="-") + HINT
    assert read_template(empty) == ("", "", "", ())
    with pytest.raises(InvalidInput, match="## Rationale"):
        read_template("# only a title\n")


@pytest.mark.usefixtures("begun")
def test_a_proposal_is_listed_and_accepted_with_the_secret(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "No proposals." in done(run, "decisions", "--proposed")
    admin = ("--role", "admin")
    twice = f"{SECRET}\n{SECRET}\n"
    assert "--role admin" in refused(run, "ledger", "secret", input=twice)
    assert SECRET not in done(run, "ledger", "secret", *admin, input=twice)
    id = propose(run, "database", "Use DuckDB")
    listed = done(run, "decisions", "--proposed")
    assert id in listed
    assert "by claude" in listed
    assert json.loads(done(run, "decisions", "--proposed", "--json"))[0]["opens"]
    assert "goes with neither" in refused(run, "decisions", "--proposed", "--graph", "dot")
    early = refused(run, "accept", id, *admin, input=f"{SECRET}\n")
    assert "review" in early
    monkeypatch.setenv("MINUTEBOOK_REVIEW_WINDOW", "0")
    assert "--role admin" in refused(run, "accept", id, input=f"{SECRET}\n")
    accepted = done(run, "accept", id, *admin, input=f"{SECRET}\n")
    assert "Accepted as decision_" in accepted
    assert "Use DuckDB" in done(run, "decisions")
    assert "No proposals." in done(run, "decisions", "--proposed")
    assert "accepted already" in refused(run, "accept", id, *admin, input=f"{SECRET}\n")


@pytest.mark.usefixtures("begun")
def test_the_secret_is_taken_from_the_environment_and_never_shown(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_MEMORY_SECRET", SECRET)
    monkeypatch.setenv("MINUTEBOOK_REVIEW_WINDOW", "0")
    done(run, "decisions", "--role", "admin")
    id = propose(run, "database", "Use DuckDB")
    assert "Accepted" in done(run, "accept", id, "--role", "admin")
    assert SECRET not in done(run, "settings") + done(run, "settings", "--json")
    kept = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []
    (file,) = [path for path in kept if "secret" in path.name and path.suffix != ".lock"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_secret_is_changed_by_whoever_knows_it(run: Run) -> None:
    admin = ("--role", "admin")
    done(run, "ledger", "secret", *admin, input=f"{SECRET}\n{SECRET}\n")
    other = "another secret"
    wrong = refused(run, "ledger", "secret", *admin, input=f"wrong one\n{other}\n{other}\n")
    assert "the secret is another one" in wrong


def repository(folder: Path) -> list[str]:
    """Make a repository in which somebody commits; how to call Git in it."""
    folder.mkdir()
    git = ["git", "-C", str(folder)]
    for act in (
        ("init", "-q", "-b", "main"),
        ("config", "user.name", "x"),
        ("config", "user.email", "x@example.org"),
    ):
        subprocess.run([*git, *act], check=True)
    return git


@requirement("ledger/git/markdown")
def test_a_ledger_is_kept_in_ones_own_project(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "my project"
    git = repository(project)
    folder = project / "docs" / "decisions"
    decide(run, "database", "Use SQLite", "--ledger", str(folder), "--agent", "ana")
    (file,) = folder.rglob("*.md")
    front, body = file.read_text().removeprefix("---\n").split("---\n", 1)
    assert yaml.safe_load(front)["target"] == "database"
    assert "# Use SQLite\n" in body
    assert WHY in body
    log = subprocess.run(
        [*git, "log", "--format=%an %s"], check=True, capture_output=True, text=True
    )
    assert log.stdout.startswith("ana ")
    status = subprocess.run([*git, "fsck", "--strict"], check=True, capture_output=True, text=True)
    assert "error" not in status.stdout + status.stderr


@requirement("ledger/git/tampered")
def test_a_history_that_was_tampered_with_is_read_and_not_written(run: Run, tmp_path: Path) -> None:
    project = tmp_path / "project"
    git = repository(project)
    where = ("--ledger", str(project / "decisions"))
    decide(run, "database", "Use SQLite", *where)
    (file,) = project.rglob("*.md")
    file.write_text(file.read_text().replace("power cuts", "thick and thin"))
    subprocess.run([*git, "commit", "-qam", "tidy up"], check=True)
    listed = run("decisions", *where)
    assert "Use SQLite" in listed.stdout
    assert "is read-only" in listed.stderr
    assert "rationale" in listed.stderr
    told = ("--target", "cache", "--title", "Use none", "--rationale", WHY)
    assert "rationale" in refused(run, "decide", *told, *where)
    subprocess.run([*git, "revert", "--no-edit", "HEAD"], check=True, capture_output=True)
    done(run, "ledger", "rebuild", *where)
    decide(run, "cache", "Use none", *where)
    assert "read-only" not in run("decisions", *where).stderr


@requirement("ledger/supersede_decision/complete")
def test_what_colleagues_decided_apart_is_shown_together_and_settled_by_naming_both(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_LEDGER_TRUST", "everyone")
    project = tmp_path / "project"
    git = repository(project)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "start"], check=True)

    def at(name: str) -> tuple[str, ...]:
        return ("--home", str(tmp_path / name), "--ledger", str(project / "decisions"))

    ours = decide(run, "database", "Use SQLite", *at("ana"))
    subprocess.run([*git, "switch", "-qc", "other", "HEAD~1"], check=True)
    theirs = decide(run, "database", "Use DuckDB", *at("ben"))
    subprocess.run([*git, "switch", "-q", "main"], check=True)
    subprocess.run([*git, "merge", "-q", "--no-edit", "other"], check=True)
    listed = done(run, "decisions", *at("ana"))
    assert ours in listed
    assert theirs in listed
    new = ("--target", "database", "--title", "Use PostgreSQL", "--rationale", WHY)
    assert ours in refused(run, "decide", *new, *at("ana"))
    assert theirs in refused(run, "decide", *new, "--supersedes", ours, *at("ana"))
    both = ("--supersedes", ours, "--supersedes", theirs)
    last = done(run, "decide", *new, *both, *at("ana")).strip()
    told = done(run, "decisions", "--history", "database", *at("ana")).splitlines()
    assert [line.split()[-1] for line in told] == [last, theirs, ours]
    assert told[1].startswith("├─○")


def test_a_rebuild_says_what_it_did(run: Run) -> None:
    decide(run, "database", "Use SQLite")
    assert "1 decision; 0 brought to the tables" in done(run, "ledger", "rebuild")
    assert json.loads(done(run, "ledger", "rebuild", "--json"))["decisions"] == 1
