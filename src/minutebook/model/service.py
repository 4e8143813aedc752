"""The embedder in use: loaded in the background, asked through a cache."""

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from minutebook.model.protocol import CodeEmbedder, Embedded, Embedder, Model, Speller
from minutebook.record.errors import EmbeddingNotReady, ModelUnavailable
from minutebook.record.reason import Reason

log = logging.getLogger(__name__)

State = Literal["loading", "ready", "error"]

CACHE_BYTES = 64_000_000
"""Bytes of memory for cached embeddings of questions; with token states one takes 10,000 to 800,000."""

LONGEST_LOAD = 30.0
"""Seconds that the end of a process waits for a load: a service that does not answer would take longer."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The number of questions answered from the cache, of those computed, and of those cached now."""

    hits: int
    misses: int
    size: int


class Embedding:
    """One embedder for the whole process; every method may be called from any thread.

    `expected` is the model as it is known before it has loaded. The embeddings of the last `cache_size` questions
    are cached, up to CACHE_BYTES. Passages are not cached: each is embedded once, when it is stored.
    `is_off` tells that the user wants no model; `opener` then raises ModelUnavailable. `damage` reads all files of the
    model and returns their damage, None if they are sound.
    """

    def __init__(
        self,
        opener: Callable[[], Embedder],
        expected: Model,
        cache_size: int = 2048,
        *,
        is_off: bool = False,
        damage: Callable[[], Reason | None] = lambda: None,
    ) -> None:
        self.is_off = is_off
        self._opener = opener
        self.damage = damage
        self._loading: threading.Thread | None = None
        self._expected = expected
        self._cache = _Cache(cache_size)
        self._lock = threading.Lock()
        self._settled = threading.Event()
        self._started = False
        self._embedder: Embedder | None = None
        self._reason = Reason("")
        self._asking = 0

    def start(self) -> None:
        """Begin to load, unless it is loading or has loaded; a failed load is tried again."""
        with self._lock:
            if self._started and not self._reason:
                return
            self._started, self._reason = True, Reason("")
            self._settled.clear()
            loading = threading.Thread(target=self._load, name="embedding", daemon=True)
            self._loading = loading
        loading.start()

    def close(self) -> None:
        """Wait until a load that is under way has ended.

        A thread in native code aborts the process if the interpreter ends meanwhile.
        """
        with self._lock:
            loading = self._loading
        if loading is not None and loading.is_alive():
            loading.join(LONGEST_LOAD)

    @property
    def is_started(self) -> bool:
        """Whether loading was started; it may have ended or failed by now."""
        with self._lock:
            return self._started

    @property
    def state(self) -> State:
        """`loading` (also before `start`), `ready`, or `error`."""
        with self._lock:
            if self._embedder is not None:
                return "ready"
            return "error" if self._reason else "loading"

    @property
    def reason(self) -> Reason:
        """The reason why loading failed and the remedy; empty in the other states."""
        with self._lock:
            return self._reason

    @property
    def model(self) -> Model:
        """The model in use; before it has loaded, the expected one."""
        embedder = self._embedder
        return self._expected if embedder is None else embedder.model

    @property
    def unloaded(self) -> tuple[str, str]:
        """The state of a model that nobody has loaded yet, in words, and the remedy, empty if none is needed."""
        off = "off", "`embedder` is none, so search is by words and graph"
        return off if self.is_off else ("not loaded", "")

    @property
    def cache_stats(self) -> CacheStats:
        """Hits and misses of the query cache since the process began."""
        return self._cache.stats()

    @property
    def queue(self) -> int:
        """The number of calls that embed now or wait for the embedder."""
        return self._asking

    def settle(self, timeout: float | None = None) -> State:
        """Wait, at most `timeout` seconds, until the model has loaded or failed to; return the state.

        Starts the load if nobody has.
        """
        with self._lock:
            started = self._started
        if not started:
            self.start()
        self._settled.wait(timeout)
        return self.state

    def wait(self, timeout: float | None = None) -> None:
        """Wait, at most `timeout` seconds, until the model is ready.

        Raises EmbeddingNotReady with the state and, if the load failed, the reason.
        """
        self._require(timeout)

    def embed_query(self, text: str) -> Embedded:
        """Embed a question, its arrays read-only; raises EmbeddingNotReady."""
        embedder = self._require(0)
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        embedded = self._cache.get(key)
        if embedded is None:
            with self._counted():
                embedded = embedder.embed_query(text)
            for array in embedded.arrays:
                array.flags.writeable = False
            self._cache.put(key, embedded)
        return embedded

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed texts to be found; raises EmbeddingNotReady."""
        embedder = self._require(0)
        with self._counted():
            return embedder.embed_passages(texts)

    def embed_code(self, texts: Sequence[str]) -> list[Embedded]:
        """Embed code to be found, by the model for code if there is one; raises EmbeddingNotReady."""
        embedder = self._require(0)
        with self._counted():
            if isinstance(embedder, CodeEmbedder):
                return embedder.embed_code(texts)
            return embedder.embed_passages(texts)

    @property
    def speller(self) -> Speller | None:
        """The loaded embedder if it can spell the pieces of its token states; else None."""
        embedder = self._embedder
        return embedder if isinstance(embedder, Speller) else None

    @contextmanager
    def _counted(self) -> Iterator[None]:
        with self._lock:
            self._asking += 1
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1

    def _require(self, timeout: float | None) -> Embedder:
        embedder = self._embedder
        if embedder is None:
            state = self.settle(timeout)
            embedder = self._embedder
            if embedder is None:
                raise EmbeddingNotReady(state, self.reason)
        return embedder

    def _load(self) -> None:
        embedder, reason = None, Reason("")
        try:
            embedder = self._opener()
        except ModelUnavailable as error:
            reason = Reason("{reason}; {remedy}", reason=error.reason, remedy=error.remedy)
        except Exception as error:  # whatever failed must become the state `error`
            log.exception("the embedding model failed to load")
            reason = Reason("{kind}: {error}", kind=type(error).__name__, error=error)
        with self._lock:
            self._embedder, self._reason = embedder, reason
            self._settled.set()


class _Cache:
    """The embeddings of the last questions, by digest, so that the texts themselves need no memory."""

    def __init__(self, size: int) -> None:
        self._room = size
        self._lock = threading.Lock()
        self._kept: OrderedDict[bytes, Embedded] = OrderedDict()
        self._bytes = self._hits = self._misses = 0

    def get(self, key: bytes) -> Embedded | None:
        """Return the embedding of a question and count a hit; else count a miss and return None."""
        with self._lock:
            embedded = self._kept.get(key)
            if embedded is None:
                self._misses += 1
            else:
                self._hits += 1
                self._kept.move_to_end(key)
            return embedded

    def put(self, key: bytes, embedded: Embedded) -> None:
        """Cache the embedding of a question; evict those that were asked the longest ago."""
        with self._lock:
            self._bytes += _bytes(embedded) - _bytes(self._kept.pop(key, None))
            self._kept[key] = embedded
            while len(self._kept) > self._room or self._bytes > CACHE_BYTES:
                self._bytes -= _bytes(self._kept.popitem(last=False)[1])

    def stats(self) -> CacheStats:
        """Return the counts of hits, misses and cached questions."""
        with self._lock:
            return CacheStats(self._hits, self._misses, len(self._kept))


def until_loaded(embedding: Embedding) -> Callable[[float, str], None]:
    """Return a progress callback that waits while the model loads, if loading was started."""

    def progress(part: float, what: str) -> None:
        if embedding.is_started:
            embedding.settle()

    return progress


def _bytes(embedded: Embedded | None) -> int:
    return 0 if embedded is None else sum(array.nbytes for array in embedded.arrays)
