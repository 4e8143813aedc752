"""Memories that cite changed code wait for a person: confirmed, ended, and each undone exactly."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.features.citations.operations import citing_texts
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.tidying.findings import State, Topic
from minutebook.features.tidying.inbox import Inbox, ShownSuggestion
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.features.tidying.operations import reason_of
from minutebook.features.undo.undo import Undo
from minutebook.record.caller import Caller, WorkTree
from minutebook.record.errors import Conflict, Refused
from minutebook.record.records import Decision, Memory, Role, Status, Summary
from tests.features.citations.repositories import committed
from tests.features.citations.test_verdicts import index
from tests.features.ledger.decided import draft
from tests.store.samples import summary
from tests.world import NOON, World

BEFORE = int(NOON.timestamp()) - 60
CODE = "def total(lines):\n    return sum(lines)\n\n\ndef refund(order):\n    return -order\n"
WITHOUT = CODE[: CODE.index("def refund")]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    committed(tmp_path / "shop", {"pay.py": CODE}, BEFORE)
    return tmp_path / "shop"


@pytest.fixture
def here(world: World, shop: Path) -> World:
    return world.by(work_tree=WorkTree(str(shop)))


def person(world: World) -> Caller:
    return replace(world.caller, name="ada", role=Role.HUMAN)


def cited(world: World, id: str) -> str | None:
    results = world.call("recall", query="kettle")["results"]
    found: dict[str, str] = {each["id"]: each.get("cited") for each in results}
    return found[id]


def later(world: World, shop: Path, code: str) -> str:
    """Commit a change a minute later; a minute on."""
    world.clock.turn(60)
    since = committed(shop, {"pay.py": code}, int(world.clock().timestamp()))
    world.clock.turn(60)
    return since


def _last(world: World) -> str:
    found = world.app.get(Undo).last(person(world))
    return str(found.act.last_entry.number)


def waiting(world: World) -> list[ShownSuggestion]:
    """Look, and return what waits because of code."""
    world.app.get(Rounds).run(person(world))
    return (
        world.app.get(Inbox).listing(person(world), 9, kinds=frozenset({Topic.CITED})).suggestions
    )


def test_what_is_committed_waits_with_the_reason(here: World, shop: Path) -> None:
    gone = here.remember("The kettle is paid back by refund()")
    here.remember("The kettle is summed by total()")
    assert cited(here, gone) == "holds"
    assert waiting(here) == []
    (shop / "pay.py").write_text(WITHOUT)
    assert cited(here, gone) == "gone, in no commit yet"
    # It may be work under way.
    assert waiting(here) == []
    since = later(here, shop, WITHOUT)
    (found,) = waiting(here)
    assert [each.id for each in found.records] == [gone]
    assert reason_of(found) == f"refund is gone (since {since})"
    assert len(waiting(here)) == 1
    # Back again: nothing waits.
    later(here, shop, CODE)
    assert waiting(here) == []


def test_what_is_older_than_its_project_waits_without_a_question(world: World, shop: Path) -> None:
    gone = world.remember("The kettle is paid back by refund()")
    assert waiting(world) == []
    since = later(world, shop, WITHOUT)
    index(world, shop)
    (found,) = waiting(world)
    assert [each.id for each in found.records] == [gone]
    assert reason_of(found) == f"refund is gone (since {since})"


def test_confirmed_it_cites_what_is_there_and_is_undone_exactly(here: World, shop: Path) -> None:
    id = here.remember("The kettle is paid back by refund()")
    assert cited(here, id) == "holds"
    since = later(here, shop, CODE.replace("-order", "order"))
    (found,) = waiting(here)
    before = here.memory(id)
    with pytest.raises(Refused):
        here.app.get(Inbox).apply(here.caller, found.name)
    here.app.get(Inbox).apply(person(here), found.name)
    assert here.memory(id).status is Status.VERIFIED
    assert cited(here, id) == "holds"
    assert waiting(here) == []
    here.clock.turn(60)
    here.app.get(Inbox).undo(person(here), found.name)
    assert here.memory(id) == before
    assert cited(here, id) == f"changed since {since}"
    (again,) = waiting(here)
    # Another change of the code asks another question.
    here.app.get(Inbox).apply(person(here), again.name)
    later(here, shop, CODE.replace("-order", "order + 1"))
    assert cited(here, id) is not None
    (anew,) = waiting(here)
    assert anew.name != again.name


def test_refused_it_is_ended_and_undone_exactly(here: World, shop: Path) -> None:
    id = here.remember("The kettle is paid back by refund()")
    assert cited(here, id) == "holds"
    later(here, shop, WITHOUT)
    (found,) = waiting(here)
    before = here.memory(id)
    assert here.app.get(Inbox).refuse(person(here), found.name).suggestion.state is State.REFUSED
    ended = here.memory(id)
    assert (ended.status, ended.reason) == (
        Status.DEPRECATED,
        "the code that it cites has changed or is gone",
    )
    here.clock.turn(60)
    here.app.get(Inbox).undo(person(here), found.name)
    assert here.memory(id) == before
    assert [each.name for each in waiting(here)] == [found.name]


@pytest.mark.needs("undo")
def test_the_last_act_is_taken_back_as_well(here: World, shop: Path) -> None:
    id = here.remember("The kettle is paid back by refund()")
    assert cited(here, id) == "holds"
    since = later(here, shop, WITHOUT)
    (found,) = waiting(here)
    before = here.memory(id)
    here.app.get(Inbox).apply(person(here), found.name)
    here.clock.turn(60)
    undo = here.app.get(Undo)
    undo.take_back(person(here), _last(here))
    assert here.memory(id) == before
    here.clock.turn(60)
    here.app.status.verify(person(here), id)
    # There is nothing now that it could cite.
    assert cited(here, id) is None
    here.clock.turn(60)
    undo.take_back(person(here), _last(here))
    assert here.memory(id) == before
    assert cited(here, id) == f"gone since {since}"


def test_a_branch_that_lacks_it_ends_nothing(here: World, world: World, shop: Path) -> None:
    id = here.remember("The kettle is paid back by refund()")
    assert cited(here, id) == "holds"
    branch = shop.parent / "branch"
    committed(branch, {"pay.py": CODE}, BEFORE)
    committed(branch, {"pay.py": WITHOUT}, BEFORE + 200)
    assert str(cited(world.by(work_tree=WorkTree(str(branch))), id)).startswith("gone since")
    assert waiting(here) == []
    # A work tree that is there no more has no say.
    shop.rename(shop.parent / "away")
    assert len(waiting(here)) == 1


def test_what_is_locked_waits_for_nobody(here: World, shop: Path) -> None:
    id = here.remember("The kettle is paid back by refund()")
    assert cited(here, id) == "holds"
    here.lock(id)
    later(here, shop, WITHOUT)
    assert isinstance(here.memory(id), Memory)
    assert waiting(here) == []


def decided(world: World) -> Decision:
    said = draft("kettles", "Kettles are paid back by refund()")
    return world.app.get(DecisionActs).record(person(world), said)


def summed_up(world: World, text: str = "The kettle is paid back by refund()") -> Summary:
    """A summary as one made now would be."""
    made = summary("s", text, organization="default", at=world.clock())
    world.store.put(made)
    return made


def verdict(world: World, record: Decision | Summary) -> str:
    return world.app.hit_notes.notes_of(person(world), [record])[record.key]["cited"].text


FIXED = [
    pytest.param(
        decided, "another decision ends it: `minutebook decide --supersedes", id="decision"
    ),
    pytest.param(
        summed_up,
        "`minutebook sessions s --summarize` writes it anew, nothing ends it",
        id="summary",
    ),
]


@pytest.mark.parametrize(("make", "end"), FIXED)
def test_what_nobody_changes_is_confirmed_and_undone_exactly(
    here: World, shop: Path, make: Callable[[World], Decision | Summary], end: str
) -> None:
    record = make(here)
    assert verdict(here, record) == "holds"
    since = later(here, shop, CODE.replace("-order", "order"))
    (found,) = waiting(here)
    assert found.records == (record,)
    assert reason_of(found).startswith(f"refund has changed (since {since}); {end}")
    inbox, kept = (
        here.app.get(Inbox),
        here.store.get(type(record), "default", record.id),
    )
    inbox.apply(person(here), found.name)
    assert here.store.get(type(record), "default", record.id) == kept
    assert verdict(here, record) == "holds"
    assert [each.at for each in citing_texts.act(here.app, person(here))] == [here.clock()]
    assert waiting(here) == []
    here.clock.turn(60)
    inbox.undo(person(here), found.name)
    assert verdict(here, record) == f"changed since {since}"
    assert [each.name for each in waiting(here)] == [found.name]
    # Refused, it is as it was, and not asked about again until its code changes once more.
    inbox.refuse(person(here), found.name)
    assert verdict(here, record) == f"changed since {since}"
    assert waiting(here) == []
    inbox.undo(person(here), found.name)
    inbox.apply(person(here), found.name)
    first = here.clock()
    later(here, shop, CODE.replace("-order", "order + 1"))
    (anew,) = waiting(here)
    inbox.apply(person(here), anew.name)
    with pytest.raises(Conflict, match="confirmed again since"):
        inbox.undo(person(here), found.name)
    inbox.undo(person(here), anew.name)
    assert [each.at for each in citing_texts.act(here.app, person(here))] == [first]


@pytest.mark.needs("undo")
def test_a_confirmation_is_the_last_act(here: World, shop: Path) -> None:
    record = decided(here)
    assert verdict(here, record) == "holds"
    since = later(here, shop, WITHOUT)
    (found,) = waiting(here)
    here.app.get(Inbox).apply(person(here), found.name)
    here.clock.turn(60)
    here.app.get(Undo).take_back(person(here), _last(here))
    assert verdict(here, record) == f"gone since {since}"
    assert [each.name for each in waiting(here)] == [found.name]


def test_a_session_is_history_and_waits_once_nothing_of_it_holds(here: World, shop: Path) -> None:
    record = summed_up(here, "Kettles: refund() and total()")
    assert verdict(here, record) == "holds"
    later(here, shop, WITHOUT)
    assert verdict(here, record).startswith("refund gone since")
    assert waiting(here) == []
    later(here, shop, "x = 1\n")
    assert len(waiting(here)) == 1
