"""What a web server passes on when a browser asks for a page, as ASGI has it."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit


def page_scope(address: str, headers: Mapping[str, str]) -> dict[str, Any]:
    """Return the ASGI scope of a GET of a page; a header without a value is left out."""
    parts = urlsplit(address)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
        "server": ("127.0.0.1", 8765),
        "client": ("127.0.0.1", 1),
        "state": {},
    }
