"""The sections of a Markdown text, below its headings."""

import re
from collections.abc import Iterator

_HEADING = re.compile(r"(#{1,6})\s+(.*?)\s*#*")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


def sections_of(text: str, first: int) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """Yield the headings above each section, the number of its first line, and its text."""
    open_headings: list[tuple[int, str]] = []
    lines: list[str] = []
    begun = first
    for number, line, is_code in fenced_lines(text, first):
        heading = None if is_code else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        yield from _section(open_headings, begun, lines)
        level = len(heading[1])
        open_headings = [each for each in open_headings if each[0] < level]
        open_headings.append((level, heading[2]))
        lines, begun = [], number + 1
    yield from _section(open_headings, begun, lines)


def fenced_lines(text: str, first: int) -> Iterator[tuple[int, str, bool]]:
    """Yield number and text of each line, and whether it stands in a fenced block, its fences included.

    A block ends at a fence of the same sign that is at least as long as the first (CommonMark 0.31, section 4.5).
    """
    fence = ""
    for number, line in enumerate(text.split("\n"), first):
        mark = _FENCE.match(line)
        was_open = bool(fence)
        if mark is not None and was_open and mark[1].startswith(fence) and not mark[2].strip():
            fence = ""
        elif mark is not None and not was_open and not ("`" in mark[1] and "`" in mark[2]):
            fence = mark[1]
        yield number, line, was_open or bool(fence)


def _section(
    headings: list[tuple[int, str]], begun: int, lines: list[str]
) -> Iterator[tuple[tuple[str, ...], int, str]]:
    blank = next((index for index, line in enumerate(lines) if line.strip()), None)
    if blank is not None:
        content = "\n".join(lines[blank:]).rstrip()
        yield tuple(name for _, name in headings), begun + blank, content
