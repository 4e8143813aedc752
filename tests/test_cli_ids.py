"""Ids by a part that only one has, and what a shell completes."""

import dataclasses
import json

import pytest
from click.shell_completion import ShellComplete

from minutebook.cli import main
from minutebook.cli.opening import made_here
from minutebook.record.ids import uuid_of
from minutebook.record.records import Role
from minutebook.record.rights.grants import Grant
from tests.store import samples
from tests.terminal import Run

pytestmark = pytest.mark.needs("ledger", "archives")

WHY = "It keeps what it was given, through power cuts too."
FIRST, SECOND, THIRD = (f"0m{letter * 16}{end}" for letter, end in ("ax", "ay", "bz"))


def done(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def kept(begun: Run) -> dict[str, str]:
    """Memories whose ids begin alike, a decision, a token, and two sessions."""
    with made_here({}) as (app, caller):
        for id, text in ((FIRST, "the first"), (SECOND, "the second"), (THIRD, "the third")):
            app.infrastructure.store.put(
                samples.memory(id.ljust(20, "0"), text, organization="default")
            )
        token = app.tokens.create(caller, Grant(name="ci", role=Role.AGENT)).token.id
        for name in ("monday", "monkey", "tuesday"):
            app.sessions.add(caller, name, "a", "b", "c")
    told = ("--target", "store", "--title", "Use SQLite", "--rationale", WHY)
    return {"decision": done(begun, "decide", *told).strip(), "token": token}


def test_the_beginning_or_the_ending_of_an_id_is_enough_where_only_one_has_it(
    run: Run, kept: dict[str, str]
) -> None:
    assert "the third" in done(run, "show", "0mb")
    assert "the third" in done(run, "show", "0MB")
    assert "the second" in done(run, "show", f"{SECOND[-3:]}0")
    assert "Use SQLite" in done(run, "show", kept["decision"][-8:])
    assert "verified" in done(run, "mark", "0mb", "verify")
    assert "Linked" in done(run, "link", "0mb", FIRST)
    assert "Ended" in done(run, "invalidate", "0mb", "--reason", "over")
    assert "Removed" in done(run, "forget", "0mb", "--yes")
    assert "Revoked" in done(run, "token", "revoke", kept["token"][:14])
    again = ("--target", "store", "--title", "Use PostgreSQL", "--rationale", WHY)
    done(run, "decide", *again, "--supersedes", kept["decision"][-8:])


def test_a_part_of_a_uuid_finds_the_memory_that_shows_it(run: Run, kept: dict[str, str]) -> None:
    uuid = json.loads(done(run, "show", THIRD.ljust(20, "0"), "--json"))["uuid"]
    own = "aaaaaaaa-1111-4222-8333-bbbbbbbbbbbb"
    with made_here({}) as (app, _):
        made = samples.memory("0mc".ljust(20, "0"), "made elsewhere", organization="default")
        app.infrastructure.store.put(dataclasses.replace(made, given_uuid=own))
    for part in (uuid[:13], uuid[:13].upper(), uuid[:19], uuid[-9:]):
        assert "the third" in done(run, "show", part)
    assert "made elsewhere" in done(run, "show", own[:6])
    assert "made elsewhere" in done(run, "show", own[-6:])
    # What its id would give is not what it shows.
    other = str(uuid_of("0mc".ljust(20, "0")))
    assert "there is no memory" in run("show", other[:13]).stderr


def test_several_ids_that_begin_alike_are_shown_with_what_they_are(
    run: Run, kept: dict[str, str]
) -> None:
    result = run("forget", "0ma", "--yes")
    assert result.exit_code == 1
    assert "the first" in result.stderr
    assert "the second" in result.stderr
    assert "the third" not in result.stderr
    assert "0ma could be any of 2, shown above; type more of the memory" in result.stderr
    assert json.loads(done(run, "list", "--json"))["total"] == 3


def test_a_part_that_no_id_has_is_named(run: Run, kept: dict[str, str]) -> None:
    assert "there is no memory 9z9z9z9z" in run("show", "9z9z9z9z").stderr
    assert "there is no token 9z9z9z9z" in run("token", "revoke", "9z9z9z9z").stderr


@pytest.mark.needs("journal")
def test_the_beginning_of_a_sessions_name_is_enough(run: Run, kept: dict[str, str]) -> None:
    told = json.loads(done(run, "sessions", "tu", "--json"))
    assert {each["session"] for each in told["turns"]} == {"tuesday"}
    several = run("sessions", "mon")
    assert several.exit_code == 1
    assert "mon could be any of 2" in several.stderr
    assert "there is no session wed" in run("sessions", "wed").stderr


def test_a_shell_that_asks_click_completes_commands_options_and_values() -> None:
    shell = ShellComplete(main, {}, "minutebook", "_MINUTEBOOK_COMPLETE")
    offered = {
        words: {each.value for each in shell.get_completions(list(words[:-1]), words[-1])}
        for words in (("rem",), ("remember", "--t"), ("token", "cr"))
    }
    assert offered == {
        ("rem",): {"remember"},
        ("remember", "--t"): {"--type", "--title", "--tag"},
        ("token", "cr"): {"create"},
    }
