"""How likely is a text about a question by its words alone? Fits WORDS_SLOPE and WORDS_MIDDLE.

`python -m benchmarks.calibrate_words [--quick] [--keep]`. For stores without vectors: questions of the
development halves of XQuAD (English on English, and within one language), LoCoMo and
`benchmarks/notes.jsonl` are asked of the whole store, and of 30, 5 and 1 of its texts, which in half of
the cases hold the answer. A logistic of the part of the question that a text holds is fitted as
`benchmarks.calibrate` fits meaning, and held against questions of the notes that it was not fitted to.
`--keep` writes `docs/calibration_words.json`; a test compares the constants there with those in the code.
`--quick` reads the notes only.
"""

import json
import random
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import public_sets
from benchmarks.calibrate import ANSWER_WEIGHT, Floats, logistic_fit, mean
from benchmarks.finding import datasets
from benchmarks.finding.datasets import Collection, Dataset, Query
from benchmarks.finding.metrics import NDCG_CUT, score
from benchmarks.measure import ROOT, asked
from benchmarks.quality import OURS, PUBLIC
from minutebook.app import open_app
from minutebook.config import load
from minutebook.memory.access.visibility import View
from minutebook.memory.search import signals
from minutebook.memory.search.signals import Retriever, Signals
from minutebook.record.records import Memory
from minutebook.record.writing.drafts import Draft
from minutebook.text.calibration import CUT
from minutebook.text.words import parse_query

KEPT = ROOT / "docs" / "calibration_words.json"

HELD_OUT = "notes, held out"

SETS: dict[str, tuple[Path, str | None, int]] = {
    "notes": (OURS / "notes.jsonl", "dev", 1000),
    "locomo": (PUBLIC / "locomo-dev.json", None, 12),
    "xquad": (PUBLIC / "xquad-dev.json", None, 25),
    HELD_OUT: (OURS / "notes.jsonl", "test", 1000),
}
"""The sets, the split of each, and how many questions of each category are asked."""

SIZES = (0, 30, 5, 1)
"""How many texts a store has; 0: all."""

SEED = 1
"""Of the choice of texts for small stores."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a store of a size said of a question: the parts of it that texts hold.

    `ranked` are the documents by words as they are ranked now, `by_bm25` as BM25 ranks them.
    """

    query: Query
    size: int
    holds_answer: bool
    answers: Floats
    others: Floats
    ranked: Sequence[str]
    by_bm25: Sequence[str]


def fits(query: Query) -> bool:
    """Tell whether words can lead from a question to its text: they are of one language."""
    return not any("→" in each and len(set(each.split(" → "))) > 1 for each in query.groups)


def asked_of(dataset: Dataset) -> Iterator[Asked]:
    """Ask each question of a data set of stores of each size, without a model."""
    chance = random.Random(SEED)
    for collection in dataset.collections:
        with tempfile.TemporaryDirectory(prefix="minutebook-words-") as home:
            settings = replace(load({}), home=Path(home), embedder="none", durability="normal")
            with closing(open_app(settings)) as app:
                caller = settings.caller()
                document = {
                    app.memories.store(caller, Draft(content=each.text, type=each.type)).id: each.id
                    for each in collection.documents
                }
                view = app.infrastructure.records.seen_in("default", caller)
                retriever = Retriever(app.infrastructure.records, app.embeddings)
                for query in filter(fits, collection.queries):
                    for size in SIZES:
                        ids = _chosen(collection, query, size, document, chance)
                        yield _asked(retriever, view.where(ids=ids), query, size, ids, document)


def _chosen(
    collection: Collection,
    query: Query,
    size: int,
    document: dict[str, str],
    chance: random.Random,
) -> frozenset[str]:
    ids = sorted(document, key=document.__getitem__)
    if not size:
        return frozenset(ids)
    answers = [id for id in ids if document[id] in query.relevant]
    others = [id for id in ids if document[id] not in query.relevant]
    given = answers[:1] if chance.random() < 0.5 else []
    return frozenset([*given, *chance.sample(others, min(len(others), size - len(given)))])


def _asked(
    retriever: Retriever,
    view: View,
    query: Query,
    size: int,
    ids: frozenset[str],
    document: dict[str, str],
) -> Asked:
    sought = signals.Asked(query.text, parse_query(query.text), None)
    found = retriever.propose(Memory, view, sought, len(ids))
    parts = {document[id]: part for (_, id), part in found.covered.items()}
    relevant = query.relevant.keys()
    return Asked(
        query,
        size,
        any(document[id] in relevant for id in ids),
        np.array([part for id, part in parts.items() if id in relevant]),
        np.array([part for id, part in parts.items() if id not in relevant]),
        _order(found, found.fused(), document),
        _order(found, found.lexical, document),
    )


def _order(found: Signals, scores: Any, document: dict[str, str]) -> list[str]:
    return [
        document[key[1]] for key in sorted(found.lexical, key=lambda key: (-scores[key], key[1]))
    ]


def fitted(sets: dict[str, list[Asked]]) -> tuple[float, float]:
    """Fit slope and middle: every set counts the same, in it every question, its best answer for all."""
    scores, labels, weights = list[Floats](), list[Floats](), list[Floats]()
    for found in sets.values():
        for each in found:
            if len(each.answers):
                scores.append(each.answers.max(keepdims=True))
                labels.append(np.ones(1))
                weights.append(np.array([ANSWER_WEIGHT / len(found)]))
            if len(each.others):
                scores.append(each.others)
                labels.append(np.zeros(len(each.others)))
                weights.append(np.full(len(each.others), 1 / len(found) / len(each.others)))
    slope, middle = logistic_fit(*map(np.concatenate, (scores, labels, weights)))
    return round(slope, 1), round(middle, 3)


def figures(found: Sequence[Asked], slope: float, middle: float) -> dict[str, Any]:
    """Sum up stores of one size: what the cut keeps of answers and of others, and two rankings."""

    def reach(parts: Floats) -> NDArray[np.bool_]:
        reached: NDArray[np.bool_] = 1 / (1 + np.exp(-slope * (parts - middle))) >= CUT
        return reached

    answerable = [each for each in found if each.holds_answer]
    others = [each for each in found if len(each.others)]
    reached = [reach(each.others).mean() for each in others]
    return {
        "questions": len(answerable),
        "found": mean([bool(len(each.answers)) for each in answerable]),
        "kept": mean([bool(reach(each.answers).any()) for each in answerable]),
        "strangers": mean(reached) if reached else 0.0,
        "ndcg": mean([_ndcg(each.ranked, each.query) for each in answerable]),
        "ndcg_bm25": mean([_ndcg(each.by_bm25, each.query) for each in answerable]),
    }


def _ndcg(ranked: Sequence[str], query: Query) -> float:
    return score(ranked, query.relevant)[f"NDCG@{NDCG_CUT}"]


def main() -> None:
    """Ask, fit, print and write."""
    parser = asked("Fit the constants that say by words alone when a text is about a question.")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.relative_to(ROOT)}")
    given = parser.parse_args()
    chosen = {
        name: each for name, each in SETS.items() if not given.quick or each[0].parent == OURS
    }
    if missing := [str(path) for path, _, _ in chosen.values() if not path.exists()]:
        raise SystemExit(f"there is no {', '.join(missing)}; --quick does without")
    sets = {
        name: list(asked_of(datasets.sampled(public_sets.read(path, split=split), count)))
        for name, (path, split, count) in chosen.items()
    }
    slope, middle = fitted({name: each for name, each in sets.items() if name != HELD_OUT})
    told: dict[str, Any] = {
        "constants": {"WORDS_SLOPE": slope, "WORDS_MIDDLE": middle},
        "cut": CUT,
        "sets": defaultdict(dict),
    }
    print(f"WORDS_SLOPE = {slope}, WORDS_MIDDLE = {middle}")
    print(f"{'':<24}{'n':>6}{'found':>8}{'kept':>8}{'others':>8}{'NDCG@10':>9}{'of BM25':>9}")
    for name, found in sets.items():
        for size in SIZES:
            summed = figures([each for each in found if each.size == size], slope, middle)
            told["sets"][name][str(size or "all")] = summed
            print(
                f"{name + ', ' + str(size or 'all'):<24}{summed['questions']:>6}"
                + "".join(f"{summed[each]:>8.3f}" for each in ("found", "kept", "strangers"))
                + f"{summed['ndcg']:>9.3f}{summed['ndcg_bm25']:>9.3f}"
            )
    if given.keep:
        KEPT.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
