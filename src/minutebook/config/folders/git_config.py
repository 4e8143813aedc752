"""Read a repository's own `config`: values as they stand, no included file, no process."""

import re
from collections.abc import Iterator

_SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"((?:[^"\\]|\\.)*)")?\s*\]')
_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def values(text: str) -> dict[str, str]:
    """Return the values by `section.name` or `section.subsection.name`, the last one of a name.

    Sections and names are in lower case. What is no line of such a file is passed over, as nothing
    depends on it.
    """
    found: dict[str, str] = {}
    section = ""
    for line in _lines(text):
        rest = line.strip()
        if header := _SECTION.match(rest):
            below = re.sub(r"\\(.)", r"\1", header[2]) if header[2] is not None else None
            section = header[1].lower() + (f".{below}" if below is not None else "")
            rest = rest[header.end() :].strip()
        if section and (entry := _ENTRY.fullmatch(rest)):
            value = "true" if entry[2] is None else _value(entry[2])
            found[f"{section}.{entry[1].lower()}"] = value
    return found


def _lines(text: str) -> Iterator[str]:
    """Yield the lines; one that ends in a backslash goes on in the next."""
    kept = ""
    for line in text.splitlines():
        slashes = len(line) - len(line.rstrip("\\"))
        if slashes % 2:
            kept += line[:-1]
            continue
        yield kept + line
        kept = ""
    if kept:
        yield kept


def _value(text: str) -> str:
    """Return a value without its comment, its quotes and the spaces around it."""
    signs: list[str] = []
    solid, quoted, left = 0, False, iter(text.strip())
    for sign in left:
        if sign == "\\":
            sign = next(left, "")
            signs.append(_ESCAPES.get(sign, sign))
            solid = len(signs)
        elif sign == '"':
            quoted = not quoted
            solid = len(signs)
        elif sign in "#;" and not quoted:
            break
        else:
            signs.append(sign)
            solid = len(signs) if quoted or not sign.isspace() else solid
    return "".join(signs[:solid])
