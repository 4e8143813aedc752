"""What stands beside a record, and who speaks in it, counts for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.context import NamedSpeakers, averaged, label_of, lifted


def test_a_record_beside_a_good_one_gains_more_than_one_far_away() -> None:
    scores = {"good": 0.9, "beside": 0.2, "next but one": 0.2, "far": 0.2, "elsewhere": 0.2}
    found = lifted(scores, [["good", "beside", "next but one", "far"], ["elsewhere"]], scores)
    assert found["beside"] > found["far"] > found["elsewhere"] == 0.2
    assert found["next but one"] > found["far"]


def test_what_is_alone_or_in_no_session_keeps_its_score() -> None:
    assert lifted({"a": 0.3, "b": 0.7}, [["a"], []], "ab") == {"a": 0.3, "b": 0.7}


def test_a_note_that_says_nothing_is_lifted_by_nothing_and_what_is_said_in_a_talk_by_all() -> None:
    scores = {"good": 0.9, "none": 0.0, "little": 0.05, "some": 0.4}
    session = [["good", "none"]], [["good", "little"]], [["good", "some"]]
    none, little, some = (lifted(scores, each, ()) for each in session)
    said = lifted(scores, session[1], ["good", "little"])
    assert none["none"] == 0.0
    assert 0.05 < little["little"] < some["some"]
    assert little["little"] < said["little"]


def test_where_nothing_answers_nothing_is_lifted() -> None:
    assert lifted({"a": 0.0, "b": 0.0}, [["a", "b"]], "ab") == {"a": 0.0, "b": 0.0}


@given(
    st.dictionaries(st.integers(0, 9).map(str), st.floats(0, 1), min_size=1),
    st.lists(st.lists(st.integers(0, 9).map(str), unique=True), max_size=3),
    st.sets(st.integers(0, 9).map(str)),
)
def test_scores_stay_in_range_and_never_fall(
    scores: dict[str, float], sessions: list[list[str]], said: set[str]
) -> None:
    found = lifted(scores, sessions, said)
    assert found.keys() == scores.keys()
    assert all(scores[key] - 1e-12 <= found[key] <= 1 for key in scores)


def test_a_turn_beside_a_good_one_stands_above_one_far_away() -> None:
    scores = {"good": 0.9, "beside": 0.2, "next but one": 0.2, "far": 0.2, "elsewhere": 0.2}
    session = ["good", "beside", "next but one", "far", "not compared"]
    found = averaged(scores, [session, ["elsewhere"]])
    assert 0.9 > found["good"] > found["beside"] > found["next but one"] > found["far"] > 0.2
    assert found["elsewhere"] == 0.2
    assert found.keys() == scores.keys()


def test_a_long_session_of_little_stands_below_a_short_one_of_more() -> None:
    long = {f"long {place}": 0.3 for place in range(12)}
    found = averaged(long | {"a": 0.4, "b": 0.3}, [sorted(long), ["a", "b"]])
    assert min(found["a"], found["b"]) > max(found[key] for key in long)


@pytest.mark.parametrize(
    ("text", "question", "is_named"),
    [
        ("Ana: I moved to Kiel.", "where did ana move", True),
        ("Ana Lund: I moved.", "where did ana move", False),
        ("Ana Lund: I moved.", "where did lund ana move", True),
        ("Note this: it is late", "ana", False),
        ("I moved to Kiel.", "i moved", False),
        ("https://example.org", "https", False),
        (": nothing", "", False),
    ],
)
def test_a_label_counts_if_the_question_holds_all_its_words(
    text: str, question: str, is_named: bool
) -> None:
    assert NamedSpeakers(question.split()).include(label_of(text)) is is_named
