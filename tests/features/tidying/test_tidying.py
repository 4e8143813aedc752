"""The inbox: what is found is suggested once, applied by a person or a rule of theirs, and undone exactly."""

from dataclasses import replace
from datetime import timedelta

import pytest

from minutebook.features.tidying.findings import State, Topic
from minutebook.features.tidying.inbox import Inbox, ShownSuggestion
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.features.tidying.looking.state import TidyStatus
from minutebook.features.tidying.rows import TidyRows
from minutebook.features.undo.rows import ImageRows
from minutebook.features.undo.undo import Undo
from minutebook.model import Embedding
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import Conflict, Forbidden, InvalidInput, NotFound
from minutebook.record.filters import Filter
from minutebook.record.records import (
    CLASSES,
    Entry,
    Head,
    Memory,
    MemoryType,
    Record,
    Role,
    Version,
)
from minutebook.record.writing.drafts import Draft
from tests.world import NOON, Opener, World

PERSON = Caller(name="ada", role=Role.HUMAN)
AGENT = Caller(name="bot", role=Role.AGENT)


@pytest.fixture
def world(opener: Opener) -> World:
    return opener()


def kept(world: World, text: str, caller: Caller = PERSON, **said: object) -> Memory:
    world.clock.turn()
    draft = Draft(content=text, **{"type": MemoryType.FACT, **said})  # type: ignore[arg-type]
    return world.app.memories.store(caller, draft)


def found(world: World, caller: Caller = PERSON) -> dict[Topic, int]:
    return dict(world.app.get(Rounds).run(caller).found)


def waiting(world: World, caller: Caller = PERSON) -> list[ShownSuggestion]:
    return world.app.get(Inbox).listing(caller, 99).suggestions


def records(world: World) -> dict[tuple[str, str], Record]:
    """Everything but the trail and what only tells that something was written."""
    everything = Filter(organization="default", with_deleted=True)
    return {
        (each.kind, each.id): replace(each, updated_at=NOON) if isinstance(each, Memory) else each
        for of in CLASSES.values()
        if of not in (Entry, Head)
        for each in world.store.find(of, everything)
    }


def test_a_pair_is_suggested_once_applied_undone_and_refused_for_good(world: World) -> None:
    older, newer = kept(world, "The retry limit is 3."), kept(world, "The retry limit is 5.")
    before = records(world)
    assert found(world) == {Topic.CONTRADICTION: 1}
    assert found(world) == {}
    (one,) = waiting(world)
    assert one.name == "1"
    assert one.examined is not None
    assert [each.id for each in one.records] == [newer.id, older.id]
    assert records(world) == before
    applied = world.app.get(Inbox).apply(PERSON, "1")
    assert applied.suggestion.state is State.APPLIED
    assert world.app.memories.read(PERSON, older.id).superseded_by == newer.id
    assert waiting(world) == []
    with pytest.raises(Conflict):
        world.app.get(Inbox).apply(PERSON, "1")
    world.app.get(Inbox).undo(PERSON, "1")
    assert records(world) == before
    world.app.get(Inbox).refuse(PERSON, "1")
    # Whoever says that both stay has said it for every answer.
    assert world.app.infrastructure.records.are_linked(older, newer)
    assert found(world) == {}
    assert waiting(world) == []
    world.app.memories.update(PERSON, newer.id, {"importance": 0.5})
    assert found(world) == {}


def test_what_a_memory_is_found_to_revise_when_it_is_written_waits_at_once(
    opener: Opener, built_in: Embedding
) -> None:
    world = opener(built_in, wait=60.0)
    older = kept(world, "The rate limit of the partner API is 500 requests a minute.", AGENT)
    kept(world, "Invoices are printed on Mondays.", AGENT)
    newer = kept(world, "The rate limit of the partner API is 2000 requests a minute.", AGENT)
    (one,) = waiting(world)
    assert one.suggestion.finding is Topic.CONTRADICTION
    assert [each.id for each in one.records] == [newer.id, older.id]
    world.app.get(Inbox).refuse(PERSON, "1")
    # A round finds it no second time, nor does the next change of its text.
    assert found(world) == {}
    text = "The rate limit of the partner API is 2000 requests a minute, since May."
    world.app.memories.update(PERSON, newer.id, {"content": text})
    assert waiting(world) == []


def test_settled_suggestions_can_be_undone_after_days_each_by_itself_or_as_the_act_that_they_were(
    world: World,
) -> None:
    for text in ("The limit is 3.", "The limit is 5.", "Tea is at four.", "Tea is at five."):
        kept(world, text)
    before = records(world)
    assert found(world) == {Topic.CONTRADICTION: 2}
    inbox, undo = world.app.get(Inbox), world.app.get(Undo)
    asked = with_call(PERSON, request="one command")
    for name in ("1", "2"):
        inbox.apply(asked, name)
    world.clock.turn(timedelta(days=9).total_seconds())
    undo.prune()
    inbox.undo(PERSON, "1")
    assert [each.name for each in waiting(world)] == ["1"]
    inbox.undo(PERSON, "2")
    assert records(world) == before
    for name in ("1", "2"):
        inbox.apply(asked, name)
    act = undo.last(PERSON).act.last_entry.number
    undo.take_back(PERSON, str(act))
    assert records(world) == before
    assert [each.name for each in waiting(world)] == ["1", "2"]
    # A refusal is an act as well, with the link that says that both stay.
    inbox.refuse(with_call(PERSON, request="another"), "1")
    undo.take_back(PERSON, str(undo.last(PERSON).act.last_entry.number))
    assert [each.name for each in waiting(world)] == ["1", "2"]


def test_agents_and_viewers_settle_nothing_and_each_refusal_is_in_the_trail(world: World) -> None:
    for text in ("The retry limit is 3.", "The retry limit is 5."):
        kept(world, text)
    found(world, AGENT)
    for act in (
        world.app.get(Inbox).apply,
        world.app.get(Inbox).refuse,
        world.app.get(Inbox).undo,
    ):
        with pytest.raises(Forbidden):
            act(AGENT, "1")
    refused = world.app.trail.entries(PERSON, outcome="Forbidden")
    assert {each.act for each in refused} == {"apply", "refuse", "undo"}
    with pytest.raises(Forbidden):
        world.app.get(Rounds).run(replace(PERSON, role=Role.VIEWER))


def test_each_sees_what_is_theirs(world: World) -> None:
    one = replace(PERSON, repositories=frozenset({"one"}))
    two = replace(PERSON, repositories=frozenset({"two"}))
    for text in ("The retry limit is 3.", "The retry limit is 5."):
        kept(world, text, one)
    # The same words in two scopes are no pair.
    kept(world, "The retry limit is 5.", two)
    assert found(world, two) == {Topic.CONTRADICTION: 1}
    assert waiting(world, two) == []
    assert len(waiting(world, one)) == 1
    for act in (
        world.app.get(Inbox).read,
        world.app.get(Inbox).apply,
        world.app.get(Inbox).refuse,
    ):
        with pytest.raises(NotFound):
            act(two, "1")
    elsewhere = replace(PERSON, organization="zoo")
    with pytest.raises(NotFound):
        world.app.get(Inbox).read(elsewhere, "1@default")
    with pytest.raises(InvalidInput, match="tidy"):
        world.app.get(Inbox).read(PERSON, "one")


def test_what_changed_since_is_neither_applied_nor_undone(world: World) -> None:
    older, _ = kept(world, "The retry limit is 3."), kept(world, "The retry limit is 5.")
    found(world)
    world.app.memories.update(PERSON, older.id, {"content": "Tea at four"})
    with pytest.raises(Conflict, match="looks again"):
        world.app.get(Inbox).apply(PERSON, "1")
    found(world)
    assert waiting(world) == []
    world.app.memories.update(PERSON, older.id, {"content": "The retry limit is 7."})
    assert found(world) == {Topic.CONTRADICTION: 1}
    (again,) = waiting(world)
    world.app.get(Inbox).apply(PERSON, again.name)
    changed = again.records[1].id
    world.app.memories.update(PERSON, changed, {"importance": 0.1})
    world.app.memories.reinstate(PERSON, changed)
    with pytest.raises(Conflict, match="since"):
        world.app.get(Inbox).undo(PERSON, again.name)


def test_a_text_that_names_its_day_waits_for_it(world: World) -> None:
    # The world's day is a Tuesday.
    memory = kept(world, "Uploads are limited to 10 MB until Friday.")
    before = records(world)
    assert found(world) == {}
    with pytest.raises(NotFound):
        world.app.get(Inbox).read(PERSON, "1")
    world.clock.turn(timedelta(days=5).total_seconds())
    assert dict(world.app.get(Rounds).run(PERSON, dry_run=True).found) == {Topic.EXPIRED: 1}
    assert waiting(world) == []
    assert found(world) == {Topic.EXPIRED: 1}
    world.app.get(Inbox).apply(PERSON, "1")
    ended = world.app.memories.read(PERSON, memory.id)
    assert str(ended.valid_until) == "2026-01-10 00:00:00+00:00"
    world.app.get(Inbox).undo(PERSON, "1")
    assert records(world) == before


def test_a_rule_of_a_person_applies_what_is_certain_enough_once(opener: Opener) -> None:
    world = opener(tidy_rules=("duplicate=0.95", "contradiction=0.99"))
    for text in ("Tea at four.", "tea at four.", "The limit is 3.", "The limit is 5."):
        kept(world, text)
    done = world.app.get(Rounds).run(PERSON)
    assert dict(done.applied) == {Topic.DUPLICATE: 1}
    (left,) = waiting(world)
    assert left.suggestion.finding is Topic.CONTRADICTION
    applied = next(n for n in ("1", "2") if n != left.name)
    world.app.get(Inbox).undo(PERSON, applied)
    assert dict(world.app.get(Rounds).run(PERSON).applied) == {}


def test_a_locked_memory_is_left_alone_and_a_link_says_that_both_stay(world: World) -> None:
    older, newer = kept(world, "The limit is 3."), kept(world, "The limit is 5.")
    world.app.status.lock(replace(PERSON, role=Role.ADMIN), older.id)
    assert found(world) == {}
    third = kept(world, "The limit is 7.")
    world.app.links.link(PERSON, newer.id, third.id)
    assert found(world) == {}


def test_of_a_removed_record_nothing_is_kept_that_would_bring_it_back(world: World) -> None:
    older, _ = kept(world, "The retry limit is 3."), kept(world, "The retry limit is 5.")
    found(world)
    world.app.get(Inbox).apply(PERSON, "1")
    world.app.memories.delete(PERSON, older.id)
    found(world)
    row = TidyRows(world.app.infrastructure.store.database).numbered("default", 1)
    assert row is not None
    assert row.entry is None
    world.clock.turn(timedelta(days=2).total_seconds())
    world.app.get(Undo).prune()
    assert ImageRows(world.app.infrastructure.store.database).latest("default", older.id) is None
    assert (
        world.store.find(Version, Filter(organization="default", equal={"memory": older.id})) == []
    )


def test_a_round_is_due_when_its_time_has_come_and_is_cut_where_it_is_told_to(
    opener: Opener,
) -> None:
    world = opener(tidy_every=24.0)
    kept(world, "The retry limit is 3.")
    kept(world, "The retry limit is 5.")
    rounds = world.app.get(Rounds)
    assert rounds.run(PERSON, most=0).is_unfinished
    assert waiting(world) == []
    done = rounds.run_if_due(AGENT)
    assert done is not None
    assert dict(done.found) == {Topic.CONTRADICTION: 1}
    assert rounds.run_if_due(AGENT) is None
    world.clock.turn(timedelta(hours=25).total_seconds())
    assert rounds.run_if_due(AGENT) is not None


def test_no_round_is_due_by_default(world: World) -> None:
    assert world.app.get(Rounds).run_if_due(PERSON) is None


def test_a_round_that_is_killed_goes_on_where_it_was(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(6):
        kept(world, f"The limit of queue{n} is 3.")
        kept(world, f"The limit of queue{n} is 5.")

    class Killed(BaseException):
        pass

    def die(part: float, what: str) -> None:
        if part > 0:
            raise Killed

    reference = dict(world.app.get(Rounds).run(PERSON, dry_run=True).found)
    monkeypatch.setattr("minutebook.features.citations.following.BATCH", 10)
    with pytest.raises(Killed):
        world.app.get(Rounds).run(with_call(PERSON, progress=die))
    world.app.get(Rounds).run(PERSON)
    assert dict(world.app.get(Inbox).listing(PERSON, 99).counts) == reference
    assert found(world) == {}


def test_the_state_tells_of_the_last_round_what_waits_and_what_did_not_run(opener: Opener) -> None:
    world = opener()
    state = world.app.get(TidyStatus).state(PERSON)
    assert (state.last_at, state.next_at, state.is_overdue) == (None, None, False)
    world.app.get(TidyStatus).note(PERSON)
    assert "tidying" not in PERSON.call.notes
    for text in ("The retry limit is 3.", "The retry limit is 5."):
        kept(world, text)
    found(world)
    ended = world.clock()
    world.app.get(TidyStatus).every = timedelta(hours=24)
    state = world.app.get(TidyStatus).state(PERSON)
    assert state.last_at is not None
    assert state.last_at <= ended
    assert (state.looked_at > 0, state.found) == (True, {Topic.CONTRADICTION: 1})
    assert (state.waiting, state.is_overdue) == ({Topic.CONTRADICTION: 1}, False)
    world.clock.turn(timedelta(hours=25).total_seconds())
    assert not world.app.get(TidyStatus).state(PERSON).is_overdue
    world.clock.turn(timedelta(hours=2).total_seconds())
    assert world.app.get(TidyStatus).state(PERSON).is_overdue
    caller = with_call(PERSON, reason="")
    world.app.get(TidyStatus).note(caller)
    note = caller.call.notes["tidying"]
    assert note.facts["is_overdue"] is True
    assert "1 suggestion of tidying" in note.text
    # The next round, which finds nothing, says so, and what waits still does.
    found(world)
    state = world.app.get(TidyStatus).state(PERSON)
    assert (state.found, state.waiting.total(), state.is_overdue) == ({}, 1, False)


def test_notes_of_one_pattern_contradict_one_another_only_while_they_are_two(world: World) -> None:
    pattern = "Deploys wait in {}."
    kept(world, pattern.format("gallery"))
    kept(world, pattern.format("wishlist"))
    assert found(world) == {Topic.CONTRADICTION: 1}
    kept(world, pattern.format("checkout"))
    # The third tells that the name is what each is about: what waited is withdrawn.
    assert found(world) == {}
    assert waiting(world) == []


def test_a_value_of_one_of_many_notes_of_a_pattern_contradicts_the_older_one(world: World) -> None:
    pattern = "The {} service listens on port {} and logs to the shared collector."
    for name, port in (("gallery", 8081), ("wishlist", 8082), ("search", 8083), ("gallery", 9081)):
        kept(world, pattern.format(name, port))
    assert found(world) == {Topic.CONTRADICTION: 1}
    ((each,), *_) = [[each.suggestion for each in waiting(world)]]
    assert each.finding is Topic.CONTRADICTION
