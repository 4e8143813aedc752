"""Compare two sentences word by word: the common part, the differences, and the sorts of these."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minutebook.text.note_words import OPPOSITES
from minutebook.text.statements import Floats, Sentence, Sort, Statements, StatementWord

PROBE: Floats = np.load(Path(__file__).with_name("word_roles.npy")).astype(np.float32)
"""By which a word's state tells its role, shape (d + 1, 2): fitted by `benchmarks/fit_revisions.py`."""

LEAST_STEM = 4
"""Letters with which two forms of a word begin, at least."""

SAME = 0.62
"""The cosine of two words' states from which on they say the same."""

NEVER_SAME = 0.5
"""The cosine at most of two numbers, two days or two opposites, whose states are near whatever they say."""

KIN = 0.3
"""The nearness from which on two words may stand for one another: two days, two tools, two names."""

OF_ONE_SORT, OF_ONE_NEIGHBOUR = 0.15, 0.15
"""What makes two words nearer than their states: being two numbers or names; each word beside both."""

_MOST = 4

_LONGEST_SLOT = 3
"""Words that stand for one another, at most, where two sentences agree in all others."""

_NEITHER = np.array([0.5], np.float32)
"""The role of a word where there is none."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which telling words of two sentences say the same, and which stand in the place of others.

    `cosines` has the shape (older's telling words, newer's); where no states are known, 1 for forms of one
    word and else 0.
    """

    older: Sentence
    newer: Sentence
    cosines: Floats
    same: NDArray[np.bool_]
    """Where two words are forms of one, shape as `cosines`."""
    old_roles: Floats
    """Of each telling word how likely it names a thing, and what is said rather than of what, (n, 2)."""
    new_roles: Floats
    old_best: Floats
    """Of each telling word the greatest cosine with one of the other sentence."""
    new_best: Floats
    old_said: NDArray[np.bool_]
    """Whether the other sentence has each telling word in some form."""
    new_said: NDArray[np.bool_]
    only_old: list[int]
    """Numbers of the older's telling words that the newer has in no form."""
    only_new: list[int]
    has_states: bool
    asked: "Callable[[], SharedWords] | None" = None
    """How well both answer the question, if there is one: worked out when it is asked for."""


@dataclass(frozen=True, slots=True)
class SharedWords:
    """How well each telling word of a question is said by the words of two sentences and by their whole texts.

    `by_old` has the shape (question's words, older's telling words), `by_new` likewise, in [0, 1];
    `of_old` and `of_new` are the best by any word of each text, (question's words,).
    """

    by_old: Floats
    by_new: Floats
    of_old: Floats
    of_new: Floats
    scores: tuple[float, float] = (0.0, 0.0)
    """The late interaction of the question with either text; 0 where it is not known."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place where two sentences differ: the numbers of the telling words that stand for one another."""

    old: int
    new: int
    cosine: float
    is_left_same: bool
    is_right_same: bool


def align(
    older: Sentence,
    newer: Sentence,
    old_states: Floats | None,
    new_states: Floats | None,
    asked: "Callable[[], SharedWords] | None" = None,
) -> Alignment:
    """Align the telling words of two sentences."""
    old, new = older.keys, newer.keys
    same = forms(old, new)
    old_said: NDArray[np.bool_] = np.asarray(same.any(axis=1))
    new_said: NDArray[np.bool_] = np.asarray(same.any(axis=0))
    has_states = old_states is not None and new_states is not None
    cosines = same.astype(np.float32)
    if old_states is not None and new_states is not None:
        cosines = old_states @ new_states.T
        cosines = np.where(same, np.maximum(cosines, SAME), cosines)
        for one, other in _exclusive(older, newer):
            if not same[one, other]:
                cosines[one, other] = min(cosines[one, other], NEVER_SAME)
    return Alignment(
        older,
        newer,
        cosines,
        same,
        roles_of(older, old_states),
        roles_of(newer, new_states),
        cosines.max(axis=1),
        cosines.max(axis=0),
        old_said,
        new_said,
        np.flatnonzero(~old_said).tolist(),
        np.flatnonzero(~new_said).tolist(),
        has_states,
        asked,
    )


def _exclusive(older: Sentence, newer: Sentence) -> Iterator[tuple[int, int]]:
    """Yield the telling words of two sentences, by number, that cannot say the same: numbers, days, opposites."""
    news = [(_value(word), word.key) for word in _telling(newer)]
    for one, word in enumerate(_telling(older)):
        value, against = _value(word), OPPOSITES.get(word.key, ())
        if not value and not against:
            continue
        for other, (its, key) in enumerate(news):
            if (value and value == its) or key in against:
                yield one, other


def _value(word: StatementWord) -> str:
    """Return the sort of a value of which no two say the same: number, day; empty for any other word."""
    return "number" if word.sort is Sort.NUMBER else "day" if word.is_day else ""


def _are_opposed(older: Sentence, newer: Sentence) -> bool:
    """Tell whether one sentence has a word, and the other not, whose opposite the other has, and it not."""
    old, new = ({each.key for each in side.words} for side in (older, newer))
    return any(OPPOSITES[key] & (new - old) for key in (old - new) & OPPOSITES.keys())


def said_by(asked: Statements, sentence: Sentence, states: Floats | None) -> Floats:
    """Return how well the words of a sentence say those of a question, (question's words, sentence's), in [0, 1]."""
    found = []
    for question, own in zip(asked.sentences, asked.states, strict=True):
        same = forms(question.keys, sentence.keys).astype(np.float32)
        if own is not None and states is not None:
            same = np.maximum(same, np.clip(own @ states.T / SAME, 0, 1))
        found.append(same)
    if not found:
        return np.zeros((0, len(sentence.telling)), np.float32)
    return np.vstack(found)


def roles_of(sentence: Sentence, states: Floats | None) -> Floats:
    """Return for each telling word how likely it is a thing, a predicate rather than a subject, and a name, (n, 3)."""
    words = _telling(sentence)
    if states is not None and len(PROBE) == states.shape[1] + 1:
        found: Floats = 1 / (1 + np.exp(-(states @ PROBE[:-1] + PROBE[-1])))
    else:
        places = np.linspace(0.2, 0.8, len(words)) if len(words) > 1 else np.array([0.5])
        found = np.stack([np.full(len(words), 0.6), places, np.full(len(words), 0.1)], 1)
    for number, word in enumerate(words):
        if word.sort is Sort.NUMBER:
            found[number] = (0.9, max(found[number, 1], 0.7), 0.0)
        elif word.sort is Sort.NAME:
            found[number] = (
                max(found[number, 0], 0.8),
                found[number, 1],
                max(found[number, 2], 0.7),
            )
    return found


def forms(ones: Sequence[str], others: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which of two lists of words are forms of one, shape (ones, others)."""
    found = np.zeros((len(ones), len(others)), np.bool_)
    beginning: dict[str, list[int]] = {}
    for place, other in enumerate(others):
        beginning.setdefault(other[:LEAST_STEM], []).append(place)
    for place, one in enumerate(ones):
        for beside in beginning.get(one[:LEAST_STEM], ()):
            found[place, beside] = is_form(one, others[beside])
    return found


@lru_cache(1 << 14)
def is_form(one: str, other: str) -> bool:
    """Tell whether two words are forms of one: they begin with the same four letters or more."""
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


def signs(pair: Alignment) -> dict[str, float]:
    """Return the signs by which a newer sentence revises an older one or does not, each in about [0, 1]."""
    return unasked_signs(pair) | signs_of_question(pair)


def unasked_signs(pair: Alignment) -> dict[str, float]:
    """Return the signs that no question gives."""
    older, newer = pair.older, pair.newer
    only_old, only_new = pair.only_old, pair.only_new
    places = places_of(pair, only_old, only_new)
    denials = [min(older.said["denies"], 1), min(newer.said["denies"], 1)]
    is_same = not only_old and not only_new
    return {
        "always": 1.0,
        **_coverage(pair),
        "nothing differs": float(is_same and denials[0] == denials[1]),
        "newer holds older": float(not only_old and bool(only_new)),
        "older holds newer": float(not only_new and bool(only_old)),
        **_of_places(pair, places),
        **_of_roles(pair, places),
        **_of_spans(pair),
        **_of_rest(pair, places, only_old, only_new),
        "one denies": float(denials[0] != denials[1]),
        "both deny": float(denials[0] == denials[1] == 1),
        "opposites": float(_are_opposed(older, newer)),
        "newer ends": float(newer.said["ended"] > 0),
        "newer changes": float(newer.said["changed"] > 0),
        "newer adds": float(newer.said["added"] > 0),
        "newer is open": float(newer.said["open"] > 0),
        "newer ends, of the same": float(
            min(max(pair.old_best.max(), 0), 1) if newer.said["ended"] > 0 else 0
        ),
        "newer changes, with another value": float(
            (newer.said["changed"] + newer.said["ended"] > 0) and bool(only_new)
        ),
        "one asks": float(newer.is_question or older.is_question),
    }


def whole_signs(pair: Alignment) -> dict[str, float]:
    """Return the signs by which two whole texts say the same, or one says otherwise: also of the place that differs."""
    return {**signs(pair), **_of_slot(pair)}


def is_exchangeable(found: Mapping[str, float]) -> bool:
    """Tell by the signs of two whole texts whether they differ in one name or word, which may be the subject of each.

    A number that stands after a word and before none is the name of one of several things ("release 2.3"), too.
    """
    if not found.get("slot, nothing in it the same") or found["slot is a day"]:
        return False
    is_number = found["slot is a number"] > 0
    names_one = (
        found["slot is a number after a word"] and not found["slot is a number before a word"]
    )
    return not is_number or bool(names_one)


def _coverage(pair: Alignment) -> dict[str, float]:
    """Return how much of each sentence the other says, by states and by forms of words."""
    shares = [np.maximum(each, 0).mean() for each in (pair.old_best, pair.new_best)]
    forms = [each.mean() for each in (pair.old_said, pair.new_said)]
    words = [_telling(pair.older), _telling(pair.newer)]
    numbers = [{each.key for each in side if each.sort is Sort.NUMBER} for side in words]
    names = [roles[:, 2] > 0.5 for roles in (pair.old_roles, pair.new_roles)]
    return {
        "a number common": float(bool(numbers[0] & numbers[1])),
        "a name common": float(bool((pair.old_said & names[0]).any())),
        "numbers all common": float(numbers[0] == numbers[1] and bool(numbers[0])),
        "numbers in one alone": float(bool(numbers[0]) != bool(numbers[1])),
        "names in one alone": float(bool(names[0].any()) != bool(names[1].any())),
        "less covered": float(min(shares)),
        "more covered": float(max(shares)),
        "fewer words common": float(min(forms)),
        "more words common": float(max(forms)),
    }


def _of_places(pair: Alignment, places: Sequence[Place]) -> dict[str, float]:
    """Return how many places differ, by the sort of the difference and by its position."""
    olds, news = _telling(pair.older), _telling(pair.newer)
    sorts = [
        (
            _sort(olds[each.old], pair.old_roles[each.old]),
            _sort(news[each.new], pair.new_roles[each.new]),
        )
        for each in places
    ]
    numbers = sum(pair == (Sort.NUMBER, Sort.NUMBER) for pair in sorts)
    names = sum(pair == (Sort.NAME, Sort.NAME) for pair in sorts)
    beside = [
        each
        for each, sort in zip(places, sorts, strict=True)
        if each.is_right_same and sort != (Sort.NUMBER, Sort.NUMBER)
    ]
    last = (len(olds) - 1, len(news) - 1)
    return {
        "no place differs": float(not places),
        "one place differs": float(len(places) == 1),
        "places that differ": min(len(places), _MOST) / _MOST,
        "numbers that differ": min(numbers, 2) / 2,
        "names that differ": min(names, 2) / 2,
        "two values differ": float(numbers + names >= 2),
        "kinship of what differs": max((each.cosine for each in places), default=0.0),
        "first words differ": float(any(each.old == 0 and each.new == 0 for each in places)),
        "last words differ": float(any((each.old, each.new) == last for each in places)),
        "differs before the same": float(bool(beside)),
        "differs after the same": float(any(each.is_left_same for each in places)),
        "differs within the same": float(
            any(each.is_left_same and each.is_right_same for each in places)
        ),
        "value alone differs": float(len(places) == 1 and numbers + names == 1),
    }


def _of_rest(
    pair: Alignment, places: Sequence[Place], only_old: Sequence[int], only_new: Sequence[int]
) -> dict[str, float]:
    """Return the words of each sentence that have no counterpart in the other."""
    olds, news = _telling(pair.older), _telling(pair.newer)
    rest_old = set(only_old) - {each.old for each in places}
    rest_new = set(only_new) - {each.new for each in places}
    values_old = sum(_sort(olds[each], pair.old_roles[each]) is not Sort.WORD for each in rest_old)
    values_new = sum(_sort(news[each], pair.new_roles[each]) is not Sort.WORD for each in rest_new)
    return {
        "rest of older": min(len(rest_old), _MOST) / _MOST,
        "rest of newer": min(len(rest_new), _MOST) / _MOST,
        "values in the rest of older": min(values_old, 2) / 2,
        "values in the rest of newer": min(values_new, 2) / 2,
        "a value for another": float(values_old == 1 and values_new == 1 and not places),
        "older begins otherwise": float(0 in rest_old),
        "newer begins otherwise": float(0 in rest_new),
        "older ends otherwise": float(len(olds) - 1 in only_old),
        "newer ends otherwise": float(len(news) - 1 in only_new),
    }


def _of_roles(pair: Alignment, places: Sequence[Place]) -> dict[str, float]:
    """Return how much of the sentences' subject, and of their predicate, differs."""
    old_left, new_left = (
        1 - np.minimum(np.maximum(best / SAME, 0), 1) ** 2
        for best in (pair.old_best, pair.new_best)
    )
    old_left[pair.old_said] = 0
    new_left[pair.new_said] = 0
    found = {}
    for name, (left, roles) in {
        "older": (old_left, pair.old_roles),
        "newer": (new_left, pair.new_roles),
    }.items():
        things, values = roles[:, 0], roles[:, 1]
        about, said = things * (1 - values), things * values
        # A row for each: what things are, what is said of them, and all that is no thing.
        parts = np.stack([about, said, 1 - things])
        missing = parts * left
        most, lost, whole = missing.max(axis=1), missing.sum(axis=1), parts.sum(axis=1)
        common = (whole - lost) / (whole + 1e-6)
        found[name] = (*most.tolist(), *common[:2].tolist(), min(float(lost[0]), 2) / 2)
    old, new = found["older"], found["newer"]
    of_subjects = [
        float(
            (
                pair.old_roles[each.old, 0] * (1 - pair.old_roles[each.old, 1])
                + pair.new_roles[each.new, 0] * (1 - pair.new_roles[each.new, 1])
            )
            / 2
        )
        for each in places
    ]
    of_values = [
        float((pair.old_roles[each.old].prod() + pair.new_roles[each.new].prod()) / 2)
        for each in places
    ]
    return {
        "subject left, both": min(old[0], new[0]),
        "subject left, one": max(old[0], new[0]),
        "value left, both": min(old[1], new[1]),
        "value left, one": max(old[1], new[1]),
        "predicate left": max(old[2], new[2]),
        "subject common": min(old[3], new[3]),
        "subject common, more": max(old[3], new[3]),
        "value common": min(old[4], new[4]),
        "value common, more": max(old[4], new[4]),
        "subjects left": min(old[5], new[5]),
        "subject for subject": max(of_subjects, default=0.0),
        "value for value": max(of_values, default=0.0),
        "values replaced": min(sum(of_values), 2) / 2,
        "subjects replaced": min(sum(of_subjects), 2) / 2,
        "value for value, subject same": max(of_values, default=0.0)
        * (1 - max(of_subjects, default=0.0)),
        "value both, subject common": min(old[1], new[1]) * min(old[3], new[3]),
        "value both, subject left": min(old[1], new[1]) * min(old[0], new[0]),
    }


def signs_of_question(pair: Alignment) -> dict[str, float]:
    """Return how well both sentences answer the question, and whether the difference is the answer."""
    asked = None if pair.asked is None else pair.asked()
    if asked is None or not len(asked.by_old):
        return {}
    old, new = asked.by_old.max(axis=1), asked.by_new.max(axis=1)
    differs_old = asked.by_old[:, pair.only_old].max(initial=0.0)
    differs_new = asked.by_new[:, pair.only_new].max(initial=0.0)
    lost = np.clip(old - new, 0, 1)
    lost_anywhere = np.clip(asked.of_old - asked.of_new, 0, 1)
    return {
        "score of older": asked.scores[0],
        "score of newer": asked.scores[1],
        "newer answers less": max(0.0, asked.scores[0] - asked.scores[1]),
        "newer answers more": max(0.0, asked.scores[1] - asked.scores[0]),
        "question in older": float(old.mean()),
        "question in newer": float(new.mean()),
        "least of question in newer": float(new.min()),
        "least of question in newer text": float(asked.of_new.min()),
        "question in newer text": float(asked.of_new.mean()),
        "asked in older alone": float(lost.max()),
        "asked in older text alone": float(lost_anywhere.max()),
        "much asked in older alone": float(lost_anywhere.max() > 0.35),
        "asked in newer alone": float(np.clip(new - old, 0, 1).max()),
        "what differs is asked": float(differs_old),
        "what is new is asked": float(differs_new),
        "a word that differs is asked": float(differs_old > 0.9),
        "question said alike": float(1 - np.abs(asked.of_old - asked.of_new).mean()),
        "question said by both": float(np.minimum(asked.of_old, asked.of_new).mean()),
    }


def _of_spans(pair: Alignment) -> dict[str, float]:
    """Return how many runs of words differ on each side, and their content."""
    old = _spans(pair.older, pair.old_roles, pair.only_old)
    new = _spans(pair.newer, pair.new_roles, pair.only_new)
    found: dict[str, float] = {}
    for name, index in (("spans", 0), ("things", 1), ("values", 2)):
        few, many = sorted((old[index], new[index]))
        for count in (1, 2):
            found[f"fewer {name} {count}+"] = float(few >= count)
            found[f"more {name} {count}+"] = float(many >= count)
        found[f"more {name} 3+"] = float(many >= 3)
        found[f"{name} one for one"] = float(few == many == 1)
    found["both begin otherwise"] = float(old[3] and new[3])
    found["one begins otherwise"] = float(old[3] != new[3])
    found["values one for one, no other thing"] = float(
        old[2] == new[2] == 1 and old[1] == new[1] == 1
    )
    found["things one for one, no value"] = float(old[2] == new[2] == 0 and old[1] == new[1] == 1)
    found["nothing but words"] = float(max(old[1], new[1]) == 0)
    return found


def _of_slot(pair: Alignment) -> dict[str, float]:
    """Return the signs of the one place where two sentences differ, if they agree word for word elsewhere."""
    old, new = pair.older.words, pair.newer.words
    begin = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), len(old) - begin, len(new) - begin)
    found = {"word for word": (begin + end) / max(len(old), len(new))}
    slots = [
        _slot(sentence, roles, begin, len(sentence.words) - end)
        for sentence, roles in ((pair.older, pair.old_roles), (pair.newer, pair.new_roles))
    ]
    sizes = [each.pop("words", 0) for each in slots]
    if not 1 <= min(sizes) <= max(sizes) <= _LONGEST_SLOT:
        return found
    for name, value in slots[0].items():
        found[f"slot {name}"] = (value + slots[1][name]) / 2
        found[f"slot {name}, both"] = min(value, slots[1][name])
    return found | {
        "one slot": 1.0,
        "slot, nothing in it the same": float(sizes == [len(pair.only_old), len(pair.only_new)]),
        "slot, how far on": begin / (begin + end + 1),
        "slot first": float(begin == 0),
        "slot last": float(end == 0),
    }


def _slot(sentence: Sentence, roles: Floats, begin: int, end: int) -> dict[str, float]:
    """Return the number and sort of the telling words in a place of a sentence, and the roles of those before and after."""
    telling = sentence.telling
    first, stop = bisect_left(telling, begin), bisect_left(telling, end)
    own = _telling(sentence)[first:stop]
    if not own:
        return {}
    name = float(roles[first:stop, 2].max())
    is_after = first > 0 and telling[first - 1] == begin - 1
    is_before = stop < len(telling) and telling[stop] == end
    numbers = [each.sort is Sort.NUMBER for each in own]
    found = {
        "words": len(own),
        "alone": float(len(own) == 1),
        "is a thing": float(roles[first:stop, 0].max()),
        "is a value": float(roles[first:stop, 1].max()),
        "is a name": name,
        "is a number": float(any(numbers)),
        "is a day": float(any(each.is_day for each in own)),
        "is after a word": float(is_after),
        "is before a word": float(is_before),
        "is a number after a word": float(is_after and numbers[0]),
        "is a number before a word": float(is_before and numbers[-1]),
        "is a name beside a word": name * float((is_after or is_before) and not any(numbers)),
    }
    for side, some, nearest in (("before", roles[:first], -1), ("after", roles[stop:], 0)):
        things, values = (some[:, 0], some[:, 1]) if len(some) else (_NEITHER, _NEITHER)
        found[f"{side}, a thing"] = float(things[nearest])
        found[f"{side}, a value"] = float(values[nearest])
        found[f"{side}, no thing"] = float(1 - things.min())
        found[f"{side}, a subject"] = float((things * (1 - values)).max())
        found[f"{side}, the most of a value"] = float((things * values).max())
    return found


def _common(ones: Sequence[StatementWord], others: Sequence[StatementWord]) -> int:
    """Return how many words two sentences have in common until the first that differs."""
    count = 0
    for one, other in zip(ones, others, strict=False):
        if not is_form(one.key, other.key):
            break
        count += 1
    return count


def _spans(sentence: Sentence, roles: Floats, only: Sequence[int]) -> tuple[int, int, int, bool]:
    """Return how many runs of words the other lacks, of them with a thing and with a name or number; whether it begins with one."""
    words = _telling(sentence)
    runs: list[list[int]] = []
    for place in only:
        if runs and runs[-1][-1] == place - 1:
            runs[-1].append(place)
        else:
            runs.append([place])
    values = [any(words[i].sort is Sort.NUMBER or roles[i, 2] > 0.5 for i in run) for run in runs]
    things = [any(roles[i, 0] > 0.6 for i in run) for run in runs]
    return (
        len(runs),
        sum(a or b for a, b in zip(values, things, strict=True)),
        sum(values),
        bool(only) and only[0] == 0,
    )


def places_of(pair: Alignment, only_old: Sequence[int], only_new: Sequence[int]) -> list[Place]:
    """Return where words stand for one another, the nearest first, each word in one place at most."""
    if not only_old or not only_new:
        return []
    sides = (pair.older, pair.old_roles, only_old), (pair.newer, pair.new_roles, only_new)
    left, right = (
        forms(_beside(pair.older, only_old, step, "\0"), _beside(pair.newer, only_new, step, "\1"))
        for step in (-1, 1)
    )
    cosines = pair.cosines[np.ix_(only_old, only_new)].astype(np.float64)
    names = np.minimum.outer(*(roles[only, 2].astype(np.float64) for _, roles, only in sides))
    numbers = [[_telling(one)[i].sort is Sort.NUMBER for i in only] for one, _, only in sides]
    is_alike = np.logical_and.outer(*numbers) + names
    near = cosines + (OF_ONE_SORT * is_alike + OF_ONE_NEIGHBOUR * (left.astype(int) + right))
    found: dict[int, Place] = {}
    taken = set[int]()
    for index in np.argsort(-near, axis=None, kind="stable").tolist():
        one, other = divmod(index, len(only_new))
        if near[one, other] < KIN:
            break
        if one not in found and other not in taken:
            taken.add(other)
            where = only_old[one], only_new[other], float(cosines[one, other])
            found[one] = Place(*where, bool(left[one, other]), bool(right[one, other]))
    return [each for each in found.values() if each.cosine < SAME]


def _beside(sentence: Sentence, only: Sequence[int], step: int, none: str) -> list[str]:
    """Return the key of the word before (-1) or after (1) each of some telling words; `none` where that tells nothing."""
    keys = dict(zip(sentence.telling, sentence.keys, strict=True))
    return [keys.get(sentence.telling[each] + step, none) for each in only]


def _telling(sentence: Sentence) -> list[StatementWord]:
    return [sentence.words[place] for place in sentence.telling]


def _sort(word: StatementWord, roles: Floats) -> Sort:
    return Sort.NAME if word.sort is not Sort.NUMBER and roles[2] > 0.5 else word.sort
