"""The provenance of a hit, as the metadata of another library's record."""

from typing import Any

from minutebook.api import Hit, LaterRecord


def provenance_of(hit: Hit) -> dict[str, Any]:
    """Return a hit's relevance, source, time and author, and of a memory its fields, in values that are JSON."""
    found: dict[str, Any] = {
        "relevance": hit.relevance,
        "source": hit.source,
        "at": None if hit.at is None else hit.at.isoformat(),
        "by": hit.by,
        "status": hit.status or "active",
        "session": hit.session,
        "location": hit.location,
        "revised_by": revised(hit.revised_by),
        "reads_as_instructions": list(hit.reads_as_instructions),
    }
    if (memory := hit.memory) is not None:
        found |= {
            "memory_type": memory.type,
            "title": memory.title,
            "author": memory.author,
            "client": memory.client,
            "created_at": memory.created_at.isoformat(),
        }
    return found


def own_metadata(hit: Hit) -> dict[str, Any]:
    """Return the metadata that a memory was kept with; none of anything else."""
    return {} if hit.memory is None else dict(hit.memory.metadata)


def revised(by: LaterRecord | None) -> dict[str, str] | None:
    """Return a possible revision as JSON."""
    return None if by is None else {"id": by.id, "at": by.at.isoformat()}
