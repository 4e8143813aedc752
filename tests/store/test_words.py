"""The index of words: the same answers as textbook BM25, however records are laid out in it."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.store.sidecar import sizes, words
from minutebook.store.sidecar.block import ALWAYS, NEVER, block_of, cut, merged
from minutebook.store.sidecar.view import ColumnConditions, IndexView, Layer
from minutebook.store.sidecar.words import Postings
from minutebook.store.sqlite import SqliteStore
from minutebook.store.values import Candidate
from minutebook.text.words import TextQuery
from tests.store.samples import memory
from tests.store.small_index import make
from tests.world import wait_until

ACME = Filter(organization="acme")
TERMS = [*"abcdefgh", "été", "\ud800"]

texts = st.lists(st.sampled_from(TERMS), max_size=12)
Records = list[tuple[list[str], str | None, bool]]
"""Of each record its terms, its user, and whether it is dead."""

records = st.lists(
    st.tuples(texts, st.sampled_from([None, "ann", "bob"]), st.booleans()), max_size=24
)


def view_of(records: Records, sizes: Sequence[int]) -> IndexView[Postings]:
    """Lay the records out in blocks of some sizes, in turn."""
    layers, start = [], 0
    for size in (*sizes, len(records)):
        some = records[start : start + size]
        if some:
            block = block_of(
                ids=[b"%04d" % (start + place) for place in range(len(some))],
                valid_from=[ALWAYS] * len(some),
                valid_until=[NEVER] * len(some),
                kept=[ALWAYS] * len(some),
                hidden=[False] * len(some),
                facets={"user": [user for _, user, _ in some]},
                payload=Postings.of_texts(terms for terms, _, _ in some),
            )
            dead = np.array([dead for _, _, dead in some])
            layers.append(Layer(block, dead if dead.any() else None))
        start += size
    return IndexView(layers=tuple(layers))


def by_the_book(
    records: Records, users: set[str | None] | None, query: Sequence[str]
) -> list[Candidate]:
    alive = [(f"{n:04}", terms, user) for n, (terms, user, dead) in enumerate(records) if not dead]
    mean = sum(len(terms) for _, terms, _ in alive) / max(1, len(alive))
    found = []
    for id, terms, user in alive:
        score, counted = 0.0, Counter(terms)
        for term in query:
            held = sum(term in others for _, others, _ in alive)
            idf = math.log(1 + (len(alive) - held + 0.5) / (held + 0.5))
            tf = counted[term]
            if tf:
                score += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * len(terms) / mean))
        if score > 0 and (users is None or user in users):
            found.append(Candidate(id, score))
    return sorted(found, key=lambda each: (-each.score, each.id))


def assert_ranked(found: list[Candidate], expected: list[Candidate], limit: int) -> None:
    """Compare with all that match; of two that differ in the last digit only, either comes first."""
    scores = {each.id: each.score for each in expected}
    assert [each.score for each in found] == pytest.approx([e.score for e in expected[:limit]])
    assert len({each.id for each in found}) == len(found)
    for each in found:
        assert each.score == pytest.approx(scores[each.id])


@pytest.fixture(params=["by place", "for whole layers"])
def _few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "for whole layers":
        monkeypatch.setattr(words, "_FEW", 0)
        monkeypatch.setattr(words, "_CHUNK", 2)


@pytest.mark.usefixtures("_few")
@given(
    records=records,
    sizes=st.lists(st.integers(1, 9), max_size=4),
    users=st.none() | st.sets(st.sampled_from([None, "ann", "bob"])),
    query=st.lists(st.sampled_from(TERMS), max_size=6, unique=True),
    limit=st.integers(1, 9),
)
def test_ranks_as_the_book_says_whatever_the_layout(
    records: Records,
    sizes: list[int],
    users: set[str | None] | None,
    query: list[str],
    limit: int,
) -> None:
    facets = () if users is None else (("user", users),)
    found = words.match(view_of(records, sizes), ColumnConditions(facets=facets), query, limit)
    assert_ranked(found, by_the_book(records, users, query), limit)


@given(st.lists(texts | st.just(["a"] * 300), min_size=1, max_size=8))
def test_terms_that_were_packed_give_the_same_postings(drawn: list[list[str]]) -> None:
    unpacked = Postings.of_packed([words.packed(each) for each in drawn]).columns()
    for name, column in Postings.of_texts(drawn).columns().items():
        np.testing.assert_array_equal(unpacked[name], column)


@given(records=records, sizes=st.lists(st.integers(1, 9), max_size=4), largest=st.integers(1, 9))
def test_blocks_that_are_joined_and_cut_hold_what_they_held(
    records: Records, sizes: list[int], largest: int
) -> None:
    view = view_of(records, sizes)
    if not any(layer.alive for layer in view.layers):
        return
    joined = merged([(layer.block, layer.dead) for layer in view.layers])
    parts = IndexView(layers=tuple(Layer(block) for block in cut(joined, largest)))
    assert dict(words.term_checksums(parts)) == dict(words.term_checksums(view))
    before = words.match(view, ColumnConditions(), TERMS, 30)
    assert_ranked(words.match(parts, ColumnConditions(), TERMS, 30), before, 30)


def test_few_records_are_looked_at_once_the_rest_cannot_be_among_the_best(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rare = [(["rare", "often", *"xyz"[: n % 3]], None, False) for n in range(9)]
    often = [(["often", "filler", "more"], None, False) for _ in range(400)]
    others = [(["filler"], None, False) for _ in range(600)]
    view, looked_at = view_of([*others, *often, *rare], [300, 300]), []
    narrow = words._Part.narrow

    def counting(part: words._Part, least: float) -> None:
        narrow(part, least)
        looked_at.append(len(part.scored()[0]))

    monkeypatch.setattr(words._Part, "narrow", counting)
    found = words.match(view, ColumnConditions(), ["often", "rare"], 5)
    assert {each.id for each in found} <= {f"{n:04}" for n in range(1000, 1009)}
    assert sum(looked_at) == 9


@pytest.fixture
def _sizes() -> Iterator[None]:
    names = ("MANY_TEXTS", "BEHIND", "TEXT_PAGE", "LEAST_SAVED")
    usual = {name: getattr(sizes, name) for name in names}
    make({"MANY_TEXTS": 30, "BEHIND": 10, "TEXT_PAGE": 16, "LEAST_SAVED": 20})
    yield
    make(usual)


def fill(store: SqliteStore, start: int, end: int) -> None:
    with store.transaction("acme"):
        for number in range(start, end):
            text = "invoice " + "paid " * (number % 3) + ("falcon" if number % 40 == 7 else "")
            store.put(memory(f"{number:05}", text))


def in_database(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> list[list[Candidate]]:
    indices = store.upkeep.indices
    with monkeypatch.context() as patched:
        patched.setattr(indices, "is_large", lambda number, of: False)
        return answers(store)


def answers(store: SqliteStore) -> list[list[Candidate]]:
    """Return what is found, but for the last digits of a sum, which depend on its order."""
    asked = (("falcon",), ("paid", "falcon"), ("invoic", "paid", "none"))
    found = (store.match(Memory, ACME, TextQuery(terms), 12) for terms in asked)
    return [[Candidate(each.id, round(each.score, 12)) for each in hits] for hits in found]


@pytest.mark.usefixtures("_sizes")
def test_answers_are_the_same_before_and_after_the_index_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    for start in range(0, 120, 30):
        fill(store, start, start + 30)
        before = answers(store)
        store.upkeep._keep_house()
        assert answers(store) == before == in_database(store, monkeypatch)
    assert list((tmp_path / "store.db-index").glob("*-memory-0/*.segment"))
    store.delete(Memory, "acme", "00007")
    store.put(memory("00003", "falcon"))
    assert [each.id for each in answers(store)[0]] == ["00003", "00087", "00047"]
    assert answers(store) == in_database(store, monkeypatch)
    assert store.upkeep.check() == []
    store.close()


@pytest.mark.usefixtures("_sizes")
def test_a_search_does_not_wait_for_many_changes_to_be_read(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    fill(store, 0, 120)
    assert [each.id for each in answers(store)[0]] == ["00087", "00007", "00047"]
    (index,) = store.upkeep.indices._open._indices.values()
    wait_until(lambda: index.behind() == 0)
    store.close()


@pytest.mark.usefixtures("_sizes")
def test_a_check_finds_an_index_that_is_wrong_and_a_rebuild_mends_it(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db", durability="normal")
    fill(store, 0, 60)
    answers(store)
    store.upkeep._keep_house()
    (index,) = store.upkeep.indices._open._indices.values()
    view = index.current()
    index._view = IndexView(view.sequence, view.witness, (view.layers[0].with_dead([b"00001"]),))
    assert store.upkeep.check() == ["the word index 1-memory-0 is wrong about 1 record"]
    store.upkeep.rebuild()
    assert store.upkeep.check() == []
    store.close()
