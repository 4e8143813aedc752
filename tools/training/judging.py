"""How well late interaction alone ranks the texts of a shard, by the product's own packing and comparing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from minutebook.features.models.built_in.builtin import MEAN_STATE
from minutebook.text.late_interaction import Question, TokenStates
from tests.packed import packed_of
from tools.training.states import Asked, Shard

Floats = NDArray[np.float32]
Change = Callable[[Floats], Floats]


def unchanged(rows: Floats) -> Floats:
    """Leave states as they are."""
    return rows


@dataclass(frozen=True, slots=True)
class Figures:
    """NDCG@10 and the share first of each question, and the best score with its answers and without."""

    ndcg: Floats
    first: Floats
    best: Floats
    without: Floats

    @property
    def area(self) -> float:
        """The chance that the best score of a store with the answer is above that of one without."""
        order = np.sort(self.without)
        below = np.searchsorted(order, self.best, "left") + np.searchsorted(
            order, self.best, "right"
        )
        return float(below.mean() / 2 / len(order))


@dataclass(slots=True)
class Judge:
    """Compares the questions of a shard with all texts of their pools; `every` leaves out some questions."""

    shard: Shard
    every: int = 1
    _plain: dict[int, bytes] = field(default_factory=dict)

    def figures(self, question: Change = unchanged, text: Change = unchanged) -> Figures:
        """Rank with changed states of questions and of texts."""
        return Figures(
            *(np.array(each, np.float32) for each in zip(*self._asked(question, text), strict=True))
        )

    def _asked(self, question: Change, text: Change) -> Iterator[tuple[float, ...]]:
        packed = self._plain if text is unchanged else {}
        for asked in self.shard.asked[:: self.every]:
            for each in asked.texts:
                if each not in packed:
                    packed[each] = packed_of(self._tokens(each, text))
            made = Question(self._tokens(asked.question, question))
            yield one_question(made.late([packed[each] for each in asked.texts]), asked)

    def _tokens(self, sequence: int, change: Change) -> TokenStates:
        own = self.shard.own(sequence)
        states = change(self.shard.last[own].astype(np.float32) - MEAN)
        return TokenStates(self.shard.ids[own], self.shard.surprise[own], states)


MEAN = np.load(MEAN_STATE).astype(np.float32)


def one_question(scores: Floats, asked: Asked) -> tuple[float, float, float, float]:
    """Return NDCG@10, whether the first answers, the best score, and the best of texts that do not answer."""
    holds = np.zeros(len(scores), bool)
    holds[list(asked.held)] = True
    ranked = holds[np.argsort(-scores, kind="stable")[:10]]
    gains = 1 / np.log2(np.arange(2, 12))
    ideal = gains[: min(10, int(holds.sum()))].sum()
    ndcg = float(gains[: len(ranked)] @ ranked / ideal)
    others = scores[~holds]
    return ndcg, float(ranked[0]), float(scores.max()), float(others.max() if len(others) else 0)


RESAMPLES = 1000


def gain(name: str, plain: Figures, found: Figures) -> str:
    """Say in a line what a change gains, in points of NDCG@10 with the 95 % interval over questions."""
    gained = 100 * (found.ndcg - plain.ndcg)
    chance = np.random.default_rng(0)
    drawn = chance.integers(0, len(gained), (RESAMPLES, len(gained)))
    low, high = np.percentile(gained[drawn].mean(axis=1), (2.5, 97.5))
    return (
        f"{name:<12}{len(gained):>6}  NDCG {100 * plain.ndcg.mean():5.1f}{gained.mean():+6.2f} [{low:+.1f}, {high:+.1f}]"
        f"  first {100 * plain.first.mean():5.1f}{100 * (found.first.mean() - plain.first.mean()):+6.2f}"
        f"  area {plain.area:.3f}{found.area - plain.area:+.3f}"
    )


def left_out(gains: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[str, str, float]]:
    """Yield each set with the candidate that the other sets would choose, and what the set gains by it.

    `gains` has each candidate's by set. Chosen is the greatest mean; the model as it is, which gains
    nothing, is a candidate, too.
    """
    names = list(next(iter(gains.values())))
    candidates = {"plain": dict.fromkeys(names, 0.0), **gains}
    for name in names:
        others = [each for each in names if each != name]
        best = max(candidates, key=lambda of: sum(candidates[of][each] for each in others))
        yield name, best, candidates[best][name]
