"""Drafts become records once, in batches, in the caller's own scope; the rest is left out and told."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.features.importers import source_imports
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.ledger.proposals import Proposals
from minutebook.memory.intake import REMOVED_HERE, IntakeReport, Outcome
from minutebook.record.caller import Caller
from minutebook.record.errors import Refused
from minutebook.record.records import (
    Entity,
    Kind,
    Memory,
    MemoryType,
    Proposal,
    ProposalStatus,
    Relation,
    Role,
    Turn,
)
from minutebook.record.writing.source_drafts import (
    Draft,
    EntityDraft,
    Found,
    MemoryDraft,
    ProposalDraft,
    RelationDraft,
    SourcePlace,
    TurnDraft,
    UnreadPart,
)
from tests.world import NOON, Opener, World, everything

PLACE = SourcePlace("/notes/a.md", 3)


def turn(key: str, response: str = "Done.", session: str = "s") -> TurnDraft:
    return TurnDraft(
        key=key,
        place=PLACE,
        program="claude-code",
        version="2.1",
        session=session,
        at=NOON - timedelta(days=1),
        prompt=f"Do {key}",
        thought="",
        response=response,
    )


def memory(key: str, content: str = "Tea at five", **more: object) -> MemoryDraft:
    said: dict[str, object] = {"type": MemoryType.FACT, "at": NOON - timedelta(days=9)}
    return MemoryDraft(key=key, place=PLACE, program="notes", content=content, **{**said, **more})  # type: ignore[arg-type]


def entity(name: str, type: str = "person", description: str | None = None) -> EntityDraft:
    key = f"{type}/{name}"
    return EntityDraft(
        key=key, place=PLACE, program="notes", name=name, type=type, description=description
    )


def relation(source: str, target: str, type: str = "knows") -> RelationDraft:
    key = f"{source}/{type}/{target}"
    return RelationDraft(
        key=key, place=PLACE, program="notes", source=source, target=target, type=type
    )


def taken(
    world: World, found: Iterable[Found], *, dry_run: bool = False, again: bool = False
) -> IntakeReport:
    return world.app.get(SourceImports).run(
        world.caller, "notes: /notes", found, lambda: 1.0, dry_run=dry_run, again=again
    )


def figures(report: IntakeReport) -> dict[str, dict[str, int]]:
    told = {
        str(outcome): {str(kind): count for kind, count in counts.items()}
        for outcome, counts in report.counts.items()
        if outcome is not Outcome.LEFT_OUT
    }
    return {outcome: counts for outcome, counts in told.items() if counts}


ALL: Sequence[Draft] = (
    relation("Ana", "Ben"),
    turn("one"),
    turn("two"),
    memory("m", title="Ana"),
    entity("Ana"),
    entity("Ben"),
)


def test_each_draft_becomes_a_record_with_its_times_and_its_origin(world: World) -> None:
    report = taken(world, ALL)
    assert figures(report) == {"new": {"turn": 2, "memory": 1, "entity": 2, "relation": 1}}
    kept = world.store.find(Turn, everything("default"), order=["id"])
    assert sorted(each.prompt for each in kept) == ["Do one", "Do two"]
    first = kept[0]
    assert first.at == NOON - timedelta(days=1)
    assert first.origin is not None
    assert first.origin.parts == {
        "client": "claude-code",
        "version": "2.1",
        "contract": "import",
        "session": "/notes/a.md",
    }
    (fact,) = world.store.find(Memory, everything("default"))
    assert (fact.event_time, fact.valid_from) == (NOON - timedelta(days=9),) * 2
    assert fact.ingestion_time == NOON
    assert fact.metadata["imported"] == {
        "from": "notes",
        "file": "/notes/a.md",
        "line": 3,
        "digest": fact.metadata["imported"]["digest"],  # type: ignore[index]
        "version": 1,
    }
    (ana,) = world.store.find(Entity, replace(everything("default"), equal={"name": "Ana"}))
    assert world.edges(ana.id, Kind.MENTION)
    assert world.edges(ana.id, Kind.RELATION)


def test_a_date_to_come_is_believed_of_no_source(world: World) -> None:
    ahead = NOON + timedelta(days=400)
    found: list[Draft] = [
        replace(turn("u1"), at=ahead),
        memory("m1", at=ahead),
        replace(entity("Ana"), at=ahead),
        entity("Ben"),
        replace(relation("Ana", "Ben"), at=ahead),
    ]
    taken(world, found)
    where, now = everything("default"), world.clock.now
    assert [each.at for each in world.store.find(Turn, where)] == [now]
    assert {each.created_at for each in world.store.find(Entity, where)} == {now}
    assert [each.created_at for each in world.store.find(Relation, where)] == [now]
    (fact,) = world.store.find(Memory, where)
    assert fact.event_time == now
    # From when on it holds is what it says, not when it was said.
    assert fact.valid_from == ahead
    assert "new" not in figures(taken(world, found))


def test_a_second_time_adds_nothing_and_a_grown_source_what_is_new(world: World) -> None:
    taken(world, ALL)
    before = world.contents()
    assert figures(taken(world, ALL)) == {
        "here": {"turn": 2, "memory": 1, "entity": 2, "relation": 1}
    }
    assert world.contents() == before
    report = taken(world, [*ALL, turn("three"), turn("two", "Done, and more.")])
    assert figures(report)["new"] == {"turn": 1}
    assert figures(report)["changed"] == {"turn": 1}


def test_a_dry_run_counts_the_same_and_writes_nothing(world: World) -> None:
    taken(world, [turn("one")])
    before = world.contents()
    dry = taken(world, [*ALL, turn("two")], dry_run=True)
    assert world.contents() == before
    assert figures(dry) == figures(taken(world, [*ALL, turn("two")]))
    assert not dry.reasons


def test_a_memory_follows_its_source_until_it_is_changed_here(world: World) -> None:
    taken(world, [memory("m", "Tea at five")])
    assert figures(taken(world, [memory("m", "Tea at six")])) == {"changed": {"memory": 1}}
    (fact,) = world.store.find(Memory, everything("default"))
    assert (fact.content, fact.version) == ("Tea at six", 2)
    world.app.memories.update(world.caller, fact.id, {"content": "Tea at seven, says Ana"})
    report = taken(world, [memory("m", "Tea at eight")])
    assert figures(report) == {}
    assert "changed here" in report.left_out[0].reason
    assert world.memory(fact.id).content == "Tea at seven, says Ana"


def test_a_memory_deleted_here_does_not_come_back(world: World) -> None:
    taken(world, [memory("m")])
    (fact,) = world.store.find(Memory, everything("default"))
    world.app.memories.remove(world.caller, fact.id)
    report = taken(world, [memory("m")])
    assert (figures(report), list(report.reasons)) == ({"removed": {"memory": 1}}, [REMOVED_HERE])
    assert world.memory(fact.id).deleted_at is not None
    assert figures(taken(world, [memory("m")], again=True)) == {"changed": {"memory": 1}}
    assert world.memory(fact.id).deleted_at is None


def test_an_entity_of_a_name_and_type_is_one_and_keeps_its_description(world: World) -> None:
    id = world.entity("Ana", entity_type="person")
    report = taken(world, [entity("Ana", description="She"), entity("Ana", "ship")])
    assert figures(report) == {"changed": {"entity": 1}, "new": {"entity": 1}}
    known = world.store.get(Entity, "default", id)
    assert known is not None
    assert known.description == "She"
    assert figures(taken(world, [entity("Ana", description="He")])) == {"here": {"entity": 1}}


def test_a_relation_to_what_is_not_there_is_left_out_and_named(world: World) -> None:
    report = taken(world, [entity("Ana"), relation("Ana", "Nobody"), UnreadPart(PLACE, "broken")])
    assert sorted(report.reasons) == [
        "broken",
        "the relation names an entity that is not there: 'Nobody'",
    ]
    assert not world.store.find(Relation, everything("default"))


def test_what_does_not_fit_is_left_out_alone(world: World) -> None:
    deep: dict[str, object] = {}
    for _ in range(200):
        deep = {"in": deep}
    report = taken(world, [turn("a"), turn("b", session="x" * 300), memory("m", metadata=deep)])
    assert figures(report) == {"new": {"turn": 1}}
    assert report.reasons.total() == 2


def test_a_batch_has_one_entry_a_kind_on_the_trail(world: World) -> None:
    begun = len(world.trail())
    taken(world, ALL)
    entries = [each for each in world.trail()[begun:] if each.act != "take_in"]
    assert [(each.act, each.subject_kind, each.subject) for each in entries] == [
        ("import", kind, "notes: /notes")
        for kind in (Kind.ENTITY, Kind.RELATION, Kind.MEMORY, Kind.TURN)
    ]
    assert world.app.trail.verify("default") is None


def test_what_a_caller_may_not_write_is_left_out_and_on_the_trail(opener: Opener) -> None:
    agent = Caller(name="robot", role=Role.AGENT, governed=True, user="ana")
    world = opener(caller=agent)
    report = taken(world, [memory("m"), memory("rule", type=MemoryType.BUSINESS_RULE)])
    assert figures(report) == {"new": {"memory": 1}}
    assert "kept from agents" in report.left_out[0].reason
    entries = [(each.act, each.outcome) for each in world.trail()]
    assert entries == [("take_in", "done"), ("import", "done"), ("import", "Forbidden")]


def test_a_viewer_imports_nothing(opener: Opener) -> None:
    world = opener(caller=Caller(name="v", role=Role.VIEWER))
    with pytest.raises(Refused):
        taken(world, ALL)


def test_scopes_have_records_of_their_own(world: World) -> None:
    for user in ("ana", "ben"):
        assert figures(taken(world.by(user=user), ALL))["new"]["turn"] == 2
    assert len(world.store.find(Turn, everything("default"))) == 4


DRAFTS = st.lists(
    st.one_of(
        st.builds(turn, st.sampled_from("ab"), st.sampled_from(["", "x"])),
        st.builds(memory, st.sampled_from("ab"), st.sampled_from(["x", "y"])),
        st.builds(entity, st.sampled_from("AB"), st.sampled_from(["p", "q"])),
        st.builds(relation, st.sampled_from("ABC"), st.sampled_from("AB")),
    ),
    max_size=8,
    unique_by=lambda each: (type(each), each.key),
)


@given(DRAFTS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_import_twice_is_an_import_once_whatever_the_batches(
    world: World, drafts: list[Draft]
) -> None:
    world = world.by(user=f"user {world.store.sequence('default')}")
    first = taken(world, drafts)
    before = world.contents()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source_imports, "BATCH", 2)
        again = taken(world, reversed(drafts))
    assert world.contents() == before
    assert not again.counts[Outcome.NEW]
    assert again.reasons == first.reasons


def proposal(rationale: str = "One file is enough for us.") -> ProposalDraft:
    return ProposalDraft(
        key="p",
        place=PLACE,
        program="adr",
        title="Use SQLite",
        target="database",
        rationale=rationale,
        consequences=("One writer",),
    )


def test_a_proposal_comes_once_follows_its_source_and_rests_once_it_is_settled(
    world: World,
) -> None:
    assert figures(taken(world, [proposal()])) == {"new": {"proposal": 1}}
    assert figures(taken(world, [proposal()])) == {"here": {"proposal": 1}}
    (kept,) = world.store.find(Proposal, everything("default"))
    assert (kept.target, kept.consequences, kept.created_at) == ("database", ("One writer",), NOON)
    assert figures(taken(world, [proposal("One file is all that we need.")])) == {
        "changed": {"proposal": 1}
    }
    admin = Caller(name="ana", role=Role.ADMIN)
    assert (
        world.app.get(Proposals).decline(admin, kept.id).rationale
        == "One file is all that we need."
    )
    again = taken(world, [proposal("Two files."), proposal("short")])
    assert again.reasons == {
        "its proposal was accepted or declined here; the new text was not taken over": 1,
        "rationale must have at least 10 characters": 1,
    }
    (settled,) = world.store.find(Proposal, everything("default"))
    assert settled.status is ProposalStatus.DECLINED


def test_the_end_of_a_memory_follows_its_source_unless_it_was_ended_here(world: World) -> None:
    taken(world, [memory("m")])
    assert figures(taken(world, [memory("m", until=NOON)])) == {"changed": {"memory": 1}}
    assert figures(taken(world, [memory("m", until=NOON)])) == {"here": {"memory": 1}}
    (kept,) = world.store.find(Memory, everything("default"))
    assert kept.valid_until == NOON
    assert figures(taken(world, [memory("m")])) == {"changed": {"memory": 1}}
    world.app.memories.invalidate(world.caller, kept.id, "over", None)
    assert taken(world, [memory("m", until=NOON)]).reasons.total() == 1


REMOVALS = {
    "forgotten": lambda w, m: w.app.memories.delete(w.caller, m),
    "erased": lambda w, m: erase(w, Choice((m,))),
    "a turn erased": lambda w, m: erase(w, Choice(query="Do first")),
}


def erase(world: World, choice: Choice) -> None:
    erasing = world.app.get(Erasing)
    person = replace(world.caller, role=Role.HUMAN)
    found = erasing.find(person, choice)
    erasing.erase(person, found, backups=False, from_ledger=False)


@pytest.mark.needs("erasure")
@pytest.mark.parametrize("removal", REMOVALS)
def test_what_was_removed_here_is_not_taken_in_again_unless_it_is_wanted(
    opener: Opener, removal: str
) -> None:
    world = opener()
    drafts: list[Found] = [
        memory("m"),
        memory("other", "Milk first"),
        turn("first"),
        turn("second"),
    ]
    taken(world, drafts)
    whole = set(world.contents())
    id = next(
        each.id
        for each in world.store.find(Memory, everything("default"))
        if each.content == "Tea at five"
    )
    REMOVALS[removal](world, id)
    left = set(world.contents())
    for dry_run in (True, False):
        report = taken(world, drafts, dry_run=dry_run)
        assert report.reasons == {"it was removed here; --again takes it in": 1}
        assert not report.counts[Outcome.NEW]
    assert set(world.contents()) == left
    taken(world, drafts, again=True)
    assert set(world.contents()) >= whole - left
    assert taken(world, drafts).reasons == {}


def test_what_a_reset_removed_is_taken_in(opener: Opener) -> None:
    world = opener()
    taken(world, [memory("m")])
    world.app.overview.reset(world.caller)
    report = taken(world, [memory("m")])
    assert (report.counts[Outcome.NEW][Kind.MEMORY], report.reasons) == (1, {})
