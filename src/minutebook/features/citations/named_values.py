"""Find the named values of a file by its lines: constants, fields of classes, keys of a configuration, targets of Make."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from minutebook.features.code.chunking.outline import Definition, indent_of

WITHOUT_GRAMMAR = frozenset({"yaml", "ini", "make"})
"""Languages in which only the indent shows that a value is inside another."""

_WITH_COLON = WITHOUT_GRAMMAR | {"json"}
_LONGEST = 300
_VALUE = re.compile(
    r"(?P<indent>[ \t]*)(?:- )?(?:[\w.<>\[\],?*&]+[ \t]+){0,5}?"
    r"(?P<quote>[\"']?)(?P<name>[A-Za-z_$][\w.$-]*)(?P=quote)[ \t]*"
    r"(?:(?P<equals>(?::[^=]{0,100})?[:?+]?=(?![=>~]))|:(?![=:]))"
)
"""Words such as `export const`, the name, perhaps a type after a colon, and `=`; or the name and a colon."""

_VALUE_IN_GO = re.compile(
    r"(?P<indent>)(?:(?:const|var) )?(?P<name>[A-Za-z_]\w*)(?: [^\s=]+)? (?P<equals>=)(?!=)"
)
"""Go writes the type after the name, without a colon; here at the margin alone."""


@dataclass(frozen=True, slots=True)
class NamedValue:
    """A value: its first and last line, counted from 0, the definitions `around` it, and its names, outer first."""

    first: int
    last: int
    around: tuple[Definition, ...]
    names: tuple[str, ...]


def named_values(
    language: str, lines: Sequence[str], definitions: Sequence[Definition]
) -> Iterator[NamedValue]:
    """Yield the values of a file in order: at its margin, and as members of definitions that are no functions."""
    pattern = _VALUE_IN_GO if language == "go" else _VALUE
    following, around = list(reversed(definitions)), list[Definition]()
    keys = list[tuple[int, str]]()
    for number, line in enumerate(lines):
        while around and around[-1].last < number:
            around.pop()
        while following and following[-1].first <= number:
            around.append(following.pop())
        found = pattern.match(line[:_LONGEST])
        if found is None or not (found["equals"] or language in _WITH_COLON):
            continue
        indent = len(found["indent"])
        if language in WITHOUT_GRAMMAR:
            while keys and keys[-1][0] >= indent:
                keys.pop()
            keys.append((indent, found["name"]))
        elif indent != _member_indent(lines, number, around):
            continue
        names = tuple(name for _, name in keys) or (found["name"],)
        yield NamedValue(number, _last(lines, number, indent), tuple(around), names)


def _member_indent(lines: Sequence[str], number: int, around: Sequence[Definition]) -> int:
    """Return the indent of the members of the innermost definition around a line, 0 at the margin, -1 in a function or head."""
    if not around:
        return 0
    inner = around[-1]
    if inner.type == "function" or inner.first == number:
        return -1
    body = lines[inner.head + 1 : number + 1]
    return indent_of(next((line for line in body if line.strip()), ""))


def _last(lines: Sequence[str], first: int, indent: int) -> int:
    """Return the last line of a value: the last that is indented more, or the bracket that closes it."""
    last = first
    for number in range(first + 1, len(lines)):
        line = lines[number].strip()
        if line and (here := indent_of(lines[number])) <= indent:
            return number if here == indent and line[0] in ")]}" else last
        if line:
            last = number
    return last
