"""The definitions and named values of a file, each with digests of its tokens and decorators, without blanks and comments."""

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
# Nodes that stand before the definition; Java's annotations and the like are part of it.
_DECORATORS = frozenset({"decorator", "attribute_item"})
# A string is one token, with its blanks, unless it contains code in one of these.
_INTERPOLATIONS = frozenset({"template_substitution", "interpolation", "interpolated_expression"})
_EXPORTS = frozenset({b"export", b"default"})


def definitions_of(path: str, text: str) -> list[CodeDefinition]:
    """Return the definitions and named values of a file in order; none if its language is unknown or cannot be parsed."""
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
        _value(path, each, own)
        for each in named_values(language.name, lines, found)
        # Lines in a comment or a long string have no tokens of their own.
        if (own := tokens.between(starts[each.first], starts[each.last + 1]))
    ]
    return sorted(made, key=lambda each: (each.first, -each.last))


def _nested(found: Sequence[Definition]) -> Iterator[tuple[Definition, tuple[Definition, ...]]]:
    """Yield each definition with those that enclose it, outer first."""
    enclosing: list[Definition] = []
    for each in found:
        while enclosing and enclosing[-1].end <= each.start:
            enclosing.pop()
        yield each, tuple(enclosing)
        enclosing.append(each)


def _names(definitions: Iterable[Definition]) -> Iterator[str]:
    return (name for each in definitions for name in (each.within, each.name) if name)


def _definition(
    path: str, found: Definition, outer: Sequence[Definition], tokens: "_Tokens"
) -> CodeDefinition:
    """Return a definition with the digests of its tokens: of all, without its name, without the name in its head."""
    decorators, own = tokens.before(found.start), tokens.between(found.start, found.end)
    name = found.name.encode()
    return CodeDefinition(
        path,
        tuple(_names((*outer, found))),
        found.first + 1,
        found.last + 1,
        _digest([*decorators, *own]),
        _digest([b"" if word == name else word for word in (*decorators, *own)]),
        _digest([*decorators, *_without_first(own, name)]),
    )


def _value(path: str, found: NamedValue, tokens: Sequence[bytes]) -> CodeDefinition:
    """Return a named value; it is never found under a new name, since many values are alike."""
    # A comma at the end only says that another value follows.
    digest = _digest(tokens[:-1] if tokens[-1:] == [b","] else tokens)
    names = (*_names(found.around), *found.names)
    with_name = f"{digest} {names[-1]}"
    first, last = found.first + 1, found.last + 1
    return CodeDefinition(path, names, first, last, digest, with_name, with_name, is_value=True)


def _words(lines: Iterable[str]) -> list[bytes]:
    """Return the words of the lines that are no comments."""
    split = (line.split() for line in lines if not line.lstrip().startswith(("#", ";")))
    return [word.encode("utf-8", "replace") for line in split for word in line]


def _without_first(tokens: Sequence[bytes], name: bytes) -> list[bytes]:
    """Return tokens with the first occurrence of a name replaced by an empty one."""
    index = tokens.index(name) if name in tokens else len(tokens)
    return [*tokens[:index], b"", *tokens[index + 1 :]]


class _Tokens:
    """The tokens of a text without comments."""

    def __init__(self, source: bytes, grammar: Grammar) -> None:
        self._decorators: dict[int, int] = {}
        """The first byte of each decorator, by the byte at its end."""
        self._places = list(self._leaves(syntax.parsed(source, grammar)))
        self._words = [source[start:end] for start, end in self._places]

    def between(self, start: int, end: int) -> list[bytes]:
        """Return the tokens between two bytes."""
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
        """Yield the first byte of each token and the byte at its end, and note the decorators."""
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
    """Return a digest of tokens, without commas before a closing bracket."""
    kept = [
        each
        for each, after in zip_longest(tokens, tokens[1:])
        if each != b"," or after not in _CLOSING
    ]
    return hashlib.sha1(b"\0".join(kept), usedforsecurity=False).hexdigest()
