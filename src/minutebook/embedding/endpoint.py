"""Vectors from an OpenAI-compatible service: `POST {base_url}/embeddings`."""

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np

from minutebook.domain.errors import ModelUnavailable
from minutebook.embedding.protocol import Model, Rows, Vector, spans, unit, without_surrogates

BLANK = "."
"""What is sent for a blank text, which many services refuse."""
_PROBE = "ready"
_AGAIN = frozenset({429, 500, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 30.0
_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where the service is and how it wants to be asked.

    Texts longer than `part_characters` become parts that share `overlap_characters`; of a query
    only the first part is sent. Without `dimensions` they are learned from the first answer.
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
        """Leave out the key and whatever the URL holds of a password."""
        return f"Endpoint(base_url={_shown_url(self.base_url)!r}, model={self.model!r})"

    def identity(self, dimensions: int) -> Model:
        """Name the model by what shapes its vectors, wherever it is served."""
        facts = [self.model, dimensions, self.query_prefix, self.passage_prefix]
        return Model(self.model, hashlib.sha256(json.dumps(facts).encode()).hexdigest(), dimensions)


def open_endpoint(
    endpoint: Endpoint, pause: Callable[[float], None] = time.sleep
) -> "EndpointEmbedder":
    """Ask the service for one vector, to learn the dimensions; raises ModelUnavailable."""
    return EndpointEmbedder(endpoint, pause)


class EndpointEmbedder:
    """Asks the service; safe to call from several threads.

    Answers 429, 500, 502, 503 and 504 and failures to connect are tried again, after `Retry-After`
    where it is given (at most 30 s), else after 0.5 s, 1 s, 2 s…
    """

    def __init__(self, endpoint: Endpoint, pause: Callable[[float], None]) -> None:
        import httpx2

        self._endpoint = endpoint
        self._pause = pause
        self._url = f"{endpoint.base_url.rstrip('/')}/embeddings"
        headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
        self._failures = (httpx2.TransportError, httpx2.InvalidURL)
        self._client = httpx2.Client(timeout=endpoint.timeout, headers=headers)
        self._dimensions = endpoint.dimensions
        self._model = endpoint.identity(self._ask([_PROBE]).shape[1])
        self._dimensions = self._model.dimensions

    @property
    def model(self) -> Model:
        """The model that makes the vectors."""
        return self._model

    def embed_query(self, text: str) -> Vector:
        """Embed a question by its first part, shape (dimensions,)."""
        part = next(iter(self._parts(text)))
        vector: Vector = self._ask([self._endpoint.query_prefix + part])[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> list[Rows]:
        """Embed texts to be found, for each its parts, shape (parts, dimensions)."""
        prefix, size = self._endpoint.passage_prefix, self._endpoint.batch
        parts = [[prefix + part for part in self._parts(text)] for text in texts]
        flat = [part for own in parts for part in own]
        if not flat:
            return []
        rows = [self._ask(flat[start : start + size]) for start in range(0, len(flat), size)]
        return np.split(np.concatenate(rows), np.cumsum([len(own) for own in parts])[:-1])

    def _parts(self, text: str) -> list[str]:
        text = without_surrogates(text)
        size, overlap = self._endpoint.part_characters, self._endpoint.overlap_characters
        cut = (text[start:stop] for start, stop in spans(len(text), size, overlap))
        return [part if part.strip() else BLANK for part in cut]

    def _ask(self, texts: Sequence[str]) -> Rows:
        request: dict[str, Any] = {
            "model": self._endpoint.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        if self._endpoint.dimensions is not None:
            request["dimensions"] = self._endpoint.dimensions
        rows = self._rows(self._post(request), len(texts))
        if self._dimensions not in (None, rows.shape[1]):
            raise self._refusal(
                f"answered {rows.shape[1]} dimensions instead of {self._dimensions}"
            )
        return rows

    def _post(self, request: dict[str, Any]) -> Any:
        """Send a request until it is answered; give the body, read as JSON where it can be."""
        for attempt in range(1, self._endpoint.tries + 1):
            pause = min(_FIRST_PAUSE * 2 ** (attempt - 1), _LONGEST_PAUSE)
            try:
                answer = self._client.post(self._url, json=request)
            except self._failures as error:
                problem = f"cannot be reached: {type(error).__name__}: {error}"
            else:
                if answer.is_success:
                    return _json(answer.content)
                problem = f"answered {answer.status_code}: {_message(answer.content)}"
                if answer.status_code not in _AGAIN:
                    raise self._refusal(problem)
                pause = _retry_after(answer.headers.get("Retry-After"), pause)
            if attempt < self._endpoint.tries:
                self._pause(pause)
        raise self._refusal(problem)

    def _rows(self, answer: Any, count: int) -> Rows:
        try:
            by_index = {int(entry["index"]): entry["embedding"] for entry in answer["data"]}
            rows = np.array([by_index[index] for index in range(count)], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as error:
            raise self._refusal("answered what is not a list of embeddings") from error
        if len(by_index) != count or rows.ndim != 2 or rows.shape[1] == 0:
            raise self._refusal(f"answered {len(by_index)} embeddings for {count} texts")
        if not np.isfinite(rows).all() or not rows.any(axis=1).all():
            raise self._refusal("answered a vector that is zero or not finite")
        return unit(rows)

    def _refusal(self, problem: str) -> ModelUnavailable:
        reason = f"{_shown_url(self._url)} {problem}"
        if self._endpoint.key:
            reason = reason.replace(self._endpoint.key, "(key)")
        return ModelUnavailable(reason, "check the endpoint's URL, model name and key")


def _json(content: bytes) -> Any:
    try:
        return json.loads(content)
    except ValueError:
        return None


def _message(content: bytes) -> str:
    """Find the sentence in an error's body."""
    body = _json(content)
    if isinstance(body, dict):
        error = body.get("error", body.get("detail", body.get("message")))
        body = error.get("message") if isinstance(error, dict) else error
    text = body if isinstance(body, str) else content.decode("utf-8", "replace")
    return " ".join(text.split())[:_SHOWN]


def _retry_after(value: str | None, otherwise: float) -> float:
    """Read seconds or a date, RFC 9110 section 10.2.3; bounded by the longest pause."""
    if value is None:
        return otherwise
    try:
        seconds = float(value)
    except ValueError:
        try:
            until = parsedate_to_datetime(value)
        except ValueError:
            return otherwise
        until = until if until.tzinfo else until.replace(tzinfo=UTC)
        seconds = (until - datetime.now(UTC)).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_PAUSE) if seconds == seconds else otherwise


def _shown_url(url: str) -> str:
    """Leave out a password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
