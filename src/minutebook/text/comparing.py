"""Compare two sentences word by word: what they share, where they differ, and of which sort the differences are.

The result is named *signs*, numbers in about [0, 1], that a small network weighs (`text/nets.py`); their names are part
of the fitted weights. A *content word* says what a sentence is about (`StatementWord.is_telling`) and is given by its number
among the sentence's; its *state* is the unit vector that the embedding model gave its tokens.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minutebook.text.note_words import OPPOSITES
from minutebook.text.statements import (
    Floats,
    Sentence,
    Sort,
    Statements,
    StatementWord,
    forms,
    is_form,
)

PROBE: Floats = np.load(Path(__file__).with_name("word_roles.npy")).astype(np.float32)
"""Logistic regressions on a word's state, for the columns of `roles_of`, (d + 1, 3); the last row is the bias."""

SAME = 0.62
"""The least cosine of the states of two words that say the same."""

NEVER_SAME = 0.5
"""The cosine of two different numbers, days or opposites counts as at most this: their states are near whatever they say."""

KIN = 0.3
"""The least nearness of two words of which one may replace the other, such as two days, two tools, two names."""

OF_ONE_SORT, OF_ONE_NEIGHBOUR = 0.15, 0.15
"""Added to the cosine of two words in their nearness: if both are numbers or names; for each neighbour that both share."""

_MOST = 4
"""The count of differences at which a sign is 1."""

_LONGEST_SLOT = 3
"""The most words, on either side, in the one place where two sentences differ."""

_NEITHER = np.array([0.5], np.float32)
"""The chance of a role where there is no word."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """How the content words of an older and a newer sentence correspond.

    `cosines` are those of the states of each older and newer word, (older, newer); without states 1 for two forms of one
    word, else 0. `same` has the same shape: whether two words are forms of one word.

    What begins with `old` is about the older sentence's words, what begins with `new` about the newer's: `roles`,
    (words, 3), as `roles_of` returns them; `best`, (words,), the greatest cosine with a word of the other sentence; `said`,
    (words,), whether the other sentence has the word in some form. `only_old` and `only_new` are the numbers of the words
    that the other sentence has in no form. `asked` computes how well both answer the question; None if there is none.
    """

    older: Sentence
    newer: Sentence
    cosines: Floats
    same: NDArray[np.bool_]
    old_roles: Floats
    new_roles: Floats
    old_best: Floats
    new_best: Floats
    old_said: NDArray[np.bool_]
    new_said: NDArray[np.bool_]
    only_old: list[int]
    only_new: list[int]
    has_states: bool
    asked: "Callable[[], SharedWords] | None" = None


@dataclass(frozen=True, slots=True)
class SharedWords:
    """How well an older and a newer sentence, and the texts around them, have the words of a question, in [0, 1].

    `by_old` is the match of each word of the question with each of the older sentence, (question's words, older's);
    `of_old` the best match of each word of the question with any word of the older text, (question's words,). `by_new` and
    `of_new` are the same for the newer. `scores` are the late interaction of the question with the older and the newer
    text; both 0 if either is not known.
    """

    by_old: Floats
    by_new: Floats
    of_old: Floats
    of_new: Floats
    scores: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Place:
    """A place where two sentences differ: a content word of the older, by number, and the one of the newer in its place.

    `cosine` is that of their states. `is_left_same` and `is_right_same` tell whether the words before them, and those
    after them, are forms of one word.
    """

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
    """Align the content words of two sentences by their states (words, d), or by their forms where either has none.

    `asked` computes how well both answer a question, if there is one.
    """
    old, new = older.keys, newer.keys
    same = forms(old, new)
    old_said: NDArray[np.bool_] = np.asarray(same.any(axis=1))
    new_said: NDArray[np.bool_] = np.asarray(same.any(axis=0))
    has_states = old_states is not None and new_states is not None
    cosines = same.astype(np.float32)
    if old_states is not None and new_states is not None:
        cosines = old_states @ new_states.T
        cosines = np.where(same, np.maximum(cosines, SAME), cosines)
        for old_word, new_word in _exclusive(older, newer):
            if not same[old_word, new_word]:
                cosines[old_word, new_word] = min(cosines[old_word, new_word], NEVER_SAME)
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
    """Yield the numbers of an older and a newer content word that exclude each other: two numbers, two days, opposites."""
    new_words = [(_value(word), word.key) for word in newer.content_words]
    for old_number, word in enumerate(older.content_words):
        value, opposites = _value(word), OPPOSITES.get(word.key, ())
        if not value and not opposites:
            continue
        for new_number, (new_value, key) in enumerate(new_words):
            if (value and value == new_value) or key in opposites:
                yield old_number, new_number


def _value(word: StatementWord) -> str:
    """Return "number" or "day" for a word that is one, as no two different ones say the same; "" for any other word."""
    return "number" if word.sort is Sort.NUMBER else "day" if word.is_day else ""


def _are_opposed(older: Sentence, newer: Sentence) -> bool:
    """Tell whether a word that only the older sentence has is the opposite of one that only the newer has."""
    old, new = ({word.key for word in side.words} for side in (older, newer))
    return any(OPPOSITES[key] & (new - old) for key in (old - new) & OPPOSITES.keys())


def said_by(asked: Statements, sentence: Sentence, states: Floats | None) -> Floats:
    """Return how well each word of a sentence matches each of a question, (question's words, sentence's), in [0, 1].

    1 for two forms of one word, else the cosine of their states, in parts of SAME. `states` are the sentence's, (words, d).
    """
    matches = []
    for question, question_states in zip(asked.sentences, asked.states, strict=True):
        match = forms(question.keys, sentence.keys).astype(np.float32)
        if question_states is not None and states is not None:
            match = np.maximum(match, np.clip(question_states @ states.T / SAME, 0, 1))
        matches.append(match)
    if not matches:
        return np.zeros((0, len(sentence.telling)), np.float32)
    return np.vstack(matches)


def roles_of(sentence: Sentence, states: Floats | None) -> Floats:
    """Return the chances of three roles for each content word, (words, 3).

    Column 0: it names a thing. Column 1: it is a value, which is said of the subject, rather than the subject. Column 2: it
    is a name. By states (words, d); without them by the word's place, as values tend to come late. How numbers and names
    are written decides over both.
    """
    words = sentence.content_words
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


def signs(pair: Alignment) -> dict[str, float]:
    """Return all signs for or against the newer sentence revising the older, by name, each in about [0, 1]."""
    return unasked_signs(pair) | signs_of_question(pair)


def unasked_signs(pair: Alignment) -> dict[str, float]:
    """Return the signs that need no question, by name."""
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
    """Return the signs for two whole texts, each read as one sentence: all of `signs`, and those of the place that differs."""
    return {**signs(pair), **_of_slot(pair)}


def is_exchangeable(found: Mapping[str, float]) -> bool:
    """Tell by `whole_signs` whether two texts differ in one name or word only, which may be the subject of each.

    A number after a word and before none counts as such a name: it tells one of several things ("release 2.3").
    """
    if not found.get("slot, nothing in it the same") or found["slot is a day"]:
        return False
    is_number = found["slot is a number"] > 0
    names_one = (
        found["slot is a number after a word"] and not found["slot is a number before a word"]
    )
    return not is_number or bool(names_one)


def _coverage(pair: Alignment) -> dict[str, float]:
    """Return the signs of how much of each sentence the other has, by states and by forms of words."""
    shares = [np.maximum(each, 0).mean() for each in (pair.old_best, pair.new_best)]
    said = [each.mean() for each in (pair.old_said, pair.new_said)]
    words = [pair.older.content_words, pair.newer.content_words]
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
        "fewer words common": float(min(said)),
        "more words common": float(max(said)),
    }


def _of_places(pair: Alignment, places: Sequence[Place]) -> dict[str, float]:
    """Return the signs of the places that differ: how many, of which sort, and where."""
    old_words, new_words = pair.older.content_words, pair.newer.content_words
    sorts = [
        (
            _sort(old_words[each.old], pair.old_roles[each.old]),
            _sort(new_words[each.new], pair.new_roles[each.new]),
        )
        for each in places
    ]
    numbers = sum(both == (Sort.NUMBER, Sort.NUMBER) for both in sorts)
    names = sum(both == (Sort.NAME, Sort.NAME) for both in sorts)
    before_the_same = [
        each
        for each, sort in zip(places, sorts, strict=True)
        if each.is_right_same and sort != (Sort.NUMBER, Sort.NUMBER)
    ]
    last = (len(old_words) - 1, len(new_words) - 1)
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
        "differs before the same": float(bool(before_the_same)),
        "differs after the same": float(any(each.is_left_same for each in places)),
        "differs within the same": float(
            any(each.is_left_same and each.is_right_same for each in places)
        ),
        "value alone differs": float(len(places) == 1 and numbers + names == 1),
    }


def _of_rest(
    pair: Alignment, places: Sequence[Place], only_old: Sequence[int], only_new: Sequence[int]
) -> dict[str, float]:
    """Return the signs of the words of each sentence that are in no place and have no form in the other."""
    old_words, new_words = pair.older.content_words, pair.newer.content_words
    rest_old = set(only_old) - {each.old for each in places}
    rest_new = set(only_new) - {each.new for each in places}
    values_old = sum(
        _sort(old_words[each], pair.old_roles[each]) is not Sort.WORD for each in rest_old
    )
    values_new = sum(
        _sort(new_words[each], pair.new_roles[each]) is not Sort.WORD for each in rest_new
    )
    return {
        "rest of older": min(len(rest_old), _MOST) / _MOST,
        "rest of newer": min(len(rest_new), _MOST) / _MOST,
        "values in the rest of older": min(values_old, 2) / 2,
        "values in the rest of newer": min(values_new, 2) / 2,
        "a value for another": float(values_old == 1 and values_new == 1 and not places),
        "older begins otherwise": float(0 in rest_old),
        "newer begins otherwise": float(0 in rest_new),
        "older ends otherwise": float(len(old_words) - 1 in only_old),
        "newer ends otherwise": float(len(new_words) - 1 in only_new),
    }


def _of_roles(pair: Alignment, places: Sequence[Place]) -> dict[str, float]:
    """Return the signs of how much of the sentences' subjects, values and other words differs.

    A word is *left* by the part to which nothing in the other sentence says the same: 0 for one that is there in some form,
    1 for one whose best cosine there is 0 or less. A sign with "both" or "common" takes the lesser of the two sentences.
    """
    old_left, new_left = (
        1 - np.minimum(np.maximum(best / SAME, 0), 1) ** 2
        for best in (pair.old_best, pair.new_best)
    )
    old_left[pair.old_said] = 0
    new_left[pair.new_said] = 0
    found = []
    for left, roles in ((old_left, pair.old_roles), (new_left, pair.new_roles)):
        things, values = roles[:, 0], roles[:, 1]
        # One row for subjects, one for what is said of them, one for all words that name no thing.
        parts = np.stack([things * (1 - values), things * values, 1 - things])
        missing = parts * left
        most, lost, whole = missing.max(axis=1), missing.sum(axis=1), parts.sum(axis=1)
        common = (whole - lost) / (whole + 1e-6)
        # The most of a subject, value and other word that is left; subject and value in common; subjects left.
        found.append((*most.tolist(), *common[:2].tolist(), min(float(lost[0]), 2) / 2))
    old, new = found
    subjects = [each[:, 0] * (1 - each[:, 1]) for each in (pair.old_roles, pair.new_roles)]
    of_subjects = [float(subjects[0][each.old] + subjects[1][each.new]) / 2 for each in places]
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
    """Return the signs of how well both sentences answer the question, and of whether they differ in the answer; none without one."""
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
    """Return the signs of the runs of words that only one sentence has: how many on each side, and of which content."""
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
    """Return the signs of the one place, or slot, where two sentences differ that agree word for word before and after it."""
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
    """Return the signs of a slot, the words `begin:end` of a sentence; none if it has no content word.

    "words" is how many content words it has; the others are their sorts and roles, and the roles of those before and after.
    """
    telling = sentence.telling
    first, stop = bisect_left(telling, begin), bisect_left(telling, end)
    own = sentence.content_words[first:stop]
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
    """Return how many words two sentences have in common, in some form, before the first that differs."""
    count = 0
    for one, other in zip(ones, others, strict=False):
        if not is_form(one.key, other.key):
            break
        count += 1
    return count


def _spans(sentence: Sentence, roles: Floats, only: Sequence[int]) -> tuple[int, int, int, bool]:
    """Count the runs of content words, by number in `only`, that the other sentence lacks.

    Returns how many runs there are, how many have a thing, name or number, how many have a name or number, and whether the
    sentence begins with a run.
    """
    words = sentence.content_words
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
        sum(value or thing for value, thing in zip(values, things, strict=True)),
        sum(values),
        bool(only) and only[0] == 0,
    )


def places_of(pair: Alignment, only_old: Sequence[int], only_new: Sequence[int]) -> list[Place]:
    """Return the places where a word of `only_new` replaces one of `only_old`, the nearest pair first.

    Each word is in one place at most. Words with a cosine of SAME or more say the same and make no place.
    """
    if not only_old or not only_new:
        return []
    older, newer = pair.older, pair.newer
    sides = (older, pair.old_roles, only_old), (newer, pair.new_roles, only_new)
    left, right = (
        # Different stand-ins, so that two missing neighbours are not the same.
        forms(_neighbours(older, only_old, step, "\0"), _neighbours(newer, only_new, step, "\1"))
        for step in (-1, 1)
    )
    cosines = pair.cosines[np.ix_(only_old, only_new)].astype(np.float64)
    names = np.minimum.outer(*(roles[only, 2].astype(np.float64) for _, roles, only in sides))
    numbers = [[s.content_words[i].sort is Sort.NUMBER for i in only] for s, _, only in sides]
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


def _neighbours(sentence: Sentence, only: Sequence[int], step: int, none: str) -> list[str]:
    """Return the key of the word before (`step` -1) or after (1) each content word in `only`; `none` if that is no content word."""
    keys = dict(zip(sentence.telling, sentence.keys, strict=True))
    return [keys.get(sentence.telling[each] + step, none) for each in only]


def _sort(word: StatementWord, roles: Floats) -> Sort:
    """Return the sort of a word; NAME also for one that is no number and whose roles (3,) make it likely a name."""
    return Sort.NAME if word.sort is not Sort.NUMBER and roles[2] > 0.5 else word.sort
