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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle, groupby, pairwise
from zlib import crc32

import Stemmer

from minutebook.record.errors import InvalidInput
from minutebook.text.folding import accented, folded
from minutebook.text.languages import (
    Languages,
    are_certain,
    are_stemmed,
    is_function_word,
    likely_languages,
    stems,
)

_RULES = 3
"""Counts up when our own rules give other words or terms."""


def analysis_by(rules: int, stemmers: str) -> int:
    """Return the version of the analysis by our rules and stemmers of these versions, in 31 bits."""
    return crc32(f"{rules} snowball {stemmers}".encode()) >> 1


ANALYSIS = analysis_by(_RULES, Stemmer.version())
"""Changes when texts give other words or terms: what was kept of them before is then made anew.

Unicode's version is not in it: what a character is once, it stays, and of those that are new few texts have any.
"""

MAX_TERM = 64
"""Characters of a term; a longer one is cut, in texts and queries alike."""

MAX_TEXT = 400_000
"""Characters of a record that can be found, by words and by meaning; the rest is kept as it is."""

MAX_QUERY = 10_000
"""Characters of a query; a longer one is refused."""

_MAX_FOLDED = 2 * MAX_QUERY
"""Characters of a query once its signs are written out, which is what is worked on."""

_WIDEST = 18
"""Characters that one sign may be written out as: U+FDFA is a sentence."""

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

# What is read as one sign there: in Thai, Lao, Khmer and Burmese a consonant with the vowels, marks and
# closing consonants that lean on it, elsewhere a character. Where one ends, two characters decide.
_UNITS = re.compile(
    r"[\u0e40-\u0e44]?[\u0e01-\u0e2e][\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]*[\u0e30\u0e32\u0e45]?"
    r"|[\u0ec0-\u0ec4]?[\u0e81-\u0eae][\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]*[\u0eb0\u0eb2\u0ebd]?"
    r"|[\u1780-\u17b3](?:\u17d2[\u1780-\u17b3]|[\u17b4-\u17d1\u17d3\u17dd])*"
    r"|[\u1000-\u102a\u103f](?:\u1039[\u1000-\u102a]|[\u102b-\u1038\u103a-\u103e]|[\u1000-\u102a]\u103a)*"
    r"|.",
    re.DOTALL,
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
    """The terms and phrases of a query; falsy when there are none.

    A record matches when it holds at least one term or phrase, and all phrases if there are any.
    A term that is named twice counts twice. Scores are divided by `forms`, the number of terms that
    stand for each word, so that those of queries in all languages compare. `words` has for each
    different word outside phrases the terms that stand for it.
    """

    terms: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    forms: int = 1
    words: tuple[tuple[str, ...], ...] = field(default=(), compare=False)

    def __bool__(self) -> bool:
        return bool(self.terms or self.phrases)


def words(text: str) -> list[str]:
    """Return the whole words of a text in order, folded; `words(a + " " + b)` is one after the other.

    A name occurs in a text when the name's words stand in a row among the text's words.
    """
    found: list[str] = []
    for is_unspaced, stretch in _stretches(folded(text).casefold()):
        found += (_UNITS if is_unspaced else _WORDS).findall(stretch)
    return found


def length_in_words(text: str) -> float:
    """Return how many words a text has, about: in a script without spaces a word is two signs long."""
    return sum(
        len(_UNITS.findall(stretch)) / 2 if is_unspaced else len(_WORDS.findall(stretch))
        for is_unspaced, stretch in _stretches(folded(text).casefold())
    )


def without_names(text: str, names: Iterable[str]) -> str:
    """Take names out of a text, wherever they stand as whole words; cases do not matter."""
    for name in sorted(filter(None, names), key=len, reverse=True):
        # A script without spaces has no edges of words.
        before = "" if _UNSPACED_RUNS.match(name[0]) else r"(?<!\w)"
        after = "" if _UNSPACED_RUNS.match(name[-1]) else r"(?!\w)"
        text = re.sub(f"{before}{re.escape(name)}{after}", " ", text, flags=re.IGNORECASE)
    return " ".join(text.split())


def phrase(run: Iterable[str]) -> tuple[str, ...]:
    """Return the terms that `terms(text)` holds in a row wherever the text holds these words."""
    return tuple(map(_term, run))


def terms(text: str) -> list[str]:
    """Return the terms that a text index keeps: `word_terms`, then the stems of words in likely languages.

    `GAP` stands before each stem. What follows MAX_TEXT characters gives none.
    """
    text = text[:MAX_TEXT]
    kept, spaced = _analyse_text(text)
    stemmed = _stems_by_word(text, likely_languages(spaced, text))
    return kept + [term for _, found in stemmed for stem in found for term in (GAP, stem)]


def word_terms(text: str) -> list[str]:
    """Return the term of each word of a text in order, then further terms that find it in any language.

    That is pairs of neighbours in scripts without spaces, compounds whole and by segment, and the
    parts of identifiers in a row. `GAP` stands before each run that follows the words.
    What follows MAX_TEXT characters gives none.
    """
    return _analyse_text(text[:MAX_TEXT])[0]


def languages_of(text: str) -> Languages:
    """Return the languages in which a text may be written, as its terms have stems in them."""
    spaced = [
        chunk
        for is_unspaced, stretch in _stretches(folded(text))
        if not is_unspaced
        for chunk in _CHUNKS.findall(stretch)
    ]
    return likely_languages(spaced, text)


@lru_cache(maxsize=1 << 14)
def forms(word: str, languages: Languages) -> frozenset[str]:
    """Return the terms by which a word is found in a text in these languages."""
    if _is_plain(word):
        plain = word.lower()
        others = _stems(plain, languages)[1] if are_stemmed(languages) else ()
        return frozenset([_term(plain), *others])
    stemmed = _stems_by_word(word, languages)
    return frozenset([*word_terms(word), *(stem for _, found in stemmed for stem in found)])


def check_query(text: str) -> None:
    """Raise InvalidInput if a query is longer than MAX_QUERY, or twice that with its signs written out."""
    if len(text) > MAX_QUERY:
        remedy = "must have at most {most:,} characters (it has {count:,})"
        raise InvalidInput("query", remedy, most=MAX_QUERY, count=len(text))
    if len(text) * _WIDEST > _MAX_FOLDED and (length := len(folded(text))) > _MAX_FOLDED:
        remedy = "must have at most {most:,} characters once ligatures and symbols are written out (it has {count:,})"
        raise InvalidInput("query", remedy, most=_MAX_FOLDED, count=length)


def parse_query(text: str) -> TextQuery:
    """Read a query: text in double quotes is a phrase, all else is terms, in order.

    Function words of the likely languages are left out, unless there is nothing else. Identifiers are
    looked for whole and by parts of at least two characters; a run of one script without spaces by its
    pairs; words as they are and by their stems. Raises InvalidInput if it is too long.
    """
    check_query(text)
    phrases: dict[tuple[str, ...], None] = {}
    room = MAX_QUERY_TERMS
    for match in _QUOTED.finditer(text):
        quoted = phrase(words(match[match.lastindex or 0]))[:room]
        room -= len(quoted)
        if quoted:
            phrases[quoted] = None
    rest = _QUOTED.sub(" ", text)
    languages = languages_of(rest)
    is_certain = are_certain(languages)
    silent = {
        _term(word) for word in words(rest) if is_certain and is_function_word(word, languages)
    }
    found = dict.fromkeys(_sought(folded(rest)))
    telling = [term for term in found if not is_stop_term(term) and term not in silent]
    kept = telling if telling or phrases else list(found)
    stemmed: dict[str, list[str]] = {}
    for own, others in _stems_by_word(rest, languages):
        stemmed.setdefault(own, []).extend(others)
    each = tuple((term, *dict.fromkeys(stemmed.get(term, ()))) for term in kept[:MAX_QUERY_TERMS])
    if is_certain:
        # A word without another stem counts as much as one that is looked for in two forms.
        room = MAX_QUERY_TERMS // 2
        both = (form for term in kept[:room] for form in (term, *(stemmed.get(term) or [term])))
        return TextQuery(tuple(both), tuple(phrases), 2, each)
    forms = dict.fromkeys((*kept, *(stem for term in kept for stem in stemmed.get(term, ()))))
    return TextQuery((*forms,)[:MAX_QUERY_TERMS], tuple(phrases), words=each)


def is_stop_term(term: str) -> bool:
    """Tell whether a term is that of a stop word, which carries no topic."""
    # One sign of hiragana is a Japanese particle.
    return term in _STOP_TERMS or (len(term) == 1 and _script(term) == "hiragana")


def _sought(folded: str) -> Iterator[str]:
    for is_unspaced, stretch in _stretches(folded):
        if is_unspaced:
            for _, same in groupby(_UNITS.findall(stretch), _script):
                run = list(same)
                yield from _pairs(run) if len(run) > 1 else run
            continue
        for chunk in _CHUNKS.findall(stretch):
            whole, rest = _analyse(chunk)
            yield from whole
            yield from (term for term in rest if len(term) > 1)


def _stretches(folded: str) -> Iterable[tuple[bool, str]]:
    """Split a text by turns into parts written with spaces between words and parts written without."""
    if folded.isascii():
        return ((False, folded),)
    return zip(cycle((False, True)), _UNSPACED_RUNS.split(folded), strict=False)


def _script(unit: str) -> str:
    """Tell apart the scripts that Japanese changes at the borders of words."""
    character = unit[0]
    if "\u3041" <= character <= "\u309f":
        return "hiragana"
    if (
        "\u30a0" <= character <= "\u31ff"
        or character < "\u2e80"
        or "\ua000" <= character < "\uf900"
    ):
        return "other"
    return "han"


# Our cache holds whole analyses; a second one inside the stemmer would cost time.
_stem = Stemmer.Stemmer("english", 0).stemWord


def _term(word: str) -> str:
    if len(word) > MAX_TERM:
        return word[:MAX_TERM]
    return _stem(word) if word.isascii() and word.isalpha() else word


def _pairs(units: Iterable[str]) -> list[str]:
    return [one + other for one, other in pairwise(units)]


def _stems_by_word(text: str, languages: Languages) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the term of each word that has other stems in these languages, and those stems."""
    if not are_stemmed(languages):
        return
    for is_unspaced, stretch in _stretches(accented(text).casefold()):
        if not is_unspaced:
            for word in _WORDS.findall(stretch):
                own, others = _stems(word, languages)
                if others:
                    yield own, others


@lru_cache(maxsize=1 << 15)
def _stems(word: str, languages: Languages) -> tuple[str, tuple[str, ...]]:
    plain = folded(word)
    own = _term(plain)
    if len(word) > MAX_TERM or is_function_word(plain, languages):
        return own, ()
    found = stems(word, languages)
    return own, tuple(stem for stem in found if stem != own and not is_stop_term(stem))


def _analyse_text(text: str) -> tuple[list[str], list[str]]:
    """Return the terms of a text, words first, then further ones that find it; and its parts between spaces."""
    whole: list[str] = []
    rest: list[str] = []
    spaced: list[str] = []
    for is_unspaced, stretch in _stretches(folded(text)):
        if is_unspaced:
            units = _UNITS.findall(stretch)
            whole += units
            rest += _pairs(units)
            continue
        chunks = _CHUNKS.findall(stretch)
        spaced += chunks
        for chunk in chunks:
            first, then = _analysed(chunk) if len(chunk) <= MAX_TERM else _analyse(chunk)
            whole += first
            rest += then
    return whole + rest, spaced


def _is_plain(chunk: str) -> bool:
    """Tell whether a compound is one word of plain letters, without humps."""
    return chunk.isascii() and chunk.isalpha() and (chunk.islower() or chunk.istitle())


def _analyse(chunk: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Split a compound into the terms of its words and, after gaps, further terms that should find it."""
    if _is_plain(chunk):
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
    """Return the finest parts of a word as one run, then each larger part as a run of its own."""
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
    """Return `1.2` for `1.2.3`: a search for a version or network means all inside it."""
    dots = [place for place, sign in enumerate(number[:MAX_TERM]) if sign == "."]
    return [number[:place] for place in dots[1:]]


def _folded_parts(parts: Iterable[str]) -> list[str]:
    return [_term(part.casefold()) for part in parts if part]


_STOP_TERMS = frozenset(map(_term, _STOP_WORDS.split()))
