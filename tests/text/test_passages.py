"""Passages: what answers of a long text, at the ends of sentences, within a budget."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.passages import ROOM, allowance, count_tokens, passage

SENTENCES = [f"Sentence number {number} tells of the {number}th harbour." for number in range(40)]
LONG = " ".join(SENTENCES)

texts = st.text(st.sampled_from("ab .!?\n。汉"), min_size=1, max_size=600)
shares = st.tuples(st.floats(0, 1), st.floats(0, 1)).map(lambda pair: (min(pair), max(pair)))


def test_a_short_text_is_told_whole() -> None:
    assert passage("Ana likes tea.", (0.9, 1.0), 50) == "Ana likes tea."


def test_what_is_little_longer_than_a_passage_is_not_cut() -> None:
    text = "word " * 100
    assert passage(text, (0.0, 0.1), int(count_tokens(text.strip()) / ROOM) + 1) == text.strip()


def test_a_passage_holds_the_part_that_answers_in_whole_sentences() -> None:
    at = LONG.index(SENTENCES[20]) / len(LONG)
    found = passage(LONG, (at, at + 0.02), 50)
    assert SENTENCES[20] in found
    assert found.startswith("… Sentence number ")
    assert found.endswith(". …")
    assert count_tokens(found) < 90


def test_dots_stand_only_where_something_was_left_out() -> None:
    assert not passage(LONG, (0.0, 0.01), 50).startswith("…")
    assert not passage(LONG, (0.99, 1.0), 50).endswith("…")


@given(texts, shares, st.integers(1, 40))
def test_a_passage_is_a_stretch_of_its_text(
    text: str, part: tuple[float, float], tokens: int
) -> None:
    found = passage(text, part, tokens)
    assert found.removeprefix("… ").removesuffix(" …").strip("… ") in text


def test_a_script_without_spaces_has_a_token_a_sign() -> None:
    assert count_tokens("汉字汉字") == 4
    assert count_tokens("four words of text") == 5


@given(st.lists(st.integers(0, 500), min_size=1, max_size=20), st.integers(0, 3000))
def test_an_allowance_keeps_to_the_budget_and_wastes_little(sizes: list[int], budget: int) -> None:
    most = allowance(sizes, budget)
    taken = sum(min(size, most) for size in sizes)
    assert taken <= budget
    if most < max(sizes):
        assert sum(min(size, most + 1) for size in sizes) > budget
