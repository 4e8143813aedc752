"""A text is cut into sentences that can stand alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.sentences import LONGEST, sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The first one. The second one!", ["The first one.", "The second one!"]),
        ("It is e.g. This kind of thing, by Dr. Smith et al. Indeed", ["It is e.g. This kind of thing, by Dr. Smith et al. Indeed"]),
        ("I changed it. src/a.py has it now.", ["I changed it.", "src/a.py has it now."]),
        ("A line that was\nwrapped by its editor.", ["A line that was wrapped by its editor."]),
        ("# A heading here\n- first item of it\n- [x] second item", ["A heading here", "first item of it", "second item"]),
        ("Before code:\n```python\nx = compute(1)\n```\nAfter the code.", ["Before code:", "After the code."]),
        ("Before code:\n````\n```\nx = compute(1)\n```\ny = compute(2)\n`````\nAfter the code.", ["Before code:", "After the code."]),
        ("It is **very** important to `run` *this*.", ["It is very important to run this."]),
        ("See [the page](https://example.com/x) about it.", ["See the page about it."]),
        ("Ends here https://example.com/a?b=c", ["Ends here"]),
        ("| a table | of things |\n| --- | --- |", []),
        ("Then it said:\n  File \"a.py\", line 3, in run\n    return go(x);\nand stopped there.", ["Then it said:", "and stopped there."]),
        ("Abnahme ist am Mittwoch, 18. November um 7 Uhr. Dann Pause.", ["Abnahme ist am Mittwoch, 18. November um 7 Uhr.", "Dann Pause."]),
        ("修复登录页面的崩溃问题。所有测试都通过了。", ["修复登录页面的崩溃问题。", "所有测试都通过了。"]),
        ("ok. yes. no.", []),
        ("", []),
        (" \n\t\n", []),
    ],
)  # fmt: skip
def test_a_text_has_these_sentences(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected


def test_a_sentence_without_end_is_cut_between_words() -> None:
    (cut,) = sentences("word " * 500)
    assert len(cut) <= LONGEST + 1
    assert cut.endswith("word…")


@given(st.text(st.characters() | st.sampled_from(".!? \n`#-*[]()"), max_size=300))
def test_every_sentence_is_one_line_of_the_text_and_not_too_long(text: str) -> None:
    for sentence in sentences(text):
        assert "\n" not in sentence
        assert 0 < len(sentence) <= LONGEST + 1
        assert sentence == sentence.strip()
