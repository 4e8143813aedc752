"""Compute the last states of texts once.

A shard is a folder of arrays: all positions of all sequences one after the other, prefix and end included.
"""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minutebook.features.models import runtime
from minutebook.features.models.built_in import builtin, model_files
from minutebook.features.models.built_in.tokenizer import Tokenizer
from tools.training.sources import Pool, Source, usable

QUESTION_TOKENS, TEXT_TOKENS, MEASURED_TOKENS = 64, 112, 256
TEXTS_OF_A_POOL, QUESTIONS_OF_A_POOL, ANSWERS = 16, 10, 6
BATCH = 64

Halves = NDArray[np.float16]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the texts of its pool, as numbers of sequences; `held` are the places of its answers there."""

    question: int
    texts: Sequence[int]
    held: Sequence[int]


class Shard:
    """Sequences of a source, and what is asked of them."""

    def __init__(self, folder: Path) -> None:
        self.name, self._folder = folder.name, folder
        self.last: Halves = np.load(folder / "last.npy", mmap_mode="r")
        self.ids: NDArray[np.int32] = np.load(folder / "ids.npy")
        self.surprise: Floats = np.load(folder / "surprise.npy")
        self.ends: NDArray[np.int64] = np.load(folder / "ends.npy")
        self.heads: NDArray[np.int64] = np.load(folder / "heads.npy")
        """How many positions of each sequence are its prefix."""
        self._told = json.loads((folder / "asked.json").read_text(encoding="utf-8"))

    def by(self, maker: "Maker") -> "Shard":
        """Return the same with the last states of another model."""
        other = Shard(self._folder)
        places = [self.place(each) for each in range(len(self.ends))]
        made = maker.run([self.ids[place].tolist() for place in places])
        other.last = np.concatenate(made)
        return other

    @cached_property
    def asked(self) -> list[Asked]:
        """All that is asked, in order."""
        return [
            Asked(question, pool["texts"], held)
            for pool in self._told["pools"]
            for question, held in pool["questions"]
        ]

    def place(self, sequence: int) -> slice:
        """Return the positions of a sequence, prefix and end included."""
        return slice(int(self.ends[sequence - 1]) if sequence else 0, int(self.ends[sequence]))

    def own(self, sequence: int) -> slice:
        """Return the positions of a sequence's own tokens."""
        place = self.place(sequence)
        return slice(place.start + int(self.heads[sequence]), place.stop - 1)

    def is_telling(self, sequence: int) -> bool:
        """Tell whether a sequence has a token of its own."""
        own = self.own(sequence)
        return bool(own.stop > own.start)


def sampled(source: Source, work: Path, count: int, seed: int) -> list[Pool]:
    """Draw small pools from a source until they have so many questions."""
    chance = random.Random(seed)
    pools = [pool for each in source(work) if (pool := usable(each))]
    chance.shuffle(pools)
    drawn, left = list[Pool](), count
    while left > 0 and pools:
        rest = list[Pool]()
        for pool in pools:
            some, others = _cut(pool, min(left, QUESTIONS_OF_A_POOL), chance)
            drawn.append(some)
            left -= len(some.questions)
            if len(others.questions):
                rest.append(others)
            if left <= 0:
                break
        pools = rest
    return drawn


def _cut(pool: Pool, count: int, chance: random.Random) -> tuple[Pool, Pool]:
    """Draw questions with their answers and some other texts; what is left of the pool comes second."""
    questions = list(pool.questions)
    chance.shuffle(questions)
    chosen, others = questions[:count], questions[count:]
    answers = {
        asked: held if len(held) <= ANSWERS else sorted(chance.sample(list(held), ANSWERS))
        for asked, held in chosen
    }
    wanted = {at for held in answers.values() for at in held}
    # What answers a question and is not drawn as such must not stand against it.
    shut = {at for _, held in chosen for at in held} - wanted
    free = [at for at in range(len(pool.texts)) if at not in wanted and at not in shut]
    wanted |= set(chance.sample(free, min(len(free), max(0, TEXTS_OF_A_POOL - len(wanted)))))
    place = {at: new for new, at in enumerate(sorted(wanted))}
    small = Pool(
        [pool.texts[at] for at in place],
        [(asked, [place[at] for at in held]) for asked, held in answers.items()],
    )
    return small, Pool(pool.texts, others)


class Maker:
    """The built-in model, or one whose files another folder holds."""

    def __init__(self, folder: Path | None = None) -> None:
        folder = folder or model_files.FILES
        body = folder / model_files.body_of("multilingual").name
        self._session = runtime.ModelSession(body.read_bytes())
        self.tokenizer = Tokenizer(folder / model_files.TOKENIZER)
        self._words = model_files.WordTable(folder / model_files.words_of("multilingual").name)

    def ids(self, prefix: str, text: str, most: int) -> list[int]:
        """Return a text's ids as the model reads them."""
        start = [self.tokenizer.begin, *self.tokenizer.ids(prefix)]
        return [*start, *self.tokenizer.ids(text)[:most], self.tokenizer.end]

    def run(self, sequences: Sequence[list[int]]) -> list[Halves]:
        """Return the last states of each sequence, (positions, 384)."""
        made: list[Halves] = [None] * len(sequences)  # type: ignore[list-item]
        for group in runtime.batches([len(each) for each in sequences]):
            longest = max(len(sequences[at]) for at in group)
            words = np.zeros((len(group), longest, model_files.WIDTH), np.float32)
            mask = np.zeros((len(group), longest), np.int32)
            for row, at in enumerate(group):
                words[row, : len(sequences[at])] = self._words.rows(sequences[at])
                mask[row, : len(sequences[at])] = 1
            told = {runtime.WORDS: words, runtime.MASK: mask}
            found = self._session.run(told, [runtime.STATES])[runtime.STATES]
            for row, at in enumerate(group):
                made[at] = found[row, : len(sequences[at])].astype(np.float16)
        return made


def write(maker: Maker, pools: Iterable[Pool], folder: Path, most: int) -> None:
    """Compute the states of pools, and keep them as a shard."""
    sequences, heads, told = list[list[int]](), list[int](), list[object]()
    prefixes = [
        1 + len(maker.tokenizer.ids(each))
        for each in (builtin.PASSAGE_PREFIX, builtin.QUERY_PREFIX)
    ]
    for pool in pools:
        texts = [maker.ids(builtin.PASSAGE_PREFIX, each, most) for each in pool.texts]
        asked = [
            maker.ids(builtin.QUERY_PREFIX, each, QUESTION_TOKENS) for each, _ in pool.questions
        ]
        first = len(sequences)
        sequences += [*texts, *asked]
        heads += [prefixes[0]] * len(texts) + [prefixes[1]] * len(asked)
        questions = [
            (first + len(texts) + at, list(held)) for at, (_, held) in enumerate(pool.questions)
        ]
        told.append({"texts": list(range(first, first + len(texts))), "questions": questions})
    made = list[Halves]()
    for start in range(0, len(sequences), BATCH):
        made += maker.run(sequences[start : start + BATCH])
    folder.mkdir(parents=True, exist_ok=True)
    ids = np.concatenate(sequences)
    np.save(folder / "last.npy", np.concatenate(made))
    np.save(folder / "ids.npy", ids.astype(np.int32))
    np.save(folder / "surprise.npy", maker.tokenizer.surprise(ids.tolist()))
    np.save(folder / "ends.npy", np.cumsum([len(each) for each in sequences]))
    np.save(folder / "heads.npy", np.array(heads))
    (folder / "asked.json").write_text(json.dumps({"pools": told}), encoding="utf-8")
