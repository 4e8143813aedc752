"""A title made from a text: how it begins, in whole words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.catalog.contract.wording import (
    MAX_TITLE_CHARACTERS,
    MAX_TITLE_WORDS,
    title_from,
)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The kettle whistles. It is in the attic.", "The kettle whistles"),
        ("# Deploys\n\nOn Tuesdays.", "Deploys"),
        ("\n---\n- [ ] buy tea\n- milk", "buy tea"),
        ("**Bold** `words`", "Bold words"),
        ("Use e.g. Postgres 16.2 for it. Not SQLite.", "Use e.g. Postgres 16.2 for it"),
        ("Is it five? Yes.", "Is it five?"),
        ("お茶は五時です。それから。", "お茶は五時です。"),
        ("one two three four five six seven eight nine ten eleven twelve thirteen", "one two three four five six seven eight nine ten eleven twelve…"),
        ("x" * 300, "x" * 99 + "…"),
        ("short " + "y" * 300, "short…"),
        ("tea", "tea"),
        ("...", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_a_title_is_the_first_sentence_of_the_first_line(text: str, title: str) -> None:
    assert title_from(text) == title


@given(st.text(max_size=400) | st.lists(st.sampled_from(["tea", "a" * 60, ".", "\n", "#", "-", "東京。"]), max_size=40).map(" ".join))  # fmt: skip
def test_a_title_is_one_line_and_bounded(text: str) -> None:
    title = title_from(text)
    assert len(title) <= MAX_TITLE_CHARACTERS
    assert len(title.split()) <= MAX_TITLE_WORDS
    assert len(title.splitlines()) <= 1
    assert bool(title) == any(map(str.isalnum, text))
