"""Vectors and texts from an OpenAI-compatible service: `POST {base_url}/embeddings` and `/chat/completions`."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from minutebook.features.models.http_client import Service, shown_url
from minutebook.features.models.local_model import PASSAGES, QUESTIONS, unrelated_cosine
from minutebook.model.protocol import Embedded, Model, Rows, spans, unit, without_surrogates
from minutebook.record.errors import ModelUnavailable, Unanswered

TIMEOUT, TRIES = 60.0, 2
"""Seconds to wait for an answer, and the number of tries."""


class Completion:
    """The chat service; safe to call from several threads. The first call connects."""

    def __init__(
        self,
        base_url: str,
        model: str,
        key: str | None,
        timeout: float = TIMEOUT,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.model = model
        self._service = Service(
            url=f"{base_url.rstrip('/')}/chat/completions",
            key=key,
            timeout=timeout,
            tries=TRIES,
            pause=pause,
        )

    def ask(self, system: str, prompt: str, max_tokens: int) -> str:
        """Return the model's answer. Raises Unanswered if the service gives none."""
        prompts = (("system", system), ("user", prompt))
        request = {
            "model": self.model,
            "messages": [
                {"role": role, "content": without_surrogates(text)} for role, text in prompts
            ],
            "max_tokens": max_tokens,
            "temperature": 0,
        }
        try:
            answer = self._service.post(request)
        except ModelUnavailable as error:
            raise Unanswered(error.reason) from error
        try:
            text = answer["choices"][0]["message"]["content"]
        except (KeyError, IndexError, TypeError):
            text = None
        if not isinstance(text, str):
            raise Unanswered(self._service.refusal("answered what is not a completion").reason)
        return text


BLANK = "."
"""The text that is sent in place of a blank one, which many services refuse."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingEndpoint:
    """The embedding service: its address and the form of requests.

    Texts longer than `part_characters` are split into parts that share `overlap_characters`; of a query only
    the first part is sent. If `dimensions` is None, it is taken from the first answer.
    """

    base_url: str
    model: str
    key: str | None = None
    dimensions: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    part_characters: int = 4000
    overlap_characters: int = 400
    batch: int = 64
    timeout: float = 30.0
    tries: int = 4

    def __repr__(self) -> str:
        """Return a representation without the key and without a password in the URL."""
        return f"Endpoint(base_url={shown_url(self.base_url)!r}, model={self.model!r})"

    def identity(self, dimensions: int, unrelated: float = 0.0) -> Model:
        """Return the identity of the model; `unrelated` is its mean cosine of unrelated texts."""
        facts = [self.model, dimensions, self.query_prefix, self.passage_prefix]
        digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
        return Model(self.model, digest, dimensions, unrelated=unrelated)


def open_endpoint(
    endpoint: EmbeddingEndpoint, pause: Callable[[float], None] = time.sleep
) -> "EndpointEmbedder":
    """Return the embedder of a service, which is asked for its dimensions and its cosine of unrelated texts.

    Raises ModelUnavailable.
    """
    return EndpointEmbedder(endpoint, pause)


class EndpointEmbedder:
    """An embedder by the service; safe to call from several threads."""

    def __init__(self, endpoint: EmbeddingEndpoint, pause: Callable[[float], None]) -> None:
        self._endpoint = endpoint
        self._service = Service(
            url=f"{endpoint.base_url.rstrip('/')}/embeddings",
            key=endpoint.key,
            timeout=endpoint.timeout,
            tries=endpoint.tries,
            pause=pause,
        )
        self._dimensions = endpoint.dimensions
        prompts = [endpoint.query_prefix + text for text in QUESTIONS]
        rows = self._ask([*prompts, *(endpoint.passage_prefix + text for text in PASSAGES)])
        unrelated = unrelated_cosine(rows[: len(prompts)], rows[len(prompts) :])
        self._model = endpoint.identity(rows.shape[1], unrelated)
        self._dimensions = self._model.dimensions

    @property
    def model(self) -> Model:
        """The model that makes the vectors."""
        return self._model

    def embed_query(self, text: str) -> Embedded:
        """Embed a question by its first part; no token states."""
        part = next(iter(self._parts(text)))
        return Embedded(self._ask([self._endpoint.query_prefix + part]))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts of records in parts, without token states."""
        prefix, size = self._endpoint.passage_prefix, self._endpoint.batch
        parts_by_text = [[prefix + part for part in self._parts(text)] for text in texts]
        parts = [part for own in parts_by_text for part in own]
        if not parts:
            return []
        rows = [self._ask(parts[start : start + size]) for start in range(0, len(parts), size)]
        ends = np.cumsum([len(own) for own in parts_by_text])[:-1]
        return [Embedded(own) for own in np.split(np.concatenate(rows), ends)]

    def _parts(self, text: str) -> list[str]:
        text = without_surrogates(text)
        size, overlap = self._endpoint.part_characters, self._endpoint.overlap_characters
        cut = (text[start:stop] for start, stop in spans(len(text), size, overlap))
        return [part if part.strip() else BLANK for part in cut]

    def _ask(self, texts: Sequence[str]) -> Rows:
        """Return the unit vectors of texts, shape (texts, dimensions). Raises ModelUnavailable."""
        request: dict[str, Any] = {
            "model": self._endpoint.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        if self._endpoint.dimensions is not None:
            request["dimensions"] = self._endpoint.dimensions
        rows = self._rows(self._service.post(request), len(texts))
        if self._dimensions not in (None, rows.shape[1]):
            raise self._service.refusal(
                "answered {given} dimensions instead of {wanted}",
                given=rows.shape[1],
                wanted=self._dimensions,
            )
        return rows

    def _rows(self, answer: Any, count: int) -> Rows:
        try:
            by_index = {int(entry["index"]): entry["embedding"] for entry in answer["data"]}
            rows = np.array([by_index[index] for index in range(count)], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise self._service.refusal("answered what is not a list of embeddings") from error
        if len(by_index) != count or rows.ndim != 2 or rows.shape[1] == 0:
            raise self._service.refusal(
                "answered {count} embeddings for {wanted} texts", count=len(by_index), wanted=count
            )
        if not np.isfinite(rows).all() or not rows.any(axis=1).all():
            raise self._service.refusal("answered a vector that is zero or not finite")
        return unit(rows)
