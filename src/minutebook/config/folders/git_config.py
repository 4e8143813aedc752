"""Read Git's own `config` of a repository, without included files and without starting Git."""

import re
from collections.abc import Iterator

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def values(text: str) -> dict[str, str]:
    """Return the values by `section.name` or `section.subsection.name`; the last value of a name holds.

    Sections and names are in lower case. Malformed lines are ignored.
    """
    found: dict[str, str] = {}
    section = ""
    for line in _lines(text):
        rest = line.strip()
        if header := _SECTION.match(rest):
            section = header[1].lower()
            if header[2] is not None:
                section += "." + re.sub(r"\\(.)", r"\1", header[2])
            rest = rest[header.end() :].strip()
        if section and (entry := _ENTRY.fullmatch(rest)):
            value = "true" if entry[2] is None else _value(entry[2])
            found[f"{section}.{entry[1].lower()}"] = value
    return found


def _lines(text: str) -> Iterator[str]:
    """Yield the lines; one that ends in a backslash is joined with the next."""
    begun = ""
    for line in text.splitlines():
        slashes = len(line) - len(line.rstrip("\\"))
        if slashes % 2:
            begun += line[:-1]
            continue
        yield begun + line
        begun = ""
    if begun:
        yield begun


def _value(text: str) -> str:
    """Return a value without its comment, its quotes and the spaces around it."""
    kept: list[str] = []
    # `length` leaves out spaces at the end that are neither quoted nor escaped.
    length, is_quoted, characters = 0, False, iter(text.strip())
    for character in characters:
        if character == "\\":
            character = next(characters, "")
            kept.append(_ESCAPES.get(character, character))
            length = len(kept)
        elif character == '"':
            is_quoted = not is_quoted
            length = len(kept)
        elif character in "#;" and not is_quoted:
            break
        else:
            kept.append(character)
            length = len(kept) if is_quoted or not character.isspace() else length
    return "".join(kept[:length])
