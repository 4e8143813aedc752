"""Traces go to a collector where one is named; nothing of OpenTelemetry's is loaded elsewhere."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.features.http.speaking import call, served
from tests.world import wait_until

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = f"00-{TRACE}-b7ad6b7169203331-01"


@pytest.fixture
def collector() -> Iterator[tuple[str, list[Any]]]:
    """A collector's URL, and the spans that it was sent."""
    spans: list[Any] = []

    class Collect(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                import gzip

                body = gzip.decompress(body)
            told = ExportTraceServiceRequest.FromString(body)
            spans.extend(
                s for r in told.resource_spans for each in r.scope_spans for s in each.spans
            )
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Collect) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", spans
        server.shutdown()


def test_a_call_is_a_span_of_the_clients_trace_and_is_sent_before_the_end(
    tmp_path: Path, collector: tuple[str, list[Any]]
) -> None:
    url, spans = collector
    with served(tmp_path, MINUTEBOOK_TRACES_URL=url) as server:
        asked = call("store_memory", content="not for a collector")
        asked["params"]["_meta"] = {"traceparent": PARENT}
        assert server.post("/mcp", asked).status_code == 200
        assert server.end() == 0
    wait_until(lambda: any(span.name == "tools/call store_memory" for span in spans))
    (span,) = (span for span in spans if span.name == "tools/call store_memory")
    assert span.trace_id.hex() == TRACE
    assert "not for a collector" not in str(spans)


@pytest.mark.thorough
@pytest.mark.cold_start
def test_a_server_that_sends_no_traces_loads_nothing_for_them() -> None:
    script = (
        "import sys, minutebook.features.http.process;"
        "print([m for m in sys.modules if m.startswith(('opentelemetry.sdk', 'opentelemetry.exporter'))])"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert told.stdout.strip() == "[]"
