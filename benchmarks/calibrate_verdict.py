"""How likely has a search found an answer? Fits the coefficients of `text/answerability.py`.

`python -m benchmarks.calibrate_verdict [--quick] [--chats] [--as-they-are] [--keep]`. Questions are asked of stores of 1 to 3,000 texts that
hold their answer and of stores that do not: `benchmarks.verdict_data` says which. A logistic of what the search
measures tells both apart (maximum likelihood; every set counts the same, in it every size, in that
answerable questions as much as near strangers and twice as much as far ones). Shown is each set by the
coefficients fitted to all and by those fitted to the other sets. `--keep` writes
`docs/calibration_verdict.json`; a test compares the coefficients and the cut there with those in the code. After the cut
was moved `--as-they-are` measures with the coefficients of the code and fits none but those of sets left out. `--quick`
reads notes and statements only, `--chats` shows BEAM's long ones, too.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import verdict_data as data
from benchmarks.finding.metrics import area_interval, interval
from benchmarks.measure import ROOT, asked
from benchmarks.quality import PUBLIC
from benchmarks.verdict_data import Compared, Floats, Query, Stores, Texts
from minutebook.config import load
from minutebook.config.models import models_of
from minutebook.features.code.search import MEAN_PART
from minutebook.features.models.built_in.builtin import UNRELATED
from minutebook.model.service import Embedding
from minutebook.text.answerability import (
    BY_TOKENS,
    BY_VECTORS,
    BY_WORDS,
    LIKELY_FROM,
    OF_CODE,
    POSSIBLE_FROM,
    Coefficients,
)
from minutebook.text.words import length_in_words

KEPT = ROOT / "docs" / "calibration_verdict.json"

PENALTY = 1e-4
"""What large coefficients cost: signals that go together share their weight."""

SHARES = {"answerable": 1.0, "near": 1.0, "far": 0.5}
"""What each kind of question weighs in the fit."""

ONLY_SHOWN = frozenset({"chats"})
"""Sets that nothing is fitted to: long messages, whose best tokens come near any question."""

SEED = 7
"""Of the choice of texts for stores."""

SHOWN_SIZES = (1, 3, 10, 30, 100, 200, 300, 500, 1500)

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which texts are compared: their strengths, the cosine beside them, and the coefficients in use."""

    strengths: Callable[[Compared], Floats]
    cosine: Callable[[Compared], float]
    now: Coefficients

    @property
    def absent(self) -> float:
        """The strength of a text that is not there."""
        return self.now.absent


def scaled(compared: Compared) -> Floats:
    """Return cosines with 0 for unrelated texts."""
    return (compared.cosines - UNRELATED) / (1 - UNRELATED)


FORMS = {
    "BY_TOKENS": Form(lambda c: c.late, lambda c: float(scaled(c).max(initial=0)), BY_TOKENS),
    "BY_VECTORS": Form(scaled, lambda c: 0.0, BY_VECTORS),
    "BY_WORDS": Form(lambda c: c.covered, lambda c: 0.0, BY_WORDS),
    "OF_CODE": Form(lambda c: c.cosines, lambda c: 0.0, OF_CODE),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a form makes of the questions of a set: signals, shape (questions, 8), kinds and sizes, and pairs.

    `pairs` are (strength, log(1 + BM25)) of each text less those of an answer in the same store, shape (pairs, 2).
    """

    signals: Floats
    kinds: NDArray[np.str_]
    sizes: NDArray[np.int64]
    pairs: Floats


def summed_up(form: Form, rows: Sequence[tuple[str, Query, Compared]]) -> Asked:
    """Turn what was compared into what is fitted."""
    empty = Coefficients(0, (), 0, 0, form.absent)
    signals, kinds, sizes, pairs = [], [], [], []
    for kind, query, compared in rows:
        strengths = form.strengths(compared)
        if not len(strengths) or (form is FORMS["BY_WORDS"] and not strengths.any()):
            continue
        evidence = empty.evidence(
            strengths.tolist(),
            form.cosine(compared),
            float(compared.bm25.max()),
            compared.size,
            length_in_words(query.text),
        )
        signals.append(evidence.signals())
        kinds.append(kind)
        sizes.append(compared.size)
        if kind == "answerable" and compared.is_answer.any() and not compared.is_answer.all():
            pairs.append(_differences(strengths, compared))
    return Asked(np.array(signals), np.array(kinds), np.array(sizes), np.concatenate(pairs))


def _differences(strengths: Floats, compared: Compared) -> Floats:
    """Return how the best answer differs from up to ten of the other texts that come nearest."""
    rows = np.stack([strengths, np.log1p(compared.bm25)], axis=1)
    answers, others = rows[compared.is_answer], rows[~compared.is_answer]
    best = answers[np.argmax(answers[:, 0])]
    near = others[np.argsort(-others[:, 0])[:10]]
    found: Floats = best - near
    return found


def weights_of(asked: Asked) -> Floats:
    """Weigh questions so that sizes count the same, and kinds by SHARES."""
    weights = np.zeros(len(asked.kinds))
    for size in np.unique(asked.sizes):
        for kind, share in SHARES.items():
            here = (asked.kinds == kind) & (asked.sizes == size)
            weights[here] = share / max(1, here.sum())
    scaled_to_one: Floats = weights / weights.sum()
    return scaled_to_one


def logistic(rows: Floats, labels: Floats, weights: Floats) -> Floats:
    """Fit a logistic by Newton's method; the first of the coefficients returned is the intercept."""
    mean, deviation = rows.mean(axis=0), rows.std(axis=0)
    deviation[deviation == 0] = 1.0
    design = np.c_[np.ones(len(rows)), (rows - mean) / deviation]
    penalty = np.eye(design.shape[1]) * PENALTY
    penalty[0, 0] = 0.0
    found = np.zeros(design.shape[1])
    for _ in range(100):
        chances = 1 / (1 + np.exp(-design @ found))
        gradient = design.T @ (weights * (labels - chances)) - penalty @ found
        curvature = (design * (weights * chances * (1 - chances))[:, None]).T @ design + penalty
        step = np.linalg.solve(curvature, gradient)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    slopes = found[1:] / deviation
    coefficients: Floats = np.r_[found[0] - slopes @ mean, slopes]
    return coefficients


def fitted(form: Form, sets: Sequence[Asked]) -> Coefficients:
    """Fit the coefficients of a form to some sets."""
    rows = np.concatenate([each.signals for each in sets])
    labels = np.concatenate([each.kinds == "answerable" for each in sets]).astype(float)
    found = logistic(rows, labels, np.concatenate([weights_of(each) for each in sets]))
    slopes = _merits(np.concatenate([each.pairs for each in sets]))
    intercept, *weights = (round(float(each), 2) for each in found)
    return Coefficients(intercept, tuple(weights), *slopes, form.absent)


def _merits(pairs: Floats) -> tuple[float, float]:
    """Fit how much strength and BM25 say for an answer beside another text (Bradley and Terry, 1952), neither less than 0."""
    both = _slopes(pairs)
    if both.min() < 0:
        kept = int(both.argmax())
        both = np.zeros(2)
        both[kept] = _slopes(pairs[:, [kept]])[0]
    return round(float(both[0]), 2), round(float(both[1]), 2)


def _slopes(pairs: Floats) -> Floats:
    found: Floats = np.zeros(pairs.shape[1])
    for _ in range(100):
        chances = 1 / (1 + np.exp(-pairs @ found))
        gradient = pairs.T @ (1 - chances) / len(pairs) - PENALTY * found
        rows = pairs * (chances * (1 - chances))[:, None]
        step = np.linalg.solve(rows.T @ pairs / len(pairs) + PENALTY * np.eye(len(found)), gradient)
        found += step
        if np.abs(step).max() < 1e-9:
            break
    return found


def chances_of(coefficients: Coefficients, asked: Asked) -> Floats:
    """Return the chance of each question."""
    log_odds = coefficients.intercept + asked.signals @ np.array(coefficients.weights)
    found: Floats = 1 / (1 + np.exp(-log_odds))
    return found


def figures(coefficients: Coefficients, asked: Asked) -> dict[str, Any]:
    """Sum up a set by size: the area, who is told *nothing*, and how many answerable are called *found*."""
    chances, told = chances_of(coefficients, asked), {}
    for size in SHOWN_SIZES:
        here = {
            kind: chances[(asked.kinds == kind) & (asked.sizes == size)].tolist() for kind in SHARES
        }
        if len(here["answerable"]) < 20:
            continue
        told[str(size)] = {
            "questions": len(here["answerable"]),
            "area": rounded(area_interval(here["answerable"], here["near"])),
            "lost": share(here["answerable"], lambda each: each < POSSIBLE_FROM),
            "near": share(here["near"], lambda each: each < POSSIBLE_FROM),
            "far": share(here["far"], lambda each: each < POSSIBLE_FROM),
            "found": share(here["answerable"], lambda each: each >= LIKELY_FROM),
            "near found": share(here["near"], lambda each: each >= LIKELY_FROM),
        }
    return told


def share(chances: Sequence[float], holds: Callable[[float], bool]) -> list[float] | None:
    """Return the part of the chances for which a condition holds, with its 95 % interval."""
    return rounded(interval([float(holds(each)) for each in chances])) if chances else None


def rounded(values: Sequence[float]) -> list[float]:
    """Return figures to four digits."""
    return [round(each, 4) for each in values]


def texts_compared(
    embedding: Embedding, *, is_quick: bool, with_chats: bool
) -> dict[str, list[Any]]:
    """Ask the questions of every set of texts; of each what search measures."""
    strangers = data.far()
    made: dict[str, Callable[[], Texts]] = {
        "notes": data.notes,
        "statements": lambda: data.statements(160),
    }
    if not is_quick:
        made |= {
            "technical": data.technical,
            "locomo": lambda: data.locomo(30),
            "xquad": lambda: data.xquad(5),
        }
    if with_chats:
        made["chats"] = lambda: data.beam(60)
    return {
        name: compared(Stores(data.with_keywords(make(), 40), embedding, strangers), data.SIZES)
        for name, make in made.items()
    }


def compared(stores: Stores, sizes: Sequence[int]) -> list[Any]:
    """Ask the questions of a set in stores of some sizes, unless it was done before."""
    print(f"comparing {stores.of.name}", flush=True)
    every = [
        *stores.of.texts.values(),
        *(each.text for each in stores.of.queries),
        f"{sizes} {stores.model.unrelated}",
    ]
    found: list[Any] = data.kept(
        stores.embedding,
        f"{stores.of.name}-compared",
        every,
        lambda: list(data.asked(stores, sizes, SEED)),
    )
    return found


def code_compared(embedding: Embedding) -> dict[str, list[Any]]:
    """Ask questions of pools of functions, also questions on notes, of which code says nothing."""
    notes = [replace(each, relevant=frozenset()) for each in data.notes().queries if each.relevant]
    strangers = [*data.far(), *notes]
    stores = Stores(data.cosqa(), embedding, strangers, mean_part=MEAN_PART)
    return {"code": compared(stores, (3, 10, 30, 100, 300))}


def told_of(form: Form, sets: Mapping[str, list[Any]], *, as_they_are: bool) -> dict[str, Any]:
    """Fit a form to all sets, or take the coefficients as they are, and fit it to all but each."""
    every = {name: summed_up(form, rows) for name, rows in sets.items()}
    made = {name: each for name, each in every.items() if name not in ONLY_SHOWN}
    found = form.now if as_they_are else fitted(form, list(made.values()))
    told: dict[str, Any] = {
        "coefficients": {
            "intercept": found.intercept,
            "weights": list(found.weights),
            "strength": found.strength,
            "bm25": found.bm25,
            "absent": found.absent,
        },
        "sets": {name: figures(found, each) for name, each in made.items()},
    }
    if len(made) > 1:
        told["left out"] = {
            name: figures(fitted(form, [other for key, other in made.items() if key != name]), each)
            for name, each in made.items()
        }
        shown = ONLY_SHOWN & every.keys()
        told["left out"] |= {name: figures(found, every[name]) for name in sorted(shown)}
    return told


def main() -> None:
    """Compare, fit, print and write."""
    parser = asked("Fit the coefficients that say how likely a search has found an answer.")
    parser.add_argument("--keep", action="store_true", help=f"write {KEPT.relative_to(ROOT)}")
    parser.add_argument("--as-they-are", action="store_true", help="fit no coefficients in use")
    parser.add_argument("--chats", action="store_true", help="show BEAM's long chats, too")
    given = parser.parse_args()
    if not given.quick and not PUBLIC.exists():
        raise SystemExit(f"there is no {PUBLIC}; --quick does without")
    embedding = models_of(load({})).embedding
    embedding.start()
    embedding.wait()
    texts = texts_compared(embedding, is_quick=given.quick, with_chats=given.chats)
    code = {} if given.quick else code_compared(embedding)
    told: dict[str, Any] = {
        "model": embedding.model.name,
        "possible from": POSSIBLE_FROM,
        "likely from": LIKELY_FROM,
        "forms": {},
    }
    for name, form in FORMS.items():
        sets = code if name == "OF_CODE" else texts
        if sets:
            told["forms"][name] = told_of(form, sets, as_they_are=given.as_they_are)
            _print(name, told["forms"][name])
    if given.keep:
        KEPT.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _print(name: str, told: Mapping[str, Any]) -> None:
    print(f"{name}: {told['coefficients']}")
    for part in ("sets", "left out"):
        for of, sizes in told.get(part, {}).items():
            for size, each in sizes.items():
                cells = [
                    each["area"][0],
                    *(_first(each[key]) for key in ("lost", "near", "far", "found", "near found")),
                ]
                print(
                    f"{part:9}{of:8}{size:>6}{each['questions']:>5}"
                    + "".join(f"{cell:>8.3f}" for cell in cells)
                )


def _first(value: Sequence[float] | None) -> float:
    return math.nan if value is None else value[0]


if __name__ == "__main__":
    main()
