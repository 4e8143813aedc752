"""Memories as the `catalog` contract shows them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from minutebook.features.catalog.contract.wording import title_from
from minutebook.record.caller import Caller
from minutebook.record.errors import NotFound
from minutebook.record.ids import id_of
from minutebook.record.instants import rfc3339
from minutebook.record.records import Kind, Memory

if TYPE_CHECKING:
    from minutebook.app import App

Shape = dict[str, Any]

READS_AS_INSTRUCTIONS = "Reads as instructions, and no person confirmed it; read it by its id"
"""Stands in a list for the title of such a memory."""

TITLE_WORDS = 12
"""How many words the index policy allows in a title."""

METADATA_KEYS = 5
"""How many keys it allows in metadata, and how many the index shows."""

METADATA_LENGTH = 50
"""How many characters of a value the index shows."""


def id_named(text: str) -> str:
    """Return the id that a text is a form of. Raises NotFound if it is none."""
    id = id_of(text)
    if id is None:
        raise NotFound(Kind.MEMORY, text)
    return id


def id_meant(app: "App", caller: Caller, text: str) -> str:
    """Return the id of the memory that a caller names by a text. Raises NotFound if it is no form of an id."""
    return app.memories.resolved_id(caller, id_named(text))


def whole(memory: Memory) -> Shape:
    """Show a complete memory; one without a title has its first words there, as in the index."""
    return {
        "id": memory.uuid,
        "organization": organization(memory),
        "repository": memory.repository,
        "scope_type": memory.scope,
        "memory_type": memory.type,
        "title": title(memory),
        "current_content": memory.content,
        "status": memory.status,
        "importance": importance(memory),
        "metadata": dict(memory.metadata),
        "created_at": rfc3339(memory.ingestion_time),
        "updated_at": rfc3339(memory.updated_at),
    }


def written(memory: Memory) -> Shape:
    """Show a memory that was just written, with a warning for each rule of the index it breaks."""
    warnings = broken_rules(memory)
    return whole(memory) | ({"warnings": warnings} if warnings else {})


def light(memory: Memory) -> Shape:
    """Show a memory in the index: never its content, of its metadata only short and flat values.

    Where no title was given, one made from how the text begins stands in.
    """
    scalars = [(key, value) for key, value in memory.metadata.items() if _is_scalar(value)]
    return {
        "id": memory.uuid,
        "title": title(memory),
        "scope_type": memory.scope,
        "memory_type": memory.type,
        "importance": importance(memory),
        "status": memory.status,
        "repository": memory.repository,
        "organization": organization(memory),
        "updated_at": rfc3339(memory.updated_at),
        "metadata": {key: _cut(value) for key, value in scalars[:METADATA_KEYS]},
    }


def title(memory: Memory) -> str:
    """Return the title of a memory, or one made from its text if it has none."""
    return memory.title or title_from(memory.content) or memory.uuid


def organization(memory: Memory) -> str:
    """Return the organization with which a memory was written, also where it is kept for all."""
    stated = "" if memory.origin is None else memory.origin.organization
    return stated or memory.organization


def importance(memory: Memory) -> int:
    """Return the importance as an integer from 1 to 10; other contracts keep fractions."""
    return min(10, max(1, round(memory.importance)))


def broken_rules(memory: Memory) -> list[str]:
    """Return the rules of the index policy that a memory breaks."""
    warnings = []
    words = len((memory.title or "").split())
    if words > TITLE_WORDS:
        warnings.append(f"title has {words} words; the index policy allows {TITLE_WORDS}.")
    if len(memory.metadata) > METADATA_KEYS:
        warnings.append(
            f"metadata has {len(memory.metadata)} keys; the index policy allows {METADATA_KEYS}, "
            f"and the index shows the first {METADATA_KEYS}."
        )
    nested = [key for key, value in memory.metadata.items() if not _is_scalar(value)]
    if nested:
        warnings.append(f"metadata is not flat at {', '.join(nested)}; the index leaves it out.")
    long = [key for key, value in memory.metadata.items() if _cut(value) != value]
    if long:
        warnings.append(
            f"metadata is long at {', '.join(long)}; the index cuts it at {METADATA_LENGTH} characters."
        )
    return warnings


def _is_scalar(value: object) -> bool:
    return not isinstance(value, Mapping | list)


def _cut(value: object) -> object:
    return value[:METADATA_LENGTH] if isinstance(value, str) else value
