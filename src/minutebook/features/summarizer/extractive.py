"""The title and summary of a session, made of its own sentences and of facts.

The built-in summarizer, without any model. The same turns make the same account, always. The person's requests head
what was said last of each; what a later turn took back is left out (`language.talks`), what is left open stands at the end.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from minutebook.domain.records import Turn
from minutebook.features.summarizer.salience import Weights, centralities, likeness, weighed
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
from minutebook.features.summarizer.session_words import FILLER_TERMS, FILLERS, pattern
from minutebook.features.summarizer.titles import phrases, title_of
from minutebook.language.sentences import sentences
from minutebook.language.talks import Said, taken_back
from minutebook.search.text import is_stop_term, word_terms
from minutebook.services.journal.summary_draft import SummaryDraft

MOST_TURNS = 400
"""Turns whose sentences are looked at; of a longer session, as many spread evenly, and the last."""

OF_A_PART = (8, 4)
"""How many sentences of a prompt or response are looked at: from its beginning and its end."""

POOL = 120
"""Sentences, the most salient, of which is asked whether a later one took them back."""

MOST_WORDS = 172
"""Words of a summary, beside the line on errors and the names of files."""

LONGEST_HEADING = 9
"""Words of a request that heads what came of it; of a longer one a phrase does."""

TAKEN_BACK = 0.24
"""The chance of having been taken back from which on a sentence is not told."""

LEAST = 0.03
"""The part of the best sentence's salience that one has at least which is told."""

NAMED = 0.4
"""The chance from which on it does not name the session."""

LEAST_TELLING = 3
"""Telling words of a request that heads what came of it."""

SAME = 0.8
"""The likeness from which on two sentences say the same."""

OPENING = 200
"""Characters that are shown of a session in which there is no sentence."""

MOST_FILES, MOST_ERRORS = 5, 3
"""Files and errors that a summary names."""

_ERRORS, _OPEN, _FILES = "Errors met: ", "Open: ", "Files: "
_ERROR = re.compile(r"(.+?) \((open|resolved)\)(?:, | and |\.?$)")
_MESSAGE = re.compile(r"(?<=\w(?:Error|ption)): .*")
_DOUBT = 2
_OUTCOME, _TOLD, _ASKED, _EMPTY, _LATE, _STILL_OPEN, _FURTHER = 1.25, 1.15, 0.5, 0.15, 1.5, 1.3, 0.8
_TENTATIVE, _FIRST, _OF_USER = 0.1, 1.2, 0.5
_FOR_GOAL, _FOR_FIRST, _POINTING = 3.0, 2.0, 0.3
_TELLING_WORDS = 6
_EDGES = " .!?…:;,。！？"
_TELLS_OUTCOME = pattern("done", "changed", "done_first", "outcome")
_SAYS_OPEN, _IS_TENTATIVE = pattern("open"), pattern("tentative")
_SAYS_NOTHING = pattern("courtesy", begins=True)
_POINTS_BACK = pattern("points_back", begins=True)
_TELLS_FACT = re.compile(
    r"\d|(?<=[a-z] )[A-Z]\w|\b(?:I|[Ww]e)(?:'m|'ve| was| went| am| have| had| \w+ed)\b|[\w-]+\.\w+\b"
)
_WORD = re.compile(r"[^\W\d_][\w'-]*[^\W_]|[^\W\d_]", re.UNICODE)


@dataclass(frozen=True, slots=True)
class SessionSentence:
    """A sentence of a session, its turn, whether the person said it, and how much its place and form speak for it."""

    text: str
    turn: int
    by_user: bool
    weight: float


def summarize(read: Callable[[], Iterable[Turn]], count: int) -> SummaryDraft:
    """Summarize a session of `count` turns; `read` gives its turns in order, each time anew."""
    facts = session_facts(read())
    found = list(sayings(read(), count))
    chances = chances_of(found)
    lines = [*_outline(found, chances), *_of_facts(facts)]
    start = "" if found else next(filter(None, map(_opening, read())), "")
    category, why = category_of(facts)
    scores = {
        "quality": quality_of(facts),
        "productivity": productivity_of(facts),
        "impact": impact_of(facts),
        "complexity": complexity_of(facts),
    }
    return SummaryDraft(
        title=title(
            [found[i] for i, chance in sorted(chances.items()) if chance < NAMED] or found, facts
        )
        or title_of(start)
        or "A session without words",
        summary="\n".join(filter(None, (start, *lines))) or "Nothing was said.",
        category=category,
        **{name: score.value for name, score in scores.items()},
        technologies=facts.technologies,
        reasons={"category": why} | {name: each.reason for name, each in scores.items()},
    )


def sayings(turns: Iterable[Turn], count: int) -> Iterator[SessionSentence]:
    """Yield the sentences of a session of `count` turns that a summary may quote, in order.

    Thoughts are none: they are the agent's notes to itself, and hold its uses of tools.
    """
    step = -(-count // MOST_TURNS) or 1
    head, tail = OF_A_PART
    for index, turn in enumerate(turns):
        if index % step and index < count - 1:
            continue
        for by_user, text in ((True, turn.prompt), (False, turn.response)):
            said = list(sentences(read_part(text)))
            kept = said if len(said) <= head + tail else said[:head] + said[-tail:]
            for place, each in enumerate(kept):
                # What came of it the agent says last, and what answers a prompt first.
                late = _LATE if index == count - 1 and not by_user else 1.0
                first = _FIRST if place == 0 and not by_user else 1.0
                yield SessionSentence(
                    each, index, by_user, _weight(each, by_user=by_user) * late * first
                )


def _weight(sentence: str, *, by_user: bool) -> float:
    weight = min(1.0, _telling(sentence) / _TELLING_WORDS) * (_OF_USER if by_user else 1.0)
    if _SAYS_NOTHING.match(sentence):
        weight *= _EMPTY
    if sentence.endswith("?") and not (by_user and is_request(sentence)):
        weight *= _ASKED if by_user else _EMPTY**2
    if _TELLS_FACT.search(sentence):
        weight *= _TOLD
    if not by_user and _TELLS_OUTCOME.search(sentence):
        weight *= _OUTCOME
    if not by_user and _SAYS_OPEN.search(sentence):
        weight *= _STILL_OPEN
    if not by_user and _IS_TENTATIVE.search(sentence):
        weight *= _TENTATIVE
    return weight


def chances_of(found: Sequence[SessionSentence]) -> dict[int, float]:
    """Return how likely a later turn took back each of the sentences that a summary may quote, by index."""
    ranked = sorted(range(len(found)), key=lambda index: (-found[index].weight, index))
    said = [Said(each.text, each.turn, each.by_user, is_request(each.text)) for each in found]
    chances = taken_back(said, sorted(ranked[:POOL]))
    return {index: each.chance for index, each in chances.items()}


def _outline(found: Sequence[SessionSentence], chances: dict[int, float]) -> Iterator[str]:
    """Yield the lines of a summary: the person's requests, each with its last result, and the open ends."""
    chosen = _chosen(found, chances)
    last = max((each.turn for each in found), default=0)
    left_open = [
        each
        for each in map(found.__getitem__, chosen)
        if each.turn == last and not each.by_user and _SAYS_OPEN.search(each.text)
    ]
    by_turn: defaultdict[int, list[SessionSentence]] = defaultdict(list)
    for index in chosen:
        by_turn[found[index].turn].append(found[index])
    line = ""
    for turn, own in sorted(by_turn.items()):
        heads = [each.text.rstrip(_EDGES) for each in own if each.by_user]
        heads = heads or list(_headings(found, chances, turn))
        results = " ".join(each.text for each in own if not each.by_user and each not in left_open)
        if heads and line:
            yield line
            line = ""
        if heads:
            results = ": ".join(filter(None, (". ".join(heads), results)))
        line = " ".join(filter(None, (line, results)))
    if line:
        yield line
    if left_open:
        yield _OPEN + " ".join(each.text.removeprefix(_OPEN) for each in left_open)


def _headings(
    found: Sequence[SessionSentence], chances: dict[int, float], turn: int
) -> Iterator[str]:
    """Yield the person's requests in a turn, in few words, if they name a subject."""
    for index, each in enumerate(found):
        is_own = each.turn == turn and each.by_user and chances.get(index, 1.0) < TAKEN_BACK
        if is_own and _telling(each.text) >= LEAST_TELLING and not _SAYS_NOTHING.match(each.text):
            is_short = len(each.text.split()) <= LONGEST_HEADING
            yield from [each.text.rstrip(_EDGES)] if is_short else list(phrases(each.text))[:1]
            return


def _chosen(found: Sequence[SessionSentence], chances: dict[int, float]) -> list[int]:
    """Choose the most salient sentences that stand, unlike one another, within the words of a summary; in order."""
    standing = [index for index, chance in chances.items() if chance < TAKEN_BACK]
    weights = dict(zip(standing, weighed([found[index].text for index in standing]), strict=True))
    nearness = dict(zip(standing, centralities(list(weights.values())), strict=True))
    score = {
        index: found[index].weight * (1 - chances[index]) ** _DOUBT * (0.5 + 0.5 * nearness[index])
        for index in standing
    }
    of_turn: Counter[int] = Counter()
    for index in sorted(score, key=lambda index: (-score[index], index)):
        score[index] *= _FURTHER ** of_turn[found[index].turn]
        of_turn[found[index].turn] += 1
    best = max(score.values(), default=0.0)
    chosen: list[int] = []
    headed: set[int] = set()
    left = MOST_WORDS
    for index in sorted(score, key=lambda index: (-score[index], index)):
        each = found[index]
        heading = (
            [] if each.turn in headed or each.by_user else _headings(found, chances, each.turn)
        )
        words = sum(len(text.split()) for text in (each.text, *heading))
        if words <= left and score[index] > LEAST * best and not _is_said(index, chosen, weights):
            chosen.append(index)
            headed.add(each.turn)
            left -= words
    return sorted(chosen)


def _is_said(index: int, chosen: Sequence[int], weights: dict[int, Weights]) -> bool:
    return any(likeness(weights[index], weights[other]) > SAME for other in chosen)


def _of_facts(facts: SessionFacts) -> Iterator[str]:
    """Yield the lines on files and errors."""
    if facts.files:
        yield f"{_FILES}{_listed(facts.files, MOST_FILES)}."
    if facts.errors:
        # What an error said matters as long as it is open.
        errors = [
            f"{_MESSAGE.sub('', e.text)} (resolved)" if e.resolved else f"{e.text} (open)"
            for e in facts.errors
        ]
        yield f"{_ERRORS}{_listed(errors, MOST_ERRORS)}."


def open_errors(summary: str) -> list[str]:
    """Return the errors that a summary made here tells of as open; none of one that is written otherwise."""
    last = summary.rpartition("\n")[2]
    if not last.startswith(_ERRORS):
        return []
    return [text for text, state in _ERROR.findall(last.removeprefix(_ERRORS)) if state == "open"]


def without_errors(summary: str) -> str:
    """Return a summary without the line on errors, if one made here has it."""
    rest, _, last = summary.rpartition("\n")
    return rest if last.startswith(_ERRORS) else summary


def title(found: Sequence[SessionSentence], facts: SessionFacts) -> str:
    """Name a session by a whole phrase of at most ten words.

    By what the user asked for or told first, else by the most telling sentence that holds such a phrase;
    else by what the session often speaks of, or by its files. Empty where it has none of these.
    """
    nearness = centralities(weighed([each.text for each in found]))
    salience = [
        each.weight * (0.5 + 0.5 * near) for each, near in zip(found, nearness, strict=True)
    ]
    goals = {
        index: salience[index] * _fitness(each) for index, each in enumerate(found) if each.by_user
    }
    others = sorted(range(len(found)), key=lambda index: (-salience[index], index))
    for index in dict.fromkeys((*sorted(goals, key=lambda g: (-goals[g], g)), *others)):
        for phrase in phrases(found[index].text):
            if _telling(phrase) > 1 or len(found) == 1:
                return phrase
    topics = _topics(found)
    if len(topics) > 1:
        return title_of(", ".join(topics))
    if facts.files:
        return title_of(f"Work on {' '.join(facts.files[:3])}")
    return title_of(found[0].text) if found else ""


def _fitness(each: SessionSentence) -> float:
    """Return how fit a sentence of the user is as the session's topic."""
    asks = is_request(each.text) or (each.turn == 0 and is_about_a_fault(each.text))
    says = _FOR_GOAL if asks and _telling(each.text) > 2 else 1.0
    points = _POINTING if _POINTS_BACK.match(each.text) else 1.0
    return says * points * (_FOR_FIRST if each.turn == 0 else 1.0)


def _telling(sentence: str) -> int:
    """Count the content words of a sentence."""
    terms = word_terms(sentence)
    return sum(not (is_stop_term(term) or term in FILLER_TERMS) for term in terms)


def _topics(found: Sequence[SessionSentence]) -> list[str]:
    """Return up to four words or bigrams that several turns share, most frequent first."""
    turns: dict[str, set[int]] = defaultdict(set)
    seen: Counter[str] = Counter()
    for each in found:
        words = [word for word in _WORD.findall(each.text) if len(word) > 2]
        telling = [word if _is_telling(word) else "" for word in words]
        pairs = [f"{one} {other}" for one, other in pairwise(telling) if one and other]
        for phrase in (*filter(None, telling), *pairs):
            turns[phrase.lower()].add(each.turn)
            seen[phrase] += 1
    often = [phrase for phrase, where in turns.items() if len(where) > 1]
    often.sort(key=lambda phrase: (-len(turns[phrase]) * (2 if " " in phrase else 1), phrase))
    chosen: list[str] = []
    for phrase in often:
        stems = set(word_terms(phrase))
        if not any(stems & set(word_terms(other)) for other in chosen):
            chosen.append(phrase)
    return [
        max((p for p in seen if p.lower() == phrase), key=lambda p: (seen[p], p))
        for phrase in chosen[:4]
    ]


def _is_telling(word: str) -> bool:
    plain = word.lower().removesuffix("'s")
    return not (plain in FILLERS or "'" in plain or any(map(is_stop_term, word_terms(plain))))


def _opening(turn: Turn) -> str:
    """Return the first words of a turn that has no sentence."""
    text = next(filter(str.strip, (turn.prompt, turn.response, turn.thought)), "")
    words = " ".join(text[: 2 * OPENING].replace("`", " ").split())
    return words if len(words) <= OPENING else f"{words[: OPENING - 1]}…"


def _listed(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
