"""Serve the hidden contract over HTTP: `python -m tests.conformance.serve HOME PORT`."""

import sys
from pathlib import Path

import uvicorn

from minutebook.config import Settings
from minutebook.server.opening import Opening
from minutebook.server.protocol import build_server
from minutebook.server.worker import Worker
from tests.conformance.foreign import extend
from tests.conformance.hidden import hidden


def main(home: Path, port: int) -> None:
    settings = Settings(home=home, embedder="none")
    worker = Worker(Opening(settings), lambda context: settings.caller())
    server = build_server([hidden()], worker)
    extend(server)
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
