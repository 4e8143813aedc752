"""Which statements of a session a later one took back: what was said last about a thing holds.

A later statement takes back an earlier one about the same thing if it corrects it (a word such as
"correction", "war falsch" or "me equivoqué", another number, a negation) or, without such a word, if it
says nearly the same with another number. An agent's statement takes back its own, a user's anyone's.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
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


def retracted(earlier: Sequence[Statement], later: Iterable[Statement]) -> frozenset[int]:
    """Return the indices of the earlier statements that one of the later ones retracts."""
    gone: dict[int, Statement] = {}
    later = list(later)
    _concede(earlier, later, gone)
    _refute(earlier, later, gone)
    _disprove(earlier, later, gone)
    _withdraw(earlier, later, gone)
    _complete_hypotheses(earlier, later, gone)
    refuted = set(gone)
    _replace_named(earlier, later, gone)
    _take_back(earlier, later, gone)
    said = _said_by_agent(later, {by.turn for by in gone.values()})
    for index, each in enumerate(earlier):
        if index in gone or each.is_question:
            continue
        if any(
            each.turn < by.turn
            and (
                _repeats(each, earlier[other])
                or (other not in refuted and _says_replaced(each, earlier[other], by, said))
            )
            for other, by in list(gone.items())
        ):
            gone[index] = each
    return frozenset(gone)


def _complete_hypotheses(
    earlier: Sequence[Statement], later: Sequence[Statement], gone: dict[int, Statement]
) -> None:
    """Add the clauses beside those of a hypothesis that are gone: it goes as a whole."""
    for index, each in enumerate(earlier):
        beside = [other for other in (index - 1, index + 1) if other in gone]
        by = next((gone[other] for other in beside if _is_of_one_claim(each, earlier[other])), None)
        if by and not any(_says_again(other, each) for other in later):
            gone.setdefault(index, by)


def _take_back(
    earlier: Sequence[Statement], later: Sequence[Statement], gone: dict[int, Statement]
) -> None:
    """Add what one of the later statements takes back, of what shares a word or a measure with it."""
    sharing: defaultdict[str, set[int]] = defaultdict(set)
    measured: defaultdict[str, set[int]] = defaultdict(set)
    tests = set()
    for index, each in enumerate(earlier):
        if index in gone:
            continue
        for word in each.subject:
            sharing[word].add(index)
        for word in each.counted:
            measured[word].add(index)
        if each.is_of_failing_tests:
            tests.add(index)
    for statement in later:
        found = set(tests)
        found.update(*(sharing[word] for word in statement.subject if word in sharing))
        found.update(*(measured[word] for word in statement.counted if word in measured))
        for index in sorted(found):
            if index not in gone and takes_back(statement, earlier[index]):
                gone[index] = statement


def _said_by_agent(statements: Iterable[Statement], turns: Set[int]) -> dict[int, set[str]]:
    """Return the words of the answers of turns, without what they deny, rule out or remove."""
    said: defaultdict[int, set[str]] = defaultdict(set)
    for each in statements:
        if each.by_user or each.turn not in turns:
            continue
        if not (each.denies or each.removes or each.rules_out):
            said[each.turn] |= each.subject
    return said


def _repeats(one: Statement, other: Statement) -> bool:
    return bool(one.numbers & other.numbers) and bool(one.subject & other.subject)


def _says_replaced(
    each: Statement, gone: Statement, by: Statement, said: Mapping[int, set[str]]
) -> bool:
    """Tell whether a statement says what `by` replaced in the one that is gone.

    That is a word in whose place `by` says another or, of a wish and the answer that fulfilled it, a word
    that the answer to another wish no longer has.
    """
    common = (each.whole.subject if each.by_user else each.subject) & gone.subject
    if each.turn > gone.turn or not common:
        return False
    old = frozenset[str]().union(*(place.old for place in _differing(by, gone))) & common
    if each.by_user and not gone.by_user and not by.by_user and each.turn == gone.turn:
        old |= (gone.subject - said.get(by.turn, set())) & common
    if old & each.subject and common - old:
        return True
    wish = each if each.by_user else gone
    is_wish = each.by_user is not gone.by_user and each.turn == gone.turn and not wish.is_question
    is_done_anew = not by.by_user and (
        by.prompting.prefers or (wish.is_request and not by.prompting.only_asks)
    )
    return is_wish and is_done_anew and bool(common - said.get(by.turn, set()))


def _concede(
    earlier: Sequence[Statement], later: Sequence[Statement], gone: dict[int, Statement]
) -> None:
    """Add what the agent gives up when it owns a fault: of its answer before, what the talk is of.

    That is what shares a word with the user's objection or with the new answer, or holds a number,
    unless a later statement says it again.
    """
    conceding = {each.turn: each for each in later if each.concedes}
    words: defaultdict[int, set[str]] = defaultdict(set)
    first: dict[int, int] = {}
    meant: set[int] = set()
    for each in later:
        if each.turn in conceding:
            words[each.turn] |= each.subject
    for index, each in enumerate(earlier):
        turn = each.turn + 1
        if each.by_user or turn not in conceding:
            continue
        first.setdefault(turn, index)
        is_meant = bool(each.subject & words[turn]) or bool(each.numbers)
        if is_meant:
            meant.add(turn)
            if not any(_says_again(other, each) for other in later):
                gone[index] = conceding[turn]
    # Whoever owns a fault means something: what was said first, where no word tells what.
    for turn in first.keys() - meant:
        gone[first[turn]] = conceding[turn]


def _says_again(later: Statement, earlier: Statement) -> bool:
    if later.turn <= earlier.turn or later.by_user or later.denies != earlier.denies:
        return False
    common = later.subject & earlier.subject
    is_same = len(common) >= SAME * len(earlier.subject) and bool(common)
    return is_same and not _other_number(later, earlier)


def _refute(
    earlier: Sequence[Statement], later: Sequence[Statement], gone: dict[int, Statement]
) -> None:
    """Add what the user refuted: of the answer before, what shares a word with the objection.

    An objection is what the user states without asking for anything, if the answer had been a guess or the
    agent draws a consequence from it, and does not say the same again.
    """
    first: dict[int, Statement] = {}
    for each in later:
        if not each.by_user:
            first.setdefault(each.turn, each)
    for index, each in enumerate(earlier):
        answer = first.get(each.turn + 1)
        if each.by_user or answer is None or not (answer.concludes or each.guesses):
            continue
        objects = answer.prompting.objects
        named = objects | answer.subject if objects and answer.discards else objects
        is_meant = any(_is_alike(one, other) for one in each.subject for other in named)
        if is_meant and not any(_says_again(other, each) for other in later):
            gone.setdefault(index, answer)


def _withdraw(
    earlier: Sequence[Statement], later: Sequence[Statement], gone: dict[int, Statement]
) -> None:
    """Add what the user withdraws in so many words: of the turn before, what the talk goes on about."""
    withdrawing = {each.turn: each for each in later if each.by_user and each.withdraws}
    words: defaultdict[int, set[str]] = defaultdict(set)
    for each in later:
        if each.turn in withdrawing:
            words[each.turn] |= each.subject
    for index, each in enumerate(earlier):
        by = withdrawing.get(each.turn + 1)
        if by is None or each.is_question or not each.subject & words[by.turn]:
            continue
        if not any(_says_again(other, each) for other in later):
            gone.setdefault(index, by)


def _disprove(
    earlier: Sequence[Statement], later: Sequence[Statement], gone: dict[int, Statement]
) -> None:
    """Add the agent's hypotheses, causes and proposals that one of its next answers gives up."""
    answers: defaultdict[int, list[Statement]] = defaultdict(list)
    for each in later:
        if not each.by_user:
            answers[each.turn].append(each)
    firsts = {
        each.turn: index for index, each in reversed(list(enumerate(earlier))) if not each.by_user
    }
    for index, each in enumerate(earlier):
        if each.by_user or index in gone or each.is_question:
            continue
        for turn in range(each.turn + 1, each.turn + 1 + RECENT):
            answer = answers[turn]
            if not answer or (answer[0].confirms and not answer[0].prompting.objects):
                continue
            against = _against(each, answer, is_first=firsts[each.turn] == index)
            if against and not any(
                each.subject <= other.subject and _says_again(other, each) for other in answer
            ):
                gone[index] = against
                break


def _against(each: Statement, answer: Sequence[Statement], *, is_first: bool) -> Statement | None:
    """Return what in an answer speaks against an earlier statement, if something does.

    That is what denies or rules out a word of a hypothesis or a cause; "something else" just after it; another
    thing instead of the first that was said, after an objection; or a conclusion that leaves a proposal out.
    """
    claim = each.whole
    is_open = claim.is_hypothesis or claim.is_cause
    words = each.subject
    for other in answer:
        if (other.rules_out or (is_open and other.denies)) and words & other.whole.subject:
            return other
    if answer[0].turn != each.turn + 1:
        return None
    if claim.is_hypothesis and any(other.points_elsewhere for other in answer):
        return answer[0]
    prompting = answer[0].prompting
    if not prompting.objects or prompting.adds:
        return None
    is_fault = is_open or each.state < 0
    said = frozenset[str]().union(*(other.subject for other in answer))
    if is_first and is_fault and answer[0].names_instead and not words <= said:
        return answer[0]
    value = words - said
    is_left_out = bool(value) and not value & prompting.terms
    return answer[0] if each.proposes and answer[0].concludes and is_left_out else None


def _is_of_one_claim(one: Statement, other: Statement) -> bool:
    """Tell whether two clauses are of one sentence that holds a hypothesis."""
    is_one = (one.turn, one.by_user, one.sentence) == (other.turn, other.by_user, other.sentence)
    return is_one and not one.by_user and one.whole.is_hypothesis


def _replace_named(
    earlier: Sequence[Statement], later: Sequence[Statement], gone: dict[int, Statement]
) -> None:
    """Add what the user objected to by name, if the next answer says the same without the name."""
    said: defaultdict[int, set[str]] = defaultdict(set)
    for each in later:
        if not each.by_user:
            said[each.turn] |= each.content
    for index, each in enumerate(earlier):
        if each.by_user or index in gone or each.is_question:
            continue
        for other in later:
            if other.turn != each.turn + 1 or other.by_user or other.is_question:
                continue
            prompting = other.prompting
            if prompting.only_asks or prompting.adds or not prompting.objects:
                continue
            named = each.content & prompting.objects - said[other.turn]
            rest = each.content - named
            common = rest & other.content
            lost = each.content & other.content
            if (
                other.removes
                and not other.keeps
                and lost
                and (each.content - lost) & said[other.turn]
                and each.state >= 0
                and not each.denies
            ):
                gone[index] = other
                break
            if (
                named
                and rest
                and len(common) >= HALF * len(rest)
                and other.whole.content - each.content
            ):
                gone[index] = other
                break


def _is_alike(one: str, other: str) -> bool:
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


def takes_back(later: Statement, earlier: Statement) -> bool:
    """Tell whether the later statement takes the earlier one back."""
    if later.turn <= earlier.turn or earlier.is_question:
        return False
    common = later.subject & earlier.subject
    measured = later.counted & earlier.counted
    if not (common or measured or (earlier.is_of_failing_tests and later.is_of_tests)):
        return False
    if _fulfils_another_wish(later, earlier):
        return True
    if earlier.by_user and not later.by_user:
        return False
    is_recent = later.turn - earlier.turn <= RECENT
    is_next = later.turn - earlier.turn == 1
    if is_next and later.confirms and not (later.corrects or later.prompting.objects):
        return False
    if later.labels and earlier.labels and not later.labels & earlier.labels:
        return False
    if _mends(later, earlier) or _completes(later, earlier):
        return True
    if (common or measured) and later.denied_numbers & {number for number, _ in earlier.numbers}:
        return True
    if not common:
        return later.corrects and _other_number(later, earlier, named=True)
    share = len(common) / min(len(later.subject), len(earlier.subject))
    of_earlier = len(common) / len(earlier.subject)
    is_other = _other_number(later, earlier)
    if later.rejects and not earlier.by_user and is_next and share > BARELY:
        return True
    if later.corrects:
        differs = is_other or later.is_wrong or later.denies != earlier.denies
        if differs and (share >= NEAR or (is_recent and share > BARELY)):
            return True
    is_told = not (later.prompting.terms and later.prompting.only_asks)
    is_rough = earlier.proposes or (earlier.estimates and later.state > 0)
    if is_other and is_recent and is_told and is_rough:
        return True
    asked_anew = (later.content - earlier.content) & later.prompting.terms
    if later.prompting.only_asks and asked_anew and not later.corrects:
        return False
    if later.turns and later.denies and not earlier.denies and share > BARELY and is_recent:
        return True
    first = _first_of(earlier)
    if later.turns and is_other and of_earlier >= (BARELY if first in common else NEAR):
        return True
    if (
        is_other
        and of_earlier >= SAME
        and len(common) > 1
        and (later.corrects or not later.prompting.adds)
    ):
        return len(_differing(later, earlier)) < 2
    return _substitutes(later, earlier) or _settles(later, earlier)


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
    places = _differing(later, earlier) or _differing_in_all(later, earlier)
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
    common = {one for one in rest if any(_is_alike(one, other) for other in later.matter)}
    if (
        later.denies
        and not earlier.denies
        and not later.prompting.only_asks
        and len(common) >= MOST * len(rest) > 1
    ):
        return True
    if not common or any(
        not (place.old <= earlier.states and place.new <= later.states)
        for place in _differing(later, earlier)
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


def _differing(later: Statement, earlier: Statement) -> list[Place]:
    """Return the places, before or after the same word, where the statements say something else."""
    before, after = earlier.runs(set(later.terms)), later.runs(set(earlier.terms))
    found: dict[frozenset[str], Place] = {}
    for key in before.keys() & after.keys():
        old = before[key]
        new = after[key]
        are_forms = any(_is_alike(one, other) for one in old for other in new)
        if are_forms or all(map(is_figure, old)) is not all(map(is_figure, new)):
            continue
        known = found.get(old, Place(old, new, frozenset()))
        found[old] = replace(known, beside=known.beside | {key[1]})
    return list(found.values())


def _differing_in_all(later: Statement, earlier: Statement) -> list[Place]:
    """Return what the statements do not have in common as one place, wherever it stands in them."""
    old, new = earlier.content - later.content, later.content - earlier.content
    return [Place(old, new, frozenset())] if old and new else []


def _other_number(later: Statement, earlier: Statement, *, named: bool = False) -> bool:
    """Tell whether both have a number beside the same word, and none of these is the same.

    With `named`, a measure (ms, days) is no such word: much is measured in it.
    """
    before = {neighbour: number for number, neighbour in earlier.numbers}
    after = {neighbour: number for number, neighbour in later.numbers}
    words = before.keys() & after.keys() - (MEASURES if named else frozenset())
    same = {number for number, _ in earlier.numbers} & {number for number, _ in later.numbers}
    return bool(words) and not same and any(before[word] != after[word] for word in words)
