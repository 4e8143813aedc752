"""Undo: each act is taken back exactly, done again exactly, and says plainly why not where it is not."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from minutebook.features.audit_proof.last_states import LastStates
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.tidying.inbox import Inbox
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.features.undo import undo as undo_module
from minutebook.features.undo.rows import ImageRows
from minutebook.features.undo.undo import Undo
from minutebook.memory.access.audit import MOST_IN_ENTRY
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import Conflict, Forbidden, InvalidInput, NotFound
from minutebook.record.filters import Filter
from minutebook.record.records import (
    CLASSES,
    Entity,
    Entry,
    Head,
    Kind,
    Memory,
    MemoryType,
    Mention,
    Record,
    Role,
    Version,
)
from minutebook.record.trust.doors import Voice
from minutebook.record.writing.drafts import Draft
from minutebook.record.writing.source_drafts import MemoryDraft, SourcePlace, TurnDraft
from tests.features.ledger.decided import draft
from tests.world import NOON, Opener, World

PERSON = Caller(name="ada", role=Role.HUMAN)
OTHER = Caller(name="bob", role=Role.HUMAN, token="t1")
OWNER = Caller(name="grace", role=Role.HUMAN, writes_system=True)
NUMBERS = count()

pytestmark = pytest.mark.needs("importers", "ledger", "tidying")


@pytest.fixture
def world(opener: Opener) -> World:
    return opener()


def asking(world: World, caller: Caller = PERSON) -> Caller:
    """The caller with the next request, a second later."""
    world.clock.turn()
    return with_call(caller, request=f"r{next(NUMBERS)}")


def kept(world: World, text: str, caller: Caller = PERSON, **said: object) -> Memory:
    told = Draft(content=text, **{"type": MemoryType.FACT, **said})  # type: ignore[arg-type]
    return world.app.memories.store(asking(world, caller), told)


def records(world: World) -> dict[tuple[str, str], Record]:
    """Everything but the trail; of memories without their number of versions, and of versions the latest text."""
    everything = Filter(organization="default", with_deleted=True)
    found: dict[tuple[str, str], Record] = {}
    for of in CLASSES.values():
        if of in (Entry, Head, Version):
            continue
        for each in world.store.find(of, everything):
            if isinstance(each, Memory):
                each = replace(each, updated_at=NOON, version=0)
            if isinstance(each, Mention):
                each = replace(each, created_at=NOON)
            found[each.kind, each.id] = each
    return found


def voices(world: World) -> dict[str, Voice]:
    """Whose words each memory holds, by the trail."""
    kept = world.kept().values()
    return {each.id: world.app.doors.voice(each) for each in kept if isinstance(each, Memory)}


def versions(world: World) -> dict[str, Record]:
    return {each.id: each for each in world.store.find(Version, Filter(organization="default"))}


def check_sound(world: World) -> None:
    """The trail holds, and the records are as it says."""
    assert world.app.trail.verify("default") is None
    last = LastStates()
    for _ in last.add_each(iter(world.trail())):
        pass
    everything = Filter(organization="default", with_deleted=True)
    kinds = (
        Kind.MEMORY,
        Kind.VERSION,
        Kind.TURN,
        Kind.SUMMARY,
        Kind.ENTITY,
        Kind.RELATION,
        Kind.LINK,
    )
    found = [
        difference
        for kind in kinds
        for each in world.store.find(CLASSES[kind], everything)
        if (difference := last.difference(each)) is not None
    ]
    assert not found
    assert not [each for each in last.missing() if each.kind in kinds]


def last_number(world: World) -> str:
    return str(world.trail()[-1].number)


def taken_back(world: World, number: str, caller: Caller = PERSON) -> None:
    world.app.get(Undo).take_back(asking(world, caller), number)


def imported(world: World, caller: Caller, text: str) -> None:
    place = SourcePlace("/notes/a.md", 3)
    turns = [
        TurnDraft(
            key=f"t{n}",
            place=place,
            program="x",
            version="1",
            session="s",
            at=NOON - timedelta(days=1),
            prompt=f"Do {n}",
            thought="",
            response="Done.",
        )
        for n in range(3)
    ]
    note = MemoryDraft(key="m", place=place, program="notes", content=text, type=MemoryType.FACT)
    world.app.get(SourceImports).run(
        caller, "notes: /notes", [*turns, note], lambda: 1.0, dry_run=False
    )


def store_joined(world: World, caller: Caller, ids: list[str]) -> None:
    told = Draft(content="Kettle is red now", type=MemoryType.FACT)
    world.app.memories.store_joined(caller, told, [(ids[1], "related")], [ids[0]])


Act = Callable[[World, Caller, list[str]], object]

ACTS: dict[str, Act] = {
    "remember": lambda w, c, ids: w.app.memories.store(
        c, Draft(content="Kettle is new", type=MemoryType.FACT)
    ),
    "remember with ends": store_joined,
    "edit": lambda w, c, ids: w.app.memories.update(c, ids[0], {"content": "Tea is green"}),
    "change a field": lambda w, c, ids: w.app.memories.update(
        c, ids[0], {"importance": 7.0, "metadata": {"tags": ["x"]}}
    ),
    "forget": lambda w, c, ids: w.app.memories.delete(c, ids[0]),
    "forget what replaced another": lambda w, c, ids: w.app.memories.delete(c, ids[2]),
    "forget what was edited and linked": lambda w, c, ids: w.app.memories.delete(c, ids[1]),
    "hide": lambda w, c, ids: w.app.memories.remove(c, ids[0]),
    "end": lambda w, c, ids: w.app.memories.invalidate(c, ids[0], "old", None),
    "replace": lambda w, c, ids: w.app.memories.invalidate(c, ids[0], "old", ids[1]),
    "let hold again": lambda w, c, ids: w.app.memories.reinstate(c, ids[3]),
    "deprecate": lambda w, c, ids: w.app.status.deprecate(c, ids[0], "old"),
    "verify": lambda w, c, ids: w.app.status.verify(c, ids[4]),
    "link": lambda w, c, ids: w.app.links.link(c, ids[0], ids[2]),
    "unlink": lambda w, c, ids: w.app.links.unlink(c, ids[0], ids[1]),
    "make an entity": lambda w, c, ids: w.app.entities.create_entity(c, "Tea", "thing", None, None),
    "import": lambda w, c, ids: imported(w, c, "Milk first"),
    "move": lambda w, c, ids: w.app.memories.move(c, ids[:1], "shop"),
    "keep a turn": lambda w, c, ids: w.app.sessions.add(c, "s2", "Why?", "", "So."),
}


def filled(world: World) -> list[str]:
    """Memories of which the second was edited and is linked, the third replaced the fourth; a session, an entity."""
    app = world.app
    app.entities.create_entity(asking(world), "Kettle", "thing", None, None)
    ids = [kept(world, text).id for text in ("Tea at five", "Kettle is blue", "Milk", "Sugar")]
    ids.append(kept(world, "Kettle boils", replace(PERSON, name="bot", role=Role.AGENT)).id)
    app.memories.update(asking(world), ids[1], {"content": "Kettle is blue, with a spout"})
    app.links.link(asking(world), ids[0], ids[1])
    app.memories.invalidate(asking(world), ids[3], "no more", ids[2])
    app.sessions.add(asking(world), "s1", "How is tea made?", "", "With a kettle.")
    app.summaries.summarize(asking(world), "s1")
    return ids


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_an_act_is_taken_back_exactly_and_done_again_exactly(world: World, act: Act) -> None:
    ids = filled(world)
    before, versions_before, voices_before = records(world), versions(world), voices(world)
    act(world, asking(world), ids)
    after, voices_after = records(world), voices(world)
    assert after != before
    taken_back(world, last_number(world))
    assert (records(world), voices(world)) == (before, voices_before)
    assert versions(world).items() >= versions_before.items()
    check_sound(world)
    taken_back(world, last_number(world))
    assert (records(world), voices(world)) == (after, voices_after)
    check_sound(world)
    taken_back(world, last_number(world))
    assert records(world) == before
    check_sound(world)


AGENT = Caller(name="bot", role=Role.AGENT)


@pytest.mark.parametrize("undoer", [PERSON, OWNER], ids=lambda each: each.name)
@pytest.mark.parametrize(
    ("author", "doer"),
    [(PERSON, PERSON), (AGENT, PERSON), (AGENT, AGENT)],
    ids=["own", "an agent's", "agents'"],
)
@pytest.mark.parametrize(
    "act",
    [
        lambda w, c, m: w.app.memories.delete(c, m),
        lambda w, c, m: w.app.memories.update(c, m, {"content": "Kettles are red"}),
        lambda w, c, m: w.app.memories.move(c, [m], "shop"),
        lambda w, c, m: w.app.memories.remove(c, m),
    ],
    ids=["forget", "edit", "move", "hide"],
)
def test_what_was_taken_back_is_whose_it_was(
    world: World, act: Act, author: Caller, doer: Caller, undoer: Caller
) -> None:
    id = kept(world, "Kettles are blue", author).id
    before = voices(world)
    act(world, asking(world, doer), id)  # type: ignore[arg-type]
    taken_back(world, last_number(world), replace(undoer, role=Role.ADMIN))
    assert voices(world) == before
    assert before[id] is (Voice.PERSON if author is PERSON else Voice.AGENT)


def test_a_person_s_words_that_an_agent_changed_are_theirs_again(world: World) -> None:
    id = kept(world, "Kettles are blue").id
    before = voices(world)
    world.app.memories.update(asking(world, AGENT), id, {"content": "Kettles are red"})
    assert voices(world) != before
    taken_back(world, last_number(world), OWNER)
    assert voices(world) == before


def test_an_act_is_found_by_its_number_whatever_came_after(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(undo_module, "MOST_ENTRIES", 3)
    id = kept(world, "Kettles are blue").id
    world.app.memories.delete(asking(world), id)
    number = last_number(world)
    for each in range(5):
        kept(world, f"Note {each}", AGENT)
    taken_back(world, number)
    assert world.app.memories.read(PERSON, id).content == "Kettles are blue"


def test_a_memory_that_one_request_made_and_changed_goes_again(world: World) -> None:
    before = records(world)
    asks = asking(world)
    told = [Draft(content=text, type=MemoryType.FACT, id="note-1") for text in ("One", "Two")]
    world.app.memories.write_all([(asks, each) for each in told])
    taken_back(world, last_number(world))
    assert records(world) == before
    check_sound(world)


def test_an_import_of_more_records_than_an_entry_has_is_taken_back(world: World) -> None:
    place = SourcePlace("/notes.md")
    notes = [
        MemoryDraft(
            key=f"{n}", place=place, program="notes", content=f"Note {n}", type=MemoryType.FACT
        )
        for n in range(MOST_IN_ENTRY + 20)
    ]
    before = records(world)
    run = world.app.get(SourceImports).run
    run(asking(world), "notes: /notes", notes, lambda: 1.0, dry_run=False)
    first = records(world)
    changed = [replace(each, content=f"{each.content}, too") for each in notes]
    run(asking(world), "notes: /notes", changed, lambda: 1.0, dry_run=False)
    taken_back(world, last_number(world))
    assert records(world) == first
    taken_back(world, str(world.app.get(Undo).last(PERSON).act.last_entry.number))
    assert records(world) == before
    check_sound(world)


def test_a_second_import_that_changed_a_memory_is_taken_back_to_the_first(world: World) -> None:
    imported(world, asking(world), "Milk first")
    before = records(world)
    imported(world, asking(world), "Milk last")
    assert records(world) != before
    taken_back(world, last_number(world))
    assert records(world) == before


def test_a_suggestion_that_was_applied_waits_again(world: World) -> None:
    for text in ("The retry limit is 3.", "The retry limit is 5."):
        kept(world, text)
    world.app.get(Rounds).run(PERSON)
    before = records(world)
    world.app.get(Inbox).apply(asking(world), "1")
    taken_back(world, last_number(world))
    assert records(world) == before
    assert [each.name for each in world.app.get(Inbox).listing(PERSON, 9).suggestions] == ["1"]
    with pytest.raises(Conflict, match="tidy apply 1"):
        taken_back(world, last_number(world))


def test_acts_are_taken_back_one_after_the_other(world: World) -> None:
    undo = world.app.get(Undo)
    empty = records(world)
    one = kept(world, "Tea at five")
    world.app.memories.update(asking(world), one.id, {"content": "Tea at six"})
    world.app.memories.delete(asking(world), one.id)
    for _ in range(3):
        found = undo.last(PERSON)
        assert not undo.obstacle(PERSON, found)
        taken_back(world, str(found.act.last_entry.number))
    assert records(world) == empty
    with pytest.raises(Conflict, match="no act of yours"):
        undo.last(PERSON)


def test_an_act_whose_record_was_changed_since_stays(world: World) -> None:
    one = kept(world, "Tea at five")
    world.app.memories.update(asking(world), one.id, {"content": "Tea at six"})
    number = last_number(world)
    world.app.memories.update(asking(world, OTHER), one.id, {"importance": 5.0})
    before = world.kept()
    with pytest.raises(Conflict, match="bob changed it since"):
        taken_back(world, number)
    assert world.kept() == before
    two = kept(world, "Milk")
    number = last_number(world)
    world.app.links.link(asking(world, OTHER), one.id, two.id)
    with pytest.raises(Conflict, match="linked to it since"):
        taken_back(world, number)


def test_acts_of_others_are_taken_back_by_the_owner_and_administrators_alone(world: World) -> None:
    kept(world, "Tea at five", OTHER)
    number = last_number(world)
    with pytest.raises(Forbidden):
        taken_back(world, number)
    undo = world.app.get(Undo)
    assert undo.acts(PERSON, 9) == []
    assert len(undo.acts(OTHER, 9)) == len(undo.acts(OWNER, 9)) == 1
    with pytest.raises(Forbidden):
        taken_back(world, number, replace(OWNER, role=Role.AGENT, name="bot"))
    with pytest.raises(Forbidden):
        undo.acts(replace(PERSON, user="ada"), 9)
    taken_back(world, number, OWNER)
    assert world.app.memories.page(OWNER, 9, 0).total == 0


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (lambda w, c, m: w.app.status.lock(replace(c, role=Role.ADMIN), m), "minutebook mark"),
        (
            lambda w, c, m: w.app.get(DecisionActs).record(c, draft("x")),
            "stays on the record",
        ),
        (lambda w, c, m: w.app.overview.reset(c), "removed for good"),
    ],
)
def test_an_act_that_cannot_be_taken_back_says_why_and_what_helps(
    world: World, act: Act, why: str
) -> None:
    one = kept(world, "Tea at five")
    act(world, asking(world), one.id)  # type: ignore[arg-type]
    with pytest.raises(Conflict, match=why):
        taken_back(world, last_number(world), OWNER)


@pytest.mark.parametrize("number", ["x", "", "-1", "1.5", "@", "¹"])
def test_what_is_no_number_is_refused(world: World, number: str) -> None:
    with pytest.raises(InvalidInput):
        taken_back(world, number)


def test_what_is_older_than_a_day_is_not_kept(world: World) -> None:
    one = kept(world, "Tea at five")
    world.app.memories.delete(asking(world), one.id)
    number = last_number(world)
    rows = ImageRows(world.store.database)
    assert rows.images_of("default", [int(number)])
    world.clock.now += timedelta(hours=25)
    with pytest.raises(NotFound):
        taken_back(world, number)
    world.app.get(Undo).prune()
    assert not rows.images_of("default", [int(number)])


def test_after_an_erasure_or_a_reset_no_image_is_left(world: World) -> None:
    one = kept(world, "Tea at five")
    world.app.memories.update(asking(world), one.id, {"content": "Tea at six"})
    number = int(last_number(world))
    rows = ImageRows(world.store.database)
    assert rows.images_of("default", [number])
    world.app.overview.reset(asking(world))
    assert not rows.images_of("default", [number])


def test_an_image_that_was_changed_past_minutebook_is_not_put_back(world: World) -> None:
    one = kept(world, "Tea at five")
    world.app.memories.update(asking(world), one.id, {"content": "Tea at six"})
    number = int(last_number(world))
    with world.store.database.writing("default") as (connection, key):
        connection.run(
            "UPDATE undo_images SET record = replace(record, 'five', 'noon') WHERE organization = ?",
            (key,),
        )
    with pytest.raises(Conflict, match="not known any more"):
        taken_back(world, str(number))


def test_a_memory_locked_since_is_not_put_back(world: World) -> None:
    one = kept(world, "Tea at five")
    number = last_number(world)
    world.lock(one.id)
    with pytest.raises(Conflict):
        taken_back(world, number)


def test_entities_come_back_with_their_relations(world: World) -> None:
    app = world.app
    ends = [app.entities.create_entity(asking(world), n, "x", None, None).id for n in ("A", "B")]
    before = records(world)
    app.entities.create_relation(asking(world), ends[0], ends[1], "knows", 1.0)
    taken_back(world, last_number(world))
    assert records(world) == before
    assert world.store.count(Entity, Filter(organization="default")) == 2
