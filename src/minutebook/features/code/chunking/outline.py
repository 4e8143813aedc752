"""The definitions of a file line by line, and an outline where no grammar is needed.

Markdown and YAML are outlined by their lines: only headings and keys are needed, and the scanners of
their grammars write past their buffer when blocks nest deeply.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

NOWHERE = 1 << 20
"""The cost of a cut inside something that has no parts, a string for instance."""


@dataclass(frozen=True, slots=True)
class Definition:
    """Something with a name, from line `first` to line `last` (from 0, both included).

    `start` and `end` (bytes, or lines) order it among others: of two definitions, one contains the other or
    they do not overlap. `head` is the last line of its head, before its body. `within` is a name that encloses
    it though no definition does.
    """

    start: int
    end: int
    first: int
    last: int
    head: int
    type: str
    name: str
    within: str = ""
    signature: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of a file in order, outer before inner, and the lines that help to cut it.

    `leads` are the lines, such as comments, that belong to the definition right below them. `costs()` returns for
    each line the cost of a cut before it; it is called only if a chunk is too long.
    """

    definitions: Sequence[Definition]
    leads: frozenset[int]
    costs: Callable[[], Sequence[int]]


def paragraphs(lines: Sequence[str]) -> Outline:
    """Return the outline of a text of an unknown language, which is cut after blank lines."""
    return Outline((), frozenset(), lambda: paragraph_costs(lines))


def paragraph_costs(lines: Sequence[str]) -> list[int]:
    """Return the cost of a cut before each line: 0 after a blank line, else more the deeper the line is indented."""
    costs = [0] * len(lines)
    for number, line in enumerate(lines):
        after_blank = number == 0 or not lines[number - 1].strip()
        costs[number] = 0 if after_blank and line.strip() else 1 + indent_of(line)
    return costs


def _indentation_costs(lines: Sequence[str]) -> list[int]:
    """Return the cost of a cut before each line: its indentation, and more if the line before is not blank."""
    return [
        2 * indent_of(line) + bool(number and lines[number - 1].strip())
        if line.strip()
        else NOWHERE
        for number, line in enumerate(lines)
    ]


def indent_of(line: str) -> int:
    """Return the number of blanks that a line begins with."""
    return len(line) - len(line.lstrip())


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?\s*$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)\s*$")
_NO_PARAGRAPH = re.compile(r"\s*$| {4}|\t| {0,3}(?:[-*+>|]|\d{1,9}[.)]\s)")
_MARKUP = re.compile(r"!?\[([^\]]{0,300})\]\([^)]{0,2000}\)|[*`]{1,3}(?=\S)|(?<=\S)[*`]{1,3}")


class _Heading(NamedTuple):
    """A heading of Markdown: its first and last line (two if it is underlined), its level, and its text."""

    first: int
    last: int
    level: int
    text: str


def headings(lines: Sequence[str]) -> Outline:
    """Outline Markdown: each heading opens a section that ends before the next of its level or higher."""
    found: list[_Heading] = []
    costs = paragraph_costs(lines)
    fence = ""
    body = _after_front_matter(lines)
    costs[1:body] = [NOWHERE] * max(0, body - 1)
    for number in range(body, len(lines)):
        line = lines[number]
        mark = _FENCE.match(line)
        if fence:
            costs[number] += NOWHERE // 2
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        elif heading := _HEADING.match(line):
            found.append(_Heading(number, number, len(heading[1]), heading[2] or ""))
        elif (
            (underline := _UNDERLINE.match(line))
            and number > body
            and not _NO_PARAGRAPH.match(lines[number - 1])
            and not (found and found[-1].last == number - 1)
        ):
            level = 1 if underline[1][0] == "=" else 2
            found.append(_Heading(number - 1, number, level, lines[number - 1]))
    return Outline(_sections(found, len(lines)), frozenset(), lambda: costs)


def _after_front_matter(lines: Sequence[str]) -> int:
    """Return the number of the first line after a front matter; 0 if there is none."""
    if lines and lines[0].rstrip() == "---":
        for number, line in enumerate(lines[1:], 1):
            if line.rstrip() in {"---", "..."}:
                return number + 1
    return 0


def _sections(found: Sequence[_Heading], count: int) -> list[Definition]:
    """Return the section of each heading, in a text of `count` lines, as a definition with all its lines."""
    ends: list[int] = []
    later: list[_Heading] = []
    for heading in reversed(found):
        while later and later[-1].level > heading.level:
            later.pop()
        ends.append(later[-1].first if later else count)
        later.append(heading)
    sections = []
    for (first, head, _, text), end in zip(found, reversed(ends), strict=True):
        name = _MARKUP.sub(r"\1", text.strip())
        sections.append(Definition(first, end, first, end - 1, head, "other", name))
    return sections


_KEY = re.compile(
    r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s\#\-\[\]{}&*!|>'"%@`,:?](?:[^:\#]|:(?=\S)|(?<=\S)\#)*?)"""
    r"""\s*:(?:\s|$)"""
)


def keys(lines: Sequence[str]) -> Outline:
    """Outline YAML: each key at the margin is a definition."""
    starts: list[tuple[int, str]] = []
    leads: set[int] = set()
    for number, line in enumerate(lines):
        if line.startswith(("---", "...")):
            starts.append((number, ""))
        elif key := _KEY.match(line[:1000]):
            starts.append((number, key[1].strip("\"'")))
        elif line.startswith("#"):
            leads.add(number)
    found = []
    starts.append((len(lines), ""))
    for (first, name), (end, _) in pairwise(starts):
        while end - 1 > first and (end - 1 in leads or not lines[end - 1].strip()):
            end -= 1
        if name:
            found.append(Definition(first, end, first, end - 1, first, "other", name))
    return Outline(found, frozenset(leads), lambda: _indentation_costs(lines))
