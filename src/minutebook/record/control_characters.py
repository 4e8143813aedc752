"""Escapes for characters that steer a terminal, and replacements for those that UTF-8 or an engine cannot store."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

# C0 and C1 controls with DEL; the bidirectional controls of Unicode (UAX #9), which reorder a line;
# its line and paragraph separators; lone surrogates, which no encoding can write.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_HALF = re.compile("[\ud800-\udfff]")
_INVISIBLE = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols that are drawn as a blank: fillers of Hangul, an empty cell of Braille."""
_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def is_blank(text: str) -> bool:
    """Tell whether a text has no visible character: only blanks, controls, marks, joiners and fillers."""
    return all(unicodedata.category(each)[0] in "CMZ" or each in _INVISIBLE for each in text)


def escaped(text: str, keep: str = "") -> str:
    r"""Return a text with control and bidirectional characters written as `\x1b` or `\u202e`, except those in `keep`."""
    if text.isprintable():
        # A shortcut for most texts: none of these characters is printable.
        return text

    def written(found: re.Match[str]) -> str:
        each = found[0]
        if each in keep:
            return each
        code = ord(each)
        return _NAMED.get(each) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")

    return _CONTROL.sub(written, text)


def escaped_in_json(document: str) -> str:
    r"""Return a JSON document with control and bidirectional characters as `\u001b`, which JSON reads back as the same."""
    # Between its strings JSON has no control characters but the line ends of its layout.
    return _CONTROL.sub(
        lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", document
    )


def encodable(value: Any, mark: str = "\ufffd") -> Any:
    """Return a text, or a document of JSON, with `mark` for each lone surrogate, which UTF-8 cannot hold."""
    match value:
        case str():
            return value if value.isascii() else _HALF.sub(mark, value)
        case Mapping():
            return {encodable(name, mark): encodable(each, mark) for name, each in value.items()}
        case list() | tuple():
            return [encodable(each, mark) for each in value]
        case _:
            return value


def cleaned(text: str) -> str:
    """Return a text with U+FFFD for each NUL and lone surrogate, which not every engine keeps."""
    without_surrogates: str = encodable(text)
    return without_surrogates.replace("\0", "\ufffd")
