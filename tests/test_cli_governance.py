"""What a person does at a terminal to govern the memory."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.caller import Call, Caller, with_call
from minutebook.record.origin import Origin
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.terminal import Run, remembered


def done(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 1, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.needs("audit_proof")
def test_both_forms_of_an_id_are_taken_and_shown(run: Run) -> None:
    id = remembered(run, "Deploy on Tuesdays.")
    told = json.loads(done(run, "show", id, "--json"))
    uuid = told["uuid"]
    assert list(told)[1:3] == ["id", "uuid"]
    assert json.loads(done(run, "show", uuid, "--json"))["id"] == id
    assert uuid in done(run, "show", id)
    both = f"{id} ({uuid})"
    assert both in done(run, "mark", uuid, "lock", "--role", "manager")
    assert both in done(run, "mark", id, "unlock", "--role", "manager")
    assert f"memory {both}" in done(run, "audit", "--act", "lock")
    assert [each["uuid"] for each in json.loads(done(run, "list", "--json"))["memories"]] == [uuid]
    assert both in done(run, "forget", uuid, "--yes")
    entries = json.loads(done(run, "audit", "--subject", uuid, "--json"))
    assert [each["entry"]["act"] for each in entries] == ["delete", "unlock", "lock", "created"]
    assert {(each["entry"]["subject"], each["uuid"]) for each in entries} == {(id, uuid)}


def test_a_lock_holds_until_a_steward_opens_it(run: Run) -> None:
    id = remembered(run, "Deploy on Tuesdays.")
    assert "--role manager" in refused(run, "mark", id, "lock")
    assert "locked" in done(run, "mark", id, "lock", "--role", "manager")
    for arguments in (
        ["forget", id, "--yes"],
        ["mark", id, "deprecate", "--reason", "r"],
        ["mark", id, "verify"],
    ):
        assert f"`minutebook mark {id} unlock --role manager`" in refused(run, *arguments)
    assert "--role manager" in refused(run, "mark", id, "unlock")
    assert "active" in done(run, "mark", id, "unlock", "--role", "architect")
    assert "it is not locked" in refused(run, "mark", id, "unlock", "--role", "manager")


def test_a_person_verifies_and_deprecates_with_a_reason(run: Run) -> None:
    id = remembered(run, "Deploy on Tuesdays.")
    assert "verified" in done(run, "mark", id, "verify")
    assert "--role human" in refused(run, "mark", id, "verify", "--role", "agent")
    for arguments in (["deprecate"], ["deprecate", "--reason", " "], ["verify", "--reason", "r"]):
        assert "--reason is needed to deprecate" in refused(run, "mark", id, *arguments)
    assert "deprecated" in done(run, "mark", id, "deprecate", "--reason", "we deploy daily")
    assert "we deploy daily" in done(run, "show", id)
    assert "Nothing was found." in done(run, "search", "deploy")


@pytest.mark.needs("archives")
def test_a_text_returns_as_a_new_version(run: Run) -> None:
    id = remembered(run, "Deploy on Tuesdays.")
    assert "name the version" in refused(run, "restore", id)
    assert "there is no version" in refused(run, "restore", id, "--version", "7")
    assert "version 1" in done(run, "restore", id, "--version", "1")
    assert "Deploy on Tuesdays." in done(run, "show", id, "--version", "1")
    told = json.loads(done(run, "show", id, "--version", "1", "--json"))
    assert (told["number"], told["content"]) == (1, "Deploy on Tuesdays.")
    assert "there is no version" in refused(run, "show", id, "--version", "2")


def test_links_are_made_and_shown_from_both_ends(run: Run) -> None:
    one, two = remembered(run, "Deploy on Tuesdays."), remembered(run, "The kettle is upstairs.")
    assert "as needs" in done(run, "link", one, two, "--type", "needs")
    assert "→ needs" in done(run, "show", one)
    assert "The kettle is upstairs." in done(run, "show", one)
    assert "← needs" in done(run, "show", two)
    assert "cannot be linked to itself" in refused(run, "link", one, one)
    assert "--type must not be empty" in refused(run, "link", one, two, "--type", "")


def test_system_scope_is_written_here_and_in_a_governed_store_by_stewards(run: Run) -> None:
    id = done(run, "remember", "--system", "No secrets in logs.", "--title", "Secrets").strip()
    assert id in done(run, "list", "--organization", "acme", "--scope", "system")
    arguments = ("remember", "--system", "No secrets in logs.", "--policy", "governed")
    assert "--role manager" in refused(run, *arguments)
    assert done(run, *arguments, "--role", "manager")
    assert "TEXT must not be empty" in refused(run, "remember", "--system", " ")
    assert "--type must be one of" in refused(
        run, "remember", "--system", "x", "--type", "nonsense"
    )


def test_what_is_alike_is_listed_page_by_page_and_not_narrowed(run: Run) -> None:
    remembered(run, "Deploy on Tuesdays.")
    assert done(run, "list", "--alike") == "No two memories are alike.\n"
    assert json.loads(done(run, "list", "--alike", "--json")) == []
    assert "leave out what narrows" in refused(run, "list", "--alike", "--type", "fact")


def test_a_list_is_narrowed_by_type_status_scope_and_whom_it_concerns(run: Run) -> None:
    rule = remembered(run, "a rule", "--type", "business_rule")
    here = remembered(run, "in one", "--repository", "one")
    hers = remembered(run, "ana's", "--user", "ana")
    done(run, "mark", rule, "lock", "--role", "manager")

    def listed(*arguments: str) -> set[str]:
        told = json.loads(done(run, "list", "--json", *arguments))
        assert told["total"] == len(told["memories"])
        return {memory["id"] for memory in told["memories"]}

    assert listed() == {rule, here, hers}
    assert listed("--type", "business_rule") == listed("--status", "locked") == {rule}
    assert listed("--scope", "user") == {hers}
    assert listed("--repository", "two") == {rule, hers}
    assert listed("--repository", "one", "--scope", "repository") == {here}
    assert listed("--user", "ben") == {rule, here}
    assert "--status must be one of draft" in refused(run, "list", "--status", "nope")


@pytest.mark.needs("audit_proof")
def test_the_trail_is_listed_and_filtered(run: Run) -> None:
    id = remembered(run, "Deploy on Tuesdays.")
    remembered(run, "The kettle is upstairs.", "--agent", "ana")
    refused(run, "mark", id, "lock")

    def acts(*arguments: str) -> list[tuple[str, str]]:
        entries = json.loads(done(run, "audit", "--json", *arguments))
        return [(each["entry"]["act"], each["entry"]["outcome"]) for each in entries]

    created = ("created", "done")
    assert acts() == [("lock", "Forbidden"), created, created]
    assert acts("--act", "created", "--limit", "1") == [created]
    assert acts("--actor", "ana") == [created]
    assert acts("--subject", id) == [("lock", "Forbidden"), created]
    assert acts("--outcome", "Forbidden", "--since", "1h") == [("lock", "Forbidden")]
    assert acts("--since", "2999-01-01") == []
    assert acts("--since", "2000-01-01T00:00:00Z") == acts()
    assert "lock by" in done(run, "audit")
    assert "No entries." in done(run, "audit", "--actor", "nobody")
    assert "Deploy" not in done(run, "audit", "--json")
    assert "--since must be a time like" in refused(run, "audit", "--since", "yesterday")
    assert "leave out --repository" in refused(run, "audit", "--user", "ana")


@pytest.mark.needs("audit_proof")
def test_a_noted_end_is_proved_against_the_trail(run: Run) -> None:
    remembered(run, "Deploy on Tuesdays.")
    end = done(run, "audit", "verify").split("its end is ")[1].split()[0]
    remembered(run, "The kettle is upstairs.")
    noted = ("audit", "verify", "--noted")
    assert "2 entries, sound" in done(run, *noted, end, "--organization", "default")
    forged = f"1:{'0' * 64}"
    assert "broken at entry 1" in run(*noted, forged, "--organization", "default").output
    missing = f"3:{'0' * 64}"
    assert "broken at entry 3" in run(*noted, missing, "--organization", "default").output
    assert "needs --organization" in refused(run, *noted, end)
    assert "must be an end" in refused(run, *noted, "1")


@pytest.mark.parametrize(
    "words",
    [
        ("mark", "nobody", "lock"),
        ("mark", "nobody", "unlock"),
        ("mark", "nobody", "verify"),
        pytest.param(("restore", "nobody"), marks=pytest.mark.needs("archives")),
        ("show", "nobody"),
    ],
)
@pytest.mark.usefixtures("begun")
def test_an_unknown_memory_is_named(run: Run, words: tuple[str, ...]) -> None:
    assert "there is no memory nobody" in refused(run, *words, "--role", "manager")


@pytest.mark.needs("audit_proof", "journal")
def test_which_program_wrote_what_is_shown_and_asked_for(run: Run, tmp_path: Path) -> None:
    asks = Caller(name="agent", role=Role.AGENT, call=Call(session="session_1"))
    origin = Origin(client="cursor", version="1.2.3", contract="knowledge", session="session_1")
    with closing(open_app(settings_with(home=tmp_path / "home", embedder="none"))) as app:
        cursor = with_call(asks, origin=origin)
        draft = Draft(content="Deploy on Tuesdays.", type=MemoryType.FACT)
        id = app.memories.store(cursor, draft).id
        turn = app.sessions.add(cursor, None, "when?", "", "on Tuesdays")
        other = with_call(asks, origin=Origin(client="claude-code", version="2.0"))
        app.memories.update(other, id, {"content": "Deploy on Mondays."})
    own = remembered(run, "The kettle is upstairs.")
    assert "by agent through cursor 1.2.3" in done(run, "list", "--client", "Cursor")
    assert own not in done(run, "list", "--client", "cursor")
    assert own in done(run, "list", "--client", "minutebook")
    assert "0 of 0" in done(run, "list", "--client", "emacs")
    shown = done(run, "show", id)
    assert "client cursor, version 1.2.3, contract knowledge, session session_1" in shown
    assert turn.id in shown
    assert "agent through claude-code 2.0" in shown
    assert "by agent through cursor 1.2.3" in shown
    told = json.loads(done(run, "show", id, "--json"))
    assert told["origin"] == origin.parts
    assert [each["origin"]["client"] for each in told["versions"]] == ["cursor", "claude-code"]
    assert told["turn"] == turn.id
    trail = done(run, "audit", "--client", "claude-code")
    assert "update by agent (agent) through claude-code 2.0: done" in trail
    assert "cursor" not in trail
    assert "through cursor 1.2.3" in done(run, "sessions", "session_1")
    assert "sound" in done(run, "audit", "verify")
