"""How likely a later turn replaced what a sentence says, by how people take turns.

Most replacements are announced by no word. What a session's form tells is more: a guess or a proposal that stands
alone in an early answer, and whose words the user comes back to in a later statement, seldom holds at the end.
A logistic model weighs such signs. Its weights are fitted by `python -m benchmarks.fit_replacement` to sessions
labelled by hand; why by signs and not by vectors, and how well: docs/decisions/0043-later-statements-win.md.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from math import exp, log

from minutebook.summarizing.statements import Statement

AHEAD = 10
"""Turns after a sentence, at most, in which its words are looked for."""

Text = Sequence[Statement]
"""The statements of one prompt, thought or response, in order; at least one."""

WEIGHTS: Mapping[str, float] = {
    "always": -2.76,
    "by the user": -2.88,
    "in the first turn": 1.50,
    "a question": -2.76,
    "a guess": 1.73,
    "a proposal": 1.21,
    "not as it should be": 0.97,
    "user states something later": 1.30,
    "words in what the user states later": 2.08,
    "words in the answer to that": 0.84,
    "rareness of a word that both have": 0.92,
    "another number of the same later": 1.10,
    "all of its text": 1.02,
    "user says nothing next": -1.29,
    "user only asks next": -1.20,
    "user asks next": -0.44,
    "user adds next": -1.07,
    "user states next": -0.70,
    "agent gives in next": 0.44,
}
"""What each sign adds to the log odds of having been replaced."""


def replacement_odds(texts: Sequence[Text]) -> list[float]:
    """Return for each statement of a session's texts, in order, the probability in [0, 1) that it was replaced.

    0 in the last turn, which no later one can replace.
    """
    return [
        0.0 if each is None else 1 / (1 + exp(-sum(WEIGHTS[name] * each[name] for name in each)))
        for each in signs(texts)
    ]


def signs(texts: Sequence[Text]) -> Iterator[dict[str, float] | None]:
    """Yield for each statement the signs of a replacement, each in [0, 1]; None in the last turn."""
    by_turn: defaultdict[int, list[Statement]] = defaultdict(list)
    for text in texts:
        by_turn[text[0].turn] += text
    counts = Counter(term for text in texts for each in text for term in each.subject)
    last = max(by_turn, default=0)
    for text in texts:
        turn = text[0].turn
        if turn == last:
            yield from (None for _ in text)
            continue
        following = by_turn.get(turn + 1, [])
        ahead = range(turn + 1, turn + 1 + AHEAD)
        later = [each for number in ahead for each in by_turn.get(number, ())]
        reaction = {} if text[0].by_user else _reaction(following)
        for each in text:
            yield {
                **_form(each),
                **reaction,
                **_mentions(each, later, counts),
                "all of its text": float(len(text) == 1),
            }


def _form(statement: Statement) -> dict[str, float]:
    """Return what the statement itself shows."""
    return {
        "always": 1.0,
        "by the user": float(statement.by_user),
        "in the first turn": float(statement.turn == 0),
        "a question": float(statement.is_question),
        "a guess": float(statement.guesses),
        "a proposal": float(statement.proposes),
        "not as it should be": float(statement.state < 0),
    }


def _mentions(
    statement: Statement, later: Sequence[Statement], counts: Counter[str]
) -> dict[str, float]:
    """Return how later statements come back to it; `counts` says how many statements have a term."""
    stated = [each for each in later if not each.is_question]
    news = [each for each in stated if each.by_user and not each.is_request]
    after = {each.turn for each in news}
    answers = [each for each in stated if not each.by_user and each.turn in after]
    named = frozenset[str]().union(*(each.subject for each in (*news, *answers)))
    most = log(1 + max(counts.values(), default=1))
    rareness = max(
        (1 - log(counts[term]) / most for term in statement.subject & named), default=0.0
    )
    comparable = stated if statement.by_user else [each for each in stated if not each.by_user]
    return {
        "user states something later": float(bool(news)),
        "words in what the user states later": _most(statement, news),
        "words in the answer to that": _most(statement, answers),
        "rareness of a word that both have": rareness,
        "another number of the same later": float(
            any(
                word == other and number != another
                for number, word in statement.numbers
                for each in comparable
                for another, other in each.numbers
            )
        ),
    }


def _reaction(following: Sequence[Statement]) -> dict[str, float]:
    """Return how the next turn takes the agent's answer: what the user says, and how the agent goes on."""
    said = [each for each in following if each.by_user]
    answer = next((each for each in following if not each.by_user), None)
    found = {"user says nothing next": float(not said)}
    if said:
        prompting = said[0].prompting
        found |= {
            "user only asks next": float(prompting.only_asks),
            "user asks next": float(any(each.is_question for each in said)),
            "user adds next": float(prompting.adds),
            "user states next": float(bool(prompting.objects)),
        }
    if answer is not None:
        gives_in = answer.concedes or answer.corrects or answer.concludes or answer.names_instead
        found["agent gives in next"] = float(gives_in)
    return found


def _most(statement: Statement, others: Sequence[Statement]) -> float:
    return max((_share(statement, each.subject) for each in others), default=0.0)


def _share(statement: Statement, words: frozenset[str]) -> float:
    """Return the part of a statement's telling words that are among others."""
    return len(statement.subject & words) / len(statement.subject) if statement.subject else 0.0
