"""Any ONNX sentence model in a local folder: `model.onnx`, `tokenizer.json` and its settings.

The settings are optional: `sentence_bert_config.json` (`max_seq_length`), `1_Pooling/config.json`
(mean, the default, or first token), `config_sentence_transformers.json` (prompts, which are used as prefixes).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook.features.models.built_in.model_files import sha256_of
from minutebook.features.models.runtime import ModelSession, batches
from minutebook.model.protocol import Embedded, Model, Rows, spans, unit, without_surrogates
from minutebook.record.errors import ModelUnavailable
from minutebook.record.reason import Reason

QUESTIONS = (
    "How long does bread bake?",
    "Who won the chess match last spring?",
    "Wie wird das Fahrrad repariert?",
    "What does the database port have to be?",
    "¿Dónde está la llave del coche?",
    "Why did the volcano erupt?",
    "Quand part le train pour Lyon ?",
    "鸟在冬天去哪里？",
)
PASSAGES = (
    "A loaf of rye bread bakes for fifty minutes at 220 degrees.",
    "Anna won the last game of the chess match in April.",
    "Die Kette des Fahrrads liegt neben dem Hinterrad und muss geölt werden.",
    "The database listens on port 5432 behind the proxy.",
    "La llave del coche está en el cajón de la cocina.",
    "Gas that rose from the magma made the volcano erupt.",
    "Le train pour Lyon part à huit heures du matin.",
    "许多鸟在冬天飞到温暖的南方。",
)
"""Passages on the subjects of QUESTIONS, in their order."""

HIGHEST = 0.95
"""The bound of `unrelated_cosine`, so that also with a poor model there is room for cosines above it."""


def unrelated_cosine(questions: Rows, passages: Rows) -> float:
    """Return the mean cosine of each question with the passages of the other subjects, in [0, HIGHEST].

    `questions` and `passages` are the vectors of QUESTIONS and PASSAGES, in their order.
    """
    cosines = questions @ passages.T
    others = ~np.eye(len(QUESTIONS), dtype=bool)
    return float(np.clip(cosines[others].mean(), 0.0, HIGHEST))


GRAPHS = ("model.onnx", "onnx/model.onnx")
TOKENIZER = "tokenizer.json"
DEFAULT_POSITIONS = 512
_QUERY_PROMPTS, _PASSAGE_PROMPTS = ("query",), ("passage", "document")
_REMEDY = Reason("give a folder that holds model.onnx and tokenizer.json")


@dataclass(frozen=True, slots=True)
class Recipe:
    """The settings of a model: its longest input, its pooling and its prefixes."""

    positions: int
    first_token: bool
    query_prefix: str
    passage_prefix: str


class FolderEmbedder:
    """A sentence model run by onnxruntime; safe to call from several threads.

    A text that is longer than the model's input is split into parts that share an eighth of their tokens,
    each with the prefix; of a query only the first part is embedded.
    """

    def __init__(self, folder: Path) -> None:
        graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
        if graph is None or not (folder / TOKENIZER).is_file():
            raise ModelUnavailable("{folder} holds no model", _REMEDY, folder=folder)
        self._recipe = _read_recipe(folder)
        self._tokenizer = _open_tokenizer(folder / TOKENIZER)
        self._session = ModelSession(graph)
        self._output = _output_of(self._session.outputs)
        questions = np.stack([self.embed_query(text).vector for text in QUESTIONS])
        passages = np.stack([each.vector for each in self.embed_passages(PASSAGES)])
        digest = hashlib.sha256(
            f"{sha256_of(graph)} {sha256_of(folder / TOKENIZER)} {self._recipe}".encode()
        ).hexdigest()
        unrelated = unrelated_cosine(questions, passages)
        self._model = Model(folder.name, digest, questions.shape[1], unrelated=unrelated)

    @property
    def model(self) -> Model:
        """The model that makes the vectors; its digest covers graph, tokenizer and recipe."""
        return self._model

    def embed_query(self, text: str) -> Embedded:
        """Embed a question by its first part; no token states."""
        return Embedded(self._run(self._parts(text, self._recipe.query_prefix)[:1]))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found, in parts; no token states."""
        parts = [self._parts(text, self._recipe.passage_prefix) for text in texts]
        if not parts:
            return []
        rows = self._run([part for own in parts for part in own])
        ends = np.cumsum([len(own) for own in parts])[:-1]
        return [Embedded(own) for own in np.split(rows, ends)]

    def _parts(self, text: str, prefix: str) -> list[list[int]]:
        text = without_surrogates(text)
        room = max(self._recipe.positions - len(self._token_ids(prefix)), 1)
        places = self._tokenizer.encode(text, add_special_tokens=False).offsets
        cuts = spans(len(places), room, room // 8)
        if len(cuts) == 1:
            return [self._token_ids(prefix + text)]
        return [self._token_ids(prefix + text[places[a][0] : places[b - 1][1]]) for a, b in cuts]

    def _token_ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text).ids
        return ids[: self._recipe.positions]

    def _run(self, sequences: Sequence[list[int]]) -> Rows:
        rows: list[Rows] = [np.empty(0, np.float32)] * len(sequences)
        for group in batches([len(sequence) for sequence in sequences]):
            longest = max(len(sequences[group[-1]]), 1)
            ids = np.zeros((len(group), longest), np.int64)
            mask = np.zeros((len(group), longest), np.int64)
            for row, index in enumerate(group):
                ids[row, : len(sequences[index])] = sequences[index]
                mask[row, : len(sequences[index])] = 1
            for index, vector in zip(group, self._pooled(ids, mask), strict=True):
                rows[index] = vector
        return np.stack(rows)

    def _pooled(self, ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Rows:
        arrays = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        inputs = {name: arrays[name] for name in self._session.inputs if name in arrays}
        states = self._session.run(inputs, [self._output])[self._output]
        if states.ndim == 2:
            return unit(states)
        if self._recipe.first_token:
            return unit(states[:, 0])
        weights = np.maximum(mask, mask.sum(axis=1, keepdims=True) == 0)[..., None]
        total: Rows = (states * weights).sum(axis=1, dtype=np.float32)
        return unit(total)


def _output_of(outputs: Mapping[str, int]) -> str:
    if "sentence_embedding" in outputs:
        return "sentence_embedding"
    return next((name for name, rank in outputs.items() if rank == 3), next(iter(outputs)))


def _open_tokenizer(path: Path) -> Any:
    import tokenizers

    # The library raises bare `Exception` for a file it cannot read; JSON is checked first.
    _read_json(path)
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _read_recipe(folder: Path) -> Recipe:
    length = _read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    pooling = _read_json(folder / "1_Pooling" / "config.json")
    modes = {name for name, on in pooling.items() if name.startswith("pooling_mode_") and on}
    known = {"pooling_mode_mean_tokens", "pooling_mode_cls_token"}
    if modes - known or len(modes) > 1:
        remedy = "use a model that pools by mean or by first token"
        raise ModelUnavailable(
            "{folder} pools by {names}", remedy, folder=folder, names=", ".join(sorted(modes))
        )
    prompts = _read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    return Recipe(
        positions=int(length or DEFAULT_POSITIONS),
        first_token="pooling_mode_cls_token" in modes,
        query_prefix=_first_prompt(prompts, _QUERY_PROMPTS),
        passage_prefix=_first_prompt(prompts, _PASSAGE_PROMPTS),
    )


def _first_prompt(prompts: Mapping[str, str], names: Sequence[str]) -> str:
    return next((prompts[name] for name in names if name in prompts), "")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise ModelUnavailable("{path} is not valid JSON", _REMEDY, path=path) from error
    if not isinstance(content, dict):
        raise ModelUnavailable("{path} is not a JSON object", _REMEDY, path=path)
    return content
