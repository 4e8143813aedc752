"""Make the title and summary of a session of its own sentences and of facts.

This is the built-in summarizer, without a model; equal turns get equal summaries. The summary quotes the sentences that
are worth most (`worth.py`), those of each turn after the user's request in short. Statements that a later turn took back
are left out (`talks.py`); open ends come last.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain

from minutebook.features.summarizer.session_facts import (
    SessionFacts,
    category_of,
    complexity_of,
    impact_of,
    is_about_a_fault,
    is_request,
    productivity_of,
    quality_of,
    read_part,
    session_facts,
)
from minutebook.features.summarizer.talks import Statement, taken_back
from minutebook.features.summarizer.titles import phrases, title_of
from minutebook.features.summarizer.worth import (
    COURTESY,
    OPEN,
    POINTS_BACK,
    Quote,
    Weights,
    centralities,
    content_words,
    likeness,
    signs_of,
    term_weights,
    worth,
)
from minutebook.memory.journal.summary_draft import SummaryDraft
from minutebook.record.records import Turn
from minutebook.text.sentences import pieces, sentences

MOST_TURNS = 400
"""The most turns whose sentences are read; of a longer session, as many at equal distances, and the last."""

HEAD_AND_TAIL = (8, 4)
"""The most sentences of a prompt or response that are read: from its beginning and from its end."""

POOL = 120
"""The most sentences that are checked for being taken back: those worth most."""

MOST_WORDS = 200
"""The most words of a title and summary."""

LONGEST_RECAP = 80
"""The most words at the end of a summary of the recap by the client's own model."""

LONGEST_HEADING = 7
"""The most words of a request that heads its results; of a longer one a phrase does."""

SHORT = 7
"""The most turns of a short session."""

TAKEN_BACK, LEAST_WORTH = 0.24, 0.1
"""For a short session: the chance of being taken back from which a sentence is not quoted, and the least worth of one
that is, as a part of the greatest."""

OF_LONG = (0.45, 0.2)
"""The same two for a longer session, of which few sentences are quoted: there, doubtful ones are worth less anyway."""

TITLE_DOUBT = 0.4
"""The chance of being taken back from which a sentence does not give the title."""

LEAST_WORDS = 3
"""The fewest content words of a request that heads its results."""

ASIDES_FROM = 4
"""The fewest turns of a session in which one that shares no word with the others is an aside."""

SAME = 0.8
"""The likeness from which two sentences say the same."""

OPENING = 200
"""The most characters that are shown of a session without a sentence."""

MOST_FILES, MOST_ERRORS = 4, 3
"""The most files and errors that a summary names."""

_ERRORS, _OPEN, _FILES, _RECAP = "Errors met: ", "Open: ", "Files: ", "Recap by the client's model:"
LINES_OF_FACTS = (_FILES, _ERRORS, _OPEN)
"""The beginnings of the last lines of a summary: files, errors, open ends."""

_ERROR = re.compile(r"(.+?) \((open|resolved)\)(?:, | and |\.?$)")
_MESSAGE = re.compile(r"(?<=\w(?:Error|ption)): .*")

_LENGTH = 0.7
"""The power of the number of a sentence's words that its worth is divided by."""
_FURTHER = 0.8
"""The factor on the worth of a turn's other sentences when one of the turn is chosen."""
_FOR_GOAL, _FOR_FIRST, _POINTING, _EMPTY, _ASKED = 3.0, 8.0, 0.3, 0.15, 0.5
_ENOUGH_WORDS = 6
_EDGES = " .!?…:;,。！？"
_ENDS = tuple(".!?…:;,。！？")


def summarize(read: Callable[[], Iterable[Turn]], count: int) -> SummaryDraft:
    """Summarize a session of `count` turns; each call of `read` returns them in order."""
    facts = session_facts(read())
    quotes = list(quotes_of(read(), count))
    selection = Selection(quotes, count)
    fact_lines = list(_fact_lines(facts))
    start = "" if quotes else next(filter(None, map(_first_words, read())), "")
    named = [quotes[index] for index, chance in selection.chances.items() if chance < TITLE_DOUBT]
    name = title(named or quotes) or title_of(start) or "A session without words"
    recap = " ".join([_RECAP, *facts.recap.split()[:LONGEST_RECAP]]) if facts.recap else ""
    room = MOST_WORDS - len(" ".join((name, start, _OPEN, recap, *fact_lines)).split())
    category, why = category_of(facts)
    scores = {
        "quality": quality_of(facts),
        "productivity": productivity_of(facts),
        "impact": impact_of(facts),
        "complexity": complexity_of(facts),
    }
    return SummaryDraft(
        title=name,
        summary="\n".join(filter(None, (start, *selection.lines(room, name), recap, *fact_lines)))
        or (quotes[0].text.rstrip(_EDGES) if quotes else "Nothing was said."),
        category=category,
        **{name: score.value for name, score in scores.items()},
        technologies=facts.technologies,
        reasons={"category": why} | {name: each.reason for name, each in scores.items()},
    )


def quotes_of(turns: Iterable[Turn], count: int) -> Iterator[Quote]:
    """Yield the sentences of a session of `count` turns that a summary may quote, in order.

    Thoughts are not quoted: they are the agent's notes to itself, and have its uses of tools.
    """
    step = -(-count // MOST_TURNS) or 1
    head, tail = HEAD_AND_TAIL
    for index, turn in enumerate(turns):
        if index % step and index < count - 1:
            continue
        for by_user, text in ((True, turn.prompt), (False, turn.response)):
            found = list(pieces(read_part(text)))
            for each in found if len(found) <= head + tail else found[:head] + found[-tail:]:
                # A question of the agent is answered by the next turn.
                if by_user or index == count - 1 or not each.text.endswith("?"):
                    yield Quote(each.text, index, by_user, len(found), each.lead)


def statements_in(quotes: Iterable[Quote]) -> list[Statement]:
    """Return quotes as statements of a talk."""
    return [Statement(each.text, each.turn, each.by_user, is_request(each.text)) for each in quotes]


class Selection:
    """The choice of the sentences of a session that a summary quotes.

    `chances` are the chances, by index, that a later turn took a sentence back, of the sentences that are worth most;
    from `most_doubt` a sentence is not quoted.
    """

    def __init__(self, quotes: Sequence[Quote], turns: int) -> None:
        self._quotes = quotes
        self.most_doubt, self._least = (TAKEN_BACK, LEAST_WORTH) if turns <= SHORT else OF_LONG
        self._weights = term_weights([each.text for each in quotes])
        signs = signs_of(quotes, self._weights, turns)
        ranked = sorted(range(len(quotes)), key=lambda index: (-worth(signs[index], 0.0), index))
        asides = asides_of(quotes, self._weights)
        pool = [index for index in ranked if quotes[index].turn not in asides][:POOL]
        found = taken_back(statements_in(quotes), sorted(pool))
        self.chances = {index: each.chance for index, each in found.items()}
        self._worth = {index: worth(signs[index], each) for index, each in self.chances.items()}
        self._headings = self._requests()

    def lines(self, room: int, title: str) -> Iterator[str]:
        """Yield lines of at most `room` words: the requests with their results, and the open ends.

        A request that begins with the title is quoted without it.
        """
        last = max((each.turn for each in self._quotes), default=0)
        by_turn: defaultdict[int, list[Quote]] = defaultdict(list)
        left_open: list[Quote] = []
        for each in map(self._quotes.__getitem__, self._chosen(room)):
            is_open = each.turn == last and not each.by_user and OPEN.search(each.text)
            (left_open if is_open else by_turn[each.turn]).append(each)
        line: list[str] = []
        for turn, own in sorted(by_turn.items()):
            heads = [each.text.rstrip(_EDGES) for each in own if each.by_user]
            heads = heads or self._headings.get(turn, [])
            if heads and line:
                yield " ".join(line)
                line = []
            results = [_with_stop(each.text) for each in own if not each.by_user]
            heads = [rest for head in heads if (rest := _rest_after(title, head))]
            if heads:
                line.append(". ".join(heads) + (":" if results else ""))
            line += results
        if line:
            yield " ".join(line)
        if left_open:
            yield _OPEN + " ".join(_with_stop(each.text.removeprefix(_OPEN)) for each in left_open)

    def _requests(self) -> dict[int, list[str]]:
        """Return by turn the user's request in few words, if it has content words and was not taken back."""
        found: dict[int, list[str]] = {}
        for index, each in enumerate(self._quotes):
            is_current = self.chances.get(index, 0.0) < TAKEN_BACK and not COURTESY.match(each.text)
            is_heading = is_current and content_words(each.text) >= LEAST_WORDS
            if each.by_user and each.turn not in found and is_heading:
                is_short = len(each.text.split()) <= LONGEST_HEADING
                short = [each.text.rstrip(_EDGES)] if is_short else list(phrases(each.text))[:1]
                found[each.turn] = short
        return found

    def _chosen(self, room: int) -> list[int]:
        """Return the indexes of the sentences that are most worth their words and unlike one another, in order."""
        left = {i: value for i, value in self._worth.items() if self.chances[i] < self.most_doubt}
        least = self._least * max(left.values(), default=0.0)
        chosen: list[int] = []
        headed: set[int] = set()
        while True:
            cost = {index: self._cost(self._quotes[index], headed) for index in left}
            fits = [i for i in left if cost[i] <= room and left[i] > least]
            if not fits:
                return sorted(chosen)
            best = max(fits, key=lambda index: (left[index] / (cost[index] + 3) ** _LENGTH, -index))
            room -= cost[best]
            headed.add(self._quotes[best].turn)
            chosen.append(best)
            del left[best]
            for index in list(left):
                near = likeness(self._weights[index], self._weights[best])
                if near > SAME:
                    del left[index]
                else:
                    is_near = self._quotes[index].turn == self._quotes[best].turn
                    left[index] *= (1 - near / 2) * (_FURTHER if is_near else 1.0)

    def _cost(self, quote: Quote, headed: Collection[int]) -> int:
        """Return the number of words of a sentence with the heading that it needs."""
        is_headed = quote.by_user or quote.turn in headed
        texts = (quote.text, *([] if is_headed else self._headings.get(quote.turn, [])))
        return sum(len(text.split()) for text in texts)


def asides_of(quotes: Sequence[Quote], weights: Sequence[Weights]) -> set[int]:
    """Return the turns with a whole sentence of the user and no content word of another turn; none of a session of few turns."""
    words: defaultdict[int, set[str]] = defaultdict(set)
    for each, own in zip(quotes, weights, strict=True):
        words[each.turn] |= own.keys()
    held = Counter(chain.from_iterable(words.values()))
    whole = {
        q.turn for q in quotes if q.turn and q.by_user and content_words(q.text) >= LEAST_WORDS
    }
    alone = {turn for turn in whole if not any(held[word] > 1 for word in words[turn])}
    return alone if len(words) >= ASIDES_FROM else set()


def _with_stop(text: str) -> str:
    return text if text.endswith(_ENDS) else f"{text}."


def _fact_lines(facts: SessionFacts) -> Iterator[str]:
    """Yield the lines on files and errors."""
    if files := facts.edited or facts.files:
        yield f"{_FILES}{_some_of(files, MOST_FILES)}."
    if facts.errors:
        # The message of an error matters as long as it is open.
        errors = [
            f"{_MESSAGE.sub('', e.text)} (resolved)" if e.resolved else f"{e.text} (open)"
            for e in facts.errors
        ]
        yield f"{_ERRORS}{_some_of(errors, MOST_ERRORS)}."


def open_ends(summary: str) -> list[str]:
    """Return the open ends and errors in a summary of this summarizer; none of one by another."""
    found: list[str] = []
    for line in summary.splitlines():
        if line.startswith(_OPEN):
            found += sentences(line.removeprefix(_OPEN))
        elif line.startswith(_ERRORS):
            errors = _ERROR.findall(line.removeprefix(_ERRORS))
            found += [text for text, state in errors if state == "open"]
    return found


def _rest_after(title: str, text: str) -> str:
    """Return the rest of a text after the title that was made of it; the whole text if it lacks the title."""
    known = title.rstrip("…").casefold()
    before, found, _ = text.casefold().partition(known)
    if not found or len(text.casefold()) != len(text):
        return text
    rest = text[len(before) + len(known) :].strip(_EDGES)
    return rest and f"… {rest}"


def title(quotes: Sequence[Quote]) -> str:
    """Return a title of a session: a whole phrase of at most ten words.

    It is made of the fittest sentence of the user with such a phrase, else of the agent, else of the
    first sentence. It is empty if there is no sentence.
    """
    nearness = centralities(term_weights([each.text for each in quotes]))
    fit = [_fitness(each) * (0.5 + near / 2) for each, near in zip(quotes, nearness, strict=True)]
    ranked = sorted(range(len(quotes)), key=lambda i: (not quotes[i].by_user, -fit[i], i))
    for index in ranked:
        for phrase in phrases(quotes[index].text):
            if content_words(phrase) > 1 or len(quotes) == 1:
                return phrase
    return title_of(quotes[0].text) if quotes else ""


def _fitness(each: Quote) -> float:
    """Return how fit a sentence is as a title: the user's requests and reports of faults most, of these the first turn's."""
    fit = min(1.0, content_words(each.text) / _ENOUGH_WORDS)
    fit *= _EMPTY if COURTESY.match(each.text) else 1.0
    if not each.by_user:
        return fit * (_ASKED if each.text.endswith("?") else 1.0)
    asks = is_request(each.text)
    is_goal = asks or (each.turn == 0 and is_about_a_fault(each.text))
    fit *= _ASKED if each.text.endswith("?") and not asks else 1.0
    fit *= _FOR_GOAL if is_goal and content_words(each.text) > 2 else 1.0
    return (
        fit
        * (_POINTING if POINTS_BACK.match(each.text) else 1.0)
        * (_FOR_FIRST if each.turn == 0 else 1.0)
    )


def _first_words(turn: Turn) -> str:
    """Return the first words of a turn that has no sentence."""
    text = next(filter(str.strip, (turn.prompt, turn.response, turn.thought)), "")
    words = " ".join(text[: 2 * OPENING].replace("`", " ").split())
    return words if len(words) <= OPENING else f"{words[: OPENING - 1]}…"


def _some_of(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
