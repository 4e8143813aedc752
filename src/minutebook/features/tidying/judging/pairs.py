"""Compare two notes that are alike: whether the newer says the same, says otherwise, or is about something else.

The words of both are aligned. Where nothing that tells differs, they say the same. Where one value differs
(a number with its measure, a name, a day, a state) and all before the verb is equal, the newer says
otherwise. Where what they are about differs, both stay.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from minutebook.language.comparing import LEAST_STEM, is_form
from minutebook.language.note_words import DAYS, LISTS, OPPOSITES
from minutebook.search.text import is_stop_term, word_terms

LONGEST = 2_000
"""Characters beyond which texts are compared as wholes alone: what differs in them is seldom one value."""

_LONGEST_VALUE = 3
"""Words of a value at most."""

_LEAST_COMMON = 0.6
"""The share of the telling words that two texts need in common to say the same in other words."""

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*%?|[^\W\d_](?:[\w'’.+#/-]*[\w+#])?|[€$%]")
_SENTENCE_END = re.compile(r"[.!?:;]\s*$")


class PairVerdict(StrEnum):
    """The relation of a newer text to an older one that it is like."""

    SAME = "same"
    OTHERWISE = "otherwise"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict, how certain it is in [0, 1], and the words that differ, each side's as they are written.

    `is_older_fuller`: the older text holds all that the newer says, and more. `is_exchangeable`: they differ in
    one name or word, which may be a value or, where more notes are made so, what each is about.
    """

    verdict: PairVerdict
    certainty: float
    old: str = ""
    new: str = ""
    is_older_fuller: bool = False
    is_exchangeable: bool = False


class _Differing(NamedTuple):
    old: str
    new: str


class _Word(NamedTuple):
    """A word of a text, with the traits that are asked of it again and again."""

    text: str
    key: str
    plain: str
    place: int
    is_number: bool
    is_name: bool
    is_telling: bool

    @property
    def is_verb(self) -> bool:
        return self.plain in LISTS["verbs"]


@dataclass(frozen=True, slots=True)
class _Span:
    """A place where the texts differ: the words of each side that tell something, in order."""

    old: tuple[_Word, ...]
    new: tuple[_Word, ...]
    ahead: tuple[_Word, ...]
    """The words of the older text before it, as far as they stand there in the newer, too; at most two."""
    after: _Word | None
    is_before_verb: bool

    @property
    def before(self) -> _Word | None:
        return self.ahead[-1] if self.ahead else None


def compare(older: str, newer: str) -> Comparison:
    """Compare a newer text with an older one that it is like."""
    if " ".join(older.split()).casefold() == " ".join(newer.split()).casefold():
        return Comparison(PairVerdict.SAME, 0.99)
    if len(older) > LONGEST or len(newer) > LONGEST:
        return Comparison(PairVerdict.APART, 0.5)
    old, new = _words(older), _words(newer)
    if not old or not new:
        return Comparison(PairVerdict.APART, 0.5)
    only_old, only_new = _missing(old, new), _missing(new, old)
    differing = _Differing(_said(only_old), _said(only_new))
    if _denials(old) != _denials(new) or _are_opposed(old, new):
        return _opposed(old, new, only_old, only_new, differing)
    if not only_old or not only_new:
        return _one_fuller(old, new, only_old, only_new, differing)
    spans = _spans(old, new)
    if spans is not None:
        return _replaced(spans, old, new, differing)
    return _reworded(old, new, only_old, only_new, differing)


def _opposed(
    old: Sequence[_Word],
    new: Sequence[_Word],
    only_old: Sequence[_Word],
    only_new: Sequence[_Word],
    differing: _Differing,
) -> Comparison:
    """Judge texts of which one denies the statement that the other affirms."""
    shared = _share(old, new)
    # What both are about must be the same: a name or a number beside the denial is another thing.
    others = [each for each in (*only_old, *only_new) if each.is_number or each.is_name]
    if shared < 0.5 or others:
        return Comparison(PairVerdict.APART, shared)
    return Comparison(PairVerdict.OTHERWISE, min(0.95, 0.6 + 0.35 * shared), *differing)


def _one_fuller(
    old: Sequence[_Word],
    new: Sequence[_Word],
    only_old: Sequence[_Word],
    only_new: Sequence[_Word],
    differing: _Differing,
) -> Comparison:
    """Judge texts of which one holds all that the other says."""
    more = only_old or only_new
    whole = old if only_old else new
    telling = sum(each.is_telling for each in whole)
    if not more:
        return Comparison(PairVerdict.SAME, 0.95)
    share = 1 - len(more) / max(1, telling)
    if share < _LEAST_COMMON:
        return Comparison(PairVerdict.APART, share)
    return Comparison(
        PairVerdict.SAME, 0.7 + 0.25 * share, *differing, is_older_fuller=bool(only_old)
    )


def _replaced(
    spans: Sequence[_Span], old: Sequence[_Word], new: Sequence[_Word], differing: _Differing
) -> Comparison:
    """Judge texts that agree word for word but in a few places."""
    shared = _share(old, new)
    apart = Comparison(PairVerdict.APART, shared)
    # Only the verb is another: the same in other words.
    if all(_is_reworded(each) for each in spans):
        return Comparison(PairVerdict.SAME, 0.85, *differing)
    values = [each for each in spans if not _is_reworded(each)]
    is_alone = len(values) == 1
    if any(_is_subject(each) and not (is_alone and _plays_role(each)) for each in values):
        return apart
    if not is_alone and any(_is_scope(each, LISTS["scopes"]) for each in values):
        return apart
    if any(_names_one(each) or _is_place(each) or _acts(each) for each in values):
        return apart
    if any(max(len(each.old), len(each.new)) > _LONGEST_VALUE for each in values):
        return apart
    if all(_is_value(each) for each in values) and shared >= 0.34:
        is_exchangeable = is_alone and _is_exchangeable(values[0])
        certainty = min(0.95, 0.7 + 0.25 * shared)
        return Comparison(
            PairVerdict.OTHERWISE, certainty, *differing, is_exchangeable=is_exchangeable
        )
    return apart


def _reworded(
    old: Sequence[_Word],
    new: Sequence[_Word],
    only_old: Sequence[_Word],
    only_new: Sequence[_Word],
    differing: _Differing,
) -> Comparison:
    """Judge texts that say things in another order or in other words."""
    shared = _share(old, new)
    if any(each.is_number or each.is_name for each in (*only_old, *only_new)):
        return Comparison(PairVerdict.APART, shared)
    if shared < _LEAST_COMMON:
        return Comparison(PairVerdict.APART, shared)
    return Comparison(PairVerdict.SAME, 0.5 + 0.45 * shared, *differing)


@lru_cache(8)
def _words(text: str) -> tuple[_Word, ...]:
    """Split a text into words; a memory is compared with some others, one after another."""
    found: list[_Word] = []
    end = 0
    for place, match in enumerate(_TOKEN.finditer(text)):
        gap = text[end : match.start()]
        is_title = bool(found) and len(found[-1].text) <= 3 and gap.startswith(".")
        is_first = place == 0 or (bool(_SENTENCE_END.search(gap)) and not is_title)
        end = match.end()
        word = match[0]
        key = " ".join(word_terms(word)) or word.casefold()
        plain, is_number = word.casefold(), any(c.isdigit() for c in word)
        is_name = not is_first and not is_number and word[:1].isupper()
        # "Suche" has the stem of "such".
        is_noun = is_name and key != plain
        is_telling = is_number or is_noun or not (is_stop_term(key) or plain in LISTS["linking"])
        found.append(_Word(word, key, plain, place, is_number, is_name, is_telling))
    return tuple(found)


def _missing(of: Sequence[_Word], other: Sequence[_Word]) -> list[_Word]:
    """Return the telling words of one text that the other lacks, in any form."""
    keys = {each.key for each in other}
    alike: dict[str, list[str]] = {}
    for its in other:
        alike.setdefault(its.plain[:LEAST_STEM], []).append(its.plain)
    return [
        each
        for each in of
        if each.is_telling
        and each.key not in keys
        and not any(is_form(each.plain, its) for its in alike.get(each.plain[:LEAST_STEM], ()))
    ]


def _share(old: Sequence[_Word], new: Sequence[_Word]) -> float:
    """Return the share of the telling words that both have, of the side that has fewer in common."""
    sizes = [sum(each.is_telling for each in side) for side in (old, new)]
    gone = [len(_missing(old, new)), len(_missing(new, old))]
    return min((size - lost) / max(1, size) for size, lost in zip(sizes, gone, strict=True))


def _denials(words: Sequence[_Word]) -> bool:
    """Tell whether a text denies, by an odd number of denials."""
    return (
        sum(each.plain in LISTS["denials"] or each.plain.endswith("n't") for each in words) % 2 == 1
    )


def _are_opposed(old: Sequence[_Word], new: Sequence[_Word]) -> bool:
    """Tell whether one text holds a word, and the other, in its place, the opposite."""
    said = [{each.plain for each in side} for side in (old, new)]
    ours, theirs = said[0] - said[1], said[1] - said[0]
    return any((ours & a and theirs & b) or (ours & b and theirs & a) for a, b in OPPOSITES)


def _spans(old: Sequence[_Word], new: Sequence[_Word]) -> list[_Span] | None:
    """Return where two texts differ, if they agree word for word elsewhere; None if they do not."""
    matcher = SequenceMatcher(None, [w.key for w in old], [w.key for w in new], autojunk=False)
    found = []
    verbs = [next((w.place for w in side if w.is_verb), None) for side in (old, new)]
    same = 0
    for tag, i, k, j, m in matcher.get_opcodes():
        if tag == "equal":
            same += k - i
            continue
        mine = tuple(w for w in old[i:k] if w.is_telling)
        theirs = tuple(w for w in new[j:m] if w.is_telling)
        if not mine and not theirs:
            continue
        if not mine or not theirs:
            # A word here and none there: words were moved, not replaced.
            return None
        is_before = _is_before(mine[0].place, verbs[0], len(old)) and _is_before(
            theirs[0].place, verbs[1], len(new)
        )
        found.append(
            _Span(
                mine,
                theirs,
                tuple(old[max(0, i - 2) : i]),
                old[k] if k < len(old) else None,
                is_before,
            )
        )
    return found if same * 3 >= min(len(old), len(new)) else None


def _is_before(place: int, verb: int | None, length: int) -> bool:
    return place < verb if verb is not None else place < 0.4 * length


def _is_reworded(span: _Span) -> bool:
    """Tell whether only the verb is another."""
    return all(
        each.is_verb and each.plain not in LISTS["states"] for each in (*span.old, *span.new)
    )


def _is_measured(span: _Span) -> bool:
    """Tell whether a number that differs counts something, and names nothing."""
    if not (span.old[0].is_number and span.new[0].is_number):
        return False
    units = [span.after, *span.old[1:], *span.new[1:]]
    is_counted = any(each is not None and each.plain in LISTS["measures"] for each in units)
    is_bounded = span.before is not None and span.before.plain in LISTS["bounds"]
    return is_counted or is_bounded or "%" in span.old[0].text


def _is_subject(span: _Span) -> bool:
    """Tell whether the difference is the subject of the texts."""
    return span.is_before_verb and not _is_measured(span)


def _plays_role(span: _Span) -> bool:
    """Tell whether the difference is the holder of a role that one person at a time has."""
    return span.after is not None and span.after.plain in LISTS["roles"]


def _names_one(span: _Span) -> bool:
    """Tell whether the difference picks one of several things of a kind as the subject."""
    beside = (each for each in (span.before, span.after) if each is not None)
    return not _is_measured(span) and any(each.plain in LISTS["kinds"] for each in beside)


def _is_place(span: _Span) -> bool:
    """Tell whether the difference is the place where the rest holds: a bare name after a free preposition."""
    if span.before is None or span.before.plain not in LISTS["places"] or _sort(span.old) == "day":
        return False
    is_time = span.old[0].is_number and "." not in span.old[0].text
    if is_time or _is_measured(span) or len(span.ahead) < 2:
        return False
    return not _governs(span.ahead[0])


def _governs(word: _Word) -> bool:
    """Tell whether a word may be a verb or a participle, which the preposition after it belongs to."""
    plain = word.plain
    is_participle = plain.endswith(tuple(LISTS["endings"])) or (
        plain[:2] == "ge" and plain[-1] == "t"
    )
    return (
        word.is_verb or is_participle or plain in LISTS["states"] or plain in LISTS["participles"]
    )


def _acts(span: _Span) -> bool:
    """Tell whether the difference is an agent in a later clause: a verb stands right after it."""
    is_verb = span.after is not None and (span.after.is_verb or span.after.plain in LISTS["roles"])
    return is_verb and not span.is_before_verb


def _is_scope(span: _Span, words: frozenset[str]) -> bool:
    """Tell whether the difference is the scope of the rest: for or of a thing."""
    is_number = span.old[0].is_number
    return not is_number and span.before is not None and span.before.plain in words


def _is_value(span: _Span) -> bool:
    """Tell whether both sides of a place are values of one sort."""
    if _is_scope(span, LISTS["owners"]):
        return False
    sorts = [_sort(side) for side in (span.old, span.new)]
    return sorts[0] == sorts[1] or (len(span.old) == len(span.new) == 1)


def _is_exchangeable(span: _Span) -> bool:
    """Tell whether both sides of a place are names or words; a holder of a role is a value beside any of these."""
    is_role = span.is_before_verb and _plays_role(span)
    return not is_role and all(_sort(side) in ("name", "word") for side in (span.old, span.new))


def _sort(words: Sequence[_Word]) -> str:
    if any(each.plain in DAYS for each in words):
        return "day"
    if any(each.is_name for each in words):
        return "name"
    if any(each.is_number for each in words):
        return "number"
    if any(each.plain in LISTS["states"] for each in words):
        return "state"
    return "word"


def _said(words: Sequence[_Word]) -> str:
    return " ".join(each.text for each in words)
