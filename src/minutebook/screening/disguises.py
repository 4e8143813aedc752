"""Take off disguises that hide a word from a search alone: characters without width, colours, other scripts."""

import re
import unicodedata

# What Unicode calls default ignorable, and the control sequences of terminals that set a style.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]|\x1b\\[[0-9;]{0,20}m"
)
_LETTERS_ALIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТХУаеоіјѕсрхуԁԛԝһΑΒΕΖΗΙΚΜΝΟΡΤΥΧο", "ABESIJKMHOPCTXYaeoijscpxydqwhABEZHIKMNOPTYXo"
)  # fmt: skip
_ALIKE = re.compile(f"[{''.join(map(chr, _LETTERS_ALIKE))}]")
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile("[A-Za-z]")


def without_unseen(text: str) -> tuple[str, list[int]] | None:
    """Return a text without its invisible parts, and the place of each character; None if all is seen.

    The last place is the text's end.
    """
    if (text.isascii() and "\x1b[" not in text) or _UNSEEN.search(text) is None:
        return None
    pieces, places, end = list[str](), list[int](), 0
    for each in _UNSEEN.finditer(text):
        pieces.append(text[end : each.start()])
        places += range(end, each.start())
        end = each.end()
    pieces.append(text[end:])
    places += range(end, len(text) + 1)
    return "".join(pieces), places


def as_read(text: str) -> str:
    """Return a text as its reader takes it: without invisible parts, wide and foreign letters as Latin ones."""
    seen = without_unseen(text)
    plain = text if seen is None else seen[0]
    if plain.isascii():
        return plain
    plain = unicodedata.normalize("NFKC", plain)
    return plain if _ALIKE.search(plain) is None else _WORD.sub(_in_latin, plain)


def _in_latin(found: re.Match[str]) -> str:
    """Return a word in Latin letters alone if some are Latin; the time is linear in its length."""
    return found[0].translate(_LETTERS_ALIKE) if _LATIN.search(found[0]) else found[0]
