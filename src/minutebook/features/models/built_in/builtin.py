"""The built-in model: multilingual-e5-small for every language, with all-MiniLM-L6-v2 for English.

A vector is the concatenation of both models' vectors; for texts in other languages the second half is derived
from the first, by a fitted map. Measurements and reasons are in docs/decisions/0003-built-in-model.md.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from minutebook.features.models.built_in import model_files
from minutebook.features.models.built_in.english import EnglishModel, EnglishText, shares
from minutebook.features.models.built_in.model_files import E5, MINILM, WIDTH, Floats
from minutebook.features.models.built_in.windows import WindowedModel
from minutebook.model.protocol import Embedded, Model, Rows, unit
from minutebook.text.calibration import UNRELATED_COSINE
from minutebook.text.late_interaction import SignedTokens, TokenStates, pack, signs_of

RECIPE = 2
"""The version of the computation of vectors; vectors of different versions cannot be compared."""
STATES_RECIPE = 3
"""The version of the computation of token states."""

SHARE = 0.7
"""The share of multilingual-e5-small in a cosine."""

BLEND = 0.4
"""The weight of all-MiniLM-L6-v2's own vector of an English text, the mapped one having the rest: without that, it would
be far from all mapped vectors."""

UNRELATED = 0.53
"""The mean cosine of unrelated texts in the joint space, fitted by `python -m benchmarks.calibrate`."""

E5_ALONE = Model(
    E5.name, hashlib.sha256(f"{E5.sha256} 1".encode()).hexdigest(), WIDTH, "2", UNRELATED_COSINE
)
"""multilingual-e5-small alone: the model of code, and of all texts in earlier releases."""

MODEL = Model(
    f"{E5.name} + {MINILM.name}",
    hashlib.sha256(f"{E5.sha256} {MINILM.sha256} {RECIPE}".encode()).hexdigest(),
    2 * WIDTH,
    str(STATES_RECIPE),
    UNRELATED,
    code=E5_ALONE,
    earlier=(E5_ALONE,),
)

POSITIONS = 512
"""The longest input of multilingual-e5-small in tokens, prefix and special tokens included."""
OVERLAP = 64
"""The least number of tokens that neighbouring parts of a long text share."""
QUERY_PREFIX, PASSAGE_PREFIX = "query:", "passage:"

MEAN_STATE = Path(__file__).with_name("mean_state.npy")
"""The mean token state of questions in twelve languages, shape (384,); see `benchmarks.mean_state`."""

MEAN_QUESTION = Path(__file__).with_name("mean_question.npy")
"""The mean vector of questions about code, shape (384,); see `benchmarks.mean_question`."""

ENGLISH_SPACE = Path(__file__).with_name("english_space.npz")
"""The map between the models' spaces: unit(`map` @ (v − `mean`)); see `tools.models.fit_english_space`."""


class BuiltInEmbedder:
    """The embedder with both models; safe to call from several threads.

    The vector of a text is the same alone and in any batch, to within 1e-6. A query longer than a model's input is cut
    off; a passage is split into parts that share OVERLAP tokens, each with the prefix.
    """

    def __init__(self) -> None:
        from minutebook.features.models.built_in.tokenizer import Tokenizer

        self._tokenizer = Tokenizer(model_files.FILES / model_files.TOKENIZER)
        end = self._tokenizer.end
        self._multilingual = WindowedModel("multilingual", POSITIONS, OVERLAP, end)
        with np.load(ENGLISH_SPACE) as space:
            self._space = _EnglishSpace(
                *(space[each].astype(np.float32) for each in ("map", "mean"))
            )
        self._english = EnglishModel()
        self._mean = np.load(MEAN_STATE).astype(np.float32)
        self._mean_question = np.load(MEAN_QUESTION).astype(np.float32)
        self._query = [self._tokenizer.begin, *self._tokenizer.ids(QUERY_PREFIX)]
        self._passage = [self._tokenizer.begin, *self._tokenizer.ids(PASSAGE_PREFIX)]

    @property
    def model(self) -> Model:
        """The model that makes the vectors."""
        return MODEL

    def embed_query(self, text: str) -> Embedded:
        """Embed a question by its first tokens (506 of them): one row, shape (1, 768)."""
        ids = self._tokenizer.ids(text, self._multilingual.room(self._query))
        (read,) = self._multilingual.read(self._query, [ids])
        pieces, surprise = np.array(ids, np.int32), self._tokenizer.surprise(ids)
        tokens = TokenStates(pieces, surprise, read.states - self._mean)
        vector, english = self._space.map_vectors(read.vector), None
        if self._english.is_english(text):
            own, english = self._english.ask(text)
            vector = _blend(own, vector)
        return Embedded(
            _concatenate(read.vector[None], vector[None]),
            tokens,
            english=english,
            mean_question=self._mean_question,
            others={E5_ALONE.digest: read.vector},
        )

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found; each has rows of shape (parts, 768).

        Token states are reduced to their signs part by part, so that a text needs 48 bytes for each token of a model.
        """
        read = self._read(texts)
        english_indices = [
            index for index, text in enumerate(texts) if self._english.is_english(text)
        ]
        lengths = [len(read[index][1].pieces) for index in english_indices]
        parts = [shares(self._multilingual.spans(self._passage, each), each) for each in lengths]
        english = self._english.read([texts[index] for index in english_indices], parts)
        known = dict(zip(english_indices, english, strict=True))
        return [
            self._embedded(rows, tokens, known.get(index))
            for index, (rows, tokens) in enumerate(read)
        ]

    def embed_code(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed code by multilingual-e5-small alone; each has rows of shape (parts, 384), and no token states."""
        return [Embedded(rows) for rows, _ in self._read(texts)]

    def spell(self, pieces: Sequence[int]) -> list[str]:
        """Return the texts of word pieces of multilingual-e5-small, by their ids; `▁` marks one that begins a word."""
        return self._tokenizer.spell(pieces)

    def _read(self, texts: Sequence[str]) -> list[tuple[Rows, SignedTokens]]:
        """Return the rows of multilingual-e5-small and the signed tokens of each text."""
        ids = [self._tokenizer.ids(text) for text in texts]
        counts = [len(self._multilingual.spans(self._passage, len(own))) for own in ids]
        rows = [np.empty((count, WIDTH), np.float32) for count in counts]
        signs = [np.empty((len(own), WIDTH // 8), np.uint8) for own in ids]
        for each in self._multilingual.read(self._passage, ids):
            rows[each.window.text][each.window.number] = each.vector
            signs[each.window.text][each.window.own] = signs_of(each.states - self._mean)
        return [
            (
                own_rows,
                SignedTokens(np.array(own, np.int32), self._tokenizer.surprise(own), own_signs),
            )
            for own, own_rows, own_signs in zip(ids, rows, signs, strict=True)
        ]

    def _embedded(self, rows: Rows, tokens: SignedTokens, english: EnglishText | None) -> Embedded:
        mapped = self._space.map_vectors(rows)
        if english is None:
            return Embedded(_concatenate(rows, mapped), packed=pack(tokens))
        second = _blend(english.rows, mapped)
        return Embedded(_concatenate(rows, second), packed=pack(tokens, english.tokens))


@dataclass(frozen=True, slots=True)
class _EnglishSpace:
    """The map from vectors of multilingual-e5-small to those of all-MiniLM-L6-v2."""

    map: Floats
    mean: Floats

    def map_vectors(self, vectors: Floats) -> Floats:
        """Return unit vectors of the second model for those of the first, shape (…, WIDTH)."""
        return unit(np.dot(vectors - self.mean, self.map.T))


def _blend(own: Rows, mapped: Rows) -> Rows:
    """Return the unit vectors of the weighted means of all-MiniLM-L6-v2's vectors and the mapped ones."""
    return unit(BLEND * own + (1 - BLEND) * mapped)


def _concatenate(first: Rows, second: Rows) -> Rows:
    """Return the concatenations of both models' vectors, so that a dot product is SHARE of the first cosine and the rest of the other."""
    first_weight, second_weight = np.sqrt(np.array([SHARE, 1 - SHARE], np.float32))
    return np.hstack([first_weight * first, second_weight * second])


def open_model() -> BuiltInEmbedder:
    """Open both models. Raises ModelUnavailable if this installation has no model, or a damaged one."""
    model_files.require_files()
    try:
        return BuiltInEmbedder()
    except (OSError, ValueError, RuntimeError) as error:
        raise model_files.unreadable(error) from error
