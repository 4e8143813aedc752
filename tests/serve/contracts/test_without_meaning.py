"""While there is no vector to compare, each contract answers by words and says so."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.record.caller import Note
from minutebook.record.records import Role
from tests.features.catalog.contract import cataloged
from tests.features.governance.contract import governed
from tests.features.journal.contract import journaled
from tests.features.ledger.contract import ledgered
from tests.world import Opener, WordEmbedder, World, failed, loading, ready

pytestmark = pytest.mark.needs("code")

Ask = Callable[[World], Note | None]
"""Writes something about the boiler if there is nothing, and searches for it."""


def noted(world: World, tool: str, **arguments: object) -> Note | None:
    answer = world.contract.call(world.app, world.caller, tool, arguments)
    assert answer.error is None, answer.error
    assert "boiler" in answer.text
    return answer.notes.get("meaning")


def recall(world: World) -> Note | None:
    return noted(world, "recall", query="boiler")


def search_code(world: World) -> Note | None:
    return noted(world, "search_code", query="boiler")


def catalog(world: World) -> Note | None:
    return noted(cataloged.facts_of(world), "memory-search", query="boiler")


def governance(world: World) -> Note | None:
    client = governed.Client(world)
    context = client.context("memory-search")
    told = client.world.speaking(governed.CONTRACT)
    return noted(told, "memory-search", query="boiler", context=context)


def ledger(world: World) -> Note | None:
    told = ledgered.Client(world).world.speaking(ledgered.CONTRACT)
    return noted(told, "search_decisions", query="boiler")


def journal(world: World) -> Note | None:
    told = world.speaking(journaled.CONTRACT)
    return noted(told, "query_raw_memories", query="boiler")


SEARCHES = [recall, search_code, catalog, governance, ledger, journal]


@pytest.fixture
def kept(opener: Opener, tmp_path: Path) -> str:
    """The name of a store with something about a boiler in each kind, all with vectors."""
    world = opener(name="kept")
    governed.Client(world).write("the boiler hums")
    world.remember("the boiler hums")
    ledgered.Client(world).of(Role.HUMAN).record("boiler", "Keep the boiler")
    journaled.Client(world).add("the boiler is cold", "s1")
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "boiler.py").write_text("boiler = 1\n")
    world.call("index_project", path=str(folder))
    return "kept"


def test_with_all_vectors_there_is_nothing_to_say(opener: Opener, kept: str) -> None:
    world = opener(name=kept)
    assert [search(world) for search in SEARCHES] == [None] * len(SEARCHES)


def test_while_the_model_loads_words_answer_and_say_that_they_are_alone(
    opener: Opener, kept: str
) -> None:
    release = threading.Event()
    world = opener(loading(release), name=kept)
    notes = [search(world) for search in SEARCHES]
    release.set()
    for note in notes:
        assert note is not None
        assert note.facts == {"state": "loading"}
        assert "words alone" in note.text
        assert "loading" in note.text


def test_a_model_that_failed_is_named_with_its_reason(opener: Opener, kept: str) -> None:
    world = opener(failed("model.onnx is damaged"), name=kept, wait=10)
    for note in [search(world) for search in SEARCHES]:
        assert note is not None
        assert note.facts == {"state": "error"}
        assert "model.onnx is damaged" in note.text


def test_records_without_vectors_are_counted(opener: Opener, kept: str) -> None:
    class Other(WordEmbedder):
        model = replace(WordEmbedder.model, name="other")

    # Another model: nothing has a vector of it yet, and what is in this organization is counted.
    world = opener(ready(Other()), name=kept)
    for note in [search(world) for search in SEARCHES]:
        assert note is not None
        assert note.facts["state"] == "ready"
        assert note.facts["pending"] in (1, 2, 4)
        assert "still to come" in note.text


def test_who_chose_no_model_is_not_reminded_of_it(opener: Opener, kept: str) -> None:
    embedding = failed()
    embedding.is_off = True
    assert recall(opener(embedding, name=kept, wait=10)) is None


def test_a_note_of_one_call_is_not_told_of_the_next(opener: Opener, kept: str) -> None:
    release = threading.Event()
    world = opener(loading(release), name=kept)
    assert recall(world) is not None
    answer = world.contract.call(world.app, world.caller, "search_text", {"query": "boiler"})
    release.set()
    assert "meaning" not in answer.notes


def test_words_alone_tell_relevance_by_the_part_of_the_question_that_a_text_holds(
    opener: Opener,
) -> None:
    world = opener(failed("no model"), wait=10)
    world.remember("the boiler hums")

    def score(query: str) -> float:
        found = world.call("recall", query=query)["results"]
        return float(found[0]["score"]) if found else 0.0

    whole, half = score("boiler hums"), score("boiler leaks")
    little = score("boiler invoice harbour ladder violin saddle")
    assert whole > 0.9
    assert whole > half > 0.5 > little
    for number in range(30):
        world.remember(f"note {number} about the harbour")
    assert score("boiler hums") == pytest.approx(whole, abs=0.05)
