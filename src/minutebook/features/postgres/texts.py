r"""The encoding of texts for PostgreSQL, which keeps neither NUL nor lone surrogates; it is reversible.

NUL becomes `\1\1` and `\1` becomes `\1\2`. A lone surrogate becomes U+D7FF, which no script uses, and
a character for the surrogate; U+D7FF itself becomes U+D7FF `\2`. Encoded texts sort by code point as
the texts do, and an encoded text begins with another if and only if the texts do.
"""

import re
from typing import Any

from psycopg import adapters
from psycopg.adapt import AdaptersMap, Buffer, Loader
from psycopg.pq import Format
from psycopg.types.string import StrDumperUnknown

_BEFORE_SURROGATES = "\ud7ff"
_FIRST_SURROGATE, _FIRST_NAME = 0xD800, 0x1000
_UNKEPT = re.compile("[\0\1\ud7ff\ud800-\udfff]")
_KEPT = re.compile("\1([\1\2])|\ud7ff(.)", re.DOTALL)


def kept_text(text: str) -> str:
    """Return the encoding of a text."""
    return _UNKEPT.sub(_escaped, text) if _UNKEPT.search(text) else text


def read_text(kept: str) -> str:
    """Return the text of an encoding by `kept_text`."""
    if "\1" in kept or _BEFORE_SURROGATES in kept:
        return _KEPT.sub(_unescaped, kept)
    return kept


class _Dumper(StrDumperUnknown):
    def dump(self, obj: Any) -> Buffer | None:
        return kept_text(str(obj)).encode()


class _TextLoader(Loader):
    def load(self, data: Buffer) -> str:
        return read_text(str(data, "utf-8"))


class _BinaryTextLoader(_TextLoader):
    format = Format.BINARY


def text_adapters() -> AdaptersMap:
    """Return the adapters that pass every text of a connection through `kept_text` and `read_text`."""
    map = AdaptersMap(adapters)
    map.register_dumper(str, _Dumper)
    map.register_loader("text", _TextLoader)
    map.register_loader("text", _BinaryTextLoader)
    return map


def _escaped(found: "re.Match[str]") -> str:
    character = found[0]
    match character:
        case "\0":
            return "\1\1"
        case "\1":
            return "\1\2"
        case "\ud7ff":
            return "\ud7ff\2"
    return _BEFORE_SURROGATES + chr(ord(character) - _FIRST_SURROGATE + _FIRST_NAME)


def _unescaped(found: "re.Match[str]") -> str:
    low, name = found.groups()
    if low is not None:
        return "\0" if low == "\1" else "\1"
    return _BEFORE_SURROGATES if name == "\2" else chr(ord(name) - _FIRST_NAME + _FIRST_SURROGATE)
