"""The statements of a text, sentence by sentence: telling words, their sorts and states, signs of a change."""

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
"""Returns word pieces, by id, as they are written; `▁` stands before one that begins a word."""

MOST_SENTENCES = 12
"""Sentences of a text that are compared: a passage has fewer."""

LONGEST = 4_000
"""Characters of a text that are looked at, and the most tokens: a character is seldom more than one."""

LEAST_STEM = 4
"""The least number of first letters that two forms of a word share."""

REMEMBERED = 256
"""Texts that stay read, since what is near one question is near the next: some 30 kB each."""

_AHEAD = 6
"""Characters that a piece may lie ahead of where the one before it ended."""

_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7ff]")
"""A sign of a script that puts no spaces between words."""

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
    """A word as written, its key, its sort, where it stands, and whether it tells something.

    A sign of a change tells nothing of what a sentence is about.
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
    """A sentence, its words in order, and how often each kind of sign stands in it."""

    text: str
    words: tuple[StatementWord, ...]
    telling: tuple[int, ...]
    """Places of the words that tell something."""
    said: dict[str, int]
    is_question: bool
    keys: tuple[str, ...]
    """The keys of the telling words."""

    def written(self, numbers: Sequence[int]) -> str:
        """Return some of the telling words, by number, as they are written."""
        return " ".join(self.words[self.telling[each]].text for each in numbers)

    @property
    def content_words(self) -> list[StatementWord]:
        """The words that tell something, in order."""
        return [self.words[place] for place in self.telling]


@dataclass(frozen=True, slots=True)
class Statements:
    """The sentences of a text, and the states of the telling words of each, unit rows (telling, d) or None."""

    sentences: tuple[Sentence, ...]
    states: tuple[Floats | None, ...]


def statements_of(text: str, packed: bytes | None, spell: Spell | None) -> Statements:
    """Read a text; its packed token states, where a model gave them, make states of words.

    Where a script has no spaces, words are what the model's pieces are.
    """
    if not packed or spell is None:
        read = _read(text)
        return Statements(read, (None,) * len(read))
    return _with_kept_states(text, packed, spell)


@lru_cache(REMEMBERED)
def _with_kept_states(text: str, packed: bytes, spell: Spell) -> Statements:
    return _with_states(text, *unpacked(packed, LONGEST), spell)


def _with_states(
    text: str,
    pieces: NDArray[np.int32],
    rows: Floats,
    spell: Spell,
    read: tuple[Sentence, ...] = (),
) -> Statements:
    shown = normalize("NFKC", text[:LONGEST])
    starts = _starts(shown, spell(pieces.tolist()))
    read = read or _read(text, tuple(starts) if _UNSPACED.search(shown) else ())
    return Statements(read, tuple(_states(shown, read, starts, rows)))


@lru_cache(64)
def whole_of(
    text: str, languages: Languages, packed: bytes | None, spell: Spell | None
) -> Statements:
    """Read a text as one statement, as `statements_of` reads its sentences; without any if no word tells something."""
    whole = sentence_of(" ".join(normalize("NFKC", text[:LONGEST]).split()), languages)
    if not whole.telling:
        return Statements((), ())
    if not packed or spell is None:
        return Statements((whole,), (None,))
    return _with_states(text, *unpacked(packed, LONGEST), spell, (whole,))


def asked_of(text: str, question: Question | None, spell: Spell | None) -> Statements:
    """Read a question; its tokens, where a model made them, make states of words."""
    if question is None or spell is None:
        return statements_of(text, None, None)
    return _with_states(text, *question.tokens, spell)


@lru_cache(512)
def _read(text: str, starts: tuple[int, ...] = ()) -> tuple[Sentence, ...]:
    """Read the sentences of a text; `starts` says where words begin that no spaces part."""
    shown = normalize("NFKC", text[:LONGEST])
    languages = languages_of(shown)
    read, at = [], 0
    for each in islice(sentences(shown), MOST_SENTENCES):
        at = max(at, shown.find(each, at))
        own = frozenset(start - at for start in starts)
        read.append(sentence_of(each, languages, own))
    if not read and shown.strip():
        read = [sentence_of(" ".join(shown.split()), languages)]
    return tuple(each for each in read if each.telling)


def sentence_of(text: str, languages: Languages, starts: Container[int] = ()) -> Sentence:
    """Read one sentence; `starts` says where words begin that no spaces part."""
    marked = {kind: signs.said(kind, text, languages) for kind in signs.KINDS}
    covered = [match.span() for matches in marked.values() for match in matches]
    words = tuple(_words(text, languages, covered, starts))
    telling = tuple(place for place, word in enumerate(words) if word.is_telling)
    counts = {kind: len(matches) for kind, matches in marked.items()}
    keys = tuple(words[place].key for place in telling)
    return Sentence(text, words, telling, counts, text.rstrip().endswith("?"), keys)


def _words(
    text: str, languages: Languages, covered: Sequence[tuple[int, int]], starts: Container[int]
) -> Iterator[StatementWord]:
    for place, (start, end) in enumerate(_word_spans(text, starts)):
        word = text[start:end]
        key, sort, tells = _read_word(word, languages, is_first=place == 0)
        is_sign = any(begin <= start < stop for begin, stop in covered)
        yield StatementWord(word, key, sort, start, end, not is_sign if tells is None else tells)


def _word_spans(text: str, starts: Container[int]) -> Iterator[tuple[int, int]]:
    """Yield the begin and the end of each word; signs of a script without spaces are words of one, or reach to the next of `starts`."""
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
    """Return the key of a word, its sort, and whether it tells something; None: unless it is part of a sign."""
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
    """Tell whether a word is written as names of products are: capitals or signs inside it."""
    return any(map(str.isupper, word[1:])) or any(each in word for each in ".+#/")


def _states(
    shown: str, read: Sequence[Sentence], starts: Sequence[int], rows: Floats
) -> Iterator[Floats | None]:
    """Yield the mean states of the telling words of each sentence, unit rows; None where pieces do not fit."""
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
    # A piece may begin before a word and hold its beginning, as signs do.
    stop = [
        max(bisect_left(starts, end), begin + 1) for begin, end in zip(first, ends, strict=True)
    ]
    known = [run for run in zip(first, stop, strict=True) if run[1] <= len(rows)]
    held = np.zeros((len(known), max((end for _, end in known), default=0)), np.float32)
    for row, (begin, end) in enumerate(known):
        held[row, begin:end] = 1
    sums = held @ rows[: held.shape[1]]
    sums /= np.maximum(np.sqrt(np.einsum("td,td->t", sums, sums)), 1e-6)[:, None]
    done = 0
    for sentence in read:
        # Words stand in order: of a sentence that is not known whole the last are not.
        own = sums[done : done + len(sentence.telling)]
        done += len(sentence.telling)
        yield own if len(own) == len(sentence.telling) else None


def _starts(text: str, pieces: Sequence[str]) -> list[int]:
    """Return where in a text each piece begins; one that is not found there, where the one before it ends."""
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
