"""Highlighting: every text comes back whole, in pieces that say what they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.code.chunking.highlighting import LONGEST, HighlightedPart, highlighted
from minutebook.features.code.chunking.languages import LANGUAGES

P = HighlightedPart


@pytest.mark.parametrize(
    ("language", "text", "pieces"),
    [
        (
            "python",
            "def f(x):\n    return 'ü' if x else 3  # é",
            [
                (P.KEYWORD, "def"),
                (P.DEFINED, "f"),
                (P.KEYWORD, "return"),
                (P.STRING, "'ü'"),
                (P.KEYWORD, "if"),
                (P.KEYWORD, "else"),
                (P.NUMERAL, "3"),
                (P.COMMENT, "# é"),
            ],
        ),
        (
            "javascript",
            "const a = `b${c}`",
            [(P.KEYWORD, "const"), (P.STRING, "`"), (P.STRING, "b"), (P.STRING, "`")],
        ),
        ("go", "type T string", [(P.KEYWORD, "type"), (P.DEFINED, "T"), (P.TYPE, "string")]),
        ("json", '{"a": [1, true]}', [(P.STRING, '"a"'), (P.NUMERAL, "1"), (P.KEYWORD, "true")]),
        ("markdown", "# def f", []),
        ("klingon", "def f", []),
    ],
)
def test_pieces_say_what_they_are(
    language: str, text: str, pieces: list[tuple[HighlightedPart, str]]
) -> None:
    found = highlighted(text, language)
    assert [each for each in found if each[0] is not P.PLAIN] == pieces
    assert "".join(piece for _, piece in found) == text


@given(st.sampled_from(sorted({each.name for each in LANGUAGES})), st.text(max_size=200))
def test_whatever_a_text_holds_its_pieces_are_the_text(language: str, text: str) -> None:
    assert "".join(piece for _, piece in highlighted(text, language)) == text


def test_a_text_that_is_too_long_stays_plain() -> None:
    text = "x = 1\n" * (LONGEST // 6 + 1)
    assert highlighted(text, "python") == [(P.PLAIN, text)]


def test_a_stretch_is_coloured_as_it_is_in_the_whole() -> None:
    text = "def f(x):\n    '''ü\n    é'''\n    return g(x) if x else 3  # é\n"
    whole = _part_by_character(highlighted(text, "python"))
    for start in range(len(text)):
        for end in range(start, len(text) + 1):
            pieces = highlighted(text, "python", start, end)
            assert "".join(piece for _, piece in pieces) == text[start:end]
            assert _part_by_character(pieces) == whole[start:end]


def _part_by_character(pieces: list[tuple[HighlightedPart, str]]) -> list[HighlightedPart]:
    return [part for part, piece in pieces for _ in piece]
