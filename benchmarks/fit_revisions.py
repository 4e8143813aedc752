"""Fit the numbers by which a text is told to revise another: `python -m benchmarks.fit_revisions`.

First the roles of words: from the sentences of `revision_frames.toml`, in which it is known what they are about and what
they say of it, and from how names are written. Then a small network on the signs of `text.comparing`: from pairs
made of the same frames, the pairs of `revision_lessons.jsonl`, the part `learn` of `revisions.jsonl`, pairs of notes (the
parts `learn` of `tidy.jsonl` and `tidy_patterns.jsonl`, and `tidy_lessons.jsonl`), pairs of strangers, and near strangers: sentences of the
standard library's documentation, each with the nearest other. A second network
learns from the same pairs which of them say the same. It prints how well pairs are told that it did not learn from (five
folds), and writes `word_roles.npy` and `revision_weights.npz` of `minutebook/text`. No other part is read.
"""

import ast
import json
import random
import re
import sysconfig
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook import text as language
from minutebook.features.models.built_in import builtin
from minutebook.features.tidying.looking.notes import PairVerdict, whole_alignment
from minutebook.text import comparing
from minutebook.text.late_interaction import Question
from minutebook.text.revisions import DatedText, alignments
from minutebook.text.statements import Sort, statements_of
from minutebook.text.words import languages_of

Matrix = NDArray[np.float64]
Net = dict[str, NDArray[Any]]

HERE = Path(__file__).parent
LABELLED, LESSONS = HERE / "revisions.jsonl", HERE / "revision_lessons.jsonl"
TIDY, PATTERNS, TIDY_LESSONS = (
    HERE / f"tidy{name}.jsonl" for name in ("", "_patterns", "_lessons")
)
FRAMES, NOTES = HERE / "revision_frames.toml", HERE / "notes.jsonl"
FOLDER = Path(language.__file__).parent

OF_MADE, OF_STRANGERS, OF_NEAR = 0.4, 0.3, 0.12
"""What all pairs that are made of frames, all pairs of strangers, and all pairs of near strangers weigh beside the written ones."""

OF_NOTES = 2.0
"""What a pair of notes weighs."""

MADE_EACH_WAY, STRANGERS, NEAR = 10, 300, 400
LEAST_WORDS, MOST_WORDS, NEAR_AMONG = 5, 30, 1500
STEP = 0.03

FALSE_MARKS = 0.04
"""The share of look-alikes, judged by folds, at which the cut lies."""


@dataclass(frozen=True)
class Way:
    """How some networks are fitted: their size, rounds, held-back weights, share of signs dropped, from how many beginnings."""

    hidden: int = 8
    rounds: int = 250
    ridge: float = 6e-3
    dropped: float = 0.3
    nets: int = 6


@dataclass(frozen=True)
class Pair:
    """An older and a newer text, how the newer stands to the older, a question that the older answers."""

    older: str
    newer: str
    verdict: PairVerdict
    language: str = ""
    question: str = ""
    is_note: bool = False

    @property
    def revises(self) -> bool:
        """Whether the newer revises the older."""
        return self.verdict is PairVerdict.OTHERWISE


def labelled(part: str) -> list[dict[str, Any]]:
    """Read the labelled pairs of a part."""
    read = map(json.loads, LABELLED.read_text(encoding="utf-8").splitlines())
    return [each for each in read if each["part"] == part]


def made(each_way: int, seed: int = 7) -> Iterator[Pair]:
    """Make pairs of the frames of each relation: `each_way` that revise and as many that do not."""
    chance = random.Random(seed)
    for code, relations in tomllib.loads(FRAMES.read_text(encoding="utf-8")).items():
        for relation in relations:
            for _ in range(each_way):
                older, newer, question = _revising(relation, chance)
                yield Pair(older, newer, PairVerdict.OTHERWISE, code, question)
                older, newer, question, verdict = _alike(relation, chance)
                yield Pair(older, newer, verdict, code, question)


def _said(relation: dict[str, Any], frame: str, s: str, v: str) -> str:
    text = frame.replace("{s}", s).replace("{S}", s[:1].upper() + s[1:]).replace("{v}", v)
    return text[:1].upper() + text[1:]


def _revising(relation: dict[str, Any], chance: random.Random) -> tuple[str, str, str]:
    s = chance.choice(relation["s"])
    if "denied" in relation:
        v = chance.choice(relation["v"])
        sides = [chance.choice(relation["frames"]), chance.choice(relation["denied"])]
        chance.shuffle(sides)
        first, second = (_said(relation, each, s, v) for each in sides)
        return first, second, _said(relation, chance.choice(relation["asks"]), s, v)
    old, new = chance.sample(relation["v"], 2)
    frames = relation["frames"] + relation["details"]
    one, other = chance.choice(frames), chance.choice(frames)
    if chance.random() < 0.3:
        other = one
    question = _said(relation, chance.choice(relation["asks"]), s, old)
    return _said(relation, one, s, old), _said(relation, other, s, new), question


def _alike(relation: dict[str, Any], chance: random.Random) -> tuple[str, str, str, PairVerdict]:
    one, two = chance.sample(relation["s"], 2)
    values = relation["v"]
    old = chance.choice(values)
    new = chance.choice([each for each in values if each != old] or values)
    first = chance.choice(relation["frames"])
    older = _said(relation, first, one, old)
    question = _said(relation, chance.choice(relation["asks"]), one, old)
    way = chance.random()
    if way < 0.55:
        others = relation["frames"] + relation.get("denied", [])
        second = first if chance.random() < 0.6 else chance.choice(others)
        newer = _said(relation, second, two, new if chance.random() < 0.8 else old)
        return older, newer, question, PairVerdict.APART
    if way < 0.7:
        second = chance.choice([each for each in relation["frames"] if each != first])
    elif way < 0.8:
        second = chance.choice(relation["details"])
    else:
        kind = "asks" if way < 0.87 else "plans" if way < 0.92 else "events"
        second = chance.choice(relation[kind])
    verdict = PairVerdict.SAME if way < 0.8 else PairVerdict.APART
    return older, _said(relation, second, one, old), question, verdict


def lessons() -> list[Pair]:
    """Read the written pairs that are learnt from."""
    read = map(json.loads, LESSONS.read_text(encoding="utf-8").splitlines())
    return [_pair(each) for each in (*labelled("learn"), *read)]


def _pair(row: dict[str, Any]) -> Pair:
    return Pair(row["older"], row["newer"], verdict_of(row), row["language"], row["question"])


def verdict_of(row: dict[str, Any]) -> PairVerdict:
    """Return the verdict that a line of any of the files is labelled with."""
    if row["label"] == "revises":
        return PairVerdict.OTHERWISE
    if row["label"] == "alike":
        return PairVerdict.SAME if row.get("sort") == "paraphrase" else PairVerdict.APART
    return PairVerdict(row["label"])


def notes(part: str) -> Iterator[Pair]:
    """Read the pairs of notes of a part, and make two of each pattern."""
    for row in _lines(TIDY):
        if row["kind"] == "pair" and row["part"] == part:
            yield Pair(row["older"], row["newer"], verdict_of(row), is_note=True)
    for row in _lines(PATTERNS):
        if row["part"] != part:
            continue
        if "older" in row:
            yield Pair(row["older"], row["newer"], PairVerdict.OTHERWISE, is_note=True)
            continue
        texts = [row["pattern"].format(*fill) for fill in row["fills"]]
        for one, other in pairwise(texts) if part != "learn" else (texts[:2], texts[2:]):
            yield Pair(one, other, PairVerdict.APART, is_note=True)


def note_lessons() -> list[Pair]:
    """Return the pairs of notes that are learnt from."""
    written = (
        Pair(each["older"], each["newer"], verdict_of(each), is_note=True)
        for each in _lines(TIDY_LESSONS)
    )
    return [*notes("learn"), *written]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def strangers(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Pair texts of one language that have nothing to do with one another."""
    chance = random.Random(5)
    found: list[Pair] = []
    while len(found) < count:
        one, other = chance.sample(pairs, 2)
        if one.language == other.language and one.older != other.older:
            found.append(replace(one, newer=other.newer, verdict=PairVerdict.APART))
    return found


def documented() -> list[str]:
    """Return the first sentences of the docstrings of the standard library's modules, each once."""
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and (
                said := ast.get_docstring(node)
            ):
                text = " ".join(said.split("\n\n")[0].split())
                if LEAST_WORDS <= len(text.split()) <= MOST_WORDS:
                    found[text] = None
    return list(found)


def near_strangers(reader: "Reader", texts: Sequence[str], count: int) -> list[Pair]:
    """Pair texts each with the nearest other; the older asks, since nothing else is known that it answers."""
    some = random.Random(5).sample(sorted(texts), min(len(texts), NEAR_AMONG))
    vectors = reader.vectors(some)
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -1)
    nearest = cosines.argmax(axis=1)
    order = np.argsort(-cosines.max(axis=1))
    known: set[frozenset[int]] = set()
    found: list[Pair] = []
    for index in order.tolist():
        pair = frozenset((index, int(nearest[index])))
        if pair not in known and len(found) < count:
            known.add(pair)
            older, newer = some[index], some[int(nearest[index])]
            found.append(Pair(older, newer, PairVerdict.APART, "en", older))
    return found


class Reader:
    """Embeds texts and questions once each, and makes the signs of pairs."""

    def __init__(self) -> None:
        self._embedder = builtin.open_model()
        self.spell = self._embedder.spell
        self._packed: dict[str, bytes] = {}
        self._questions: dict[str, Question] = {}

    def packed(self, text: str) -> bytes:
        """Return the packed token states of a text."""
        if text not in self._packed:
            self._packed[text] = self._embedder.embed_passages([text])[0].packed or b""
        return self._packed[text]

    def vectors(self, texts: Sequence[str]) -> Matrix:
        """Return the vectors of texts, (texts, d)."""
        found: Matrix = np.stack([each.vector for each in self._embedder.embed_passages(texts)])
        return found

    def question(self, text: str) -> Question:
        """Return a question's tokens."""
        if text not in self._questions:
            tokens = self._embedder.embed_query(text).tokens
            assert tokens is not None
            self._questions[text] = Question(tokens)
        return self._questions[text]

    def candidates(self, pair: Pair, *, by_states: bool) -> list[DatedText]:
        """Return both texts, the older first, a day apart."""
        began = datetime(2026, 3, 4, tzinfo=UTC)
        return [
            DatedText(text, began + timedelta(days=day), self.packed(text) if by_states else None)
            for day, text in enumerate((pair.older, pair.newer))
        ]

    def whole_signs(self, pair: Pair, *, by_states: bool) -> list[dict[str, float]]:
        """Return the signs of a pair of texts as wholes."""
        spell = self.spell if by_states else None
        older, newer = self.candidates(pair, by_states=by_states)
        found = whole_alignment(older, newer, spell)
        return [] if found is None else [comparing.whole_signs(found)]

    def signs(self, pair: Pair, *, by_states: bool, is_asked: bool) -> list[dict[str, float]]:
        """Return the signs of each pair of sentences of a pair of texts."""
        given: dict[str, Any] = {}
        if is_asked:
            question = self.question(pair.question) if by_states else None
            given = {"asked": pair.question, "question": question}
        spell = self.spell if by_states else None
        found = alignments(self.candidates(pair, by_states=by_states), spell, **given)
        return [comparing.signs(each) for _, _, each, _ in found]


def fit_roles(reader: Reader) -> Matrix:
    """Fit by which a word's state tells whether it names a thing, what is said of it, and a name, (d + 1, 3)."""
    rows: list[NDArray[np.float32]] = []
    roles: list[int] = []
    for text, subject, value in _framed():
        for state, word, _ in _words(reader, text):
            is_value, is_subject = (
                word in re.findall(r"[\w'.-]+", each.lower()) for each in (value, subject)
            )
            rows.append(state)
            roles.append(2 if is_value else int(is_subject))
    states, role = _scaled(rows), np.array(roles)
    things = logistic(states, (role > 0).astype(float), 4.0)
    values = logistic(states[role > 0], (role[role > 0] == 2).astype(float), 4.0)
    read = map(json.loads, NOTES.read_text(encoding="utf-8").splitlines())
    texts = [each["text"] for each in read if "document" in each]
    texts += [text for each in lessons() for text in (each.older, each.newer)]
    texts += [text for text, *_ in _framed()]
    named = [
        (state, is_large)
        for text in texts
        if "german" not in languages_of(text)
        for state, _, is_large in _words(reader, text, inside=True)
    ]
    large = np.array([each for _, each in named], float)
    names = logistic(_scaled([each for each, _ in named]), large, 0.7)
    found: Matrix = np.stack([things, values, names], 1)
    found[:-1] *= _SCALE
    return found


_SCALE = np.sqrt(384) / 20


def _scaled(rows: Sequence[NDArray[np.float32]]) -> Matrix:
    found: Matrix = np.c_[np.stack(rows) * _SCALE, np.ones(len(rows))]
    return found


def _framed() -> Iterator[tuple[str, str, str]]:
    chance = random.Random(3)
    for relations in tomllib.loads(FRAMES.read_text(encoding="utf-8")).values():
        for relation in relations:
            kinds = ("frames", "details", "events", "denied")
            for frame in [frame for kind in kinds for frame in relation.get(kind, ())]:
                for _ in range(4):
                    s, v = chance.choice(relation["s"]), chance.choice(relation["v"])
                    yield _said(relation, frame, s, v), s, v if "{v}" in frame else ""


def _words(
    reader: Reader, text: str, *, inside: bool = False
) -> Iterator[tuple[NDArray[np.float32], str, bool]]:
    """Yield the state of each telling word, the word, and whether it begins with a capital."""
    read = statements_of(text, reader.packed(text), reader.spell)
    for sentence, states in zip(read.sentences, read.states, strict=True):
        if states is None:
            continue
        for state, place in zip(states, sentence.telling, strict=True):
            word = sentence.words[place]
            if inside and (place == 0 or word.sort is Sort.NUMBER):
                continue
            yield state, word.text.lower(), word.text[:1].isupper()


def logistic(rows: Matrix, wanted: Matrix, ridge: float) -> Matrix:
    """Fit a logistic model by Newton's method."""
    found = np.zeros(rows.shape[1])
    held = np.eye(rows.shape[1]) * ridge
    for _ in range(12):
        likely = 1 / (1 + np.exp(-rows @ found))
        curved = (rows * (likely * (1 - likely))[:, None]).T @ rows + held
        found += np.linalg.solve(curved, rows.T @ (wanted - likely) - ridge * found)
    return found


def fit_net(
    rows: Matrix, bags: NDArray[np.intp], wanted: Matrix, weights: Matrix, way: Way, seed: int
) -> list[Matrix]:
    """Fit a network of one hidden layer beside a logistic model, by Adam with dropped signs; return its parts.

    `bags` says where the rows of each example begin: the one with the greatest odds tells what it is.
    """
    chance = np.random.RandomState(seed)
    width = rows.shape[1]
    rows = rows.astype(np.float32)
    parts = [chance.randn(width, way.hidden) / np.sqrt(width), np.zeros(way.hidden)]
    parts += [chance.randn(way.hidden) * 0.3, np.zeros(1), np.zeros(width)]
    parts = [each.astype(np.float32) for each in parts]
    means, squares = ([np.zeros_like(each) for each in parts] for _ in range(2))
    share = (weights / weights.mean() / len(bags)).astype(np.float32)
    of = np.repeat(np.arange(len(bags)), np.diff(bags, append=len(rows)))
    for turn in range(1, way.rounds + 1):
        drawn = chance.rand(*rows.shape) > way.dropped
        seen = rows * drawn.astype(np.float32) / np.float32(1 - way.dropped)
        hidden = np.tanh(seen @ parts[0] + parts[1])
        odds = hidden @ parts[2] + parts[3][0] + seen @ parts[4]
        greatest = np.maximum.reduceat(odds, bags)
        error = (1 / (1 + np.exp(-greatest)) - wanted) * share
        error = np.where(odds == greatest[of], error[of], 0)
        back = np.outer(error, parts[2]) * (1 - hidden**2)
        slopes = [seen.T @ back + way.ridge * parts[0], back.sum(axis=0)]
        slopes += [hidden.T @ error + way.ridge * parts[2], np.array([error.sum()])]
        slopes.append(seen.T @ error + way.ridge * parts[4])
        for number, slope in enumerate(slopes):
            means[number] = 0.9 * means[number] + 0.1 * slope
            squares[number] = 0.999 * squares[number] + 0.001 * slope**2
            ahead = means[number] / (1 - 0.9**turn)
            parts[number] = parts[number] - STEP * ahead / (
                np.sqrt(squares[number] / (1 - 0.999**turn)) + 1e-8
            )
    return parts


@dataclass(frozen=True)
class Lesson:
    """The signs of one pair of texts, by pairs of sentences, whether it is what is learnt, and what it weighs."""

    signs: list[dict[str, float]]
    is_so: bool
    weight: float


def fit(learnt: Sequence[Lesson], names: Sequence[str], ways: Sequence[Way] = (Way(),)) -> Net:
    """Fit the networks, whose odds are averaged; of the rows of an example the greatest odds count."""
    some = [each for each in learnt if each.signs]
    rows = _rows([row for each in some for row in each.signs], names)
    bags = np.cumsum([0, *(len(each.signs) for each in some[:-1])])
    weights = np.array([each.weight for each in some])
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 0.15
    wanted = np.array([float(each.is_so) for each in some])
    scaled = (rows - mean) / spread
    fits = [
        fit_net(scaled, bags, wanted, weights, way, seed)
        for way in ways
        for seed in range(way.nets)
    ]
    parts = [np.stack(each) for each in zip(*fits, strict=True)]
    keys = ("into", "into_bias", "out", "out_bias", "straight")
    return dict(zip(keys, parts, strict=True)) | {
        "mean": mean,
        "spread": spread,
        "names": np.array(names),
    }


def _rows(signs: Sequence[dict[str, float]], names: Sequence[str]) -> Matrix:
    return np.array([[each.get(name, 0.0) for name in names] for each in signs])


def score(net: Net, signs: list[dict[str, float]]) -> float:
    """Return the greatest log odds among the pairs of sentences of a pair of texts."""
    if not signs:
        return -20.0
    rows = (_rows(signs, net["names"].tolist()) - net["mean"]) / net["spread"]
    hidden = np.tanh(np.einsum("pn,knh->kph", rows, net["into"]) + net["into_bias"][:, None])
    odds = np.einsum("kph,kh->kp", hidden, net["out"]) + net["out_bias"]
    return float((odds + net["straight"] @ rows.T).mean(axis=0).max())


def rates(scores: Matrix, wanted: NDArray[np.bool_], share: float) -> tuple[float, float]:
    """Return the cut at which a share of look-alikes is marked, and the share of revisions that are marked there."""
    others = np.sort(scores[~wanted])[::-1]
    cut = float(others[int(share * len(others))])
    return cut, float((scores[wanted] > cut).mean())


def main() -> None:
    """Fit, print, write."""
    reader = Reader()
    roles = fit_roles(reader).astype(np.float16)
    np.save(FOLDER / "word_roles.npy", roles)
    comparing.PROBE = roles.astype(np.float32)
    written = lessons()
    beside = [
        (pairs, weight * len(written) / len(pairs))
        for pairs, weight in (
            (list(made(MADE_EACH_WAY)), OF_MADE),
            (strangers(written, STRANGERS), OF_STRANGERS),
            (near_strangers(reader, documented(), NEAR), OF_NEAR),
        )
    ]
    kept: Net = {}
    for by_states in (True, False):
        for is_asked in (True, False):
            learnt = [
                Lesson(
                    reader.signs(each, by_states=by_states, is_asked=is_asked), each.revises, weight
                )
                for pairs, weight in ((written, 1.0), *(beside[:2] if is_asked else beside))
                for each in pairs
            ]
            kept |= _fitted(learnt, len(written), f"{_by(by_states)}{'_asked' if is_asked else ''}")
        wholes = [
            (reader.whole_signs(each, by_states=by_states), each.verdict, weight)
            for pairs, weight in ((written, 1.0), (note_lessons(), OF_NOTES), *beside)
            for each in pairs
        ]
        for verdict in (PairVerdict.OTHERWISE, PairVerdict.SAME):
            learnt = [Lesson(signs, its is verdict, weight) for signs, its, weight in wholes]
            kept |= _fitted(
                learnt, len(written) + len(note_lessons()), f"{_by(by_states)}_{verdict}"
            )
    np.savez_compressed(FOLDER / "revision_weights.npz", **kept)  # type: ignore[arg-type]


def _by(by_states: bool) -> str:
    return "states" if by_states else "words"


def _fitted(learnt: Sequence[Lesson], count: int, name: str) -> Net:
    """Fit to all, with the cut that folds give; the first `count` are judged."""
    names = list(dict.fromkeys(name for each in learnt for signs in each.signs for name in signs))
    scores = np.zeros(count)
    for fold in range(5):
        apart = [
            each for number, each in enumerate(learnt) if number >= count or number % 5 != fold
        ]
        net = fit(apart, names, (Way(nets=1),))
        scores[fold::5] = [score(net, each.signs) for each in learnt[fold:count:5]]
    wanted = np.array([each.is_so for each in learnt[:count]])
    cut, found = rates(scores, wanted, FALSE_MARKS)
    right, wrong = scores[wanted], scores[~wanted]
    area = float((right[:, None] > wrong).mean())
    print(f"{name}: area {area:.3f}, {found:.3f} found at {FALSE_MARKS} of the others")
    # Odds are made a chance at which half of what is marked at that chance is so, by the folds.
    slope = logistic(np.c_[scores, np.ones(count)], wanted.astype(float), 1e-3)
    likely = 1 / (1 + np.exp(-(cut * slope[0] + slope[1])))
    net = fit(learnt, names) | {"scale": slope, "cut": np.array([likely])}
    return {
        f"{name}.{key}": value if key == "names" else value.astype(np.float32)
        for key, value in net.items()
    }


if __name__ == "__main__":
    main()
