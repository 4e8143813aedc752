"""Say which turns of a stretch of a talk a sentence is about: those that the plain model ranks first there.

QMSum and CRD3 label stretches of up to forty turns. The best turn of the right stretch is a far better
label than any turn of it, and is not what the model finds anyway: that would be the best of the whole talk.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minutebook.features.models.built_in import builtin
from minutebook.text.late_interaction import Question, TokenStates
from tests.packed import packed_of
from tools.training.judging import MEAN
from tools.training.sources import Pool, Source, usable
from tools.training.states import QUESTION_TOKENS, QUESTIONS_OF_A_POOL, TEXT_TOKENS, Maker

ASKED_OF_A_TALK = 20
LEAST, NEAR = 0.25, 0.03
"""The score that a question's best turn has at least, and how near to it the second must be to count."""
TEXTS, OTHERS = 20, 4
"""Texts of a pool, and how many of them at least are no answer."""


@dataclass(frozen=True, slots=True)
class _Found:
    asked: str
    held: Sequence[int]
    shut: frozenset[int]
    """The other turns of the stretch, which may answer as well."""
    score: float


def sharpened(maker: Maker, source: Source, work: Path, count: int, seed: int) -> list[Pool]:
    """Draw small pools from a source of stretches until they have so many questions."""
    chance = random.Random(seed)
    pools = [pool for each in source(work) if (pool := usable(each))]
    chance.shuffle(pools)
    drawn = list[Pool]()
    for pool in pools:
        found = [each for each in _found(maker, pool, chance) if each.score >= LEAST]
        found.sort(key=lambda each: -each.score)
        drawn += filter(None, _cut(pool, found, chance))
        if sum(len(each.questions) for each in drawn) >= count:
            break
    return drawn


def _found(maker: Maker, pool: Pool, chance: random.Random) -> Iterator[_Found]:
    questions = list(pool.questions)
    chance.shuffle(questions)
    questions = questions[:ASKED_OF_A_TALK]
    needed = sorted({at for _, held in questions for at in held})
    texts = _tokens(maker, builtin.PASSAGE_PREFIX, [pool.texts[at] for at in needed], TEXT_TOKENS)
    packed = dict(zip(needed, map(packed_of, texts), strict=True))
    asked = [each for each, _ in questions]
    read = _tokens(maker, builtin.QUERY_PREFIX, asked, QUESTION_TOKENS)
    for (said, held), tokens in zip(questions, read, strict=True):
        scores = Question(tokens).late([packed[at] for at in held])
        first = np.argsort(-scores)[:2].tolist()
        best = [held[at] for at in first if scores[at] >= scores.max() - NEAR]
        yield _Found(said, best, frozenset(held) - set(best), float(scores.max()))


def _tokens(maker: Maker, prefix: str, texts: Sequence[str], most: int) -> list[TokenStates]:
    sequences = [maker.ids(prefix, each, most) for each in texts]
    head = len(maker.ids(prefix, "", most)) - 1
    made = list[TokenStates]()
    for ids, last in zip(sequences, maker.run(sequences), strict=True):
        own = np.array(ids[head:-1], np.int32)
        states = last[head : len(ids) - 1].astype(np.float32) - MEAN
        made.append(TokenStates(own, maker.tokenizer.surprise(own.tolist()), states))
    return made


def _cut(pool: Pool, found: Sequence[_Found], chance: random.Random) -> Iterator[Pool | None]:
    for start in range(0, len(found), QUESTIONS_OF_A_POOL):
        some = found[start : start + QUESTIONS_OF_A_POOL]
        wanted = {at for each in some for at in each.held}
        shut = {at for each in some for at in each.shut} - wanted
        free = [at for at in range(len(pool.texts)) if at not in wanted and at not in shut]
        wanted |= set(chance.sample(free, min(len(free), max(OTHERS, TEXTS - len(wanted)))))
        place = {at: new for new, at in enumerate(sorted(wanted))}
        questions = [(each.asked, [place[at] for at in each.held]) for each in some]
        yield usable(Pool([pool.texts[at] for at in place], questions))
