"""The catalog contract in a small world."""

from typing import Any

from minutebook.features.catalog.contract import catalog
from minutebook.record.ids import id_of
from minutebook.record.records import Memory
from tests.world import World

UNKNOWN = "550e8400-e29b-41d4-a716-446655440000"
"""The UUID of the document's example; nothing has it."""


def facts_of(world: World) -> World:
    """The world as a client of catalog meets it."""
    return world.speaking(catalog())


def write(world: World, content: str = "Ana likes tea", /, **said: Any) -> dict[str, Any]:
    """Write a memory a second after the last; what is answered."""
    world.clock.turn()
    told = {
        "organization": "acme",
        "scope_type": "organization",
        "memory_type": "fact",
        "current_content": content,
    }
    return world.call("memory-write", **(told | said))


def kept(world: World, id: str, organization: str = "acme") -> Memory:
    """The memory of a UUID as it is kept, soft-deleted or not."""
    found = world.store.get(Memory, organization, id_of(id) or id)
    assert isinstance(found, Memory)
    return found


def found(world: World, query: str | None = None, /, **filters: Any) -> list[str]:
    """Search; the contents found, in order."""
    arguments: dict[str, Any] = {} if query is None else {"query": query}
    results = world.told("memory-search", **arguments, **({"filters": filters} if filters else {}))
    return [each["current_content"] for each in results]


def read(world: World, uri: str) -> Any:
    """Read a resource; its text."""
    answer = world.contract.read(world.app, world.caller, uri)
    assert answer.error is None, answer.error
    return answer.text
