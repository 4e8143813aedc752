"""Turns are kept in order, found, and heard by whom they concern."""

import threading
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.importers.source_imports import SourceImports
from minutebook.memory.journal.sessions import LONGEST_TURN
from minutebook.record.caller import Call, Caller, with_call
from minutebook.record.errors import Forbidden, InvalidInput, ScopeViolation
from minutebook.record.origin import Origin
from minutebook.record.records import SYSTEM_ORGANIZATION, Kind, Memory, MemoryType, Role, Turn
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.source_drafts import SourcePlace, TurnDraft
from tests.world import NOON, Opener, World, failed, worlds

AGENT = Caller(name="robot", role=Role.AGENT, call=Call(session="own"))


@pytest.fixture
def opener(tmp_path: Path) -> Iterator[Opener]:
    with worlds(tmp_path) as opened:
        yield opened


@pytest.fixture
def world(opener: Opener) -> World:
    return opener(caller=AGENT)


def say(world: World, said: str, session: str | None = "s", **caller: object) -> Turn:
    asking = world.by(**caller).caller
    return world.app.sessions.add(asking, session, said, f"I think of {said}", f"Done: {said}")


def prompts(world: World, session: str = "s", limit: int = 99, offset: int = 0) -> list[str]:
    page = world.app.sessions.page(world.caller, session, limit, offset)
    return [turn.prompt for turn in page.turns]


def test_turns_come_back_in_the_order_in_which_they_were_said(world: World) -> None:
    for word in ("one", "two", "three"):
        say(world, word)
    assert prompts(world) == ["one", "two", "three"]


def test_turns_of_one_instant_have_ids_and_instants_of_their_own_in_order(world: World) -> None:
    turns = [say(world, str(number), session="st"[number % 2]) for number in range(10)]
    assert len({turn.id for turn in turns}) == 10
    assert len({turn.at for turn in turns}) == 10
    assert prompts(world, "s") == ["0", "2", "4", "6", "8"]
    assert turns[0].id == "mem_2026-01-06T12:00:00.000000Z"
    assert sorted(turn.id for turn in turns[::2]) == [turn.id for turn in turns[::2]]


def test_a_clock_that_steps_back_changes_no_order(world: World) -> None:
    say(world, "before")
    world.clock.turn(-3600)
    later = say(world, "after")
    assert prompts(world) == ["before", "after"]
    assert later.at == NOON + timedelta(microseconds=1)


def test_without_a_session_a_turn_goes_into_the_connections_own(world: World) -> None:
    assert say(world, "hello", session=None).session == "own"
    with pytest.raises(InvalidInput) as refused:
        say(world.by(session=""), "hello", session=None)
    assert refused.value.argument == "sessionId"


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "nul\0", "\ud800"])
def test_a_session_without_a_name_that_can_be_written_is_refused(world: World, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        say(world, "hello", session=name)
    assert refused.value.argument == "sessionId"


@pytest.mark.parametrize("name", ["x" * 200, "東京" * 50, "a b/c?", "😀"])
def test_a_session_may_be_called_what_people_call_it(world: World, name: str) -> None:
    say(world, "hello", session=name)
    (session,) = world.app.sessions.all(world.caller)
    assert session.name == name
    assert prompts(world, name) == ["hello"]


def test_pages_of_a_session_follow_one_another(world: World) -> None:
    for number in range(7):
        say(world, str(number))
    assert prompts(world, limit=3, offset=2) == ["2", "3", "4"]
    assert prompts(world, limit=3, offset=6) == ["6"]
    assert prompts(world, limit=3, offset=9) == []
    assert world.app.sessions.page(world.caller, "s", 3, 9).total == 7
    assert world.app.sessions.page(world.caller, "unknown", 3, 0).total == 0


def test_pages_go_on_from_one_organization_to_the_next(world: World) -> None:
    for organization in ("acme", "zoo"):
        for number in range(3):
            say(world, f"{organization} {number}", organization=organization)
    everyone = ["acme 0", "acme 1", "acme 2", "zoo 0", "zoo 1", "zoo 2"]
    assert prompts(world) == everyone
    for limit in (1, 2, 4):
        read = [each for at in range(0, 7, limit) for each in prompts(world, "s", limit, at)]
        assert read == everyone


def test_a_session_is_heard_by_whom_it_concerns_only(world: World) -> None:
    say(world, "for all", organization="acme")
    say(world, "ana's", organization="acme", user="ana")
    say(world, "bo's", organization="acme", user="bo")
    say(world, "in web", organization="acme", repositories=frozenset({"web"}))
    say(world, "elsewhere", organization="zoo")
    ana = world.by(organization="acme", user="ana")
    assert prompts(ana) == ["for all", "ana's", "in web"]
    web = world.by(organization="acme", repositories=frozenset({"web"}), user="cy")
    assert prompts(web) == ["for all", "in web"]
    assert [(s.user, s.repository) for s in ana.app.sessions.all(ana.caller)] == [
        (None, "web"),
        ("ana", None),
        (None, None),
    ]
    assert prompts(world.by(organization="nobody")) == []


def test_a_viewer_keeps_no_turn_and_nobody_the_systems(world: World) -> None:
    with pytest.raises(Forbidden):
        say(world, "hello", role=Role.VIEWER)
    with pytest.raises(ScopeViolation):
        say(world, "hello", role=Role.ADMIN, organization=SYSTEM_ORGANIZATION, writes_system=False)
    assert [entry.outcome for entry in world.trail()] == ["Forbidden"]
    assert prompts(world) == []


def test_each_turn_is_entered_on_the_trail_without_its_words(world: World) -> None:
    turn = say(world, "secret of the house")
    (entry,) = world.entries(turn.id)
    assert (entry.act, entry.subject_kind, entry.outcome) == ("add_turn", Kind.TURN, "done")
    assert entry.before == ""
    assert entry.after
    assert "secret" not in repr(entry)
    assert world.app.trail.verify("default") is None


@pytest.mark.thorough
def test_a_megabyte_is_kept_at_once_and_embedded_in_parts_soon(world: World) -> None:
    long = "cormorant " + " ".join(f"word{number % 500:04}" for number in range(120_000))
    turn = world.app.sessions.add(world.caller, "s", long, "", "")
    assert len(turn.text) > 1_000_000
    assert world.store.get(Turn, "default", turn.id) == turn
    found = world.app.journal_search.turns(world.caller, "cormorant", 5)
    assert [(each.record.id, each.distance) for each in found] == [(turn.id, None)]
    world.app.embeddings.backfill(threading.Event())
    kept = world.store.vectors(Turn, "default", turn.id)
    assert kept is not None
    assert len(kept[1]) > 100
    (found_now,) = world.app.journal_search.turns(world.caller, "word0000 cormorant", 5)
    assert found_now.distance is not None
    assert found_now.distance < 0.9


def test_a_short_turn_has_its_vectors_when_the_call_returns(world: World) -> None:
    turn = say(world, "short")
    assert world.store.vectors(Turn, "default", turn.id) is not None


def test_turns_are_kept_and_found_without_any_model(opener: Opener) -> None:
    world = opener(failed(), caller=AGENT)
    turn = say(world, "the cormorant dives")
    (found,) = world.app.journal_search.turns(world.caller, "cormorant", 5)
    assert found.record == turn
    assert found.distance is None


def test_what_is_found_is_listed_by_its_true_distance(world: World) -> None:
    near = say(world, "cormorant cormorant cormorant")
    far = say(world, "a cormorant among many other birds of the northern sea and coast")
    other = say(world, "nothing of the kind", session="t")
    found = world.app.journal_search.turns(world.caller, "cormorant", 5)
    assert [each.record.id for each in found] == [near.id, far.id, other.id]
    distances = [each.distance for each in found]
    assert all(distance is not None and 0.0 <= distance <= 2.0 for distance in distances)
    assert distances == sorted(distances, key=lambda d: d or 0.0)
    vector = world.app.embeddings.require_query("cormorant").vector
    kept = world.store.vectors(Turn, "default", near.id)
    assert kept is not None
    assert found[0].distance == pytest.approx(1 - float((kept[1] @ vector).max()), abs=1e-3)


def test_a_question_about_one_session_finds_only_its_turns(world: World) -> None:
    for number in range(30):
        say(world, f"cormorant {number}", session=f"s{number % 10}")
    found = world.app.journal_search.turns(world.caller, "cormorant", 50, "s3")
    assert {each.record.session for each in found} == {"s3"}
    assert len(found) == 3


def test_nobody_finds_a_turn_that_they_may_not_read(world: World) -> None:
    say(world, "cormorant", organization="acme", user="ana")
    bo = world.by(organization="acme", user="bo")
    assert world.app.journal_search.turns(bo.caller, "cormorant", 5) == []


def test_the_same_instant_in_two_organizations_is_two_turns(world: World) -> None:
    one = say(world, "cormorant", organization="acme")
    two = say(world, "cormorant", organization="zoo")
    assert one.id == two.id
    found = world.app.journal_search.turns(world.caller, "cormorant", 5)
    assert {each.record.organization for each in found} == {"acme", "zoo"}


def test_turns_are_found_beside_memories_and_are_none(world: World) -> None:
    turn = say(world, "cormorant")
    assert world.ids("recall", query="cormorant") == [turn.id]
    assert world.ids("search", query="cormorant") == []


MINUTE = timedelta(minutes=1)


def captured(
    world: World, session: str, at: datetime, program: str = "claude-code", **said: Any
) -> None:
    """Keep a turn as the capture of a client's session does."""
    place = SourcePlace("event")
    draft = TurnDraft(
        key=f"{session} {at}", place=place, program=program, session=session, at=at,
        prompt=said.pop("prompt", f"prompt at {at:%H:%M}"), thought=said.pop("thought", ""), response="Done.",
    )  # fmt: skip
    report = world.app.get(SourceImports).run(
        world.by(**said).caller, "capture", [draft], lambda: 0.0, dry_run=False
    )
    assert sum(each.total() for each in report.counts.values()) == 1


def noted(world: World, client: str = "claude-code", **said: object) -> Memory:
    """Store a memory over the connection of a client, which has a session of its own."""
    origin = Origin(client=client, version="2", contract="knowledge", session="connection-7")
    caller = with_call(world.by(**said).caller, origin=origin)
    return world.app.memories.store(caller, Draft(content="Tea at four", type=MemoryType.FACT))


def prompt_of(world: World, memory: Memory) -> str | None:
    turn = world.app.sessions.turn_of(world.caller, memory)
    return None if turn is None else turn.prompt


@pytest.mark.parametrize(
    ("program", "client"),
    [("claude-code", "claude-code"), ("codex", "codex-mcp-client"), ("cursor", "cursor-vscode")],
)
def test_a_memory_leads_to_the_turn_of_the_captured_session_in_which_it_was_written(
    world: World, program: str, client: str
) -> None:
    memory = noted(world, client)
    assert prompt_of(world, memory) is None
    for minutes in (-30, -1, 5):
        captured(world, "s1", memory.ingestion_time + minutes * MINUTE, program)
    assert prompt_of(world, memory) == "prompt at 11:59"


def test_no_session_of_another_program_repository_user_or_time_is_taken(world: World) -> None:
    memory = noted(world, repositories=frozenset({"acme/shop"}), user="ana")
    before = memory.ingestion_time - MINUTE
    mine: dict[str, Any] = {"repositories": frozenset({"acme/shop"}), "user": "ana"}
    captured(world, "s1", before, "codex", **mine)
    captured(world, "s2", before, repositories=frozenset({"acme/other"}), user="ana")
    captured(world, "s3", before, repositories=frozenset({"acme/shop"}), user="bob")
    captured(world, "s4", before - LONGEST_TURN, **mine)
    captured(world, "s5", before + 2 * MINUTE, **mine)
    say(world, "not captured", "s6", **mine)
    assert prompt_of(world, memory) is None
    captured(world, "s7", before, prompt="Mine.", **mine)
    assert prompt_of(world, memory) == "Mine."


def test_of_two_sessions_at_a_time_the_one_that_names_the_memory_is_taken(world: World) -> None:
    memory = noted(world)
    captured(world, "s1", memory.ingestion_time - MINUTE)
    captured(world, "s2", memory.ingestion_time - 2 * MINUTE)
    assert prompt_of(world, memory) is None
    thought = f'[mcp__minutebook__store_memory] {{}}\n\n→ {{"id": "{memory.id}"}}'
    captured(world, "s3", memory.ingestion_time - 3 * MINUTE, thought=thought, prompt="This one.")
    assert prompt_of(world, memory) == "This one."


def test_whose_turns_one_may_not_see_lead_nowhere(world: World) -> None:
    memory = noted(world)
    captured(world, "s1", memory.ingestion_time - MINUTE, user="ana")
    bob = world.by(user="bob").caller
    assert world.app.sessions.turn_of(bob, memory) is None
    assert prompt_of(world, memory) is not None
