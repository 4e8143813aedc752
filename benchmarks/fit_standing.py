"""Fit the weights by which a vector tells a standing statement from a fact: `python -m benchmarks.fit_standing [--quick]`.

`standing.jsonl` holds habits, rules and preferences on the one side and facts, events, questions and single tasks on the other: in
English, German, French and Chinese, of which the weights are learnt, and in six languages that they never saw (`unseen`; its sentences
are of the same kind as the learnt ones, so it judges languages more than subjects). Printed are the right ones of each language, those of the
learnt languages by weights that were fitted to the other three, and those of five folds. Without --quick `standing.npy` is written.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.fit_revisions import logistic
from benchmarks.measure import ROOT, Cell, Table, asked, machine, publish
from minutebook.config import load
from minutebook.features import hooks
from minutebook.features.hooks.standing import LIKELY, Floats, chances
from minutebook.models import models_of

Flags = NDArray[np.bool_]

RIDGE = 0.03
DIMENSIONS = 384
FOLDS = 5


def _rows() -> list[dict[str, Any]]:
    text = (ROOT / "benchmarks" / "standing.jsonl").read_text(encoding="utf-8")
    return list(map(json.loads, text.splitlines()))


def _vectors(texts: Sequence[str]) -> Floats:
    embedding = models_of(load({})).embedding
    embedding.start()
    embedding.wait(timeout=600.0)
    found = np.stack([each.vector for each in embedding.embed_passages(texts)])[:, :DIMENSIONS]
    unit: Floats = found / np.linalg.norm(found, axis=1, keepdims=True)
    return unit


def _fitted(vectors: Floats, wanted: Floats) -> Floats:
    fitted = logistic(np.c_[np.ones(len(vectors)), vectors], wanted.astype(float), RIDGE)
    return fitted.astype(np.float32)


def main() -> None:
    """Fit, judge, print, keep."""
    given = asked("Fit the weights of standing statements.").parse_args()
    rows = _rows()[:: 5 if given.quick else 1]
    vectors = _vectors([each["text"] for each in rows])
    wanted = np.array([each["standing"] for each in rows], dtype=np.float32)
    learnt = np.array([each["part"] == "learn" for each in rows])
    languages = np.array([each["language"] for each in rows])
    weights = _fitted(vectors[learnt], wanted[learnt])

    def right(by: Floats, of: Flags) -> Cell:
        found = chances(vectors[of], by) >= LIKELY
        return f"{int((found == (wanted[of] > 0)).sum())} of {int(of.sum())}"

    table: list[tuple[Cell, ...]] = []
    for name in dict.fromkeys(languages):
        of = languages == name
        is_learnt = bool(learnt[of][0])
        by = _fitted(vectors[learnt & ~of], wanted[learnt & ~of]) if is_learnt else weights
        table.append((name, "left out" if is_learnt else "unseen", right(by, of)))
    order = np.random.default_rng(0).permutation(np.flatnonzero(learnt))
    hits = 0
    for fold in range(FOLDS):
        held = order[fold::FOLDS]
        by = _fitted(vectors[np.setdiff1d(order, held)], wanted[np.setdiff1d(order, held)])
        hits += int(((chances(vectors[held], by) >= LIKELY) == (wanted[held] > 0)).sum())
    table.append(("all learnt", f"{FOLDS} folds", f"{hits} of {len(order)}"))
    if not given.quick:
        kept = (
            ROOT
            / "src"
            / "minutebook"
            / hooks.__name__.rpartition("minutebook.")[2].replace(".", "/")
        )
        np.save(kept / "standing.npy", weights)
    columns = ("language", "judged", "right")
    publish(
        "standing", machine(), [Table("Standing statements", columns, table)], quick=given.quick
    )


if __name__ == "__main__":
    main()
