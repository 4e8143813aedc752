"""What a session was about: its title and its summary, made of its own sentences and of facts.

The built-in summarizer, without any model. The same turns make the same account, always.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby, pairwise
from statistics import fmean

from minutebook.domain.records import Turn
from minutebook.language.sentences import sentences
from minutebook.search.text import is_stop_term, word_terms
from minutebook.summarizing.common_words import FILLER_TERMS, FILLERS
from minutebook.summarizing.replacement import replacement_odds
from minutebook.summarizing.retractions import retracted
from minutebook.summarizing.salience import by_words, mmr_select, word_rows
from minutebook.summarizing.session_facts import (
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
from minutebook.summarizing.session_words import CHANGED, DONE, DONE_FIRST
from minutebook.summarizing.statements import (
    UNPROMPTED,
    Prompting,
    Statement,
    adds,
    asks,
    challenges,
    clauses,
    gives_reason,
    is_correction,
    prefers,
)
from minutebook.summarizing.summary_draft import SummaryDraft
from minutebook.summarizing.titles import phrases, title_of

MOST_TURNS = 400
"""Turns whose sentences are looked at; of a longer session, as many spread evenly, and the last."""

OF_A_PART = (8, 4)
"""How many sentences of a prompt, thought or response are looked at: from its beginning and its end."""

SHORTLIST = 48
"""Sentences, the most salient by their words, among which the choice is made."""

POOL = 2 * SHORTLIST
"""Sentences among which those are looked for that a later one took back."""

LEAST, MOST, TURNS_A_SENTENCE = 5, 10, 3
"""Sentences of a summary: the least, the most, and how many turns call for one more."""

OPENING = 200
"""Characters that are shown of a session in which there is no sentence."""

LEAD = 60
"""Characters of a text's beginning that can tell how it takes what was said before."""

MOST_FILES, MOST_ERRORS = 8, 4
_ERRORS = "Errors met: "
_ERROR = re.compile(r"(.+?) \((open|resolved)\)(?:, | and |\.?$)")
"""Files and errors that a summary names."""


class Part(StrEnum):
    """Whose words they are."""

    USER = "User"
    THOUGHT = "Thought"
    AGENT = "Agent"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a session: in which turn, whose, and how much its place and form speak for it.

    `stands` is how much speaks for it that no later one replaced it, beside the others of whom said it: 1 in
    the mean. `lead` is how the text begins whose first sentence it is; what is too short for a sentence stands there.
    """

    text: str
    turn: int
    part: Part
    weight: float
    lead: str = ""
    stands: float = 1.0


_OF_PART = {Part.USER: 1.0, Part.THOUGHT: 0.45, Part.AGENT: 1.0}
_AT_AN_END, _OUTCOME, _TOLD, _ASKED, _EMPTY, _CORRECTED = 1.25, 1.25, 1.15, 0.6, 0.15, 1.5
_FOR_GOAL, _FOR_FIRST, _POINTING = 3.0, 2.0, 0.3
_FURTHER = 0.7
_DOUBT = 4
_TELLING_WORDS = 6

_TELLS_OUTCOME = re.compile(
    rf"{DONE}|{DONE_FIRST}|{CHANGED}|"
    r"\b(?:decided|because|cause|caused|turned out|instead of|so that|weil|grund|ursache|liegt an|statt|schuld|porque|"
    r"causa|motivo|en vez de)\b",
    re.IGNORECASE,
)
_TELLS_FACT = re.compile(
    r"\d|(?<=[a-z] )[A-Z]\w|\b(?:I|[Ww]e)(?:'m|'ve| was| went| am| have| had| \w+ed)\b|[\w-]+\.\w+\b"
)
_SAYS_NOTHING = re.compile(
    r"^(?:sure|of course|certainly|great|good|perfect|thanks|thank you|hi|hello|hey|wow|yes|yeah|no problem|"
    r"you're (?:right|welcome)|absolutely|got it|sounds good|let me know|i'll|i will|let me|let's|now i|i'd be happy|"
    r"happy to|i hope|hope (?:this|that)|feel free|here(?:'s| is| are)|ok(?:ay)?|done|bye|congrats|ready when|"
    r"take care|talk soon|that's (?:great|awesome|amazing)|i am going to|i'm going to|next,? i)\b",
    re.IGNORECASE,
)
_POINTS_BACK = re.compile(
    r"\W*(?:it|its|this|that|these|those|they|he|she|das|es|dies|diese[rs]?|er|sie|esto|eso|ese|esa|esta|este)(?![^\W_])",
    re.IGNORECASE,
)
_VOCATIVES = re.compile(
    r"\b(?i:hey|hi|hello|thanks|thank you|wow|bye|congrats|yeah|yep|totally|agreed|aw|ok|okay),? "
    r"([A-Z][a-z]+)\b|, ([A-Z][a-z]+)[!?.](?=\s|$)"
)
_WORD = re.compile(r"[^\W\d_][\w'-]*[^\W_]|[^\W\d_]", re.UNICODE)


def summarize(read: Callable[[], Iterable[Turn]], count: int) -> SummaryDraft:
    """Tell what a session of `count` turns came to; `read` gives its turns in order, each time anew."""
    facts = session_facts(read())
    listed = shortlist(sayings(read(), count))
    outline = summary_text(listed, facts) if listed or facts.files or facts.errors else ""
    start = next(filter(None, map(_opening, read())), "") if not (outline and listed) else ""
    category, why = category_of(facts)
    scores = {
        "quality": quality_of(facts),
        "productivity": productivity_of(facts),
        "impact": impact_of(facts),
        "complexity": complexity_of(facts),
    }
    return SummaryDraft(
        title=title(listed, facts) or title_of(start) or "A session without words",
        summary="\n".join(filter(None, (start, outline))) or "Nothing was said.",
        category=category,
        **{name: score.value for name, score in scores.items()},
        technologies=facts.technologies,
        reasons={"category": why} | {name: each.reason for name, each in scores.items()},
    )


def sayings(turns: Iterable[Turn], count: int) -> list[Sentence]:
    """Return the sentences of a session of `count` turns that a summary may quote, in order."""
    step = -(-count // MOST_TURNS) or 1
    found: list[Sentence] = []
    for index, turn in enumerate(turns):
        if index % step == 0 or index == count - 1:
            found += _sayings_of(turn, index, count)
    return found


def shortlist(found: Sequence[Sentence]) -> list[Sentence]:
    """Choose the sentences that a closer look is for: the most salient by words, in order.

    What a later sentence took back is left out; what one may have replaced weighs less.
    """
    found = _doubted(found)
    scores = by_words([each.text for each in found])
    ranked = sorted(
        range(len(found)), key=lambda p: (-found[p].weight * found[p].stands * (0.2 + scores[p]), p)
    )
    first: dict[str, int] = {}
    for index in ranked:
        first.setdefault(_plain(found[index].text), index)
    pool = sorted(list(first.values())[:POOL])
    left = standing(found, pool)
    kept = [index for index in first.values() if index in left][:SHORTLIST]
    return [replace(found[index], text=left[index]) for index in sorted(kept)]


def _doubted(found: Sequence[Sentence]) -> list[Sentence]:
    """Return the sentences, each with how much speaks for it that no later one replaced it.

    The user's are compared with the user's, the agent's with the agent's.
    """
    odds = replacement_odds(texts_of(found))
    factors = [(1 - chance) ** _DOUBT for chance in odds]
    means = {
        is_user: fmean(own)
        for is_user in (True, False)
        if (own := [f for f, s in zip(factors, found, strict=True) if _is_of_user(s) is is_user])
    }
    return [
        replace(each, stands=factor / means[_is_of_user(each)])
        for each, factor in zip(found, factors, strict=True)
    ]


def _is_of_user(sentence: Sentence) -> bool:
    return sentence.part is Part.USER


def texts_of(found: Sequence[Sentence]) -> list[list[Statement]]:
    """Return sentences as statements, those of one prompt, thought or response together."""
    promptings = _promptings(found)
    return [
        [_statement(found, index, promptings) for index in places]
        for _, places in groupby(range(len(found)), key=lambda p: (found[p].turn, found[p].part))
    ]


def standing(found: Sequence[Sentence], pool: Sequence[int]) -> dict[int, str]:
    """Return the sentences of the pool without what later ones retract, by index."""
    promptings = _promptings(found)
    whole_ones = [_statement(found, index, promptings) for index in range(len(found))]
    parts = [(index, part) for index in pool for part in clauses(found[index].text)]
    later = [
        replace(each, text=part, sentence=each.text)
        for each in whole_ones
        for part in clauses(each.text)
    ]
    said = [
        replace(whole_ones[index], text=part, sentence=found[index].text) for index, part in parts
    ]
    gone = retracted(said, later)
    left: defaultdict[int, list[str]] = defaultdict(list)
    whole = Counter(index for index, _ in parts)
    last_gone: tuple[int, int] | None = None
    for number, (index, part) in enumerate(parts):
        # What gave the reason of a statement goes with it.
        if number in gone or ((index, number - 1) == last_gone and gives_reason(part)):
            last_gone = (index, number)
        else:
            left[index].append(part)
    return {
        index: " ".join(texts).rstrip(" ;,") + ("." if len(texts) < whole[index] else "")
        if len(texts) < whole[index]
        else found[index].text
        for index, texts in left.items()
    }


def summary_text(listed: Sequence[Sentence], facts: SessionFacts) -> str:
    """Tell a session by the most telling of the sentences, and by the files and errors in it.

    What was asked and what came of it last are among them wherever there is such a sentence. Words
    decide, not vectors, which choose worse (docs/decisions/0016-sessions-and-summaries.md).
    """
    chosen = _chosen(listed, facts.turns)
    lines = [
        f"{part}: {' '.join(listed[index].text for index in places)}"
        for (_, part), places in groupby(chosen, key=lambda p: (listed[p].turn, listed[p].part))
    ]
    if facts.files:
        lines.append(f"Files: {_listed(facts.files, MOST_FILES)}.")
    if facts.errors:
        errors = [f"{e.text} ({'resolved' if e.resolved else 'open'})" for e in facts.errors]
        lines.append(f"{_ERRORS}{_listed(errors, MOST_ERRORS)}.")
    return "\n".join(lines)


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


def title(listed: Sequence[Sentence], facts: SessionFacts) -> str:
    """Name a session by a whole phrase of at most ten words.

    By what the user asked for or told first, else by the most telling sentence that holds such a phrase;
    else by what the session often speaks of, or by its files. Empty where it has none of these.
    """
    # It tells what was talked about, whether or not that is how it came.
    listed = [replace(each, stands=1.0) for each in listed]
    salience = _salience(listed)
    goals = sorted(_goals(listed, salience).items(), key=lambda item: (-item[1], item[0]))
    others = sorted(range(len(listed)), key=lambda index: (-salience[index], index))
    for index in dict.fromkeys((*(index for index, _ in goals), *others)):
        for phrase in phrases(listed[index].text):
            if _telling(phrase) > 1 or len(listed) == 1:
                return phrase
    topics = _topics(listed)
    if len(topics) > 1:
        return title_of(", ".join(topics))
    if facts.files:
        return title_of(f"Work on {' '.join(facts.files[:3])}")
    return title_of(listed[0].text) if listed else ""


def _promptings(found: Sequence[Sentence]) -> dict[int, Prompting]:
    """Return what the user said in each turn in which the user said something."""
    said: defaultdict[int, list[str]] = defaultdict(list)
    for each in found:
        if each.part is Part.USER:
            said[each.turn].append(each.text)
    return {
        turn: Prompting(
            terms=frozenset(word_terms(" ".join(texts))),
            only_asks=all(asks(text) and not challenges(text) for text in texts),
            prefers=any(map(prefers, texts)),
            adds=any(map(adds, texts)),
            objects=frozenset(
                term
                for text in texts
                if (not asks(text) and not is_request(text)) or (asks(text) and challenges(text))
                for term in word_terms(text)
            ),
        )
        for turn, texts in said.items()
    }


def _statement(
    found: Sequence[Sentence], index: int, promptings: Mapping[int, Prompting]
) -> Statement:
    each, before = found[index], found[index - 1] if index else None
    follows = (
        before is not None
        and (before.turn, before.part) == (each.turn, each.part)
        and is_correction(before.text)
    )
    prompting = promptings.get(each.turn, UNPROMPTED)
    return Statement(
        each.text,
        each.turn,
        each.part is Part.USER,
        follows,
        prompting,
        each.lead,
    )


def _sayings_of(turn: Turn, index: int, count: int) -> Iterator[Sentence]:
    parts = ((Part.USER, turn.prompt), (Part.THOUGHT, turn.thought), (Part.AGENT, turn.response))
    head, tail = OF_A_PART
    for part, text in parts:
        found = list(sentences(read_part(text)))
        kept = found if len(found) <= head + tail else found[:head] + found[-tail:]
        # What was wanted is said first by the user, and what came of it last by the agent.
        is_end = index == (0 if part is Part.USER else count - 1)
        for place, sentence in enumerate(kept):
            weight = _weight(sentence, part) * (_AT_AN_END if is_end else 1.0)
            lead = text[:LEAD] if place == 0 else ""
            yield Sentence(sentence, index, part, weight, lead)


def _weight(sentence: str, part: Part) -> float:
    weight = _OF_PART[part] * min(1.0, _telling(sentence) / _TELLING_WORDS)
    if _SAYS_NOTHING.match(sentence):
        weight *= _EMPTY
    if sentence.endswith("?") and not is_request(sentence):
        weight *= _ASKED
    if _TELLS_FACT.search(sentence):
        weight *= _TOLD
    if part is not Part.USER and _TELLS_OUTCOME.search(sentence):
        weight *= _OUTCOME
    if is_correction(sentence):
        weight *= _CORRECTED
    return weight


def _telling(sentence: str) -> int:
    """Count the words of a sentence that say what it is about."""
    return sum(_tells(term) for term in word_terms(sentence))


def _tells(term: str) -> bool:
    return not (is_stop_term(term) or term in FILLER_TERMS)


def _chosen(listed: Sequence[Sentence], turns: int) -> list[int]:
    salience = _salience(listed)
    ends = (_goal(listed, salience), _close(listed, salience))
    chosen_first = [index for index in ends if index is not None]
    count = min(MOST, LEAST + turns // TURNS_A_SENTENCE)
    return mmr_select(word_rows([each.text for each in listed]), salience, chosen_first, count)


def _salience(listed: Sequence[Sentence]) -> list[float]:
    """Score each sentence by its weight and by how near its words are to those of all.

    Each further one of a turn counts for less, so that one long answer does not fill the summary.
    """
    nearness = by_words([each.text for each in listed])
    best = max(nearness, default=0.0) or 1.0
    salience = [
        s.weight * s.stands * (0.5 + 0.5 * score / best)
        for s, score in zip(listed, nearness, strict=True)
    ]
    chosen_of_turn: Counter[int] = Counter()
    for index in sorted(range(len(listed)), key=lambda index: (-salience[index], index)):
        turn = listed[index].turn
        salience[index] *= _FURTHER ** chosen_of_turn[turn]
        chosen_of_turn[turn] += 1
    return salience


def _goal(listed: Sequence[Sentence], salience: Sequence[float]) -> int | None:
    """Find what the user wanted: a request that says of what, before others that of the first turn."""
    fitness = _goals(listed, salience)
    return max(fitness, key=lambda index: fitness[index], default=None)


def _goals(listed: Sequence[Sentence], salience: Sequence[float]) -> dict[int, float]:
    """Tell how fit each of the user's sentences is to say what the session is about."""
    fitness = {}
    for index, sentence in enumerate(listed):
        if sentence.part is not Part.USER:
            continue
        asks = is_request(sentence.text) or (sentence.turn == 0 and is_about_a_fault(sentence.text))
        says = _FOR_GOAL if asks and _telling(sentence.text) > 2 else 1.0
        if _POINTS_BACK.match(sentence.text):
            says *= _POINTING
        fitness[index] = salience[index] * says * (_FOR_FIRST if sentence.turn == 0 else 1.0)
    return fitness


def _close(listed: Sequence[Sentence], salience: Sequence[float]) -> int | None:
    """Find what came of it: the most salient of what the agent says of it in the last turn."""
    last = max((each.turn for each in listed), default=0)
    candidates = [
        index
        for index, each in enumerate(listed)
        if each.turn == last and each.part is Part.AGENT and _TELLS_OUTCOME.search(each.text)
    ]
    return max(candidates, key=lambda index: salience[index], default=None)


def _topics(listed: Sequence[Sentence]) -> list[str]:
    """Return up to four words or bigrams that several turns share, most frequent first."""
    turns: dict[str, set[int]] = defaultdict(set)
    seen: Counter[str] = Counter()
    called = {
        (name or other).lower() for each in listed for name, other in _VOCATIVES.findall(each.text)
    }
    for each in listed:
        words = [word for word in _WORD.findall(each.text) if len(word) > 2]
        telling = [word if _is_telling(word, called) else "" for word in words]
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
        if len(chosen) == 4:
            break
    return [
        max((p for p in seen if p.lower() == phrase), key=lambda p: (seen[p], p))
        for phrase in chosen
    ]


def _is_telling(word: str, called: set[str]) -> bool:
    low = word.lower()
    plain = low.removesuffix("'s")
    return not (
        plain in FILLERS
        or plain in called
        or "'" in plain
        or any(map(is_stop_term, word_terms(plain)))
    )


def _opening(turn: Turn) -> str:
    """Return the first words of a turn that has no sentence."""
    text = next(filter(str.strip, (turn.prompt, turn.response, turn.thought)), "")
    words = " ".join(text[: 2 * OPENING].replace("`", " ").split())
    return words if len(words) <= OPENING else f"{words[: OPENING - 1]}…"


def _plain(text: str) -> str:
    return " ".join(word_terms(text)) or text


def _listed(names: Sequence[str], most: int) -> str:
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
