"""The definitions of a file, each with digests that blanks and comments do not change, and decorators do."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tree_sitter import Tree

from minutebook.features.citations.cited import CodeDefinition
from minutebook.features.code.chunking import syntax
from minutebook.features.code.chunking.languages import Grammar, language_of
from minutebook.features.code.chunking.outline import Definition

_CLOSING = frozenset({b")", b"]", b"}"})
# Grammars put these beside the definition; Java's annotations and the like stand in it.
_DECORATORS = frozenset({"decorator", "attribute_item"})
# A string is one token, with the blanks in it, unless it holds code.
_INTERPOLATIONS = frozenset({"template_substitution", "interpolation", "interpolated_expression"})
_EXPORTS = frozenset({b"export", b"default"})


def definitions_of(path: str, text: str) -> list[CodeDefinition]:
    """Return the definitions of a file in order; none where its language has no grammar, or no parser can read it."""
    language = language_of(path, text)
    if language is None or language.grammar is None:
        return []
    lines = text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)
    try:
        found = syntax.outline(lines, language.grammar).definitions
        tokens = _Tokens("".join(lines).encode("utf-8", "replace"), language.grammar)
    except syntax.TooLong:
        return []
    around: list[Definition] = []
    made = []
    for each in found:
        while around and around[-1].end <= each.start:
            around.pop()
        outer = [name for one in around for name in (one.within, one.name) if name]
        own = [name for name in (each.within, each.name) if name]
        decorators, said = tokens.before(each.start), tokens.between(each.start, each.end)
        name = each.name.encode()
        made.append(
            CodeDefinition(
                path,
                (*outer, *own),
                each.first + 1,
                each.last + 1,
                _digest([*decorators, *said]),
                _digest([b"" if word == name else word for word in (*decorators, *said)]),
                _digest([*decorators, *_without_first(said, name)]),
            )
        )
        around.append(each)
    return made


def _without_first(said: Sequence[bytes], name: bytes) -> list[bytes]:
    """Return tokens with the first that is a name left out, as if it were empty."""
    at = said.index(name) if name in said else len(said)
    return [*said[:at], b"", *said[at + 1 :]]


class _Tokens:
    """The tokens of a text that are no comments."""

    def __init__(self, source: bytes, grammar: Grammar) -> None:
        self._decorators: dict[int, int] = {}
        """Where the decorators begin, by where they end."""
        self._places = list(self._leaves(syntax.parsed(source, grammar)))
        self._words = [source[start:end] for start, end in self._places]

    def between(self, start: int, end: int) -> list[bytes]:
        """Return the tokens from one byte to another."""
        return self._words[self._index(start) : self._index(end)]

    def before(self, start: int) -> list[bytes]:
        """Return the tokens of the decorators of a definition that begins at a byte."""
        last = self._index(start)
        while last and self._words[last - 1] in _EXPORTS:
            last -= 1
        first = last
        while first and (begin := self._decorators.get(self._places[first - 1][1])) is not None:
            first = self._index(begin)
        return self._words[first:last]

    def _index(self, byte: int) -> int:
        return bisect_left(self._places, (byte, 0))

    def _leaves(self, tree: Tree) -> Iterator[tuple[int, int]]:
        """Yield where tokens begin and end, and note the decorators."""
        cursor = tree.walk()
        while True:
            node = cursor.node
            assert node is not None
            if "comment" not in node.type:
                if node.type in _DECORATORS:
                    self._decorators[node.end_byte] = node.start_byte
                if (
                    "string" not in node.type
                    or any(each.type in _INTERPOLATIONS for each in node.children)
                ) and cursor.goto_first_child():
                    continue
                if node.end_byte > node.start_byte:
                    yield node.byte_range
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return


def _digest(tokens: Sequence[bytes]) -> str:
    """Return a digest of tokens, but for a comma before a closing bracket."""
    said = [
        each
        for each, after in zip_longest(tokens, tokens[1:])
        if each != b"," or after not in _CLOSING
    ]
    return hashlib.sha1(b"\0".join(said), usedforsecurity=False).hexdigest()
