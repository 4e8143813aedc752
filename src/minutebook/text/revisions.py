"""Tell whether a text revises an earlier one: says of the same subject another value, a denial or a replacement.

The sentences of both are aligned word by word, by the states that the embedding model gave their tokens. What is shared,
what differs, of which sort and in which role that is, the words of a change, and how well both answer the question are
signs; a small network weighs them. Its numbers are in `revision_weights.npz`, fitted by `python -m
benchmarks.fit_revisions`. The chance is a guess and hides nothing by itself.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache, partial
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minutebook.text.comparing import (
    Alignment,
    SharedWords,
    align,
    said_by,
    signs,
    signs_of_question,
    unasked_signs,
)
from minutebook.text.late_interaction import Question, mean_state
from minutebook.text.nets import nets
from minutebook.text.statements import (
    LONGEST,
    REMEMBERED,
    Floats,
    Spell,
    Statements,
    asked_of,
    statements_of,
)

MOST_PAIRS = 4
"""Pairs of sentences that are compared word by word, of all candidates; the most alike come first. Of texts that have more,
one pair or other looks like a revision by accident: the odds fall as their number rises."""

LEAST_ALIKE = 0.12
"""What two sentences have in common at least, to be compared word by word."""

LEAST_UNASKED, LIKELY_UNASKED, LIKELY_ASKED = 0.5, 0.55, 0.65
"""The chances without the question that texts have at least, as two on other subjects may answer it, and without and with
it from where a revision is likely: no more than one in twenty look-alikes that were learnt from reaches both."""

LEAST_COSINE = 0.42
"""The cosine of the mean states of two texts below which neither revises the other."""


@dataclass(frozen=True, slots=True)
class DatedText:
    """A text, when it was said, and its token states as `late_interaction.pack` packs them.

    Without states, where no model is or has read it, it is compared by its words.
    """

    text: str
    at: datetime
    states: bytes | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """Which candidate revises another, how likely in [0, 1], and the words that differ, as they are written."""

    newer: int
    chance: float
    old: str
    new: str
    is_likely: bool
    """Whether the chance is one at which few look-alikes are marked."""


NETS = nets(Path(__file__).with_name("revision_weights.npz"))
"""By states or words: of sentences, of a question or not, and of whole notes, by verdict."""


def chance(
    newer: DatedText,
    older: DatedText,
    spell: Spell | None = None,
    *,
    asked: str = "",
    question: Question | None = None,
) -> float:
    """Return how likely a newer text revises an older one, in [0, 1]; 0 if it is not newer."""
    found = revisions([older, newer], spell, 0.0, asked=asked, question=question)
    return found[0].chance if 0 in found else 0.0


def revisions(
    candidates: Sequence[DatedText],
    spell: Spell | None = None,
    least: float | None = None,
    *,
    asked: str = "",
    question: Question | None = None,
    among: Container[int] | None = None,
    by: int | None = None,
) -> dict[int, Revision]:
    """Return which candidates are revised, by index, and by which newer one most likely.

    `candidates` may be in any order; of two that were said at the same instant neither revises the other.
    `spell` writes word pieces out, as the model's tokenizer does; without it words alone are compared.
    `least` is the least chance; None for what is likely only. `asked` is the question that all of them answer, if there
    is one, and `question` its tokens. `among` has those, by index, that may be revised, and `by` is the one that may
    revise them; None for all.
    """
    pairs = [
        each
        for each in alignments(
            candidates, spell, asked=asked, question=question, among=among, by=by
        )
        if each[2].older.text.casefold() != each[2].newer.text.casefold()
    ]
    found: dict[int, Revision] = {}
    for name in {net_of(pair) for *_, pair, _ in pairs}:
        own = [each for each in pairs if net_of(each[2]) == name]
        counts = np.array([count for *_, count in own], np.float32)
        judged = _judged(name, [pair for *_, pair, _ in own], np.minimum(1, MOST_PAIRS / counts))
        for (older, newer, pair, _), (likely, is_likely) in zip(own, judged, strict=True):
            best = found.get(older)
            is_enough = is_likely if least is None else likely >= least
            if is_enough and (best is None or likely > best.chance):
                old = pair.older.written(pair.only_old)
                new = pair.newer.written(pair.only_new)
                found[older] = Revision(newer, likely, old, new, is_likely)
    return found


def _judged(name: str, pairs: Sequence[Alignment], shares: Floats) -> Iterator[tuple[float, bool]]:
    """Yield the chance of each pair by a network, and whether it is likely; 0 where the question alone speaks for it.

    The odds of each are multiplied by its share.
    """
    net = NETS[name]
    if name != "states_asked":
        chances = _with_odds(net.chances([signs(each) for each in pairs]), shares)
        is_likely = chances >= net.cut[0]
    else:
        rows = [unasked_signs(each) for each in pairs]
        unasked = NETS["states"].chances(rows)
        chances = np.zeros_like(unasked)
        # The question is compared with those only of which it decides something.
        open_ones = np.flatnonzero(unasked >= LEAST_UNASKED).tolist()
        if open_ones:
            asked = [rows[each] | signs_of_question(pairs[each]) for each in open_ones]
            chances[open_ones] = _with_odds(net.chances(asked), shares[open_ones])
        is_likely = (chances >= LIKELY_ASKED) & (unasked >= LIKELY_UNASKED)
        # What is likely whatever is asked, as when it was written, is likely here.
        found = _with_odds(unasked, shares)
        is_known = found >= NETS["states"].cut[0]
        chances = np.where(is_known, np.maximum(chances, found), chances)
        is_likely |= is_known
    yield from zip(chances.tolist(), is_likely.tolist(), strict=True)


def _with_odds(chances: Floats, factors: Floats) -> Floats:
    """Multiply the odds of chances by factors; return the chances."""
    odds = chances * factors
    raised: Floats = (odds / (odds + 1 - chances)).astype(np.float32)
    return raised


def net_of(pair: Alignment) -> str:
    """Return the name of the network for a pair: by states or words, and whether a question is known."""
    return ("states" if pair.has_states else "words") + ("" if pair.asked is None else "_asked")


def alignments(
    candidates: Sequence[DatedText],
    spell: Spell | None = None,
    *,
    asked: str = "",
    question: Question | None = None,
    among: Container[int] | None = None,
    by: int | None = None,
) -> Iterator[tuple[int, int, Alignment, int]]:
    """Yield pairs of the most alike sentences: the indices of the older and the newer text, the alignment, and the texts' number of such pairs."""
    near = [
        (older, newer)
        for older, newer in _near(candidates)
        if (among is None or older in among) and by in (None, newer)
    ]
    involved = sorted({index for pair in near for index in pair})
    if not involved:
        return
    read = {
        index: statements_of(candidates[index].text, candidates[index].states, spell)
        for index in involved
    }
    is_known = bool(asked) and (question is not None or spell is None)
    answers = _Answers(asked, question, spell, candidates, read) if is_known else None
    for older, newer, one, other in _alike(near, read):
        here, there = read[older], read[newer]
        pair = align(
            here.sentences[one],
            there.sentences[other],
            here.states[one],
            there.states[other],
            None if answers is None else partial(answers.shared_words, older, one, newer, other),
        )
        yield older, newer, pair, len(here.sentences) * len(there.sentences)


class _Answers:
    """How well sentences, and the texts around them, answer the question."""

    def __init__(
        self,
        asked: str,
        question: Question | None,
        spell: Spell | None,
        candidates: Sequence[DatedText],
        read: Mapping[int, Statements],
    ) -> None:
        self._text = asked
        self._question = question
        self._spell = spell
        self._candidates = candidates
        self._read = read
        self._said: dict[int, list[Floats]] = {}

    def shared_words(self, older: int, one: int, newer: int, other: int) -> SharedWords:
        """Return it for a sentence of an older and one of a newer text."""
        old, new = self._said_by(older), self._said_by(newer)
        scores = self._scores[older], self._scores[newer]
        return SharedWords(
            old[one],
            new[other],
            np.max([said.max(axis=1, initial=0) for said in old], axis=0),
            np.max([said.max(axis=1, initial=0) for said in new], axis=0),
            scores if all(scores) else (0.0, 0.0),
        )

    @cached_property
    def _asked(self) -> Statements:
        return asked_of(self._text, self._question, self._spell)

    def _said_by(self, index: int) -> list[Floats]:
        """Return how well each sentence of a text says the words of the question."""
        if index not in self._said:
            read = self._read[index]
            self._said[index] = [
                said_by(self._asked, sentence, states)
                for sentence, states in zip(read.sentences, read.states, strict=True)
            ]
        return self._said[index]

    @cached_property
    def _scores(self) -> Mapping[int, float]:
        """The late interaction of the question with each text; 0 where it is not known."""
        if self._question is None:
            return dict.fromkeys(self._read, 0.0)
        scores = self._question.late([self._candidates[each].states or b"" for each in self._read])
        return dict(zip(self._read, scores.tolist(), strict=True))


def _near(candidates: Sequence[DatedText]) -> list[tuple[int, int]]:
    """Return pairs of an older and a newer candidate with states that are near enough, or not known."""
    means = [_mean_state(each.states) if each.states else None for each in candidates]
    found = []
    for one, other in combinations(range(len(candidates)), 2):
        if _cosine(means[one], means[other]) < LEAST_COSINE:
            continue
        if candidates[one].at != candidates[other].at:
            is_ordered = candidates[one].at < candidates[other].at
            found.append((one, other) if is_ordered else (other, one))
    return found


@lru_cache(REMEMBERED)
def _mean_state(states: bytes) -> Floats | None:
    return mean_state(states, LONGEST)


def _cosine(one: Floats | None, other: Floats | None) -> float:
    """Return the cosine of two unit vectors; 1 where it is not known."""
    if one is None or other is None or one.shape != other.shape:
        return 1.0
    return float(one @ other)


def _alike(
    near: Sequence[tuple[int, int]], read: Mapping[int, Statements]
) -> list[tuple[int, int, int, int]]:
    """Return the pairs of sentences that are most alike: older and newer text, and the sentence of each."""
    places = [
        (index, number) for index, each in read.items() for number in range(len(each.sentences))
    ]
    if not places:
        return []
    first: dict[int, int] = {}
    for row, (index, _) in enumerate(places):
        first.setdefault(index, row)
    alike = _likenesses([read[index] for index in read])
    found = [
        (float(alike[first[older] + one, first[newer] + other]), older, newer, one, other)
        for older, newer in near
        for one in range(len(read[older].sentences))
        for other in range(len(read[newer].sentences))
    ]
    found.sort(key=lambda each: -each[0])
    return [each[1:] for each in found[:MOST_PAIRS] if each[0] >= LEAST_ALIKE]


def _likenesses(read: Sequence[Statements]) -> Floats:
    """Return how alike sentences are, (n, n): by the share of common words and the cosine of their means."""
    sentences = [sentence for each in read for sentence in each.sentences]
    states = [rows for each in read for rows in each.states]
    numbers: dict[str, int] = {}
    held = [{numbers.setdefault(key[:5], len(numbers)) for key in each.keys} for each in sentences]
    holds = np.zeros((len(sentences), len(numbers)), np.float32)
    for row, keys in enumerate(held):
        holds[row, list(keys)] = 1
    sizes: NDArray[np.float32] = np.maximum(holds.sum(axis=1), 1)
    found: Floats = holds @ holds.T / np.sqrt(sizes[:, None] * sizes)
    width = next((each.shape[1] for each in states if each is not None), 0)
    if width:
        means = np.stack(
            [np.zeros(width, np.float32) if each is None else each.mean(axis=0) for each in states]
        )
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
        found = (found + np.maximum(means @ means.T, 0)) / 2
    return found
