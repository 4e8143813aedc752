"""The definitions of a file, each with digests that blanks and comments do not change."""

import hashlib
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from minutebook.features.citations.cited import CodeDefinition
from minutebook.features.code.chunking import syntax
from minutebook.features.code.chunking.languages import Grammar, language_of
from minutebook.features.code.chunking.outline import Definition

_CLOSING = frozenset({b")", b"]", b"}"})


def definitions_of(path: str, text: str) -> list[CodeDefinition]:
    """Return the definitions of a file in order; none where its language has no grammar, or no parser can read it."""
    language = language_of(path, text)
    if language is None or language.grammar is None:
        return []
    lines = text.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)
    try:
        found = syntax.outline(lines, language.grammar).definitions
        tokens = _tokens("".join(lines).encode("utf-8", "replace"), language.grammar)
    except syntax.TooLong:
        return []
    starts = [start for start, _ in tokens]
    around: list[Definition] = []
    made = []
    for each in found:
        while around and around[-1].end <= each.start:
            around.pop()
        outer = [name for one in around for name in (one.within, one.name) if name]
        own = [name for name in (each.within, each.name) if name]
        said = [
            word
            for _, word in tokens[bisect_left(starts, each.start) : bisect_left(starts, each.end)]
        ]
        name = each.name.encode()
        made.append(
            CodeDefinition(
                path,
                (*outer, *own),
                each.first + 1,
                each.last + 1,
                _digest(said),
                _digest([b"" if word == name else word for word in said]),
                _digest(_without_first(said, name)),
            )
        )
        around.append(each)
    return made


def _without_first(said: Sequence[bytes], name: bytes) -> list[bytes]:
    """Return tokens with the first that is a name left out, as if it were empty."""
    at = said.index(name) if name in said else len(said)
    return [*said[:at], b"", *said[at + 1 :]]


def _tokens(source: bytes, grammar: Grammar) -> list[tuple[int, bytes]]:
    """Return the tokens that are no comments: where each begins, and its bytes."""
    return [(start, source[start:end]) for start, end in _leaves(source, grammar)]


def _leaves(source: bytes, grammar: Grammar) -> Iterator[tuple[int, int]]:
    """Yield where tokens that are no comments begin and end."""
    cursor = syntax.parsed(source, grammar).walk()
    while True:
        node = cursor.node
        assert node is not None
        if "comment" not in node.type:
            # A string is one token, with the blanks in it.
            if "string" not in node.type and cursor.goto_first_child():
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
        for each, after in zip(tokens, [*tokens[1:], b""], strict=True)
        if each != b"," or after not in _CLOSING
    ]
    return hashlib.sha1(b"\0".join(said), usedforsecurity=False).hexdigest()
