"""Texts are near to one another by the words they share, the rare ones most."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.summarizer.worth import centralities, likeness, term_weights

texts = st.lists(
    st.lists(st.sampled_from(["bread", "oven", "flour", "the", "东京", "a.py"]), max_size=5).map(
        " ".join
    ),
    max_size=8,
)


def test_what_shares_words_with_the_rest_is_nearer() -> None:
    near = centralities(
        term_weights(["bread in the oven", "the oven bakes bread", "a cormorant", "the"])
    )
    assert near[0] > near[2]
    assert near[3] == 0.0


@given(texts)
def test_nearness_lies_between_0_and_1_and_is_the_same_each_time(said: list[str]) -> None:
    near = centralities(term_weights(said))
    assert all(0.0 <= each <= 1.0 + 1e-9 for each in near)
    assert near == centralities(term_weights(list(said)))


@given(texts)
def test_a_text_is_most_like_itself(said: list[str]) -> None:
    rows = term_weights(said)
    for one in rows:
        assert all(likeness(one, other) <= likeness(one, one) + 1e-9 for other in rows)
