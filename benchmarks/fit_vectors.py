"""Fit the weights by which a vector tells what a text is: `python -m benchmarks.fit_vectors [--quick]`.

`standing.jsonl` holds habits, rules and preferences on the one side and facts, events, questions and single tasks on the other;
`asking.jsonl` questions for the present state, and questions for the past, for reasons and for general knowledge; `happened.jsonl`
questions that name a day, for what was done or said then, and for plans, duties and states. Each is in languages of
which the weights are learnt, and in languages that they never saw (`unseen`; its sentences are of the same kinds as the learnt ones, so
it judges languages more than subjects). Printed are the right ones of each language, those of the learnt languages by weights that were
fitted to the others, and those of five folds. Without --quick the weights are written beside `text/judged_vectors.py`.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_revisions import logistic
from benchmarks.measure import ROOT, Cell, Table, asked, machine, publish
from minutebook import text as language
from minutebook.config import load
from minutebook.config.models import models_of
from minutebook.text.judged_vectors import LIKELY, Floats, by_weights

Flags = NDArray[np.bool_]

RIDGE, DIMENSIONS, FOLDS = 0.03, 384, 5
JUDGEMENTS = {"standing": "standing.jsonl", "present": "asking.jsonl", "happened": "happened.jsonl"}


def _rows(name: str) -> list[dict[str, Any]]:
    text = (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
    return list(map(json.loads, text.splitlines()))


def _vectors(texts: Sequence[str], *, are_questions: bool) -> Floats:
    embedding = models_of(load({})).embedding
    embedding.start()
    embedding.wait(timeout=600.0)
    if are_questions:
        found = np.stack([embedding.embed_query(each).vector for each in texts])
    else:
        found = np.stack([each.vector for each in embedding.embed_passages(texts)])
    found = found[:, :DIMENSIONS]
    unit: Floats = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def _fitted(vectors: Floats, wanted: Floats) -> Floats:
    fitted = logistic(np.c_[np.ones(len(vectors)), vectors], wanted.astype(float), RIDGE)
    return fitted.astype(np.float32)


def fit(judgement: str, rows: Sequence[dict[str, Any]]) -> tuple[Floats, Table]:
    """Fit the weights of a judgement, (d + 1,); return them, and how many are right."""
    vectors = _vectors([each["text"] for each in rows], are_questions=judgement != "standing")
    wanted = np.array([each[judgement] for each in rows], dtype=np.float32)
    learnt = np.array([each["part"] == "learn" for each in rows])
    languages = np.array([each["language"] for each in rows])
    weights = _fitted(vectors[learnt], wanted[learnt])

    def right(by: Floats, of: Flags) -> int:
        return int(((by_weights(vectors[of], by) >= LIKELY) == (wanted[of] > 0)).sum())

    table: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(languages):
        of = languages == name
        is_learnt = bool(learnt[of][0])
        by = _fitted(vectors[learnt & ~of], wanted[learnt & ~of]) if is_learnt else weights
        row = ("left out" if is_learnt else "unseen", f"{right(by, of)} of {int(of.sum())}")
        table.append((name, *row))
    order = np.random.default_rng(0).permutation(np.flatnonzero(learnt))
    hits = 0
    for fold in range(FOLDS):
        held = np.zeros(len(rows), np.bool_)
        held[order[fold::FOLDS]] = True
        hits += right(_fitted(vectors[learnt & ~held], wanted[learnt & ~held]), held)
    table.append(("all learnt", f"{FOLDS} folds", f"{hits} of {len(order)}"))
    return weights, Table(judgement, ("language", "judged", "right"), table)


def main() -> None:
    """Fit, judge, print, keep."""
    given = asked("Fit the weights of judgements by vectors.").parse_args()
    tables = []
    for judgement, name in JUDGEMENTS.items():
        weights, table = fit(judgement, _rows(name)[:: 5 if given.quick else 1])
        tables.append(table)
        if not given.quick:
            np.save(Path(language.__file__).parent / f"{judgement}.npy", weights)
    publish("vectors", machine(), tables, quick=given.quick)


if __name__ == "__main__":
    main()
