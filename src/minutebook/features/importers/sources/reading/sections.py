"""The sections of a Markdown text, below its headings."""

import re
from collections.abc import Iterator

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_FENCE = re.compile(r"\s*(```|~~~)")


def sections_of(text: str, first: int) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yield the headings above each section, the number of its first line, and its text."""
    open_headings: list[tuple[int, str]] = []
    lines: list[str] = []
    begun, fence = first, ""
    for number, line in enumerate(text.split("\n"), first):
        mark = _FENCE.match(line)
        if mark is not None and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        heading = None if fence else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        yield from _section(open_headings, begun, lines)
        level = len(heading[1])
        open_headings = [each for each in open_headings if each[0] < level]
        open_headings.append((level, heading[2]))
        lines, begun = [], number + 1
    yield from _section(open_headings, begun, lines)


def _section(
    headings: list[tuple[int, str]], begun: int, lines: list[str]
) -> Iterator[tuple[tuple[str, ...], int, str]]:
    blank = next((index for index, line in enumerate(lines) if line.strip()), None)
    if blank is not None:
        content = "\n".join(lines[blank:]).rstrip()
        yield tuple(name for _, name in headings), begun + blank, content
