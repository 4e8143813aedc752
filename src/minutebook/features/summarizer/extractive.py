"""The title and summary of a session, made of its own sentences and of facts.

The built-in summarizer, without any model. The same turns make the same account, always. The person's requests head
what is worth telling of each (`worth.py`); what a later turn took back is left out (`talks.py`), what is left open ends it.
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
from minutebook.features.summarizer.talks import Said, taken_back
from minutebook.features.summarizer.titles import phrases, title_of
from minutebook.features.summarizer.worth import (
    COURTESY,
    OPEN,
    POINTS_BACK,
    Quote,
    Weights,
    centralities,
    likeness,
    signs_of,
    telling,
    weighed,
    worth,
)
from minutebook.memory.journal.summary_draft import SummaryDraft
from minutebook.record.records import Turn
from minutebook.text.sentences import pieces, sentences

MOST_TURNS = 400
"""Turns whose sentences are looked at; of a longer session, as many spread evenly, and the last."""

OF_A_PART = (8, 4)
"""How many sentences of a prompt or response are looked at: from its beginning and its end."""

POOL = 120
"""Sentences, the most worth telling, of which is asked whether a later one took them back."""

MOST_WORDS = 200
"""Words of a title and a summary."""

LONGEST_RECAP = 80
"""Words of the recap by the client's own model that end a summary."""

LONGEST_HEADING = 7
"""Words of a request that heads what came of it; of a longer one a phrase does."""

SHORT, TAKEN_BACK, LEAST = 7, 0.24, 0.1
"""Turns of a session that is told nearly whole; the chance of having been taken back from which on a sentence is not told,
and the part of the best sentence's worth that one has at least which is."""

OF_LONG = (0.45, 0.2)
"""The same of a longer session, of which few sentences are told: those in doubt are worth less there."""

NAMED = 0.4
"""The chance from which on it does not name the session."""

LEAST_TELLING = 3
"""Telling words of a request that heads what came of it."""

FEWEST = 4
"""Turns of a session from which on one that shares no word with the others is an aside."""

SAME = 0.8
"""The likeness from which on two sentences say the same."""

OPENING = 200
"""Characters that are shown of a session in which there is no sentence."""

MOST_FILES, MOST_ERRORS = 4, 3
"""Files and errors that a summary names."""

_ERRORS, _OPEN, _FILES, _RECAP = "Errors met: ", "Open: ", "Files: ", "Recap by the client's model:"
LINES_OF_FACTS = (_FILES, _ERRORS, _OPEN)
"""How the lines begin that end a summary: files, errors, open ends."""

_ERROR = re.compile(r"(.+?) \((open|resolved)\)(?:, | and |\.?$)")
_MESSAGE = re.compile(r"(?<=\w(?:Error|ption)): .*")

_LENGTH = 0.7
"""How much a sentence of many words must be worth more: its worth is divided by their number to this power."""
_FURTHER = 0.8
"""What is left of the worth of a turn's other sentences, once one of it is chosen."""
_FOR_GOAL, _FOR_FIRST, _POINTING, _EMPTY, _ASKED = 3.0, 8.0, 0.3, 0.15, 0.5
_TELLING_WORDS = 6
_EDGES = " .!?…:;,。！？"
_ENDS = tuple(".!?…:;,。！？")


def summarize(read: Callable[[], Iterable[Turn]], count: int) -> SummaryDraft:
    """Summarize a session of `count` turns; `read` gives its turns in order, each time anew."""
    facts = session_facts(read())
    quotes = list(quotes_of(read(), count))
    account = Account(quotes, count)
    listed = list(_of_facts(facts))
    start = "" if quotes else next(filter(None, map(_opening, read())), "")
    named = [quotes[index] for index, chance in account.chances.items() if chance < NAMED]
    name = title(named or quotes) or title_of(start) or "A session without words"
    recap = " ".join([_RECAP, *facts.recap.split()[:LONGEST_RECAP]]) if facts.recap else ""
    room = MOST_WORDS - len(" ".join((name, start, _OPEN, recap, *listed)).split())
    category, why = category_of(facts)
    scores = {
        "quality": quality_of(facts),
        "productivity": productivity_of(facts),
        "impact": impact_of(facts),
        "complexity": complexity_of(facts),
    }
    return SummaryDraft(
        title=name,
        summary="\n".join(filter(None, (start, *account.lines(room, name), recap, *listed)))
        or (quotes[0].text.rstrip(_EDGES) if quotes else "Nothing was said."),
        category=category,
        **{name: score.value for name, score in scores.items()},
        technologies=facts.technologies,
        reasons={"category": why} | {name: each.reason for name, each in scores.items()},
    )


def quotes_of(turns: Iterable[Turn], count: int) -> Iterator[Quote]:
    """Yield the sentences of a session of `count` turns that a summary may quote, in order.

    Thoughts are none: they are the agent's notes to itself, and hold its uses of tools.
    """
    step = -(-count // MOST_TURNS) or 1
    head, tail = OF_A_PART
    for index, turn in enumerate(turns):
        if index % step and index < count - 1:
            continue
        for by_user, text in ((True, turn.prompt), (False, turn.response)):
            said = list(pieces(read_part(text)))
            for each in said if len(said) <= head + tail else said[:head] + said[-tail:]:
                # What the agent asks, the next turn answers.
                if by_user or index == count - 1 or not each.text.endswith("?"):
                    yield Quote(each.text, index, by_user, len(said), each.lead)


def said_of(quotes: Iterable[Quote]) -> list[Said]:
    """Return sentences as statements of a talk."""
    return [Said(each.text, each.turn, each.by_user, is_request(each.text)) for each in quotes]


class Account:
    """The choice of the sentences of a session that a summary quotes.

    `chances` tells of the sentences that are most worth telling, by index, how likely a later turn took each back;
    from `most_doubt` on it is not told.
    """

    def __init__(self, quotes: Sequence[Quote], turns: int) -> None:
        self._quotes = quotes
        self.most_doubt, self._least = (TAKEN_BACK, LEAST) if turns <= SHORT else OF_LONG
        self._weights = weighed([each.text for each in quotes])
        signs = signs_of(quotes, self._weights, turns)
        ranked = sorted(range(len(quotes)), key=lambda index: (-worth(signs[index], 0.0), index))
        asides = asides_of(quotes, self._weights)
        pool = [index for index in ranked if quotes[index].turn not in asides][:POOL]
        found = taken_back(said_of(quotes), sorted(pool))
        self.chances = {index: each.chance for index, each in found.items()}
        self._worth = {index: worth(signs[index], each) for index, each in self.chances.items()}
        self._headings = self._requests()

    def lines(self, room: int, title: str) -> Iterator[str]:
        """Yield lines of at most so many words: the requests with their results, and the open ends.

        Of a request that the title says, only the rest is told.
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
            results = [_closed(each.text) for each in own if not each.by_user]
            heads = [rest for head in heads if (rest := _beyond(title, head))]
            if heads:
                line.append(". ".join(heads) + (":" if results else ""))
            line += results
        if line:
            yield " ".join(line)
        if left_open:
            yield _OPEN + " ".join(_closed(each.text.removeprefix(_OPEN)) for each in left_open)

    def _requests(self) -> dict[int, list[str]]:
        """Return by turn the person's request in few words, where it names a subject and stands."""
        found: dict[int, list[str]] = {}
        for index, each in enumerate(self._quotes):
            stands = self.chances.get(index, 0.0) < TAKEN_BACK and not COURTESY.match(each.text)
            tells = stands and telling(each.text) >= LEAST_TELLING
            if each.by_user and each.turn not in found and tells:
                is_short = len(each.text.split()) <= LONGEST_HEADING
                short = [each.text.rstrip(_EDGES)] if is_short else list(phrases(each.text))[:1]
                found[each.turn] = short
        return found

    def _chosen(self, room: int) -> list[int]:
        """Choose the sentences that are most worth their words, unlike one another; in order."""
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
        """Return how many words a sentence costs with the heading that it needs."""
        is_headed = quote.by_user or quote.turn in headed
        texts = (quote.text, *([] if is_headed else self._headings.get(quote.turn, [])))
        return sum(len(text.split()) for text in texts)


def asides_of(quotes: Sequence[Quote], weights: Sequence[Weights]) -> set[int]:
    """Return the turns, asked in a whole sentence, without a telling word of another; none of a session of few turns."""
    words: defaultdict[int, set[str]] = defaultdict(set)
    for each, own in zip(quotes, weights, strict=True):
        words[each.turn] |= own.keys()
    held = Counter(chain.from_iterable(words.values()))
    whole = {q.turn for q in quotes if q.turn and q.by_user and telling(q.text) >= LEAST_TELLING}
    alone = {turn for turn in whole if not any(held[word] > 1 for word in words[turn])}
    return alone if len(words) >= FEWEST else set()


def _closed(text: str) -> str:
    return text if text.endswith(_ENDS) else f"{text}."


def _of_facts(facts: SessionFacts) -> Iterator[str]:
    """Yield the lines on files and errors."""
    if files := facts.edited or facts.files:
        yield f"{_FILES}{_listed(files, MOST_FILES)}."
    if facts.errors:
        # What an error said matters as long as it is open.
        errors = [
            f"{_MESSAGE.sub('', e.text)} (resolved)" if e.resolved else f"{e.text} (open)"
            for e in facts.errors
        ]
        yield f"{_ERRORS}{_listed(errors, MOST_ERRORS)}."


def open_ends(summary: str) -> list[str]:
    """Return the open ends and errors that a summary made here tells of; none of one that is written otherwise."""
    found: list[str] = []
    for line in summary.splitlines():
        if line.startswith(_OPEN):
            found += sentences(line.removeprefix(_OPEN))
        elif line.startswith(_ERRORS):
            errors = _ERROR.findall(line.removeprefix(_ERRORS))
            found += [text for text, state in errors if state == "open"]
    return found


def _beyond(title: str, text: str) -> str:
    """Return the rest of a text after a title that was made of its beginning; the text, if it was not."""
    known = title.rstrip("…").casefold()
    before, found, _ = text.casefold().partition(known)
    if not found or len(text.casefold()) != len(text):
        return text
    rest = text[len(before) + len(known) :].strip(_EDGES)
    return rest and f"… {rest}"


def title(quotes: Sequence[Quote]) -> str:
    """Name a session by a whole phrase of at most ten words.

    By what the user asked for or told first, else by the most telling sentence that holds such a phrase,
    else by its first sentence. Empty where it has none.
    """
    nearness = centralities(weighed([each.text for each in quotes]))
    fit = [_fitness(each) * (0.5 + near / 2) for each, near in zip(quotes, nearness, strict=True)]
    ranked = sorted(range(len(quotes)), key=lambda i: (not quotes[i].by_user, -fit[i], i))
    for index in ranked:
        for phrase in phrases(quotes[index].text):
            if telling(phrase) > 1 or len(quotes) == 1:
                return phrase
    return title_of(quotes[0].text) if quotes else ""


def _fitness(each: Quote) -> float:
    """Return how fit a sentence is as the session's topic: the person's requests and reports, first of all the first."""
    fit = telling(each.text) / _TELLING_WORDS if telling(each.text) < _TELLING_WORDS else 1.0
    fit *= _EMPTY if COURTESY.match(each.text) else 1.0
    if not each.by_user:
        return fit * (_ASKED if each.text.endswith("?") else 1.0)
    asks = is_request(each.text)
    is_goal = asks or (each.turn == 0 and is_about_a_fault(each.text))
    fit *= _ASKED if each.text.endswith("?") and not asks else 1.0
    fit *= _FOR_GOAL if is_goal and telling(each.text) > 2 else 1.0
    return (
        fit
        * (_POINTING if POINTS_BACK.match(each.text) else 1.0)
        * (_FOR_FIRST if each.turn == 0 else 1.0)
    )


def _opening(turn: Turn) -> str:
    """Return the first words of a turn that has no sentence."""
    text = next(filter(str.strip, (turn.prompt, turn.response, turn.thought)), "")
    words = " ".join(text[: 2 * OPENING].replace("`", " ").split())
    return words if len(words) <= OPENING else f"{words[: OPENING - 1]}…"


def _listed(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
