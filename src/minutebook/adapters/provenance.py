"""The voice of a retrieved memory, as the metadata of another library's record."""

from typing import Any

from minutebook.api import Hit


def provenance_of(hit: Hit) -> dict[str, Any]:
    """Return the provenance of a hit's memory, in values that are JSON."""
    memory = hit.memory
    return {
        "relevance": hit.relevance,
        "memory_type": memory.type,
        "title": memory.title,
        "author": memory.author,
        "client": memory.client,
        "status": memory.status,
        "created_at": memory.created_at.isoformat(),
        "reads_as_instructions": list(hit.reads_as_instructions),
    }
