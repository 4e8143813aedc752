"""Cut a text into chunks: by definition, then by size.

Every line lies in exactly one chunk, chunks are in order, and their texts together are the whole text.
A definition that contains others (a class, a module, a section) becomes chunks of its own lines and the
chunks of those others; a function keeps the functions inside it unless it is too long.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from minutebook.features.code.chunking.languages import Language
from minutebook.features.code.chunking.outline import Definition, Outline, paragraphs

MAX_CHARACTERS = 1500
MAX_LINES = 60
"""A chunk is no longer than this, or a single line: the built-in model reads about that much at once."""

_MOST_NAMES = 8
"""Names in the name of a chunk: its own, and the innermost that enclose it."""

_SCRAP = 160
"""Characters; so few after a definition are joined to it."""

_LINES = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")
# A line that only closes a definition.
_CLOSING = re.compile(r"(?:[^\w#]|_|\b(?:end|fi|done|esac)\b|#\s*endif\b.*)*")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some lines of a file: from `start_line` to `end_line`, counted from 1, both included.

    `type` is function, class, struct, module, impl or other; `name` holds the enclosing names
    (`Outer.method`) and is empty outside of any definition.
    """

    start_line: int
    end_line: int
    text: str
    type: str
    name: str
    signature: str


@dataclass(frozen=True, slots=True)
class _Owner:
    """A definition that has chunks of its own; `first` is the first of the lines that lead to it.

    `path` has the enclosing names and its own. If it is open, definitions inside it get chunks of their own.
    """

    definition: Definition
    first: int
    path: tuple[str, ...]
    is_open: bool


@dataclass(slots=True)
class _ChunkRun:
    """Lines from `start` to `end`, the end excluded, that belong to one definition, or to none."""

    start: int
    end: int
    owner: _Owner | None


def chunk(text: str, language: Language | None) -> list[Chunk]:
    """Cut a text into chunks of at most `MAX_CHARACTERS` and `MAX_LINES`, or of one line.

    Lines end with LF, CRLF or CR. An empty text has no chunks. Broken code is cut by the definitions that can be
    read; a text that takes the parser more than `PARSE_SECONDS` is cut by paragraphs.
    """
    lines = _LINES.findall(text)
    if not lines:
        return []
    outline = _outline(lines, language)
    starts = [0, *accumulate(map(len, lines))]
    runs = _join(lines, starts, _runs(outline, starts, language), outline.leads)
    costs: Sequence[int] = ()
    chunks = []
    separator = language.separator if language else "."
    for run in runs:
        if _is_long(starts, run.start, run.end) and not costs:
            costs = outline.costs()
        for start, end in _pieces(starts, costs, run.start, run.end):
            chunks.append(
                _chunk(start, end, text[starts[start] : starts[end]], run.owner, separator)
            )
    return chunks


def _outline(lines: Sequence[str], language: Language | None) -> Outline:
    """Return the outline of a text by its language; by paragraphs if there is no other, or parsing takes too long."""
    if language and language.outline:
        return language.outline(lines)
    if language and language.grammar:
        from minutebook.features.code.chunking import syntax

        try:
            return syntax.outline(lines, language.grammar)
        except syntax.TooLong:
            return paragraphs(lines)
    return paragraphs(lines)


def _chunk(start: int, end: int, text: str, owner: _Owner | None, separator: str) -> Chunk:
    """Return the chunk of lines from `start`, counted from 0, to `end`, excluded; `owner` has the definition around them."""
    if owner is None:
        return Chunk(start + 1, end, text, "other", "", "")
    definition = owner.definition
    name = separator.join(owner.path)
    return Chunk(start + 1, end, text, definition.type, name, definition.signature)


def _is_long(starts: Sequence[int], start: int, end: int) -> bool:
    return end - start > MAX_LINES or starts[end] - starts[start] > MAX_CHARACTERS


def _runs(outline: Outline, starts: Sequence[int], language: Language | None) -> list[_ChunkRun]:
    """Assign each line to the innermost definition that has chunks of its own."""
    runs: list[_ChunkRun] = []
    inside: list[_Owner] = []
    start = 0

    def advance(end: int) -> None:
        nonlocal start
        if end > start:
            runs.append(_ChunkRun(start, end, inside[-1] if inside else None))
            start = end

    for owner in _owners(outline, starts, language.smallest if language else 1):
        while inside and inside[-1].definition.last < owner.first:
            advance(inside[-1].definition.last + 1)
            inside.pop()
        advance(owner.first)
        inside.append(owner)
    while inside:
        advance(inside[-1].definition.last + 1)
        inside.pop()
    advance(len(starts) - 1)
    return runs


def _owners(outline: Outline, starts: Sequence[int], smallest: int) -> Iterator[_Owner]:
    """Yield the definitions that have chunks of their own, in order, outer before inner.

    A definition that begins on a line where another begins or ends has no chunk of its own.
    """
    enclosing: list[tuple[Definition, _Owner | None]] = []
    last_taken = -1
    for definition in outline.definitions:
        while enclosing and enclosing[-1][0].end <= definition.start:
            enclosing.pop()
        parent = enclosing[-1][1] if enclosing else None
        owner = None
        first = definition.first
        while first - 1 in outline.leads and first - 1 > last_taken:
            first -= 1
        if (
            first > last_taken
            and definition.last - definition.first + 1 >= smallest
            and (not enclosing or (parent and parent.is_open))
        ):
            path = (
                *(parent.path if parent else ()),
                *filter(None, [definition.within, definition.name]),
            )
            is_open = definition.type != "function" or _is_long(starts, first, definition.last + 1)
            owner = _Owner(definition, first, path[-_MOST_NAMES:], is_open)
            last_taken = definition.head if is_open else definition.last
            yield owner
        enclosing.append((definition, owner))


def _join(
    lines: Sequence[str], starts: Sequence[int], runs: Sequence[_ChunkRun], leads: frozenset[int]
) -> list[_ChunkRun]:
    """Join closing and trailing lines to the run before them, remarks and bare headings to the run after them.

    The head of a definition never goes into another's chunk, unless it is a bare heading.
    """
    joined: list[_ChunkRun] = []
    for run in runs:
        if joined and any(line.strip() for line in lines[joined[-1].start : joined[-1].end]):
            joined[-1].end = run.start = _after_closings(run, lines, leads)
        if run.start == run.end:
            continue
        if joined and _is_trailing(joined[-1], run, lines, starts, leads):
            joined[-1].end = run.end
        elif joined and _is_opening(joined[-1], run, lines, starts, leads):
            joined[-1].owner = run.owner
            joined[-1].end = run.end
        else:
            joined.append(run)
    return joined


def _after_closings(run: _ChunkRun, lines: Sequence[str], leads: frozenset[int]) -> int:
    """Return the first line of a run that does not only close something."""
    line = run.start
    while line < run.end and line not in leads and _CLOSING.fullmatch(lines[line]):
        line += 1
    return line


def _is_trailing(
    before: _ChunkRun,
    run: _ChunkRun,
    lines: Sequence[str],
    starts: Sequence[int],
    leads: frozenset[int],
) -> bool:
    """Tell whether a run is only a statement or two after a definition."""
    return (
        before.owner is not None
        and not _is_head(run)
        and starts[run.end] - starts[run.start] <= _SCRAP
        and not _is_preface(run, lines, leads)
        and not _is_long(starts, before.start, run.end)
    )


def _is_opening(
    before: _ChunkRun,
    run: _ChunkRun,
    lines: Sequence[str],
    starts: Sequence[int],
    leads: frozenset[int],
) -> bool:
    """Tell whether the run `before` holds only remarks on a run, or only the heading above it."""
    if run.owner is None or _is_long(starts, before.start, run.end):
        return False
    if not _is_head(before):
        return _is_preface(before, lines, leads)
    outer = before.owner
    return (
        outer is not None
        and outer.definition.type == "other"
        and run.owner.path[: len(outer.path)] == outer.path
        and not any(line.strip() for line in lines[outer.definition.head + 1 : before.end])
    )


def _is_head(run: _ChunkRun) -> bool:
    return run.owner is not None and run.start <= run.owner.definition.head


def _is_preface(run: _ChunkRun, lines: Sequence[str], leads: frozenset[int]) -> bool:
    """Tell whether a run holds only remarks on the next definition, and blank lines."""
    return all(line in leads or not lines[line].strip() for line in range(run.start, run.end))


def _pieces(
    starts: Sequence[int], costs: Sequence[int], start: int, end: int
) -> Iterator[tuple[int, int]]:
    """Yield first and last line (excluded) of pieces of about equal size, each cut where that costs least."""
    while _is_long(starts, start, end) and end - start > 1:
        characters = starts[end] - starts[start]
        count = max(ceil((end - start) / MAX_LINES), ceil(characters / MAX_CHARACTERS))
        furthest = _furthest(starts, start, end)
        ideal = starts[start] + characters / count
        least = (starts[start] + ideal) / 2
        window = [line for line in range(start + 1, furthest + 1) if starts[line] >= least]
        cut = min(window or [furthest], key=lambda line: (costs[line], abs(starts[line] - ideal)))
        yield start, cut
        start = cut
    yield start, end


def _furthest(starts: Sequence[int], start: int, end: int) -> int:
    """Return the last line before which a piece from `start` may end."""
    last = min(end - 1, start + MAX_LINES)
    line = start + 1
    while line < last and starts[line + 1] - starts[start] <= MAX_CHARACTERS:
        line += 1
    return line
