"""Does one statement take another back? Rules for two statements, in the order in which they decide."""

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile

from minutebook.summarizing.statements import MEASURES, Statement, is_figure

RECENT = 3
"""Turns back, at most, to what a correction that names its subject only in passing concerns."""

BARELY, NEAR, HALF, SAME, MOST = 0.24, 0.34, 0.5, 0.6, 0.75
"""Shares of common words: what a correction just after, any correction, any statement needs to be about
the same thing; and what says the same again."""

LEAST_STEM = 4
"""Letters that two forms of a word have in common at least."""

LONGEST_VALUE = 2
"""Words of a value that is not a figure, at most."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place where two statements say something else, and the words beside it, which both have."""

    old: frozenset[str]
    new: frozenset[str]
    beside: frozenset[str]


def takes_back(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later statement takes the earlier one back: the first rule that says anything decides."""
    if later.turn <= earlier.turn or earlier.is_question:
        return False
    pair = _Pair(later, earlier, later.subject & earlier.subject, later.counted & earlier.counted)
    of_tests = earlier.is_of_failing_tests and later.is_of_tests
    if not (pair.common or pair.measured or of_tests):
        return False
    return next((said for rule in _RULES if (said := rule(pair)) is not None), False)


@dataclass(frozen=True)
class _Pair:
    """Two statements about one thing: the terms of both subjects, and what both count."""

    later: Statement
    earlier: Statement
    common: Set[str]
    measured: Set[str]

    @property
    def is_next(self) -> bool:
        """Whether the later one was said in the turn after the earlier."""
        return self.later.turn - self.earlier.turn == 1

    @property
    def is_recent(self) -> bool:
        """Whether the earlier one was said not long before."""
        return self.later.turn - self.earlier.turn <= RECENT

    @property
    def share(self) -> float:
        """The part of the shorter subject that both have."""
        return len(self.common) / min(len(self.later.subject), len(self.earlier.subject))

    @property
    def of_earlier(self) -> float:
        """The part of the earlier subject that both have."""
        return len(self.common) / len(self.earlier.subject)

    @cached_property
    def is_other(self) -> bool:
        """Whether the later one gives another number."""
        return other_number(self.later, self.earlier)


_Rule = Callable[[_Pair], bool | None]
"""Tells whether a pair is a retraction; None where it cannot tell."""


def _by_wish(pair: _Pair) -> bool | None:
    return _fulfils_another_wish(pair.later, pair.earlier) or None


def _by_whom(pair: _Pair) -> bool | None:
    # What the person said stands until the person says otherwise.
    return False if pair.earlier.by_user and not pair.later.by_user else None


def _by_confirmation(pair: _Pair) -> bool | None:
    later = pair.later
    is_yes = later.confirms and not (later.corrects or later.prompting.objects)
    return False if pair.is_next and is_yes else None


def _by_labels(pair: _Pair) -> bool | None:
    # What bears another label is about something else.
    later, earlier = pair.later.labels, pair.earlier.labels
    return False if later and earlier and not later & earlier else None


def _by_outcome(pair: _Pair) -> bool | None:
    return _mends(pair.later, pair.earlier) or _completes(pair.later, pair.earlier) or None


def _by_denied_number(pair: _Pair) -> bool | None:
    denied = pair.later.denied_numbers & {number for number, _ in pair.earlier.numbers}
    return bool((pair.common or pair.measured) and denied) or None


def _by_measure_alone(pair: _Pair) -> bool | None:
    # Without a common subject only a correction of a number that is named counts.
    if pair.common:
        return None
    return pair.later.corrects and other_number(pair.later, pair.earlier, named=True)


def _by_rejection(pair: _Pair) -> bool | None:
    is_open = pair.later.rejects and not pair.earlier.by_user
    return (is_open and pair.is_next and pair.share > BARELY) or None


def _by_correction(pair: _Pair) -> bool | None:
    later, share = pair.later, pair.share
    if not later.corrects:
        return None
    differs = pair.is_other or later.is_wrong or later.denies != pair.earlier.denies
    return (differs and (share >= NEAR or (pair.is_recent and share > BARELY))) or None


def _by_measurement(pair: _Pair) -> bool | None:
    # A number that was measured replaces one that was proposed or estimated.
    later, earlier = pair.later, pair.earlier
    is_told = not (later.prompting.terms and later.prompting.only_asks)
    is_rough = earlier.proposes or (earlier.estimates and later.state > 0)
    return (pair.is_other and pair.is_recent and is_told and is_rough) or None


def _by_new_question(pair: _Pair) -> bool | None:
    later = pair.later
    asked_anew = (later.content - pair.earlier.content) & later.prompting.terms
    return False if later.prompting.only_asks and asked_anew and not later.corrects else None


def _by_turn(pair: _Pair) -> bool | None:
    later, earlier = pair.later, pair.earlier
    if not later.turns:
        return None
    if later.denies and not earlier.denies and pair.share > BARELY and pair.is_recent:
        return True
    least = BARELY if _first_of(earlier) in pair.common else NEAR
    return (pair.is_other and pair.of_earlier >= least) or None


def _by_count(pair: _Pair) -> bool | None:
    later = pair.later
    is_same = pair.is_other and pair.of_earlier >= SAME and len(pair.common) > 1
    if is_same and (later.corrects or not later.prompting.adds):
        return len(differing(later, pair.earlier)) < 2
    return None


def _by_choice(pair: _Pair) -> bool | None:
    return _substitutes(pair.later, pair.earlier) or _settles(pair.later, pair.earlier)


_RULES: Sequence[_Rule] = (
    *(_by_wish, _by_whom, _by_confirmation, _by_labels, _by_outcome, _by_denied_number),
    *(_by_measure_alone, _by_rejection, _by_correction, _by_measurement, _by_new_question),
    *(_by_turn, _by_count, _by_choice),
)
"""In the order in which they are asked: what rules a retraction out, or in, stands before what only suggests one."""


def _mends(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later statement says that works what the earlier one said to fail."""
    if later.by_user or later.denies or later.is_question or not (earlier.fails and later.passes):
        return False
    if earlier.is_of_failing_tests and later.is_of_tests and later.is_of_all:
        return True
    common = earlier.matter & later.matter
    first = next((term for term in earlier.terms if term in earlier.matter), "")
    return first in common or len(common) >= HALF * len(earlier.matter) > 0


def _first_of(statement: Statement) -> str:
    """Return the first word that tells what a statement is about."""
    return next((term for term in statement.terms if term in statement.content), "")


def _completes(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later statement says of all what the earlier one said of some."""
    if later.by_user or not later.is_of_all or earlier.is_of_all or not earlier.measures:
        return False
    common = later.content & earlier.content
    return len(common) >= MOST * len(earlier.content) > 0 and later.denies == earlier.denies


def _fulfils_another_wish(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later is an answer that does of the same thing what the user now wants of it."""
    wish = later.prompting
    if (
        later.by_user
        or not wish.prefers
        or earlier.is_question
        or later.turn - earlier.turn > RECENT
    ):
        return False
    common = later.subject & earlier.subject
    is_new = bool((later.subject & wish.terms) - earlier.subject)
    is_kept = earlier.subject <= later.subject or later.adds
    return is_new and not is_kept and len(common) > BARELY * len(earlier.subject)


def _substitutes(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later statement says the same of the same thing with another value in one place.

    Two places that differ compare two things, as "A costs 15, B costs 35" does.
    """
    if later.is_question or later.adds or later.keeps:
        return False
    if _says_words_for_a_number(later, earlier):
        return True
    places = differing(later, earlier) or _differing_in_all(later, earlier)
    if len(places) != 1:
        return False
    (place,) = places
    rest = earlier.content - place.old
    common = rest & later.content
    if not common - place.beside:
        return False
    if not all(map(is_figure, place.old)):
        return _says_other_words(later, earlier, place)
    share = len(common) / len(rest)
    if later.by_user or (place.old | place.new) & later.prompting.terms:
        return share >= BARELY
    if later.prompting.only_asks:
        return rest == common == later.content - place.new
    return share >= HALF or _has_what_stands_before(later, earlier, place)


def _says_words_for_a_number(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later statement has a word that the user named where the earlier has a number."""
    prompting = later.prompting
    if not earlier.measures or later.measures or prompting.only_asks or prompting.adds:
        return False
    gained = later.content - earlier.content
    return earlier.content <= later.content and bool(gained & prompting.terms)


def _says_other_words(later: Statement, earlier: Statement, place: Place) -> bool:
    """Tell whether words, no figures, that stand in a place are another value of the same thing."""
    prompting = later.prompting
    if (
        max(len(place.old), len(place.new)) > LONGEST_VALUE
        or prompting.adds
        or (earlier.measures - later.measures and later.measures - earlier.measures)
        or (prompting.only_asks and not later.by_user)
    ):
        return False
    rest = earlier.content - place.old
    common = rest & later.content
    share = len(common) / len(rest)
    is_same = rest == common
    begins_alike = _first_of(earlier) in common
    if not place.beside and not (is_same and begins_alike and len(rest) > 1 and prompting.objects):
        if not place.new & prompting.terms:
            return False
        if len(common) < 2 and (not is_same or later.by_user):
            return False
    if later.by_user or (place.old | place.new) & prompting.terms:
        return share >= SAME or _has_what_stands_before(later, earlier, place)
    if earlier.measures - later.measures:
        return False
    if not prompting.objects:
        return rest == common and later.is_of_single and earlier.is_of_single
    return rest == common or (share >= SAME and len(common) > 1)


def _has_what_stands_before(later: Statement, earlier: Statement, place: Place) -> bool:
    """Tell whether the later statement has all the words that the earlier one says before its value."""
    before = set(takewhile(lambda term: term not in place.old, earlier.terms)) & earlier.content
    return bool(before) and before <= later.content


def _settles(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later statement tells the other state of the same thing."""
    is_other_state = later.state * earlier.state < 0
    if later.is_question or not (is_other_state or later.denies != earlier.denies):
        return False
    rest = earlier.matter
    common = {one for one in rest if any(is_alike(one, other) for other in later.matter)}
    if (
        later.denies
        and not earlier.denies
        and not later.prompting.only_asks
        and len(common) >= MOST * len(rest) > 1
    ):
        return True
    if not common or any(
        not (place.old <= earlier.states and place.new <= later.states)
        for place in differing(later, earlier)
    ):
        return False
    share = len(common) / len(rest)
    if is_other_state:
        is_recent = later.turn - earlier.turn <= RECENT
        return share >= HALF or (later.matter <= earlier.matter and is_recent)
    of_later = len(common) / len(later.matter)
    if earlier.denies:
        return share >= (SAME if earlier.state < 0 else MOST) and of_later >= HALF
    return not later.prompting.only_asks and share >= MOST and of_later >= MOST


def differing(later: Statement, earlier: Statement) -> list[Place]:
    """Return the places, before or after the same word, where the statements say something else."""
    before, after = earlier.runs(set(later.terms)), later.runs(set(earlier.terms))
    found: dict[frozenset[str], Place] = {}
    for key in before.keys() & after.keys():
        old = before[key]
        new = after[key]
        are_forms = any(is_alike(one, other) for one in old for other in new)
        if are_forms or all(map(is_figure, old)) is not all(map(is_figure, new)):
            continue
        known = found.get(old, Place(old, new, frozenset()))
        found[old] = replace(known, beside=known.beside | {key[1]})
    return list(found.values())


def _differing_in_all(later: Statement, earlier: Statement) -> list[Place]:
    """Return what the statements do not have in common as one place, wherever it stands in them."""
    old, new = earlier.content - later.content, later.content - earlier.content
    return [Place(old, new, frozenset())] if old and new else []


def other_number(later: Statement, earlier: Statement, *, named: bool = False) -> bool:
    """Tell whether both have a number beside the same word, and none of these is the same.

    With `named`, a measure (ms, days) is no such word: much is measured in it.
    """
    before = {neighbour: number for number, neighbour in earlier.numbers}
    after = {neighbour: number for number, neighbour in later.numbers}
    words = before.keys() & after.keys() - (MEASURES if named else frozenset())
    same = {number for number, _ in earlier.numbers} & {number for number, _ in later.numbers}
    return bool(words) and not same and any(before[word] != after[word] for word in words)


def is_alike(one: str, other: str) -> bool:
    """Tell whether terms are one word, forms of one, or a German compound and its last part."""
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    if long.endswith(short):
        return len(short) >= LEAST_STEM
    common = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )
    return common > LEAST_STEM and common > SAME * len(long)
