"""Metrics of a server for Prometheus."""

import logging
from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from minutebook.memory.journal.summaries import Tally
from minutebook.memory.maintenance.database import EngineControl
from minutebook.record.errors import StoreError
from minutebook.record.records import CodeChunk, Decision, Entity, Memory, Proposal, Summary, Turn
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.contracts.answers import Failure

log = logging.getLogger(__name__)

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

COUNTED = (Memory, Entity, Decision, Proposal, Turn, Summary, CodeChunk)
"""The records that are counted."""

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
"""Bounds of the histogram of durations: reads take milliseconds, indexing minutes."""


class Metrics:
    """Counts and times the requests of a server."""

    def __init__(self, loader: AppLoader) -> None:
        self._registry = CollectorRegistry()
        self._seconds = Histogram(
            "minutebook_operation_seconds",
            "Duration of what was asked for.",
            ("contract", "operation"),
            registry=self._registry,
            buckets=SECONDS,
        )
        self._errors = Counter(
            "minutebook_errors",
            "What was asked for and failed, by the contract's code.",
            ("contract", "operation", "code"),
            registry=self._registry,
        )
        self._answers = Counter(
            "minutebook_http_responses", "Answers over HTTP.", ("status",), registry=self._registry
        )
        self._registry.register(_StateCollector(loader))
        ProcessCollector(registry=self._registry)

    def observe(self, contract: str, act: str, seconds: float, failure: Failure | None) -> None:
        """Count and time one job, as an `Observer` of the dispatcher."""
        self._seconds.labels(contract, act).observe(seconds)
        if failure is not None:
            self._errors.labels(contract, act, _code(failure)).inc()

    def count(self, status: int) -> None:
        """Count one answer over HTTP."""
        self._answers.labels(str(status)).inc()

    def written(self) -> bytes:
        """Return the metrics in the text format of Prometheus."""
        return generate_latest(self._registry)


class _StateCollector(Collector):
    """Collects the metrics of the store and the model, whenever they are asked for."""

    def __init__(self, loader: AppLoader) -> None:
        self._loader = loader

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics; none while the store is not open."""
        if not self._loader.is_open:
            return
        app = self._loader()
        writes = app.database.writes
        yield _counter("engine_writes", "Transactions that wrote.", writes.count)
        yield _counter("engine_write_seconds", "Time spent in them.", writes.seconds)
        yield _counter("engine_write_wait_seconds", "Time spent waiting to begin.", writes.waited)
        yield _gauge(
            "engine_bytes", "Bytes that the store takes, indices included.", app.database.size()
        )
        cache = app.embedding.cache_stats
        yield _counter("model_cache_hits", "Questions whose vector was kept.", cache.hits)
        yield _counter("model_cache_misses", "Questions that had to be embedded.", cache.misses)
        yield _gauge("model_queue", "Calls that embed or wait to.", app.embedding.queue)
        ready = app.embedding.state == "ready"
        yield _gauge("model_ready", "1 if meaning can be searched.", float(ready))
        yield from _summaries(app.summaries.tally)
        yield _records(app.database)


def _summaries(tally: Tally) -> Iterator[Metric]:
    summaries = CounterMetricFamily(
        "minutebook_summaries", "Sessions summarised, by who did it.", labels=["made_by"]
    )
    for name, count in tally.made.items():
        summaries.add_metric([name], count)
    yield summaries
    yield _counter("summaries_failed", "Sessions that could not be summarised.", tally.failed)
    yield _counter(
        "summary_models_unanswered", "Models that gave no answer of use.", tally.unanswered
    )


def _records(database: EngineControl) -> Metric:
    records = GaugeMetricFamily("minutebook_records", "Records, by kind.", labels=["kind"])
    try:
        for kind, count in database.counts(COUNTED).items():
            records.add_metric([kind], count)
    except StoreError as error:
        # Every caller may have stopped the store; the other metrics are returned all the same.
        log.debug("records cannot be counted: %s", type(error).__name__)
    return records


def _counter(name: str, help: str, value: float) -> Metric:
    return CounterMetricFamily(f"minutebook_{name}", help, value=value)


def _gauge(name: str, help: str, value: float) -> Metric:
    return GaugeMetricFamily(f"minutebook_{name}", help, value=value)


def _code(failure: Failure) -> str:
    if failure.code is not None:
        return str(failure.code)
    error = (failure.structured or {}).get("error")
    return str(error.get("code", "tool")) if isinstance(error, Mapping) else "tool"
