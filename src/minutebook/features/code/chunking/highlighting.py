"""Classify the parts of some source for people to read: keywords, strings, comments, names."""

from collections.abc import Iterator
from enum import StrEnum

import tree_sitter

from minutebook.features.code.chunking import syntax
from minutebook.features.code.chunking.languages import language_named

LONGEST = 200_000
"""Characters; a longer text is not parsed, and is plain."""


class HighlightedPart(StrEnum):
    """The class of a stretch of source."""

    PLAIN = "plain"
    KEYWORD = "keyword"
    STRING = "string"
    NUMERAL = "numeral"
    COMMENT = "comment"
    DEFINED = "defined"
    TYPE = "type"


Piece = tuple[HighlightedPart, str]
"""A stretch of source with its class."""

_STRINGS = frozenset(["char_literal", "character_literal", "rune_literal", "regex", "heredoc_body"])
_KEYWORDS = frozenset(
    [
        *("true", "false", "none", "null", "nil", "undefined", "boolean_literal", "null_literal"),
        *("self", "this", "super", "crate", "mutable_specifier", "visibility_modifier"),
    ]
)
_TYPES = frozenset(["type_identifier", "primitive_type", "predefined_type", "integral_type"])
_DEFINING = (
    *("_spec", "definition", "declaration", "_item", "specifier"),
    *("method", "class", "function", "module"),
)
"""Parts of the names of nodes that define the name that they hold."""


def highlighted(text: str, language: str, start: int = 0, end: int | None = None) -> list[Piece]:
    """Return the characters of a text from `start` to `end` in pieces, each with its class.

    The whole text is parsed. If the language has no grammar or parsing takes too long, all is one plain piece.
    """
    known, shown = language_named(language), text[start:end]
    plain = [(HighlightedPart.PLAIN, shown)] if shown else []
    if not shown or known is None or known.grammar is None or len(text) > LONGEST:
        return plain
    source = text.encode("utf-8", "replace")
    at = len(text[:start].encode("utf-8", "replace"))
    last = at + len(shown.encode("utf-8", "replace"))
    try:
        tree = syntax.parsed(source, known.grammar)
    except syntax.TooLong:
        return plain
    pieces = list[Piece]()
    for part_start, part_end, part in _highlighted_parts(tree, source, at, last):
        if part_start > at:
            pieces.append((HighlightedPart.PLAIN, source[at:part_start].decode("utf-8", "replace")))
        pieces.append((part, source[part_start:part_end].decode("utf-8", "replace")))
        at = part_end
    pieces.append((HighlightedPart.PLAIN, source[at:last].decode("utf-8", "replace")))
    # The parser sees an `x` for each byte of a character that is not ASCII, so a part may end inside one.
    return pieces if "".join(piece for _, piece in pieces) == shown else plain


def _highlighted_parts(
    tree: tree_sitter.Tree, source: bytes, at: int, last: int
) -> Iterator[tuple[int, int, HighlightedPart]]:
    """Yield start, end and class of each part that is not plain between the bytes `at` and `last`, in order."""
    cursor = tree.walk()
    parents: list[str] = []
    while True:
        node = cursor.node
        assert node is not None
        if node.start_byte >= last:
            return
        end = node.end_byte
        if end > at:
            part = _part_of(node, cursor.field_name, parents[-1] if parents else "", source)
            if part is not None:
                yield max(at, node.start_byte), min(end, last), part
                at = end
            elif cursor.goto_first_child():
                parents.append(node.type)
                continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            parents.pop()


def _part_of(
    node: tree_sitter.Node, field: str | None, parent: str, source: bytes
) -> HighlightedPart | None:
    """Return how to highlight a node as a whole; None if it is plain, or its children are highlighted by themselves.

    `field` is the name of the node in its parent (None if it has none), `parent` the parent's type ("" of the root).
    """
    kind = node.type
    if "comment" in kind:
        return HighlightedPart.COMMENT
    if node.is_named and (kind in _STRINGS or _is_string(kind)):
        holds_code = any(
            "interpol" in each.type or "substitut" in each.type for each in node.children
        )
        return None if holds_code else HighlightedPart.STRING
    if node.child_count:
        return None
    if _is_string(parent) and not node.is_named:
        return HighlightedPart.STRING
    first = source[node.start_byte : node.start_byte + 1]
    if not node.is_named:
        return HighlightedPart.KEYWORD if first.isalpha() or first == b"#" else None
    if first.isdigit():
        return HighlightedPart.NUMERAL
    if kind in _KEYWORDS or kind.endswith("_modifier"):
        return HighlightedPart.KEYWORD
    if field in ("name", "declarator") and any(each in parent for each in _DEFINING):
        return HighlightedPart.DEFINED
    return HighlightedPart.TYPE if kind in _TYPES else None


def _is_string(kind: str) -> bool:
    return "string" in kind and not kind.endswith(("_list", "_array"))
