"""Tell whether a text revises an earlier one: gives the same subject another value, denies it, or replaces it.

`alignments` picks the most similar sentences of two texts and aligns them word by word, by the states that the embedding
model gave their tokens. `comparing.signs` describes each pair by signs, and a small network weighs these. Its weights are
in `revision_weights.npz`, fitted by `python -m benchmarks.fit_revisions`. The chance is a guess and hides nothing by itself.
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
"""The most pairs of sentences, over all candidates, that are compared word by word: those that are most similar."""
# Of two texts with more pairs than that, one may look like a revision by accident: their odds are divided accordingly.

LEAST_ALIKE = 0.12
"""The least similarity, by `_likenesses`, of two sentences that are compared word by word."""

LEAST_UNASKED, LIKELY_UNASKED, LIKELY_ASKED = 0.5, 0.55, 0.65
"""Least chances where a question is asked: by the signs without it, to be judged with it; and to be likely, without and with it."""
# Two texts on different subjects may answer one question, so that the signs without it must speak for a revision, too. At
# most one in twenty of the look-alikes in the training data reaches both chances.

LEAST_COSINE = 0.42
"""The cosine of the mean states of two texts below which neither revises the other."""


@dataclass(frozen=True, slots=True)
class DatedText:
    """A text, the instant at which it was said, and its token states as `late_interaction.pack` packs them.

    A text without states, as no model has read it, is compared by its words alone.
    """

    text: str
    at: datetime
    states: bytes | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """By which candidate, given by its index, an older one is revised, and with which chance in [0, 1].

    `old` and `new` are the words that only the older and only the newer sentence has, as written. `is_likely`: the chance
    is so great that few look-alikes reach it.
    """

    newer: int
    chance: float
    old: str
    new: str
    is_likely: bool


NETS = nets(Path(__file__).with_name("revision_weights.npz"))
"""Networks by name: `net_of` names those for sentences; with `_same` or `_otherwise` behind it, those for whole notes."""


def chance(
    newer: DatedText,
    older: DatedText,
    spell: Spell | None = None,
    *,
    asked: str = "",
    question: Question | None = None,
) -> float:
    """Return the chance in [0, 1] that a newer text revises an older one; 0 if it is not newer. Arguments as for `revisions`."""
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
    """Return by index the candidates that are revised, each with its most likely revision.

    `candidates` may be in any order; of two that were said at the same instant neither revises the other.
    `spell` returns the spelling of word pieces; without it only words are compared. `least` is the least chance of
    a revision; None for those with `is_likely`. `asked` is the question, if there is one, that all candidates answer, and
    `question` its tokens. Only candidates with an index in `among` can be revised, and only the candidate with the index
    `by` can revise them; None means all.
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
    """Yield for each pair the chance of a revision by the network of that name, and whether it is likely.

    The odds of each pair are multiplied by its share, (pairs,). The chance is 0 if only the signs of the question speak for
    a revision.
    """
    net = NETS[name]
    if name != "states_asked":
        chances = _with_odds(net.chances([signs(each) for each in pairs]), shares)
        is_likely = chances >= net.cut[0]
    else:
        rows = [unasked_signs(each) for each in pairs]
        unasked = NETS["states"].chances(rows)
        chances = np.zeros_like(unasked)
        # The signs of the question cost time: they are computed only for pairs on which they can decide.
        undecided = np.flatnonzero(unasked >= LEAST_UNASKED).tolist()
        if undecided:
            asked = [rows[each] | signs_of_question(pairs[each]) for each in undecided]
            chances[undecided] = _with_odds(net.chances(asked), shares[undecided])
        is_likely = (chances >= LIKELY_ASKED) & (unasked >= LIKELY_UNASKED)
        # A revision that is likely without any question, as when the text was written, stays likely.
        without_question = _with_odds(unasked, shares)
        is_known = without_question >= NETS["states"].cut[0]
        chances = np.where(is_known, np.maximum(chances, without_question), chances)
        is_likely |= is_known
    yield from zip(chances.tolist(), is_likely.tolist(), strict=True)


def _with_odds(chances: Floats, factors: Floats) -> Floats:
    """Return chances whose odds, p / (1 - p), are multiplied by factors, (n,)."""
    odds = chances * factors
    raised: Floats = (odds / (odds + 1 - chances)).astype(np.float32)
    return raised


def net_of(pair: Alignment) -> str:
    """Return the name of the network for a pair: "states" or "words", with "_asked" if there is a question."""
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
    """Yield the pairs of the most similar sentences of an older and a newer candidate. Arguments as for `revisions`.

    Each with the indices of the older and the newer candidate, the alignment, and how many pairs of sentences both have.
    """
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
        old, new = read[older], read[newer]
        pair = align(
            old.sentences[one],
            new.sentences[other],
            old.states[one],
            new.states[other],
            None if answers is None else partial(answers.shared_words, older, one, newer, other),
        )
        yield older, newer, pair, len(old.sentences) * len(new.sentences)


class _Answers:
    """How well the sentences of the candidates have the words of the question, each computed when it is first needed.

    `read` has the statements of those candidates, by index, that are compared.
    """

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
        """Return the match of the question with sentence `one` of candidate `older` and sentence `other` of candidate `newer`."""
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
        """Return for each sentence of a candidate the matches of `said_by`, (question's words, sentence's)."""
        if index not in self._said:
            read = self._read[index]
            self._said[index] = [
                said_by(self._asked, sentence, states)
                for sentence, states in zip(read.sentences, read.states, strict=True)
            ]
        return self._said[index]

    @cached_property
    def _scores(self) -> Mapping[int, float]:
        """The late interaction of the question with each candidate, by index; 0 if it is not known."""
        if self._question is None:
            return dict.fromkeys(self._read, 0.0)
        scores = self._question.late([self._candidates[each].states or b"" for each in self._read])
        return dict(zip(self._read, scores.tolist(), strict=True))


def _near(candidates: Sequence[DatedText]) -> list[tuple[int, int]]:
    """Return the indices of an older and a newer candidate, for each pair with similar mean states, or without states."""
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
    """Return the mean of packed states, (d,), from a cache."""
    return mean_state(states, LONGEST)


def _cosine(one: Floats | None, other: Floats | None) -> float:
    """Return the cosine of two unit vectors, (d,); 1 if either is missing or they are of different models."""
    if one is None or other is None or one.shape != other.shape:
        return 1.0
    return float(one @ other)


def _alike(
    near: Sequence[tuple[int, int]], read: Mapping[int, Statements]
) -> list[tuple[int, int, int, int]]:
    """Return the most similar pairs of sentences: the indices of the older and the newer text, then of the sentence in each."""
    rows = 0
    first_row: dict[int, int] = {}
    for index, each in read.items():
        first_row[index] = rows
        rows += len(each.sentences)
    if not rows:
        return []
    alike = _likenesses([*read.values()])
    found = [
        (float(alike[first_row[older] + one, first_row[newer] + other]), older, newer, one, other)
        for older, newer in near
        for one in range(len(read[older].sentences))
        for other in range(len(read[newer].sentences))
    ]
    found.sort(key=lambda pair: -pair[0])
    return [pair[1:] for pair in found[:MOST_PAIRS] if pair[0] >= LEAST_ALIKE]


def _likenesses(read: Sequence[Statements]) -> Floats:
    """Return how similar all sentences of some texts are, (n, n), in [0, 1], in the order of texts and sentences.

    The cosine of their sets of words, by the first five letters of each, or the mean of that and the cosine of their mean
    states.
    """
    sentences = [sentence for each in read for sentence in each.sentences]
    states = [rows for each in read for rows in each.states]
    columns: dict[str, int] = {}
    owned = [{columns.setdefault(key[:5], len(columns)) for key in each.keys} for each in sentences]
    has_word = np.zeros((len(sentences), len(columns)), np.float32)
    for row, own in enumerate(owned):
        has_word[row, list(own)] = 1
    sizes: NDArray[np.float32] = np.maximum(has_word.sum(axis=1), 1)
    found: Floats = has_word @ has_word.T / np.sqrt(sizes[:, None] * sizes)
    width = next((each.shape[1] for each in states if each is not None), 0)
    if width:
        means = np.stack(
            [np.zeros(width, np.float32) if each is None else each.mean(axis=0) for each in states]
        )
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-6)
        found = (found + np.maximum(means @ means.T, 0)) / 2
    return found
