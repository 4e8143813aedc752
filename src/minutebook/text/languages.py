"""The languages in which a text may be written, and the stems of its words in each of them.

Function words, letters and endings (`languages.toml`) tell which are likely. Which of those it is need not be known, as a word
has a stem in each. A script other than the Latin one stands for one language, Arabic letters for two.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import Stemmer

from minutebook.text.folding import folded

_FILE: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("languages.toml").read_text(encoding="utf-8")
)


def _each(part: str) -> dict[str, str]:
    """Return the entry under a name in the file, for each language that has it."""
    return {language: said[part] for language, said in _FILE.items() if part in said}


FUNCTION_WORDS = _each("function_words")
"""Words that carry grammar rather than meaning, by language, as they are written."""

_OTHER_SCRIPTS = _each("script")
_LETTERS = _each("letters")
_ENDINGS = _each("endings")
_TALK = _each("talk")

_ENOUGH = 240
"""The evidence of one function word that no other language has; with less, endings are looked at."""

_CERTAIN = 2 * _ENOUGH
"""The evidence that is needed where letters speak for English, or for a language of another script."""

_LIKELY = 0.5
"""The part of the best language's evidence that another likely language has at least."""

_FEW_WORDS = 8
"""Up to so many words without evidence are a title or a question; more are no sentence."""

_ENOUGH_WORDS = 1000
"""So many words of a text tell its languages."""

_FEW_LANGUAGES = 4
_ENGLISH = ("english",)
_JOINED = re.compile(r"(.{2,}(?:ung|heit|keit|schaft|ion|tät|ling))s(.{4,})").fullmatch
_SHORTEST, _SHORTEST_GUESSED = 2, 3
"""Letters of a stem; the second where any language may be meant, as many words are short."""
_LONGEST_ENDING = 6
_ENDING = 120
_LANE = 32
_IS_LATIN = re.compile("[\0-\u024f\u1e00-\u1eff\u2000-\u20cf]*").fullmatch
# Each character in one of the two classes only: were it in both, a word that is refused at its end
# would be tried in twice as many ways with each letter.
_LETTERS_ONLY = re.compile(r"[^\W\d_](?:[^\W\d_\u0900-\u0dff]|[\u0900-\u0dff])*").fullmatch

Languages = tuple[str, ...]

LATIN: Languages = tuple(name for name in FUNCTION_WORDS if name not in _OTHER_SCRIPTS)


def likely_languages(words: Sequence[str], text: str) -> Languages:
    """Return the languages in which a text may be written, by its folded words and by its letters.

    All that are written in Latin letters, where a few words tell nothing.
    """
    lowered = [word.casefold() for word in words[:_ENOUGH_WORDS]]
    found = sum([_OF_WORD[word] for word in lowered if word in _OF_WORD])
    others: Languages = ()
    if not text.isascii():
        if _IS_OTHER.search(text):
            others = _other_languages(text)
        elif _IS_LATIN(text):
            found += sum(map(_OF_LETTER.__getitem__, {*_FOREIGN_LETTERS.findall(text)}))
    weights = _weights(found)
    best = max(weights)
    if best < _ENOUGH and not others:
        weights = _weights(found + sum(map(_of_ending, lowered)))
        best = max(weights)
    if not best:
        is_title = 0 < len(words) <= _FEW_WORDS and not others
        return LATIN if is_title and _IS_LATIN(text) else others
    if text.isascii():
        if weights[_ENGLISH_LANE] == best and (best >= _ENOUGH or weights.count(best) == 1):
            return _ENGLISH
        if best < _CERTAIN:
            weights[_ENGLISH_LANE] = best
    elif best < _CERTAIN and not _IS_LATIN(text):
        return others
    likely = (name for name, weight in zip(LATIN, weights, strict=True) if weight >= best * _LIKELY)
    return (*likely, *others)


def are_stemmed(languages: Languages) -> bool:
    """Tell whether words have other stems than English ones in one of the languages."""
    return languages not in ((), _ENGLISH)


def are_certain(languages: Languages) -> bool:
    """Tell whether a text is in one of few languages, and not in English."""
    return 0 < len(languages) <= _FEW_LANGUAGES and "english" not in languages


def _other_languages(text: str) -> Languages:
    found = [name for name, letters in _IN_SCRIPT.items() if letters.search(text)]
    if "persian" in found:
        found.remove("arabic")
    elif "arabic" in found:
        # Many a Persian word has none of the letters that Arabic lacks.
        found.append("persian")
    return tuple(found)


def stems(word: str, languages: Languages) -> tuple[str, ...]:
    """Return the folded stems of a word, in lower case with its accents, in each language.

    In Vietnamese that is the word itself, whose accents make it another word.
    """
    if not _LETTERS_ONLY(word):
        return ()
    found: dict[str, None] = {}
    shortest = _SHORTEST_GUESSED if languages == LATIN else _SHORTEST
    for language in languages:
        if language in _OTHER_SCRIPTS and not _IS_OTHER.match(word):
            continue
        if language == "vietnamese":
            found[word] = None
            continue
        for part in (word, *(_parts_of(word) if language == "german" else ())):
            stem = folded(_stemmer(language)(part)).casefold()
            if len(stem) >= shortest:
                found[stem] = None
    return tuple(found)


def _parts_of(word: str) -> tuple[str, ...]:
    """Return the parts of a German compound that a suffix and the s after it betray."""
    found = _JOINED(word)
    return found.groups() if found else ()


def is_function_word(word: str, languages: Languages) -> bool:
    """Tell whether a folded word carries grammar only, in one of the languages."""
    return any(word in _folded_words(language) for language in languages)


@cache
def _folded_words(language: str) -> frozenset[str]:
    return frozenset(folded(FUNCTION_WORDS.get(language, "")).casefold().split())


@cache
def _stemmer(language: str) -> Callable[[str], Any]:
    # What calls it has a cache of its own.
    return Stemmer.Stemmer(language, 0).stemWord  # type: ignore[no-any-return]


@lru_cache(maxsize=1 << 13)
def _of_ending(word: str) -> int:
    """Return how strongly the longest known ending of a folded word points to each language."""
    for length in range(min(_LONGEST_ENDING, len(word) - 3), 1, -1):
        found = _OF_ENDING.get(word[-length:])
        if found is not None:
            return found
    return 0


def _shared(signs: Mapping[str, Iterable[str]], weight: int) -> dict[str, int]:
    """Return the weight of each sign for each language; a sign of several languages weighs less for each.

    That is one number with a lane of _LANE bits for each language, so that a sum adds all at once.
    """
    languages: dict[str, list[int]] = {}
    for lane, name in enumerate(LATIN):
        for sign in dict.fromkeys(signs.get(name, ())):
            languages.setdefault(sign, []).append(lane)
    return {
        sign: sum(weight // len(shared) << lane * _LANE for lane in shared)
        for sign, shared in languages.items()
    }


def _weights(lanes: int) -> list[int]:
    return [lanes >> lane * _LANE & (1 << _LANE) - 1 for lane in range(len(LATIN))]


def _spread(letters: str) -> Iterable[str]:
    for run in re.findall(r".-.|.", letters):
        if len(run) == 3:
            yield from map(chr, range(ord(run[0]), ord(run[2]) + 1))
        else:
            yield run


_IN_SCRIPT = {name: re.compile(f"[{letters}]") for name, letters in _OTHER_SCRIPTS.items()}
_OF_WORD = _shared(
    {
        name: [
            word for word in (*_folded_words(name), *_TALK.get(name, "").split()) if len(word) > 1
        ]
        for name in LATIN
        if name != "vietnamese"  # without its accents it looks like many others
    },
    _ENOUGH,
)
_OF_ENDING = _shared({name: folded(endings).split() for name, endings in _ENDINGS.items()}, _ENDING)
_OF_LETTER = _shared({name: _spread(letters) for name, letters in _LETTERS.items()}, _ENOUGH)
_FOREIGN_LETTERS = re.compile(f"[{''.join(_OF_LETTER)}]")
_IS_OTHER = re.compile(f"[{''.join(_OTHER_SCRIPTS.values())}]")
_ENGLISH_LANE = LATIN.index("english")
