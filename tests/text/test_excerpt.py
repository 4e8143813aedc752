"""Excerpts: the stretch of a text that answers, with the words that matched."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.excerpt import excerpt, matched_words, sought_terms

texts = st.text(st.sampled_from("deploy Tea. \n"), max_size=300)


def test_words_match_in_all_their_forms() -> None:
    sought = sought_terms('deployment "on tuesday"')
    assert matched_words("They deploy; deployments on Tuesdays", sought) == (
        "deploy",
        "deployments",
        "on",
        "tuesdays",
    )


def test_words_match_in_the_forms_of_their_language() -> None:
    sought = sought_terms("Wo sind die Häuser?")
    assert matched_words("Er kaufte das Haus und die Gärten.", sought) == ("haus",)
    sought = sought_terms("Где новые дома?")
    assert matched_words("Он купил новый дом в городе.", sought) == ("новый", "дом")


def test_an_excerpt_begins_near_the_first_match() -> None:
    text = "word " * 200 + "the kettle boils" + " word" * 200
    parts = excerpt(text, sought_terms("kettle"), 80)
    assert parts[0] == ("… ", False)
    assert ("kettle", True) in parts
    assert parts[-1] == (" …", False)
    assert sum(len(part) for part, _ in parts) < 100


@given(texts, st.integers(20, 200))
def test_an_excerpt_is_a_stretch_of_the_text(text: str, length: int) -> None:
    parts = [part for part in excerpt(text, sought_terms("tea"), length) if "…" not in part[0]]
    assert "".join(part for part, _ in parts) in text
    assert all("tea" in part.lower() for part, is_match in parts if is_match)
