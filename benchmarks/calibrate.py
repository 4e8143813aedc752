"""When is a text about a question? Fits constants of `text/calibration.py`, and the built-in model's `UNRELATED`.

`python -m benchmarks.calibrate [--quick] [--keep]`. Questions of the development halves of XQuAD and
LoCoMo and of `benchmarks/notes.jsonl` are compared with their answers and with texts that are about
something else: the other paragraphs or notes, or the turns of another conversation. A logistic of the
score of token states and vectors (`Question.scores`) is fitted to tell them apart (maximum likelihood; every set counts the same, in
it every group of questions, in that every question, and of a question its best answer twice as much as all
other texts together). `--keep` writes `docs/calibration.json`, from which `make docs` draws
`docs/calibration.svg`; a test compares the constants there with those in the code. `--quick` reads the
notes only.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import public_sets
from benchmarks.finding import datasets
from benchmarks.finding.datasets import Collection, Dataset, Query
from benchmarks.finding.metrics import area_interval
from benchmarks.measure import ROOT, asked
from benchmarks.quality import OURS, PUBLIC
from minutebook.config import load
from minutebook.config.models import models_of
from minutebook.model.service import Embedding
from minutebook.text.calibration import CUT
from minutebook.text.late_interaction import Question

KEPT = ROOT / "docs" / "calibration.json"

SETS: dict[Path, int] = {
    PUBLIC / "xquad-dev.json": 60,
    PUBLIC / "locomo-dev.json": 12,
    OURS / "notes.jsonl": 1000,
}
"""The sets, and how many questions of each category are asked."""

ANSWER_WEIGHT = 2.0
"""What an answer that is lost costs beside a text about something else that is shown.

The most at which, over the sets, at most one in ten such texts reaches the cut.
"""

BINS = 10
"""Into how many equal parts of [0, 1] the reliability diagram puts relevance."""

BATCH = 32
"""Texts that are embedded at once."""

Floats = NDArray[np.float64]

Chance = Callable[[Floats], Floats]
"""Turns late interaction scores into relevance."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A question's scores: of its answers, none where it has none, and of texts about something else.

    `answers` and `others` are scores of token states and vectors, the cosines those of the same texts, shape
    (texts,) each. `best` is the best such score in the store that was asked.
    """

    group: str
    best: float
    answers: Floats
    others: Floats
    answers_cosines: Floats
    others_cosines: Floats


@dataclass(frozen=True, slots=True)
class Texts:
    """The documents of a collection as a model sees them."""

    ids: Sequence[str]
    packed: Sequence[bytes]
    rows: Sequence[NDArray[np.float32]]

    def scores(self, embedding: Embedding, query: Query) -> tuple[Floats, Floats]:
        """Return the score and the best cosine of each document with a question."""
        made = embedding.embed_query(query.text)
        if made.tokens is None:
            raise SystemExit("the model gives no token states: there is nothing to fit")
        cosines = np.array([float((rows @ made.vector).max()) for rows in self.rows], np.float32)
        scores = Question(made.tokens, made.english).scores(self.packed, cosines)
        return scores.astype(np.float64), cosines.astype(np.float64)


def texts_of(embedding: Embedding, collection: Collection) -> Texts:
    """Embed the documents of a collection."""
    documents = sorted(collection.documents, key=lambda each: len(each.text))
    made = [
        each
        for start in range(0, len(documents), BATCH)
        for each in embedding.embed_passages([d.text for d in documents[start : start + BATCH]])
    ]
    packed = [each.packed or b"" for each in made]
    return Texts([each.id for each in documents], packed, [each.rows for each in made])


def scored(embedding: Embedding, dataset: Dataset) -> Iterator[Scored]:
    """Compare the questions of a data set with what answers them and with what does not."""
    stores = [texts_of(embedding, each) for each in dataset.collections]
    for number, collection in enumerate(dataset.collections):
        own = stores[number]
        # Turns of one conversation are about one another; those of another one are not.
        is_talk = dataset.form == "locomo"
        foreign = stores[number - 1] if is_talk else own
        for query in collection.queries:
            late, cosines = own.scores(embedding, query)
            relevant = np.array([id in query.relevant for id in own.ids])
            far, far_cosines = foreign.scores(embedding, query) if is_talk else (late, cosines)
            strange = np.ones(len(far), bool) if is_talk else ~relevant
            yield Scored(
                query.groups[-1] if query.groups else collection.name,
                float(late.max()),
                late[relevant],
                far[strange],
                cosines[relevant],
                far_cosines[strange],
            )


Pairs = tuple[Floats, Floats, Floats]
"""Scores, whether each is of an answer (1 or 0), and weights; shape (pairs,) each."""


def weighed(sets: dict[str, list[Scored]], *, by_cosine: bool = False) -> Pairs:
    """Put questions and texts of some sets together, each question's best answer for all of them.

    A cosine says less: an answer weighs ANSWER_WEIGHT by score, 1 by cosine.
    """
    weight = 1.0 if by_cosine else ANSWER_WEIGHT
    scores, labels, weights = list[Floats](), list[Floats](), list[Floats]()
    for found in sets.values():
        sizes = Counter(each.group for each in found if len(each.answers))
        for each in found:
            if not len(each.answers):
                continue
            answers = each.answers_cosines if by_cosine else each.answers
            others = each.others_cosines if by_cosine else each.others
            share = 1 / (len(sizes) * sizes[each.group])
            scores.append(np.append(others, answers.max()))
            labels.append(np.append(np.zeros(len(others)), 1.0))
            spread = np.full(len(others), share / len(others))
            weights.append(np.append(spread, weight * share))
    return np.concatenate(scores), np.concatenate(labels), np.concatenate(weights)


def logistic_fit(scores: Floats, labels: Floats, weights: Floats) -> tuple[float, float]:
    """Fit 1 / (1 + exp(−slope · (score − middle))) by Newton's method; give slope and middle."""
    rows = np.stack([np.ones_like(scores), scores], axis=1)
    found = np.zeros(2)
    for _ in range(100):
        chances = 1 / (1 + np.exp(-rows @ found))
        gradient = rows.T @ (weights * (labels - chances))
        curvature = (rows * (weights * chances * (1 - chances))[:, None]).T @ rows
        step = np.linalg.solve(curvature, gradient)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    return float(found[1]), float(-found[0] / found[1])


def unrelated_cosine(pairs: Pairs, chance: Chance) -> float:
    """Return the u for which (cosine − u) / (1 − u) in the place of late interaction fits best.

    By maximum likelihood, to two digits.
    """
    cosines, labels, weights = pairs
    losses: dict[float, float] = {}
    for u in np.arange(0.0, 0.95, 0.01).round(2).tolist():
        chances = np.clip(chance((cosines - u) / (1 - u)), 1e-9, 1 - 1e-9)
        likelihood = labels * np.log(chances) + (1 - labels) * np.log(1 - chances)
        losses[u] = -float((weights * likelihood).sum())
    return float(min(losses, key=losses.__getitem__))


def figures(found: Sequence[Scored], chance: Chance, chance_of_cosine: Chance) -> dict[str, Any]:
    """Sum up a set: area of the best score with and without the answer, and what the cut keeps."""
    answerable = [each for each in found if len(each.answers)]
    given = [each.best for each in found if not len(each.answers)]
    without = given or [float(each.others.max()) for each in answerable]
    return {
        "questions": len(answerable),
        "area": round(area_interval([each.best for each in answerable], without)[0], 4),
        "kept": mean([(chance(each.answers) >= CUT).any() for each in answerable]),
        "strangers": mean([(chance(each.others) >= CUT).mean() for each in answerable]),
        "kept_by_cosine": mean(
            [(chance_of_cosine(each.answers_cosines) >= CUT).any() for each in answerable]
        ),
        "strangers_by_cosine": mean(
            [(chance_of_cosine(each.others_cosines) >= CUT).mean() for each in answerable]
        ),
    }


def mean(values: Sequence[Any]) -> float:
    """Return the mean, to four digits."""
    return round(float(np.mean(values)), 4)


def reliability(pairs: Pairs, chance: Chance) -> list[dict[str, float]]:
    """Return, for each part of [0, 1], the mean relevance, the share of answers, and the weight."""
    scores, labels, weights = pairs
    chances = chance(scores)
    parts = np.minimum((chances * BINS).astype(int), BINS - 1)
    return [
        {
            "relevance": round(float(np.average(chances[here], weights=weights[here])), 4),
            "answers": round(float(np.average(labels[here], weights=weights[here])), 4),
            "weight": round(float(weights[here].sum() / weights.sum()), 4),
        }
        for part in range(BINS)
        if (here := parts == part).any()
    ]


def fitted(sets: dict[str, list[Scored]], model: str) -> dict[str, Any]:
    """Fit the constants and say what they come to."""
    pairs = weighed(sets)
    slope, middle = logistic_fit(*pairs)
    slope, middle = round(slope, 1), round(middle, 3)

    def chance(late: Floats) -> Floats:
        return 1 / (1 + np.exp(-slope * (late - middle)))

    unrelated = unrelated_cosine(weighed(sets, by_cosine=True), chance)

    def chance_of_cosine(cosines: Floats) -> Floats:
        return chance((cosines - unrelated) / (1 - unrelated))

    def grouped(found: Sequence[Scored]) -> dict[str, Any]:
        groups = dict.fromkeys(each.group for each in found if len(each.answers))
        parts = {group: [each for each in found if each.group == group] for group in groups}
        return {
            group: figures(part, chance, chance_of_cosine)
            for group, part in ({"all": found} | parts).items()
        }

    return {
        "model": model,
        "constants": {
            "ABOUT_SLOPE": slope,
            "ABOUT_MIDDLE": middle,
            "UNRELATED": unrelated,
        },
        "cut": CUT,
        "sets": {name: grouped(found) for name, found in sets.items()},
        "reliability": {
            "all": reliability(pairs, chance),
            **{name: reliability(weighed({name: found}), chance) for name, found in sets.items()},
        },
    }


def read(path: Path, count: int) -> Dataset:
    """Read a set with at most so many questions of each category."""
    return datasets.sampled(public_sets.read(path), count)


def main() -> None:
    """Compare, fit, print and write."""
    parser = asked("Fit the constants that say when a text is about a question.")
    parser.add_argument("--keep", action="store_true", help="write docs/calibration.json")
    given = parser.parse_args()
    chosen = {path: count for path, count in SETS.items() if not given.quick or path.parent == OURS}
    missing = [str(path) for path in chosen if not path.exists()]
    if missing:
        raise SystemExit(f"there is no {', '.join(missing)}; --quick does without")
    embedding = models_of(load({})).embedding
    embedding.start()
    embedding.wait()
    sets = {}
    for path, count in chosen.items():
        print(f"comparing {path.stem}", flush=True)
        sets[path.stem] = list(scored(embedding, read(path, count)))
    told = fitted(sets, embedding.model.name)
    for name, value in told["constants"].items():
        print(f"{name} = {value}")
    print(f"{'':<40}{'n':>6}{'area':>8}{'kept':>8}{'strangers':>11}   at {CUT}")
    for name, summed in told["sets"].items():
        for group, each in summed.items():
            print(
                f"{name + ': ' + group:<40}{each['questions']:>6}{each['area']:>8.3f}"
                f"{each['kept']:>8.3f}{each['strangers']:>11.3f}"
            )
    if given.keep:
        KEPT.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
