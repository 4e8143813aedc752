"""Serve the hidden contract over HTTP: `python -m tests.conformance.serve HOME HOST:PORT`."""

import sys
from typing import Any
from unittest.mock import patch

from mcp.server.lowlevel import Server

import minutebook.features.http.application as mounting
from minutebook.config import load
from minutebook.features.http.process import serve
from minutebook.features.http.requests.hosts import parsed_address
from minutebook.serve.protocol.server import build_server
from tests.conformance.foreign import extend
from tests.conformance.hidden import hidden


def extended(*given: Any) -> Server[Any]:
    """Build a contract's server, and let it answer what no contract gives, too."""
    server = build_server(*given)
    extend(server)
    return server


def announce(url: str) -> None:
    sys.stderr.write(f"conformance is served at {url}/mcp\n")


if __name__ == "__main__":
    home, address = sys.argv[1:]
    # All is as `minutebook serve --http` has it, but for what the suite wants beside a contract.
    with patch.object(mounting, "build_server", extended):
        serve(load({"home": home}), {"conformance": hidden()}, parsed_address(address), announce)
