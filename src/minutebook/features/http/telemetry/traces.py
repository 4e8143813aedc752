"""Traces of requests, sent to an OpenTelemetry collector where one is named.

The SDK makes a span of each message, and asks nobody as long as no provider is set.
"""

from collections.abc import Callable
from functools import partial

from minutebook import __version__
from minutebook.record.errors import InvalidInput

FLUSHED_WITHIN = 300
"""Milliseconds that what is left may take to be sent at the end."""


def trace_to(url: str) -> Callable[[], object]:
    """Send spans to the collector at a URL (OTLP over HTTP); return the function that flushes them.

    Raises InvalidInput if the library for it is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        remedy = "needs a library that is not there: pip install 'minutebook[traces]' ({error})"
        raise InvalidInput("traces_url", remedy, error=error) from error
    from opentelemetry.trace import set_tracer_provider

    about = Resource.create({"service.name": "minutebook", "service.version": __version__})
    provider = TracerProvider(resource=about)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    set_tracer_provider(provider)
    return partial(provider.force_flush, FLUSHED_WITHIN)
