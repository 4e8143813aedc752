"""Compare two similar notes: the newer one says the same, says otherwise, or is about something else.

Both are compared as wholes, since one may replace the other, and aligned as `revisions` aligns sentences. Two networks
judge the same signs, and those of the one place where notes of one pattern differ: one tells whether both say the
same, the other whether the newer says otherwise.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from minutebook.text.comparing import Alignment, align, is_exchangeable, whole_signs
from minutebook.text.revisions import NETS, DatedText, net_of
from minutebook.text.statements import Spell, whole_of
from minutebook.text.words import languages_of

LEAST_SAME, LEAST_OTHERWISE = 0.5, 0.7
"""The least chances of the networks at which two texts say the same, or the newer says otherwise."""

LONGEST_NOTE = 2_000
"""Characters; longer texts are not compared as wholes, as they seldom differ in one value."""

_CERTAIN = 0.99

_NAME = re.compile(r"\b(?=\w*[^\W\d_])(?=\w*\d)\w+")
"""A word with both letters and digits."""


class PairVerdict(StrEnum):
    """The relation of a newer text to an older, similar one."""

    SAME = "same"
    OTHERWISE = "otherwise"
    APART = "apart"


@dataclass(frozen=True, slots=True)
class Comparison:
    """A verdict with its chance in [0, 1], and the words that only the old text has, and only the new one, as written.

    `is_older_fuller`: the older text has all words of the newer, and more. `is_exchangeable`: they differ in one
    name or word, which may be a value or, if further texts follow the pattern, the subject of each.
    """

    verdict: PairVerdict
    chance: float
    old: str = ""
    new: str = ""
    is_older_fuller: bool = False
    is_exchangeable: bool = False


def compare(older: DatedText, newer: DatedText, spell: Spell | None = None) -> Comparison:
    """Compare a newer text with an older one as wholes: whether one can replace the other."""
    if " ".join(older.text.split()).casefold() == " ".join(newer.text.split()).casefold():
        return Comparison(PairVerdict.SAME, _CERTAIN)
    if max(len(older.text), len(newer.text)) > LONGEST_NOTE:
        return Comparison(PairVerdict.APART, 0.0)
    pair = whole_alignment(older, newer, spell)
    if pair is None:
        return Comparison(PairVerdict.APART, 0.0)
    found = whole_signs(pair)
    says_otherwise, says_same = (
        float(NETS[f"{net_of(pair)}_{each}"].chances([found])[0])
        for each in (PairVerdict.OTHERWISE, PairVerdict.SAME)
    )
    if says_same >= max(LEAST_SAME, says_otherwise):
        verdict, likely = PairVerdict.SAME, says_same
    elif says_otherwise >= LEAST_OTHERWISE and not _names_another(pair):
        verdict, likely = PairVerdict.OTHERWISE, says_otherwise
    else:
        verdict, likely = PairVerdict.APART, 1 - max(says_same, says_otherwise)
    return Comparison(
        verdict,
        min(likely, _CERTAIN),
        pair.older.written(pair.only_old),
        pair.newer.written(pair.only_new),
        is_older_fuller=bool(pair.only_old) and not pair.only_new,
        is_exchangeable=is_exchangeable(found),
    )


def _names_another(pair: Alignment) -> bool:
    """Tell whether two notes without states name different things, such as `k0` and `k3`, and differ elsewhere, too.

    Without states the network takes the other difference for a changed value of one thing.
    """
    if pair.has_states:
        return False
    sides = (pair.older.written(pair.only_old), pair.newer.written(pair.only_new))
    named = [set(_NAME.findall(each.casefold())) for each in sides]
    return all(named) and all(
        len(each.split()) > len(names) for each, names in zip(sides, named, strict=True)
    )


def whole_alignment(older: DatedText, newer: DatedText, spell: Spell | None) -> Alignment | None:
    """Align two texts as wholes; None if one has no content word."""
    languages = languages_of(f"{older.text}\n{newer.text}")
    old, new = (whole_of(each.text, languages, each.states, spell) for each in (older, newer))
    if not old.sentences or not new.sentences:
        return None
    return align(old.sentences[0], new.sentences[0], old.states[0], new.states[0])
