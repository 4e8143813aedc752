"""What changed between two texts."""

from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.pages.frame.differences import MOST_WORDS, Stretch, TextChange, differences

texts = st.text(st.sampled_from("ab \n.é"), max_size=40)


@given(texts, texts)
def test_what_stayed_and_what_was_removed_is_the_old_text_and_likewise_the_new(
    before: str, after: str
) -> None:
    found = differences(before, after)
    assert "".join(each.text for each in found if each.change is not TextChange.ADDED) == before
    assert "".join(each.text for each in found if each.change is not TextChange.REMOVED) == after


def test_words_are_compared_whole() -> None:
    assert differences("Tea at four", "Tea at five") == [
        Stretch(TextChange.SAME, "Tea at "),
        Stretch(TextChange.REMOVED, "four"),
        Stretch(TextChange.ADDED, "five"),
    ]


def test_long_texts_are_compared_by_lines() -> None:
    lines = [f"line {number} of many\n" for number in range(MOST_WORDS)]
    found = differences("".join(lines), "".join([*lines[:10], "new\n", *lines[11:]]))
    assert [each.text for each in found if each.change is not TextChange.SAME] == [
        lines[10],
        "new\n",
    ]
