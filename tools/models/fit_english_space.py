"""Fit the map from vectors of multilingual-e5-small into the space of all-MiniLM-L6-v2, on English sentences.

`python -m tools.models.fit_english_space SOURCE…` writes the file that the embedder reads. A source is a file or a folder:
Python files give their docstrings, Markdown, reStructuredText and plain text their paragraphs, pages of manuals their
sentences, data sets of `python -m benchmarks.finding` their English texts and questions. Of a text the sentences of 5 to 40 words are
taken that are English by their words, each once. The map is that of a ridge regression from a vector of the first model
less the mean to the second's unit vector; each sentence stands there once as a passage, and one of QUERIES_EVERY once more
as a question.
"""

import argparse
import ast
import gzip
import random
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from benchmarks import public_sets
from minutebook.features.models.built_in import builtin
from minutebook.features.models.built_in.english import EnglishModel
from minutebook.features.models.built_in.model_files import Floats
from minutebook.model.protocol import unit
from minutebook.record.errors import InvalidInput
from minutebook.text.words import languages_of

SEED = 0
MOST = 130_000
"""How many sentences are taken, at most; those of data sets first."""

LEAST_WORDS, MOST_WORDS = 5, 40
LONGEST_WORD = 25
"""From so many characters on a word is a path, and its sentence a list of files or results."""

RIDGE = 1.0
"""What is added to the diagonal of the sums of squares; up to 3 does no harm with 8,000 sentences or 130,000."""

QUERIES_EVERY = 4
HELD_OUT = 5_000
AT_ONCE = 128

_PROSE = {".md", ".rst", ".txt", ".html"}
_DATA = {".json", ".jsonl"}
_LEFT_OUT = re.compile(
    r"changelog|copyright|licen[cs]e|authors|top_level|entry_points|SOURCES|RECORD|/tests?/|vocab|words",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]{1,200}>")
_MACRO = re.compile(r"^[.'].*$|\\f.|\\\(..|\\[-&|^%]", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(]?[A-Z])")
_PLAIN = re.compile(r"[A-Z0-9\"'(][ -~]*[.!?]")
_MARKUP = re.compile(r"[`*_|{}\\<>=]")
_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text that are plain English prose of a fitting length."""
    for paragraph in re.split(r"\n\s*\n|\n\s*(?=[-*\d•])", text):
        for sentence in _END.split(" ".join(paragraph.split())):
            words = _WORD.findall(sentence)
            if (
                LEAST_WORDS <= len(words) <= MOST_WORDS
                and len(sentence) < 300
                and _PLAIN.fullmatch(sentence)
                and len(_MARKUP.findall(sentence)) <= 2
                and max(map(len, sentence.split())) < LONGEST_WORD
                and languages_of(sentence) == ("english",)
            ):
                yield sentence


def texts_of(path: Path) -> Iterator[str]:
    """Yield the texts in a file; none of one that is not read."""
    name, kind = str(path), path.suffix
    try:
        if kind in _DATA:
            for collection in public_sets.read(path).collections:
                yield from (each.text for each in collection.documents)
                yield from (each.text for each in collection.queries)
        elif _LEFT_OUT.search(name):
            return
        elif kind == ".py":
            yield from _docstrings(path.read_text("utf-8"))
        elif kind == ".gz":
            yield _MACRO.sub("", gzip.decompress(path.read_bytes()).decode("utf-8"))
        elif kind in _PROSE or path.name in ("METADATA", "README"):
            yield _TAG.sub(" ", path.read_text("utf-8"))
    except (
        OSError,
        UnicodeDecodeError,
        EOFError,
        InvalidInput,
        SyntaxError,
        ValueError,
        RecursionError,
    ):
        return


def _docstrings(source: str) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


def gathered(sources: Sequence[Path], most: int) -> list[str]:
    """Return different sentences of all sources: those of data sets first, of the rest a sample."""
    told = dict[str, None]()
    others = dict[str, None]()
    for source in sources:
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if not path.is_file():
                continue
            found = told if path.suffix in _DATA and source == path else others
            for text in texts_of(path):
                found.update(dict.fromkeys(sentences(text)))
    chance = random.Random(SEED)
    kept = list(told)
    chance.shuffle(kept)
    rest = sorted(others.keys() - told.keys())
    kept = kept[: most // 2]
    kept += chance.sample(rest, min(len(rest), most - len(kept)))
    chance.shuffle(kept)
    return kept


def fitted(inputs: Floats, outputs: Floats) -> tuple[Floats, Floats]:
    """Return the matrix and the mean of a ridge regression without a bias."""
    mean = inputs.mean(axis=0, dtype=np.float64)
    centred = inputs - mean.astype(np.float32)
    covariance = (centred.T @ centred).astype(np.float64) + RIDGE * np.eye(inputs.shape[1])
    matrix = np.linalg.solve(covariance, (centred.T @ outputs).astype(np.float64)).T
    return matrix.astype(np.float32), mean.astype(np.float32)


def likeness(inputs: Floats, outputs: Floats, matrix: Floats, mean: Floats) -> float:
    """Return the mean cosine of mapped vectors with those that they should be."""
    mapped: Floats = np.dot(inputs - mean, matrix.T)
    return float((unit(mapped) * outputs).sum(axis=1).mean())


def main() -> None:
    """Gather sentences, embed them by both models, fit and write the map."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sources", type=Path, nargs="+")
    texts = gathered(parser.parse_args().sources, MOST)
    print(f"{len(texts)} sentences", flush=True)
    first, second = builtin.open_model(), EnglishModel()
    targets, passages, questions = list[Floats](), list[Floats](), list[Floats]()
    for start in range(0, len(texts), AT_ONCE):
        some = texts[start : start + AT_ONCE]
        targets += [each.rows for each in second.read(some, [[(0.0, 1.0)]] * len(some))]
        passages += [each.rows[:1] for each in first.embed_code(some)]
        asked = (first.embed_query(each) for each in some[::QUERIES_EVERY])
        questions += [each.others[builtin.E5_ALONE.digest][None] for each in asked]
    wanted = np.concatenate(targets)
    # AT_ONCE is a multiple of QUERIES_EVERY: the strides of the parts are that of the whole.
    inputs = np.concatenate([*passages, *questions])
    outputs = np.concatenate([wanted, wanted[::QUERIES_EVERY]])
    matrix, mean = fitted(inputs[HELD_OUT:], outputs[HELD_OUT:])
    held_out = likeness(inputs[:HELD_OUT], outputs[:HELD_OUT], matrix, mean)
    print(f"mean cosine of held-out sentences: {held_out:.3f}")
    matrix, mean = fitted(inputs, outputs)
    np.savez_compressed(
        builtin.ENGLISH_SPACE, map=matrix.astype(np.float16), mean=mean.astype(np.float16)
    )


if __name__ == "__main__":
    main()
