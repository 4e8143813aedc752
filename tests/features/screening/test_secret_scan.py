"""What the store holds of secrets already: found, shown in little, replaced with all that keeps them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.secret_samples import filled
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.screening.secret_scan import SecretScan
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import Forbidden
from minutebook.record.policy import Redact
from minutebook.record.records import Entry, Kind, MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.features.erasure.leftovers import leftovers
from tests.features.ledger.decided import draft
from tests.world import World, everything, worlds

TEXT, (SECRET,) = filled("The deploy key is {{GitHub token}} until May.", Random(1))
HIDDEN = TEXT.replace(SECRET, "[secret: GitHub token]")
PERSON = with_call(Caller(name="ana", role=Role.HUMAN), reason="it is not ours to keep")
KINDS = {Kind.MEMORY, Kind.ENTITY, Kind.RELATION, Kind.LINK, Kind.TURN, Kind.PROPOSAL}


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with worlds(tmp_path_factory.mktemp("scan").resolve()) as open_one:
        world = open_one(redact=Redact.OFF)
        app, kept = world.app, fact(world, "Tea at five")
        app.links.link(PERSON, fact(world, "Tea at six"), kept, TEXT)
        ends = [app.entities.create_entity(PERSON, n, "key", TEXT, None) for n in "ab"]
        app.entities.create_relation(PERSON, ends[0].id, ends[1].id, TEXT, 1.0)
        app.sessions.add(PERSON, "monday", TEXT, "", "Done.")
        app.get(Proposals).propose(PERSON, draft("ui", TEXT))
        fact(world, TEXT, metadata={"note": [TEXT]})
        yield world


def fact(world: World, content: str, **said: object) -> str:
    world.clock.turn()
    given = Draft(content=content, type=MemoryType.FACT, **said)  # type: ignore[arg-type]
    return world.app.memories.store(PERSON, given).id


def test_every_kind_is_found_and_nothing_of_a_secret_is_shown(world: World) -> None:
    found = list(world.app.get(SecretScan).scan(PERSON))
    assert {each.kind for each in found} == KINDS
    assert {each.secret for each in found} == {"GitHub token"}
    assert all(each.shown == f"{SECRET[:4]}… (40 characters)" for each in found)
    assert all(each.is_proven for each in found)
    assert SECRET not in repr(found)
    assert {each.field for each in found if each.kind is Kind.MEMORY} == {"content", "metadata"}


def test_what_was_masked_stands_in_no_file(world: World) -> None:
    home = Path(world.store.database.place).parent
    assert leftovers(home, [SECRET])
    world.app.get(SecretScan).mask(PERSON)
    assert leftovers(home, [SECRET]) == set()


def test_masking_replaces_what_is_kept_and_every_version_of_it(world: World) -> None:
    app = world.app
    changed = fact(world, TEXT)
    app.memories.update(PERSON, changed, {"content": "Nothing to see"})
    before = {each.organization for each in app.get(SecretScan).scan(PERSON)}
    done = app.get(SecretScan).mask(PERSON)
    assert (before, done.left) == ({"default"}, [])
    # The head stands for what features keep: here the memory as it was before its change.
    assert {each.kind for each in done.masked} == KINDS | {Kind.HEAD}
    assert list(app.get(SecretScan).scan(PERSON)) == []
    kept = repr(list(world.kept().values()))
    assert SECRET not in kept
    assert HIDDEN in kept
    first, second = app.memories.history(PERSON, app.memories.read(PERSON, changed)).versions
    assert (first.content, second.content) == (HIDDEN, "Nothing to see")
    entries = [each for each in world.trail() if each.act == "mask"]
    assert {each.subject_kind for each in entries} == KINDS | {Kind.HEAD}
    assert {each.reason for each in entries} == {"it is not ours to keep"}
    # What was replaced is found again by its new words, and by nothing of the old.
    assert app.trail.verify("default") is None


def test_what_cannot_be_replaced_is_left_and_says_why(world: World) -> None:
    app = world.app
    app.get(SecretScan).mask(PERSON)
    app.get(DecisionActs).record(PERSON, draft("api", rationale=TEXT))
    locked = fact(world, TEXT)
    world.lock(locked)
    entry = world.trail()[-1]
    world.store.put(replace(entry, reason=TEXT))
    done = app.get(SecretScan).mask(PERSON)
    assert done.masked == []
    remedies = {each.kind: each.remedy for each in done.left}
    assert remedies.keys() == {Kind.DECISION, Kind.MEMORY, Kind.ENTRY}
    assert "git filter-repo" in remedies[Kind.DECISION]
    assert "locked" in remedies[Kind.MEMORY]
    assert "sealed" in remedies[Kind.ENTRY]


def test_a_person_masks_and_nobody_else_s_records_are_seen(world: World) -> None:
    for role in (Role.AGENT, Role.VIEWER):
        with pytest.raises(Forbidden):
            world.app.get(SecretScan).mask(replace(PERSON, role=role))
    stranger = replace(PERSON, organization="other")
    assert list(world.app.get(SecretScan).scan(stranger)) == []
    assert world.app.get(SecretScan).mask(stranger).masked == []
    assert world.app.get(SecretScan).counts(PERSON).keys() == KINDS
    refused = world.store.find(Entry, replace(everything("default"), equal={"act": "mask"}))
    assert [each.outcome for each in refused] == ["Forbidden", "Forbidden"]


def test_a_masked_memory_is_found_by_its_words_and_embedded_anew(world: World) -> None:
    assert world.app.overview.to_embed(PERSON) == 0
    world.app.get(SecretScan).mask(PERSON)
    assert world.app.overview.to_embed(PERSON) == 3
