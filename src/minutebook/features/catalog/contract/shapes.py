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
"""In a list, in place of a title that reads as instructions."""

TITLE_WORDS = 12
"""Words of a title that the index policy allows."""

METADATA_KEYS = 5
"""Keys of metadata that the index policy allows, and that the index shows."""

METADATA_LENGTH = 50
"""Characters of a value that the index shows."""


def id_in(text: str) -> str:
    """Return the id that a text spells in any form. Raises NotFound if it is not an id."""
    id = id_of(text)
    if id is None:
        raise NotFound(Kind.MEMORY, text)
    return id


def find_id(app: "App", caller: Caller, text: str) -> str:
    """Return the id of the memory that a caller means by a text. Raises NotFound if the text is not an id."""
    return app.memories.resolved_id(caller, id_in(text))


def whole(memory: Memory) -> Shape:
    """Show all of a memory; without a title it has one made from its text."""
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


def after_write(memory: Memory) -> Shape:
    """Show a memory after a write, with a warning for each rule of the index policy that it breaks."""
    warnings = broken_rules(memory)
    return whole(memory) | ({"warnings": warnings} if warnings else {})


def in_index(memory: Memory) -> Shape:
    """Show a memory in the index, without its content, and of its metadata only short scalar values.

    Without a title it has one made from its text.
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
    """Return the organization with which a memory was written, also if it has system scope."""
    named = "" if memory.origin is None else memory.origin.organization
    return named or memory.organization


def importance(memory: Memory) -> int:
    """Return the importance rounded to an integer from 1 to 10; other contracts allow fractions."""
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
