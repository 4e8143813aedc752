"""For each contract one call that any client may begin with, on an empty store, without a model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

CONTEXT = {
    "agent_id": "visitor",
    "organization_id": "550e8400-e29b-41d4-a716-446655440000",
    "repository_id": "550e8400-e29b-41d4-a716-446655440001",
    "intent": "read",
    "request_id": "request-1",
}

FIRST_CALLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "knowledge": ("search_text", {"query": "kettle"}),
    "catalog": ("memory-search", {"query": "kettle"}),
    "governance": ("memory-search", {"context": CONTEXT, "query": "kettle"}),
    "ledger": ("search_decisions", {"query": "kettle"}),
    "journal": ("healthcheck", {}),
}


def without_model(home: Path) -> Path:
    """Make a data directory whose servers load no model, however they are started."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text('embedder = "none"\n', encoding="utf-8")
    return home
