"""What signals say of records, and which records are worth comparing token by token."""

import pytest

from minutebook.memory.search import signals
from minutebook.memory.search.signals import Key, Signals
from minutebook.record.errors import InvalidInput
from minutebook.text.calibration import UNRELATED_COSINE
from minutebook.text.fusion import Signal


def key(id: str) -> Key:
    return "home", id


def test_few_records_are_all_worth_comparing() -> None:
    found = Signals({key("a"): 0.9}, {}, unrelated=UNRELATED_COSINE)
    assert found.promising([key("a"), key("b")], 2) == [key("a"), key("b")]


def test_of_many_those_are_compared_that_cosine_and_words_promise_most() -> None:
    cosines = {key("near"): 0.9, key("middling"): 0.8, key("far"): 0.7}
    words = {key("far"): 30.0, key("word only"): 4.0}
    found = Signals(cosines, words, unrelated=UNRELATED_COSINE)
    assert found.promising(found.keys(), 1) == [key("near")]
    assert found.promising(found.keys(), 2) == [key("near"), key("far")]
    assert key("word only") not in found.promising(found.keys(), 3)
    assert set(found.promising(found.keys(), 4)) == found.keys()


def test_a_strength_with_context_stands_in_the_place_of_its_own() -> None:
    found = Signals({key("a"): 0.8, key("b"): 0.8}, {key("a"): 10.0}, late={key("a"): 0.5})
    before = found.strengths()
    found.context[Signal.VECTOR] = {key("a"): 0.9}
    after = found.strengths()
    assert after[Signal.VECTOR] == {**before[Signal.VECTOR], key("a"): 0.9}
    assert after[Signal.LEXICAL] == before[Signal.LEXICAL]
    assert found.details(key("a")) == {
        "cosine": 0.8,
        "late interaction": 0.5,
        "with context": 0.9,
    }


def test_what_context_left_as_it_was_is_not_told() -> None:
    found = Signals({key("a"): 0.8}, {}, late={key("a"): 0.5})
    found.context[Signal.VECTOR] = {key("a"): found.likeness(key("a"))}
    assert "with context" not in found.details(key("a"))


def test_the_best_are_those_of_the_best_fused_scores() -> None:
    found = Signals(
        {key("a"): 0.8, key("b"): 0.9, key("c"): 0.7}, {key("c"): 40.0}, unrelated=UNRELATED_COSINE
    )
    assert found.best(1) == {key("b")}
    assert found.best(2) == {key("b"), key("c")}
    assert found.best(2, {Signal.VECTOR: 1.0}) == {key("a"), key("b")}
    assert found.best(2, {Signal.LEXICAL: 1.0}) == {key("c")}
    with pytest.raises(InvalidInput, match="above zero"):
        Signals(found.vector, {key("d"): 1.0}).best(1, {Signal.VECTOR: 0.0})


def test_what_other_sources_compared_before_leaves_room_for_the_better_and_the_first_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(signals, "LEAST_COMPARED", 1)
    cosines = {key("low"): 0.4, key("high"): 0.6, key("lower"): 0.3}
    found = Signals(cosines, {}, unrelated=0.1)
    rivals = Signals({key(f"r{n}"): 0.5 for n in range(3)}, {}, unrelated=0.1)
    assert found.promising(found.keys(), 3, rivals) == [*found.keys()]
    rivals.late = dict.fromkeys(rivals.keys(), 0.5)
    assert found.promising(found.keys(), 3, rivals) == [key("high")]
    assert found.promising(found.keys(), 5, rivals) == [key("high"), key("low")]
    better = Signals(dict.fromkeys(rivals.keys(), 0.9), {}, late=rivals.late, unrelated=0.1)
    assert found.promising(found.keys(), 3, better) == [key("high")]
