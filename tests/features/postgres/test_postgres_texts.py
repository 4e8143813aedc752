"""What PostgreSQL cannot keep of a text is kept in another form, and comes back."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.postgres.texts import kept_text, read_text

texts = st.text(st.characters() | st.sampled_from("\0\1\2\ud7ff\ud800\udfff\ue000a"), max_size=8)


@given(texts)
def test_every_text_comes_back_from_what_can_be_kept(text: str) -> None:
    kept = kept_text(text)
    assert "\0" not in kept
    assert kept.encode().decode() == kept
    assert read_text(kept) == text


@given(texts, texts)
def test_what_is_kept_sorts_and_begins_as_the_texts_do(one: str, other: str) -> None:
    kept, beside = kept_text(one), kept_text(other)
    assert (kept < beside) == (one < other)
    assert kept.startswith(beside) == one.startswith(other)


def test_plain_text_is_kept_as_it_is() -> None:
    assert kept_text("Grüße, 東京!\n\t") == "Grüße, 東京!\n\t"
