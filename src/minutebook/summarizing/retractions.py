"""Which statements of a session a later one took back: what was said last about a thing holds.

A later statement takes back an earlier one about the same thing if it corrects it (a word such as
"correction", "war falsch" or "me equivoqué", another number, a negation) or, without such a word, if it
says nearly the same with another number. An agent's statement takes back its own, a user's anyone's.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set

from minutebook.summarizing.statements import Statement
from minutebook.summarizing.taking_back import (
    HALF,
    RECENT,
    SAME,
    differing,
    is_alike,
    other_number,
    takes_back,
)


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
    old = frozenset[str]().union(*(place.old for place in differing(by, gone))) & common
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
    return is_same and not other_number(later, earlier)


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
        is_meant = any(is_alike(one, other) for one in each.subject for other in named)
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
