"""Near-duplicates, with the real model."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from minutebook.cli import main
from minutebook.model import Embedding
from minutebook.record.caller import Call, Caller
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from minutebook.text.late_interaction import likeness
from tests.features.catalog.contract.cataloged import facts_of, write
from tests.world import Opener, World

CLOSES = "The office in Lisbon closes at 19:00 and the alarm arms itself fifteen minutes later."
SHUTS = "The Lisbon office shuts at 20:00 and the alarm switches on a quarter of an hour later."
COFFEE = "Maya takes her coffee black; oat milk gives her a headache."
BRANCHES = "Branch names start with the ticket number, then a dash, then two or three words."


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    return opener(built_in, wait=60.0)


def asking() -> Caller:
    """A caller whose call collects notes of its own."""
    return Caller(name="ada", role=Role.HUMAN, call=Call())


def kept(world: World, text: str) -> tuple[str, list[str]]:
    """Store a text; give its id and the ids that were noted as like it."""
    caller = asking()
    memory = world.app.memories.store(caller, Draft(content=text, type=MemoryType.FACT))
    note = caller.call.notes.get("similar")
    if note is None:
        return memory.id, []
    assert note.facts["of"] == memory.id
    told = note.facts["memories"]
    assert isinstance(told, list)
    assert all(each["id"] in note.text for each in told)
    return memory.id, [each["id"] for each in told]


def test_a_write_names_what_it_may_repeat_or_contradict_and_keeps_both(world: World) -> None:
    for text in (COFFEE, BRANCHES):
        assert kept(world, text)[1] == []
    first, none = kept(world, CLOSES)
    second, named = kept(world, SHUTS)
    assert (none, named) == ([], [first])
    caller = asking()
    assert world.app.memories.read(caller, first).valid_until is None
    assert world.app.memories.read(caller, second).content == SHUTS


def test_an_update_names_what_the_new_text_is_like(world: World) -> None:
    first, _ = kept(world, CLOSES)
    other, _ = kept(world, COFFEE)
    caller = asking()
    world.app.memories.update(caller, other, {"importance": 3.0})
    assert "similar" not in caller.call.notes
    world.app.memories.update(caller, other, {"content": SHUTS})
    assert first in caller.call.notes["similar"].text


def test_what_was_superseded_or_linked_is_not_named_again(world: World) -> None:
    first, _ = kept(world, CLOSES)
    caller = asking()
    draft = Draft(content=SHUTS, type=MemoryType.FACT)
    second = world.app.memories.store_joined(caller, draft, [], [first])
    assert "similar" not in caller.call.notes
    third = world.app.memories.store_joined(caller, draft, [(second.id, "related")], [])
    assert "similar" not in caller.call.notes
    assert world.app.similar.like(caller, third) == []


def test_groups_hold_what_is_alike_and_nothing_else(world: World) -> None:
    ids = [kept(world, text)[0] for text in (CLOSES, COFFEE, SHUTS, BRANCHES, CLOSES)]
    (group,) = world.app.similar.clusters(asking())
    assert [each.id for each in group] == sorted([ids[0], ids[2], ids[4]])


def test_what_the_caller_may_not_see_is_not_named(world: World) -> None:
    mine = Draft(content=CLOSES, type=MemoryType.FACT, user="bea")
    world.app.memories.store(asking(), mine)
    caller = Caller(name="carl", role=Role.HUMAN, user="carl", call=Call())
    world.app.memories.store(caller, Draft(content=SHUTS, type=MemoryType.FACT))
    assert "similar" not in caller.call.notes
    assert world.app.similar.clusters(caller) == []


def test_the_tool_tells_it_beside_the_promised_answer(world: World) -> None:
    first, _ = kept(world, CLOSES)
    answer = world.contract.call(world.app, asking(), "store_memory", {"content": SHUTS})
    assert answer.content is not None
    assert set(answer.content) == {"id", "similar"}
    assert first in answer.notes["similar"].text


def test_the_catalog_names_what_a_changed_text_is_like(world: World) -> None:
    facts = facts_of(world)
    first = write(facts, CLOSES)["id"]
    other = write(facts, COFFEE)["id"]
    told = facts.by(request="update").call("memory-update", id=other, current_content=SHUTS)
    assert [each["id"] for each in told["similar"]] == [first]


@pytest.mark.thorough
def test_the_command_lists_groups(
    tmp_path: object, built_in: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_HOME", str(tmp_path))
    runner = CliRunner()
    for text in (CLOSES, COFFEE, SHUTS):
        done = runner.invoke(main, ["remember", text])
        assert done.exit_code == 0, done.output
    assert "may repeat or contradict" in done.stderr
    (group,) = json.loads(runner.invoke(main, ["list", "--alike", "--json"]).stdout)
    assert [each["content"] for each in group] == [CLOSES, SHUTS]
    listed = runner.invoke(main, ["list", "--alike"]).stdout
    assert CLOSES[:60] in listed
    assert COFFEE not in listed


packs = st.builds(
    lambda count, seed: b"\x01" + (8).to_bytes(2, "little") + count.to_bytes(4, "little")
    + bytes(3 * count) + seed[: 8 * count].ljust(8 * count, b"\x55"),
    st.integers(0, 6),
    st.binary(max_size=48),
)  # fmt: skip


@given(packs, packs)
def test_likeness_is_the_same_both_ways_and_1_of_a_text_with_itself(
    one: bytes, other: bytes
) -> None:
    assert likeness(one, other) == pytest.approx(likeness(other, one), abs=1e-6)
    assert 0 <= likeness(one, other) <= 1 + 1e-6
    assert likeness(one, one) == (pytest.approx(1) if len(one) > 7 else 0)
