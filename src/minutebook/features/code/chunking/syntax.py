"""Outline a text by the syntax tree of its language; the only place that runs the parser."""

import importlib
import re
import time
from collections.abc import Sequence
from functools import cache

import tree_sitter

from minutebook.features.code.chunking.languages import Grammar
from minutebook.features.code.chunking.outline import NOWHERE, Definition, Outline

PARSE_SECONDS = 1.0
"""CPU seconds for one parse. Code takes 0.1 s for a megabyte; only files that are not code come near this."""

MAX_SIGNATURE = 300
"""Characters of a signature; a longer one is cut."""

# Scanners take a NUL for the end, and look up other bytes in tables that are made for ASCII.
_PLAIN = bytes([ord(" "), *range(1, 128), *[ord("x")] * 128])
# Parsing takes time that grows with the square of a line that is not code, and a line is never cut anyway.
_LONG_LINES = re.compile(rb"[^\n]{2000,}")
_LONE_RETURNS = re.compile(rb"\r(?!\n)")
_MODIFIERS = re.compile(rb"[\w\s@]*")
# A second of work for the query, or 28,000 tokens in a row that make no sense.
_MAX_SQUARES = 800_000_000
_SPACES = re.compile(r"\s+")
_OPENING = re.compile(r"(?<![\s{\\=(])(?<!=>)(?:=>|[\s{\\=(])+$")
_BODIES = ("body", "accessor_list", "compound_statement", "implementation_definition")


Captures = dict[str, list[tree_sitter.Node]]


class TooLong(Exception):
    """The text could not be parsed in time."""


@cache
def _grammar(grammar: Grammar) -> tuple[tree_sitter.Language, tree_sitter.Query]:
    module = importlib.import_module(grammar.module)
    language = tree_sitter.Language(getattr(module, grammar.function)())
    return language, tree_sitter.Query(language, grammar.query)


def outline(lines: Sequence[str], grammar: Grammar) -> Outline:
    """Outline the lines of a text by its grammar. Raises TooLong if that takes too long."""
    # Lone surrogates have no UTF-8 form, and each line must keep its own row.
    source = _LONE_RETURNS.sub(b"\n", "".join(lines).encode("utf-8", "replace"))
    _, query = _grammar(grammar)
    tree = parsed(source, grammar)
    _check_errors(tree)
    rows = source.split(b"\n")
    leads: set[int] = set()
    found: list[tuple[int, int, int, Captures]] = []
    for pattern, captures in tree_sitter.QueryCursor(query).matches(tree.root_node):
        if "lead" in captures:
            leads.update(_whole_rows(captures["lead"][0], rows))
        else:
            node = captures[_kind_of(captures)][0]
            found.append((node.start_byte, -node.end_byte, pattern, captures))
    definitions = []
    seen: set[tuple[int, int]] = set()
    for start, end, _, captures in sorted(found, key=lambda match: match[:3]):
        # A wrapper, such as a template, and the definition in it have one name: the outer one is taken.
        places = {(start, -end), captures["name"][0].byte_range}
        if not places & seen and (definition := _definition(captures, source, rows)):
            definitions.append(definition)
            seen |= places
    return Outline(definitions, frozenset(leads), lambda: _costs(tree, rows, len(lines), leads))


def parsed(source: bytes, grammar: Grammar) -> tree_sitter.Tree:
    """Parse UTF-8 text; the positions in the tree are those in the text. Raises TooLong if it takes too long."""
    language, _ = _grammar(grammar)
    return _parse(_LONG_LINES.sub(_blank, source.translate(_PLAIN)), language)


def _blank(line: re.Match[bytes]) -> bytes:
    return b" " * len(line[0])


def _parse(source: bytes, language: tree_sitter.Language) -> tree_sitter.Tree:
    """Parse source code. Raises TooLong if that takes longer than PARSE_SECONDS."""
    deadline = time.thread_time() + PARSE_SECONDS
    # The binding never frees what `read` returns. A released view takes next to no memory, and Python
    # keeps bytes of length one and none anyway, which are read again and again at the end.
    buffer = memoryview(source)
    views = [buffer]

    def read(offset: int, _: object) -> memoryview | bytes:
        if offset >= len(source) - 1:
            return source[offset:]
        if offset == 0:
            return buffer
        views.append(buffer[offset:])
        return views[-1]

    try:
        return tree_sitter.Parser(language).parse(
            read, progress_callback=lambda _place, _error: time.thread_time() > deadline
        )
    except ValueError as error:
        raise TooLong from error
    finally:
        for view in views:
            view.release()


def _check_errors(tree: tree_sitter.Tree) -> None:
    """Raise TooLong if the query would take too long: its time grows with the square of an error's children."""
    cursor = tree.walk()
    squares = 0
    while True:
        node = cursor.node
        assert node is not None
        squares += node.child_count**2 if node.is_error else 0
        if squares > _MAX_SQUARES:
            raise TooLong
        if node.has_error and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _whole_rows(node: tree_sitter.Node, rows: Sequence[bytes]) -> Sequence[int]:
    """Return the rows of a node; none if it shares its first or last row with other code."""
    first, left = node.start_point
    last, right = _end(node, rows)
    if rows[last][right:].strip():
        return ()
    return () if rows[first][:left].strip() else range(first, last + 1)


def _end(node: tree_sitter.Node, rows: Sequence[bytes]) -> tuple[int, int]:
    """Return row and column of a node's end, without the blank rows that some grammars add."""
    first = node.start_point.row
    last, right = node.end_point
    while last > first and not rows[last][:right].strip():
        last -= 1
        right = len(rows[last])
    return last, right


def _kind_of(captures: Captures) -> str:
    """Return the name of the capture that is the definition itself, which is its type."""
    return next(key for key in captures if key not in {"name", "within"})


def _definition(captures: Captures, source: bytes, rows: Sequence[bytes]) -> Definition | None:
    """Return the definition of a match of the query; None if it has no name."""
    kind = _kind_of(captures)
    node = captures[kind][0]
    names = sorted(captures["name"], key=lambda each: each.start_byte)
    name = "".join(_text(source[slice(*each.byte_range)]) for each in names)[:MAX_SIGNATURE]
    if not name:
        return None
    within = captures.get("within")
    first, left = node.start_point
    begin = node.start_byte
    if _MODIFIERS.fullmatch(rows[first][:left]):
        begin -= left
    end = _head_end(node)
    signature = source[begin:end] if end else source[begin:].split(b"\n", 1)[0]
    return Definition(
        node.start_byte,
        node.end_byte,
        first,
        _end(node, rows)[0],
        names[-1].end_point.row,
        kind,
        name,
        _text(source[slice(*within[0].byte_range)]) if within else "",
        "" if kind == "other" else _OPENING.sub("", _text(signature)),
    )


def _text(source: bytes) -> str:
    """Return source code on one line, cut to MAX_SIGNATURE characters."""
    # Only the cut of a long text may fall inside a character.
    return _SPACES.sub(" ", source[: 4 * MAX_SIGNATURE].decode("utf-8", "ignore")).strip()[
        :MAX_SIGNATURE
    ]


def _head_end(node: tree_sitter.Node | None) -> int:
    """Return the byte where a definition's head ends: before the body of the node or of its last child; 0 without a body."""
    for _ in range(4):
        if node is None:
            break
        end = 0
        body = node.child_by_field_name("body")
        for child in node.children:
            if child == body or child.type.endswith(_BODIES):
                return end
            if not child.is_extra:
                end = child.end_byte
        count = node.named_child_count
        node = node.named_child(count - 1) if count else None
    return 0


def _costs(tree: tree_sitter.Tree, rows: Sequence[bytes], count: int, leads: set[int]) -> list[int]:
    """Return the cost of a cut before each line: twice the depth of the widest node that begins there.

    A cut between a comment and its code, or inside something that has no parts, costs more.
    """
    costs = [NOWHERE] * count
    cursor = tree.walk()
    depth = 0
    going_down = True
    while True:
        if going_down:
            node = cursor.node
            assert node is not None
            row, column = node.start_point
            if row < count and costs[row] == NOWHERE and not rows[row][:column].strip():
                costs[row] = 2 * depth
            if node.end_point.row > row and cursor.goto_first_child():
                depth += 1
                continue
        if cursor.goto_next_sibling():
            going_down = True
        elif cursor.goto_parent():
            depth -= 1
            going_down = False
        else:
            break
    for row in range(1, count):
        if row - 1 in leads:
            costs[row] += NOWHERE // 2
        elif rows[row - 1].strip():
            costs[row] += 1
    return costs
