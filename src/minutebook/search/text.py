"""Turn text into whole words, into the terms that a text index keeps, and into queries.

A *word* is a run of letters, digits and marks; underscores and the dots between digits join
(`in_progress`, `v1.2.3`). `C++`, `C#` and a leading dot (`.NET`, `.env`) belong to their word. Every
other sign separates: `node.js` is two words in a row. In scripts that write no spaces, or that
glue particles to names, each character is a word; so is each emoji.

A *term* is what the index keeps of a word: its English stem if it is plain a–z, else itself. An
*identifier* is a word with parts (`in_progress`, `HTTPServer2`, `v1.2.3`) or a compound, words that
single signs join (`path/to/file.py`, `foo-bar`, an e-mail address, a URL).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle, groupby, pairwise

import Stemmer

from minutebook.domain.errors import InvalidInput

MAX_TERM = 64
"""Characters of a term; a longer one is cut, in texts and queries alike."""

MAX_TEXT = 400_000
"""Characters of a record that can be found, by words and by meaning; the rest is kept as it is."""

MAX_QUERY = 10_000
"""Characters of a query; a longer one is refused."""

MAX_QUERY_TERMS = 128
"""A query's terms, and the terms of all its phrases, stop here: what follows is not looked for."""

GAP = "|"
"""The term that keeps a phrase from running into what is listed after the words of a text."""

# Thai to Myanmar, Hangul, Khmer, Tai, CJK, Kana, Yi, Javanese and their later planes.
_UNSPACED_RUNS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf"
    "\u2e80-\ua4cf\ua960-\ua9ff\uaa60-\uaadf\uac00-\ud7ff\uf900-\ufaff"
    "\U00016fe0-\U0001b2ff\U00020000-\U0003ffff]+)"
)

# After folding, whatever is not ASCII belongs to a word.
_LETTER = r"[^\x00-/:-@\[-`{-\x7f]"
_WORD = (
    rf"(?:[A-Za-z](?:\+\+|\#)(?!{_LETTER}|[_+\#])"
    rf"|(?:(?<![^\s(\[{{\"'/`])\.(?=[A-Za-z]))?"
    rf"{_LETTER}+(?:(?:_+|(?<=[0-9])\.(?=[0-9])){_LETTER}+)*)"
)
_WORDS = re.compile(_WORD)
_CHUNKS = re.compile(rf"{_WORD}(?:(?:://|[-./\\:@+&\#=?%~]){_WORD})*")
_SEGMENTS = re.compile(r"[/\\:@+&#=?%~]+")
_RUNS = re.compile(r"[0-9]+(?:\.[0-9]+)*|[^0-9_.]+")
_HUMPS = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_QUOTED = re.compile(
    r'(?<![0-9A-Za-z])["＂]([^"＂]*)["＂](?![0-9A-Za-z])'
    r"|[“„‟]([^“”„‟]*)[“”‟]|«([^«»]*)»|「([^「」]*)」|『([^『』]*)』"
)

# Letters whose stroke or ligature Unicode does not decompose, and the hyphens that join.
_FOLDED_LETTERS = {
    **dict(zip("øØłŁđĐħĦŧŦı\u2010", "oOlLdDhHtTi-", strict=True)),
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "Œ": "OE",
}
# Diacritics; Hebrew points, Arabic vowel signs and tatweel, which writers leave out at will.
_DROPPED = re.compile(
    "[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670"
    "\ufe00-\ufe0f\U000e0100-\U000e01ef]"
).match
_DRAWN = re.compile("[\u2190-\u21ff\u2500-\u25ff]").match
_ZERO_WIDTH_SPACE = "\u200b"
_ENDLESS_MARKS = re.compile(r"([^\w\s]{32})[^\w\s]+")

_STOP_WORDS = """
    a an the this that these those
    i me my mine myself we us our ours ourselves you your yours yourself yourselves
    he him his himself she her hers herself it its itself they them their theirs themselves
    am is are was were be been being do does did doing have has had having
    can could might must shall should will would ought
    and or but nor if then else than so as because while although though until unless
    of at by for with about against between into through during before after above below to from
    up down in out on off over under upon within without again further once
    here there when where why how what which who whom whose whether
    all any both each few more most other some such no not only own same too very just also
    s t d ll m re ve don didn doesn isn aren wasn weren hasn haven hadn won wouldn shouldn couldn
"""


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What to look for; falsy when there is nothing.

    A record matches when it holds at least one term or phrase, and all phrases if there are any.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms or self.phrases)


def words(text: str) -> list[str]:
    """Give the whole words of a text in order, folded; `words(a + " " + b)` is one after the other.

    A name occurs in a text when the name's words stand in a row among the text's words.
    """
    found: list[str] = []
    for is_unspaced, stretch in _stretches(_folded(text).casefold()):
        found += stretch if is_unspaced else _WORDS.findall(stretch)
    return found


def without_names(text: str, names: Iterable[str]) -> str:
    """Take names out of a text, wherever they stand as whole words; cases do not matter."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        # A script without spaces has no edges of words.
        before = "" if _UNSPACED_RUNS.match(name[0]) else r"(?<!\w)"
        after = "" if _UNSPACED_RUNS.match(name[-1]) else r"(?!\w)"
        text = re.sub(f"{before}{re.escape(name)}{after}", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def phrase(run: Iterable[str]) -> tuple[str, ...]:
    """Give the terms that stand in a row in `terms(text)` wherever these words stand in the text."""
    return tuple(map(_term, run))


def terms(text: str) -> list[str]:
    """Give what a text index keeps: the term of each word in order, then what else finds the text.

    That is pairs of neighbours in scripts without spaces, compounds whole and by segment, and the
    parts of identifiers in a row. `GAP` stands before each run that follows the words.
    What follows MAX_TEXT characters gives none.
    """
    whole: list[str] = []
    rest: list[str] = []
    for is_unspaced, stretch in _stretches(_folded(text[:MAX_TEXT])):
        if is_unspaced:
            whole += stretch
            rest += _pairs(stretch)
            continue
        for chunk in _CHUNKS.findall(stretch):
            first, then = _analysed(chunk) if len(chunk) <= MAX_TERM else _analyse(chunk)
            whole += first
            rest += then
    return whole + rest


def check_query(text: str) -> None:
    """Raise InvalidInput if a query is longer than MAX_QUERY."""
    if len(text) > MAX_QUERY:
        raise InvalidInput(
            "query", f"must have at most {MAX_QUERY:,} characters (it has {len(text):,})"
        )


def parse_query(text: str) -> TextQuery:
    """Read a query: what stands in double quotes are phrases, all else terms, each once, in order.

    Stop words are left out, unless there is nothing else. Identifiers are looked for whole and by
    parts of at least two characters; a run of one script without spaces by its pairs.
    Raises InvalidInput if it is too long.
    """
    check_query(text)
    phrases: dict[tuple[str, ...], None] = {}
    room = MAX_QUERY_TERMS
    for match in _QUOTED.finditer(text):
        quoted = phrase(words(match[match.lastindex or 0]))[:room]
        room -= len(quoted)
        if quoted:
            phrases[quoted] = None
    found = dict.fromkeys(_sought(_folded(_QUOTED.sub(" ", text))))
    telling = [term for term in found if not is_stop_term(term)]
    kept = telling if telling or phrases else list(found)
    return TextQuery(tuple(kept[:MAX_QUERY_TERMS]), tuple(phrases))


def is_stop_term(term: str) -> bool:
    """Tell whether a term is that of a stop word, which says nothing of what a text is about."""
    return term in _STOP_TERMS or _is_particle(term)


def _sought(folded: str) -> Iterator[str]:
    for is_unspaced, stretch in _stretches(folded):
        if is_unspaced:
            for _, same in groupby(stretch, _script):
                run = "".join(same)
                yield from _pairs(run) if len(run) > 1 else run
            continue
        for chunk in _CHUNKS.findall(stretch):
            whole, rest = _analyse(chunk)
            yield from whole
            yield from (term for term in rest if len(term) > 1)


def _is_particle(term: str) -> bool:
    return len(term) == 1 and _script(term) == "hiragana"


def _stretches(folded: str) -> Iterable[tuple[bool, str]]:
    """Split into what is written with spaces between words and, in turn, what is not."""
    if folded.isascii():
        return ((False, folded),)
    return zip(cycle((False, True)), _UNSPACED_RUNS.split(folded), strict=False)


def _script(character: str) -> str:
    """Tell apart the scripts that Japanese changes at the borders of words."""
    if "\u3041" <= character <= "\u309f":
        return "hiragana"
    if (
        "\u30a0" <= character <= "\u31ff"
        or character < "\u2e80"
        or "\ua000" <= character < "\uf900"
    ):
        return "other"
    return "han"


class _Folding(dict[int, str]):
    """What each character becomes, worked out when first met."""

    def __missing__(self, code: int) -> str:
        decomposed = unicodedata.normalize("NFKD", chr(code))
        folded = self[code] = "".join(map(_folded_character, decomposed))
        return folded


def _folded_character(character: str) -> str:
    category = unicodedata.category(character)
    if character.isascii():
        return character
    if _DROPPED(character) or (category in {"Cf", "Me", "Sk"} and character != _ZERO_WIDTH_SPACE):
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    if category[0] in "LMN":
        return _FOLDED_LETTERS.get(character, character)
    if category in {"So", "Sc"} and not _DRAWN(character):
        return f" {character} "
    return _FOLDED_LETTERS.get(character, " ")


_FOLDING = _Folding()


def _folded(text: str) -> str:
    """Normalise but keep the case, which shows where the parts of a camelCase word begin."""
    if text.isascii():
        return text
    decomposed = text.translate(_FOLDING)
    # Putting a run of marks into canonical order takes the square of its length.
    return unicodedata.normalize("NFC", _ENDLESS_MARKS.sub(r"\1", decomposed))


# Our cache holds whole analyses; a second one inside the stemmer would cost time.
_stem = Stemmer.Stemmer("english", 0).stemWord


def _term(word: str) -> str:
    if len(word) > MAX_TERM:
        return word[:MAX_TERM]
    return _stem(word) if word.isascii() and word.isalpha() else word


def _pairs(run: str) -> list[str]:
    return [one + other for one, other in pairwise(run)]


def _analyse(chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split a compound into the terms of its words and, after gaps, what else should find it."""
    if chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk.istitle()):
        return (_term(chunk.lower()),), ()
    inside: list[str] = _WORDS.findall(chunk)
    runs: list[list[str]] = [run for word in inside for run in _parts(word)]
    if len(inside) > 1:
        known = set(inside)
        joined = dict.fromkeys((chunk, *_SEGMENTS.split(chunk)))
        runs += [[part.casefold()[:MAX_TERM]] for part in joined if part not in known]
    rest = [term for run in runs if any(run) for term in (GAP, *run)]
    return phrase(word.casefold() for word in inside), tuple(rest)


_analysed = lru_cache(maxsize=1 << 15)(_analyse)


def _parts(word: str) -> list[list[str]]:
    """Give the finest parts of a word in a row, then each larger part for itself."""
    finest: list[str] = []
    larger: list[str] = []
    for piece in word.strip(".+#").split("_"):
        runs = _RUNS.findall(piece)
        for run in runs:
            split = run.split(".") if run[0].isdecimal() else _humps(run)
            finest += split
            if len(split) > 1:
                larger.append(run)
            if run[0].isdecimal():
                larger += _leading(run)
        if len(runs) > 1:
            larger.append(piece)
    if finest == [word]:
        return []
    others = dict.fromkeys(part for part in larger if part != word)
    return [_folded_parts(finest), *(_folded_parts([part]) for part in others)]


def _humps(letters: str) -> list[str]:
    return _HUMPS.findall(letters) if letters.isascii() else [letters]


def _leading(number: str) -> list[str]:
    """Give `1.2` for `1.2.3`: who looks for a version or network means all inside it."""
    dots = [place for place, sign in enumerate(number[:MAX_TERM]) if sign == "."]
    return [number[:place] for place in dots[1:]]


def _folded_parts(parts: Iterable[str]) -> list[str]:
    return [_term(part.casefold()) for part in parts if part]


_STOP_TERMS = frozenset(map(_term, _STOP_WORDS.split()))
