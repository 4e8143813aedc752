"""Source on a page: which lines of a piece of code are shown."""

import pytest

from minutebook.features.code.pages.source import code_hits
from minutebook.features.code.search import FoundCode
from minutebook.record.records import CodeChunk
from minutebook.text.fusion import FusedHit


@pytest.mark.parametrize(
    ("content", "shown", "lines"),
    [
        (
            "a\nkettle\nb\nkettle + kettle\nc\n",
            1,
            [(14, "<mark>kettle</mark> + <mark>kettle</mark>")],
        ),
        ("a\nb\nc", 2, [(11, "a"), (12, "b")]),
        ("a\n\nkettle", 2, [(12, ""), (13, "<mark>kettle</mark>")]),
        ("a\r\nkettle\r\n", 5, [(11, "a"), (12, "<mark>kettle</mark>")]),
        ("", 2, [(11, "")]),
        # What is coloured in parts is one match.
        ("kettle\nthis.kettle", 1, [(11, "<mark>kettle</mark>")]),
    ],
)
def test_the_lines_with_the_most_matches_are_shown(
    content: str, shown: int, lines: list[tuple[int, str]]
) -> None:
    chunk = CodeChunk(
        organization="o",
        id="c",
        project="p",
        path="a.js",
        language="javascript",
        type="other",
        name="",
        signature="",
        start_line=11,
        end_line=20,
        content=content,
    )
    found = FoundCode(chunk, 1.0, FusedHit(("o", "c"), 1.0, ()), 0.5)
    [hit] = code_hits([found], "kettle", shown)
    assert hit.lines == lines
