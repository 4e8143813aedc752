"""A clock that jumps, a copied data directory, and more of everything than anybody has."""

import shutil
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.features.catalog.contract import catalog
from minutebook.features.journal.contract import journal
from minutebook.features.ledger.contract import ledger
from minutebook.record.caller import Caller
from minutebook.record.records import Kind, Memory, MemoryType, Relation, Role
from minutebook.record.writing.drafts import Draft
from minutebook.store.file_locks import FileLocks
from tests.faults.campaign import chance, rounds
from tests.faults.invariants import Acknowledged, check, of_app
from tests.store.samples import edge, entity, turn
from tests.world import NOON, Opener, World, everything, failed

ANA = Caller(name="ana", role=Role.HUMAN)


def test_a_clock_that_jumps_back_and_forward_breaks_nothing(opener: Opener) -> None:
    """As after a sleep, a wrong battery or a correction by the network."""
    world, random = opener(failed()), chance("clock")
    said = Acknowledged()
    for number in range(rounds(4, 500)):
        world.clock.now = NOON + timedelta(seconds=random.randrange(-(10**8), 10**8))
        text = f"Note {number}"
        id = world.app.memories.store(ANA, Draft(content=text, type=MemoryType.FACT)).id
        if number % 3 == 0:
            world.clock.turn(-86_400)
            text = f"Note {number} again"
            world.app.memories.update(ANA, id, {"content": text})
        if number % 3 == 1:
            world.clock.turn(-86_400)
            world.app.memories.invalidate(ANA, id, "over", None)
        said.note(Memory, text)
    assert _wrong_with(world, said) == []
    assert len(world.store.find(Memory, everything("default"))) == len(said)


def test_a_copy_of_a_data_directory_is_a_store_of_its_own(tmp_path: Path) -> None:
    """Copied while the first is open: what one is told the other knows nothing of, nor do they wait for one another."""
    one, other, said = tmp_path / "one", tmp_path / "other", Acknowledged()
    with closing(open_app(settings_with(home=one, embedder="none"))) as first:
        first.memories.store(ANA, Draft(content="Before", type=MemoryType.FACT))
        said.note(Memory, "Before")
        shutil.copytree(one, other)
        with closing(open_app(settings_with(home=other, embedder="none"))) as second:
            with first.infrastructure.store.transaction("default"):
                second.memories.store(ANA, Draft(content="There", type=MemoryType.FACT))
            first.memories.store(ANA, Draft(content="Here", type=MemoryType.FACT))
            with FileLocks(one / "claims").hold("sync") as held:
                assert held is not None
                with FileLocks(other / "claims").hold("sync") as too:
                    assert too is not None
    told = {one: Acknowledged(), other: Acknowledged()}
    for home, here, elsewhere in ((one, "Here", "There"), (other, "There", "Here")):
        told[home].note(Memory, "Before", here)
        told[home].note_gone(Memory, elsewhere)
        check(home, told[home])


def test_a_hub_of_ten_thousand_edges_is_walked_at_depth_three(opener: Opener) -> None:
    world, size = opener(failed()), rounds(150, 10_000)
    with world.app.trail.audited(ANA, "default", "import", Kind.ENTITY, "many") as audit:
        audit.check()
        for number in range(size + 1):
            world.store.put(entity(f"{number}", f"Name {number}", organization="default"))
        for number in range(1, size + 1):
            near = edge(Relation, "0", f"{number}", organization="default")
            world.store.put(near)
    answer = world.call("get_related", entity_id="1", depth=3, direction="both")
    # All of them is an answer that no client can take: as many as are promised, or all.
    assert 0 < len(answer["entities"]) <= size
    assert _wrong_with(world, Acknowledged()) == []


def test_a_session_of_fifty_thousand_turns_is_paged_searched_and_summarised(opener: Opener) -> None:
    world, size = opener(failed()), rounds(120, 50_000)
    with world.app.trail.audited(ANA, "default", "import", Kind.TURN, "many") as audit:
        audit.check()
        for number in range(size):
            at = NOON + timedelta(seconds=number)
            world.store.put(turn(f"{number:06}", f"bread {number}", organization="default", at=at))
    session = world.speaking(journal())
    page = session.call("get_session_memories", sessionId="s", limit=5, offset=size - 3)
    assert len(page["memories"]) == 3
    assert session.call("query_raw_memories", query=f"bread {size - 1}", nResults=1)
    world.app.summaries.summarize(ANA, "s")
    assert _wrong_with(world, Acknowledged()) == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("record_decision", {"consequences": ["One file"] * 100_000}),
        ("supersede_decision", {"old_decision_ids": [f"d{n}" for n in range(100_000)]}),
    ],
)
def test_arrays_of_a_hundred_thousand_items_are_refused_before_anything_is_written(
    opener: Opener, tool: str, arguments: dict[str, Any]
) -> None:
    world = opener(failed()).speaking(ledger())
    before = world.contents()
    plain = {"title": "Use one file", "target": "store", "rationale": "It is enough for all of us."}
    assert world.refused(tool, **plain, **arguments)
    assert world.contents() == before


def test_an_object_with_an_array_of_a_hundred_thousand_items_is_refused(opener: Opener) -> None:
    world = opener(failed())
    before = world.contents()
    refusal = world.refused("store_memory", content="Tea", metadata={"n": list(range(100_000))})
    assert "metadata" in refusal
    assert world.contents() == before


def test_a_batch_as_large_as_may_be_whose_last_memory_is_refused_writes_none(
    opener: Opener,
) -> None:
    world = opener(failed()).speaking(catalog())
    before = world.contents()
    shared = {"organization": "default", "scope_type": "organization", "memory_type": "fact"}
    items = [{**shared, "current_content": f"Fact {n}"} for n in range(rounds(100, 999))]
    refusal = world.refused("memory-batch-write", items=[*items, {**shared, "id": "none"}])
    assert str(len(items)) in refusal
    assert world.contents() == before


def _wrong_with(world: World, said: Acknowledged) -> list[str]:
    """Return what does not hold, but for the model, which these worlds have none of."""
    found = of_app(world.app, said)
    return [each for each in found if not each.startswith("Search by meaning")]
