"""Read a text as statements: its sentences, the words of each with their sorts and states, and the signs of a change.

A *content word* says something of what a sentence is about: it is neither a function word nor the sign of a change. The
*state* of a word is the mean of its tokens' states from the embedding model, as a unit vector.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from typing import NamedTuple
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from minutebook.text import signs
from minutebook.text.folding import folded
from minutebook.text.languages import Languages, is_function_word
from minutebook.text.late_interaction import Question, unpacked
from minutebook.text.note_words import DAYS
from minutebook.text.sentences import sentences
from minutebook.text.words import languages_of

Floats = NDArray[np.float32]
Spell = Callable[[Sequence[int]], Sequence[str]]
"""Returns the spelling of each word piece, by id, as the model's tokenizer has it: `▁` stands before one that begins a word."""

MOST_SENTENCES = 12
"""The most sentences of a text that are compared; a passage has fewer."""

LONGEST = 4_000
"""The most characters of a text that are read, and the most tokens: a token seldom has less than one character."""

LEAST_STEM = 4
"""The least number of first letters that two forms of a word share."""

REMEMBERED = 256
"""How many texts stay cached, some 30 kB each: those near one question are often near the next."""

_AHEAD = 6
"""The most characters between the end of a piece and the begin of the next."""

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7ff]")
"""A character of a script that puts no spaces between words."""

_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*%?"
    rf"|{_UNSPACED.pattern}"
    r"|(?:qu|[cdjlmnst])['’](?=\w)"
    r"|[^\W\d_](?:[\w.'’+#/-]*[\w+#])?|[€$£%]",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(r"['’]s$")


class Sort(IntEnum):
    """The sort of a word: a number, a name, or any other."""

    WORD = 0
    NUMBER = 1
    NAME = 2


class StatementWord(NamedTuple):
    """A word of a sentence.

    `text` is the word as written, at the characters `start:end` of the sentence; `key` is what it is compared by: in lower
    case, without accents, and a number in figures. `is_telling`: it is a content word.
    """

    text: str
    key: str
    sort: Sort
    start: int
    end: int
    is_telling: bool

    @property
    def is_day(self) -> bool:
        """Whether it names a day of the week or a month."""
        return self.key in DAYS


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and its words in order.

    `telling` has the places of the content words in `words`, and `keys` the keys of these. `said` counts the signs of each
    of `signs.KINDS`.
    """

    text: str
    words: tuple[StatementWord, ...]
    telling: tuple[int, ...]
    said: dict[str, int]
    is_question: bool
    keys: tuple[str, ...]

    def written(self, numbers: Sequence[int]) -> str:
        """Return content words, given by their numbers among the content words, as they are written."""
        return " ".join(self.words[self.telling[each]].text for each in numbers)

    @property
    def content_words(self) -> list[StatementWord]:
        """The content words, in order."""
        return [self.words[place] for place in self.telling]


@dataclass(frozen=True, slots=True)
class Statements:
    """The sentences of a text, and for each the states of its content words, unit rows (words, d), or None if not known."""

    sentences: tuple[Sentence, ...]
    states: tuple[Floats | None, ...]


def statements_of(text: str, packed: bytes | None, spell: Spell | None) -> Statements:
    """Read the sentences of a text; those without a content word are left out.

    `packed` has its token states, as `late_interaction.pack` packs them; words have states only if it and `spell` are
    given. In a script without spaces the model's pieces are the words.
    """
    if not packed or spell is None:
        read = _read(text)
        return Statements(read, (None,) * len(read))
    return _with_kept_states(text, packed, spell)


@lru_cache(REMEMBERED)
def _with_kept_states(text: str, packed: bytes, spell: Spell) -> Statements:
    """Read a text with its packed token states."""
    return _with_states(text, *unpacked(packed, LONGEST), spell)


def _with_states(
    text: str,
    pieces: NDArray[np.int32],
    rows: Floats,
    spell: Spell,
    read: tuple[Sentence, ...] = (),
) -> Statements:
    """Return the sentences of a text with the states of their words.

    `pieces` are the ids of the text's tokens, (tokens,), `rows` their states, (tokens, d). `read` are the sentences, if
    they are known.
    """
    shown = normalize("NFKC", text[:LONGEST])
    starts = _starts(shown, spell(pieces.tolist()))
    read = read or _read(text, tuple(starts) if _UNSPACED.search(shown) else ())
    return Statements(read, tuple(_states(shown, read, starts, rows)))


@lru_cache(64)
def whole_of(
    text: str, languages: Languages, packed: bytes | None, spell: Spell | None
) -> Statements:
    """Read a text as one sentence, as `statements_of` reads each; without any if the text has no content word."""
    whole = sentence_of(" ".join(normalize("NFKC", text[:LONGEST]).split()), languages)
    if not whole.telling:
        return Statements((), ())
    if not packed or spell is None:
        return Statements((whole,), (None,))
    return _with_states(text, *unpacked(packed, LONGEST), spell, (whole,))


def asked_of(text: str, question: Question | None, spell: Spell | None) -> Statements:
    """Read a question; its words have states only if its tokens (`question`) and `spell` are given."""
    if question is None or spell is None:
        return statements_of(text, None, None)
    return _with_states(text, *question.tokens, spell)


@lru_cache(512)
def _read(text: str, starts: tuple[int, ...] = ()) -> tuple[Sentence, ...]:
    """Read the sentences of a text; `starts` are the characters at which words begin in a script without spaces."""
    shown = normalize("NFKC", text[:LONGEST])
    languages = languages_of(shown)
    read, begin = [], 0
    for each in islice(sentences(shown), MOST_SENTENCES):
        begin = max(begin, shown.find(each, begin))
        own_starts = frozenset(start - begin for start in starts)
        read.append(sentence_of(each, languages, own_starts))
    if not read and shown.strip():
        read = [sentence_of(" ".join(shown.split()), languages)]
    return tuple(each for each in read if each.telling)


def sentence_of(text: str, languages: Languages, starts: Container[int] = ()) -> Sentence:
    """Read one sentence; `starts` are the characters at which words begin in a script without spaces."""
    marked = {kind: signs.said(kind, text, languages) for kind in signs.KINDS}
    sign_spans = [match.span() for matches in marked.values() for match in matches]
    words = tuple(_words(text, languages, sign_spans, starts))
    telling = tuple(place for place, word in enumerate(words) if word.is_telling)
    counts = {kind: len(matches) for kind, matches in marked.items()}
    keys = tuple(words[place].key for place in telling)
    return Sentence(text, words, telling, counts, text.rstrip().endswith("?"), keys)


def _words(
    text: str, languages: Languages, sign_spans: Sequence[tuple[int, int]], starts: Container[int]
) -> Iterator[StatementWord]:
    """Yield the words of a sentence; those that begin within one of `sign_spans` are signs of a change."""
    for place, (start, end) in enumerate(_word_spans(text, starts)):
        word = text[start:end]
        key, sort, tells = _read_word(word, languages, is_first=place == 0)
        is_sign = any(begin <= start < stop for begin, stop in sign_spans)
        yield StatementWord(word, key, sort, start, end, not is_sign if tells is None else tells)


def _word_spans(text: str, starts: Container[int]) -> Iterator[tuple[int, int]]:
    """Yield where each word begins and ends.

    In a script without spaces each character is a word, or, if `starts` has any, all characters up to the next of these.
    """
    run: tuple[int, int] | None = None
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        is_joined = run is not None and run[1] == start and start not in starts
        if run is not None and is_joined and _UNSPACED.match(match[0]):
            run = (run[0], end)
            continue
        if run is not None:
            yield run
        run = (start, end) if starts and _UNSPACED.match(match[0]) else None
        if run is None:
            yield start, end
    if run is not None:
        yield run


@lru_cache(1 << 14)
def _read_word(
    written: str, languages: Languages, *, is_first: bool
) -> tuple[str, Sort, bool | None]:
    """Return the key of a word, its sort, and whether it is a content word; None: it is one unless it is part of a sign."""
    if number := signs.figures(written.casefold(), languages):
        return number, Sort.NUMBER, True
    key = _POSSESSIVE.sub("", folded(written).casefold())
    is_label = len(written) == 1 and written.isupper() and not is_first
    is_large = written[:1].isupper()
    if (
        is_label
        or any(map(str.isdigit, written))
        or (is_large and (not (is_first or "german" in languages) or _is_name(written)))
    ):
        sort = Sort.NAME
    else:
        sort = Sort.WORD
    if is_label:
        return key, sort, True
    is_letter = len(key) == 1 and not _UNSPACED.match(key)
    says_little = is_function_word(key, languages) or is_letter or written[-1] in "'’"
    return key, sort, False if says_little else None


def _is_name(word: str) -> bool:
    """Tell whether a word is written as names of products are: with capitals or punctuation inside it."""
    return any(map(str.isupper, word[1:])) or any(each in word for each in ".+#/")


def _states(
    shown: str, read: Sequence[Sentence], starts: Sequence[int], rows: Floats
) -> Iterator[Floats | None]:
    """Yield for each sentence the states of its content words, unit rows (words, d); None if the tokens end before it does.

    `shown` is the text, `starts` where in it each token begins, `rows` the states of the tokens, (tokens, d).
    """
    begins, ends = [], []
    at = 0
    for sentence in read:
        for place in sentence.telling:
            word = sentence.words[place].text
            found = shown.find(word, at)
            begins.append(at if found < 0 else found)
            ends.append(begins[-1] + len(word))
            at = at if found < 0 else ends[-1]
    first = [bisect_left(starts, begin) for begin in begins]
    # A word in which no token begins, as that token begins with a sign before it, takes the next token.
    stop = [
        max(bisect_left(starts, end), begin + 1) for begin, end in zip(first, ends, strict=True)
    ]
    known = [run for run in zip(first, stop, strict=True) if run[1] <= len(rows)]
    # A row for each word, 1 at its tokens.
    tokens_of = np.zeros((len(known), max((end for _, end in known), default=0)), np.float32)
    for row, (begin, end) in enumerate(known):
        tokens_of[row, begin:end] = 1
    sums = tokens_of @ rows[: tokens_of.shape[1]]
    sums /= np.maximum(np.sqrt(np.einsum("td,td->t", sums, sums)), 1e-6)[:, None]
    done = 0
    for sentence in read:
        # Words without tokens are the last ones of the text.
        own = sums[done : done + len(sentence.telling)]
        done += len(sentence.telling)
        yield own if len(own) == len(sentence.telling) else None


def _starts(text: str, pieces: Sequence[str]) -> list[int]:
    """Return where in a text each piece begins; a piece that is not found begins where the one before it ends."""
    starts, at = [], 0
    for piece in pieces:
        letters = piece.strip("▁ ")
        found = text.find(letters, at, at + len(letters) + _AHEAD)
        begin = found if found >= 0 else at
        starts.append(begin)
        at = begin + len(letters)
    return starts


def forms(ones: Sequence[str], others: Sequence[str]) -> NDArray[np.bool_]:
    """Tell for each word of one list and each of another whether they are forms of one word, (ones, others)."""
    are_forms = np.zeros((len(ones), len(others)), np.bool_)
    by_stem: dict[str, list[int]] = {}
    for column, other in enumerate(others):
        by_stem.setdefault(other[:LEAST_STEM], []).append(column)
    for row, one in enumerate(ones):
        for column in by_stem.get(one[:LEAST_STEM], ()):
            are_forms[row, column] = is_form(one, others[column])
    return are_forms


@lru_cache(1 << 14)
def is_form(one: str, other: str) -> bool:
    """Tell whether two words are forms of one word.

    They share their first four letters or more, and only an ending differs: at most two letters of the shorter word, and
    four of the longer. Words with digits have no other forms.
    """
    if one == other:
        return True
    if one[:LEAST_STEM] != other[:LEAST_STEM] or any(c.isdigit() for c in one + other):
        return False
    short, long = sorted((one, other), key=len)
    common = LEAST_STEM
    if len(short) < LEAST_STEM:
        return False
    while common < len(short) and short[common] == long[common]:
        common += 1
    return common >= len(short) - 2 and len(long) - common <= 4
