"""One form for the different ways to write the same letters: with or without accents, wide or narrow."""

import re
import unicodedata

# Letters whose stroke or ligature Unicode does not decompose.
_PLAIN_LETTERS = {
    **dict(zip("øØłŁđĐðÐħĦŧŦı", "oOlLdDdDhHtTi", strict=True)),
    "þ": "th",
    "Þ": "Th",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
}
_HYPHEN = "\u2010"
_is_accent = re.compile("[\u0300-\u036f]").match
# Hebrew points, Arabic vowel signs and tatweel, which writers leave out at will; variation selectors.
_is_left_out = re.compile(
    "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670"
    "\ufe00-\ufe0f\U000e0100-\U000e01ef]"
).match
_is_drawn = re.compile("[\u2190-\u21ff\u2500-\u25ff]").match
_ZERO_WIDTH_SPACE = "\u200b"
_ENDLESS_MARKS = re.compile(r"([^\w\s]{32})[^\w\s]+")


def folded(text: str) -> str:
    """Return a text without accents and variants; its case stays, which shows the parts of camelCase."""
    return text if text.isascii() else _composed(text, _FOLDING)


def accented(text: str) -> str:
    """Return a text as `folded` does, but with accents and letters of its own, as stemmers read it."""
    return text if text.isascii() else _composed(text, _ACCENTED)


def _composed(text: str, characters: "_Characters") -> str:
    decomposed = text.translate(characters)
    # Putting a run of marks into canonical order takes the square of its length.
    return unicodedata.normalize("NFC", _ENDLESS_MARKS.sub(r"\1", decomposed))


class _Characters(dict[int, str]):
    """The folded form of each character, computed on its first use."""

    def __init__(self, *, keeps_accents: bool) -> None:
        super().__init__()
        self._keeps_accents = keeps_accents

    def __missing__(self, code: int) -> str:
        decomposed = unicodedata.normalize("NFKD", chr(code))
        made = self[code] = "".join(map(self._character, decomposed))
        return made

    def _character(self, character: str) -> str:
        category = unicodedata.category(character)
        if character.isascii():
            return character
        if _is_accent(character):
            return character if self._keeps_accents else ""
        if _is_left_out(character):
            return ""
        if category in {"Cf", "Me", "Sk"} and character != _ZERO_WIDTH_SPACE:
            return ""
        if category == "Nd":
            return str(unicodedata.decimal(character))
        if category[0] in "LMN":
            return character if self._keeps_accents else _PLAIN_LETTERS.get(character, character)
        if category in {"So", "Sc"} and not _is_drawn(character):
            return f" {character} "
        return "-" if character == _HYPHEN else " "


_FOLDING = _Characters(keeps_accents=False)
_ACCENTED = _Characters(keeps_accents=True)
