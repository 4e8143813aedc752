"""Show source as markup, line by line, coloured and with the words that match."""

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup, escape

from minutebook.features.code.chunking.highlighting import HighlightedPart, Piece, highlighted
from minutebook.features.code.search import FoundCode
from minutebook.features.pages.frame.markup import visible
from minutebook.record.records import CodeChunk
from minutebook.text.answerability import Verdict
from minutebook.text.excerpt import Span, matched_words, matches, sought_terms
from minutebook.text.fusion import FusedHit

SHOWN = 12
"""Lines of a hit that are shown, those with the most words that match."""

LONGEST_LINE = 1_000
"""Characters of a line that are shown."""

Atom = tuple[HighlightedPart, str, bool]
"""The class and text of a stretch of source, and whether it is in a match."""

_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A chunk that was found, with some of its lines by number, and the fields by which *Find* explains any hit."""

    chunk: CodeChunk
    lines: Sequence[tuple[int, Markup]]
    has_more: bool
    hit: FusedHit[Any]
    verdict: Verdict
    details: Mapping[str, float]
    words: tuple[str, ...]
    way: tuple[()] = ()
    neighbour: None = None
    followed: tuple[()] = ()
    address: str = field(default="")


def code_hits(found: Sequence[FoundCode], question: str, shown: int = SHOWN) -> list[CodeHit]:
    """Return the hits of code as they are shown."""
    terms = sought_terms(question)
    hits = []
    for each in found:
        chunk = each.chunk
        whole = _visible_lines(chunk.content)
        spans = matches(whole, terms)
        starts = _starts(whole)
        first = _best_window([begin for begin, _ in spans], starts, shown)
        begin, end = starts[first], [*starts, len(whole) + 1][min(first + shown, len(starts))] - 1
        lines = _coloured(whole, chunk.language, spans, begin, end)
        hits.append(
            CodeHit(
                chunk,
                list(enumerate(lines, chunk.start_line + first)),
                len(starts) > shown,
                each.hit,
                each.verdict,
                {"with names and place": each.score},
                matched_words(chunk.text, terms),
                address=file_address(chunk.project, chunk.path, chunk.start_line),
            )
        )
    return hits


def file_address(project: str, path: str, line: int) -> str:
    """Return the address of the page with a line of a file."""
    return f"/code/file?{urlencode({'project': project, 'path': path, 'line': line})}#L{line}"


def source_lines(text: str, language: str) -> list[Markup]:
    """Return the lines of some source as markup, without their ends."""
    whole = _visible_lines(text)
    return _coloured(whole, language, [], 0, len(whole))


def _visible_lines(text: str) -> str:
    """Return source as it is shown: with line feeds between its lines, and long lines cut."""
    lines = _LINE_END.split(text)
    if not lines[-1]:
        lines.pop()
    cut = [each if len(each) <= LONGEST_LINE else each[:LONGEST_LINE] + " …" for each in lines]
    return visible("\n".join(cut))


def _starts(whole: str) -> list[int]:
    """Return where each line begins."""
    return [0, *(each.end() for each in re.finditer("\n", whole))]


def _coloured(
    whole: str, language: str, spans: Sequence[Span], begin: int, end: int
) -> list[Markup]:
    """Return the lines of a source from character `begin` to `end` as markup, with its `spans` marked as matches."""
    inside = [(a - begin, b - begin) for a, b in spans if begin <= a and b <= end]
    lines: list[list[Atom]] = [[]]
    for part, text, is_match in _atoms(_highlighted(whole, language, begin, end), inside):
        for at, piece in enumerate(text.split("\n")):
            if at:
                lines.append([])
            if piece:
                lines[-1].append((part, piece, is_match))
    return [_marked_up(each) for each in lines]


@lru_cache(maxsize=256)
def _highlighted(text: str, language: str, begin: int, end: int) -> tuple[Piece, ...]:
    return tuple(highlighted(text, language, begin, end))


def _marked_up(line: Sequence[Atom]) -> Markup:
    """Return the markup of a line: highlighted parts in spans, matches in marks."""
    written = []
    for part, text, is_match in line:
        shown = str(escape(text))
        if part is not HighlightedPart.PLAIN:
            shown = f'<span class="{part}">{shown}</span>'
        written.append(f"<mark>{shown}</mark>" if is_match else shown)
    return Markup("".join(written))  # noqa: S704 - each atom is escaped


def _atoms(pieces: Sequence[Piece], spans: Sequence[tuple[int, int]]) -> list[Atom]:
    """Cut pieces where spans of the text begin and end; spans are in order and do not overlap.

    Returns for each atom the part of its piece, its text, and whether it is in a span.
    """
    edges = [edge for span in spans for edge in span]
    atoms, at, next_edge = [], 0, 0
    for part, piece in pieces:
        end, begin = at + len(piece), at
        while next_edge < len(edges) and edges[next_edge] < end:
            edge = edges[next_edge]
            if edge > begin:
                atoms.append((part, piece[begin - at : edge - at], next_edge % 2 == 1))
                begin = edge
            next_edge += 1
        if begin < end:
            atoms.append((part, piece[begin - at :], next_edge % 2 == 1))
        at = end
    return atoms


def _best_window(matched: Sequence[int], starts: Sequence[int], shown: int) -> int:
    """Return the first of the lines in a row that hold the most matches; the first of all if none do.

    `matched` and `starts` say where matches and lines begin, in order.
    """
    last = max(0, len(starts) - shown)
    counts = [bisect_left(matched, start) for start in [*starts, math.inf]]
    return max(
        range(last + 1),
        key=lambda first: (counts[min(first + shown, len(starts))] - counts[first], -first),
    )
