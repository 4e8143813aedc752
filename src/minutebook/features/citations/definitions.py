"""The definitions and named values of a file, each with digests that blanks and comments do not change, and decorators do."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest

from tree_sitter import Tree

from minutebook.features.citations.cited import CodeDefinition
from minutebook.features.citations.named_values import WITHOUT_GRAMMAR, NamedValue, named_values
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
    """Return the definitions and named values of a file in order; none where its language is not known, or no parser can read it."""
    language = language_of(path, text)
    if language is None or (language.grammar is None and language.name not in WITHOUT_GRAMMAR):
        return []
    lines = text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)
    if language.grammar is None:
        values = named_values(language.name, lines, ())
        return [_value(path, each, _words(lines[each.first : each.last + 1])) for each in values]
    encoded = [line.encode("utf-8", "replace") for line in lines]
    try:
        found = syntax.outline(lines, language.grammar).definitions
        tokens = _Tokens(b"".join(encoded), language.grammar)
    except syntax.TooLong:
        return []
    made = [_definition(path, each, outer, tokens) for each, outer in _nested(found)]
    starts = [0, *accumulate(map(len, encoded))]
    made += [
        _value(path, each, said)
        for each in named_values(language.name, lines, found)
        # What stands in a comment or a long string has no tokens of its own.
        if (said := tokens.between(starts[each.first], starts[each.last + 1]))
    ]
    return sorted(made, key=lambda each: (each.first, -each.last))


def _nested(found: Sequence[Definition]) -> Iterator[tuple[Definition, tuple[Definition, ...]]]:
    """Yield each definition with those around it."""
    around: list[Definition] = []
    for each in found:
        while around and around[-1].end <= each.start:
            around.pop()
        yield each, tuple(around)
        around.append(each)


def _names(definitions: Iterable[Definition]) -> Iterator[str]:
    return (name for each in definitions for name in (each.within, each.name) if name)


def _definition(
    path: str, found: Definition, outer: Sequence[Definition], tokens: "_Tokens"
) -> CodeDefinition:
    decorators, said = tokens.before(found.start), tokens.between(found.start, found.end)
    name = found.name.encode()
    return CodeDefinition(
        path,
        tuple(_names((*outer, found))),
        found.first + 1,
        found.last + 1,
        _digest([*decorators, *said]),
        _digest([b"" if word == name else word for word in (*decorators, *said)]),
        _digest([*decorators, *_without_first(said, name)]),
    )


def _value(path: str, found: NamedValue, said: Sequence[bytes]) -> CodeDefinition:
    """Return a named value. All its digests but one hold its name: many values are alike, so that none is found under a new name."""
    # A comma at the end says no more than that another value follows.
    digest = _digest(said[:-1] if said[-1:] == [b","] else said)
    names = (*_names(found.around), *found.names)
    own = f"{digest} {names[-1]}"
    return CodeDefinition(
        path, names, found.first + 1, found.last + 1, digest, own, own, is_value=True
    )


def _words(lines: Iterable[str]) -> list[bytes]:
    """Return the words of lines that are no comments."""
    said = (line.split() for line in lines if not line.lstrip().startswith(("#", ";")))
    return [word.encode("utf-8", "replace") for line in said for word in line]


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
