"""The `governance` contract as a client meets it: each call with its context, each with a number."""

import json
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any
from uuid import UUID

from minutebook.features.governance.contract import governance
from minutebook.record.ids import id_of
from minutebook.record.records import Entry, Memory, Role
from tests.world import World

ACME = "aaaaaaaa-0000-4000-8000-00000000000a"
OTHER = "bbbbbbbb-0000-4000-8000-00000000000b"
ONE = "11111111-0000-4000-8000-000000000001"
TWO = "22222222-0000-4000-8000-000000000002"
UNKNOWN = "99999999-0000-4000-8000-000000000009"

INTENTS = {
    "memory-write": "write",
    "memory-search": "read",
    "memory.read": "read",
    "memory.lock": "admin",
    "memory.deprecate": "write",
}
CONTRACT = governance()


@dataclass(frozen=True)
class Client:
    """A client of the contract: the agent it names, and where it works."""

    world: World
    agent: str = "claude"
    organization: str = ACME
    repository: str = ONE
    numbers: "count[int]" = field(default_factory=lambda: count(1))

    def by(self, **changes: Any) -> "Client":
        """The same client as another start-up identity makes it."""
        return replace(self, world=self.world.by(**changes))

    def of(self, role: Role) -> "Client":
        """The same client in another role."""
        return self.by(role=role)

    def at(self, **changes: Any) -> "Client":
        """The same client with another context."""
        return replace(self, **changes)

    def context(self, tool: str, **changes: Any) -> dict[str, Any]:
        """A fitting context of its own for one call."""
        return {
            "agent_id": self.agent,
            "organization_id": self.organization,
            "repository_id": self.repository,
            "intent": INTENTS[tool],
            "request_id": f"r{next(self.numbers)}",
        } | changes

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer."""
        self.world.clock.turn()
        arguments = {"context": self.context(tool), **arguments}
        return self.world.speaking(CONTRACT).call(tool, **arguments)

    def refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must not answer; the error, whose form is checked."""
        arguments = {"context": self.context(tool), **arguments}
        failure = self.world.speaking(CONTRACT).failure(tool, **arguments)
        return told(failure.text, failure.code, failure.structured)

    def write(self, content: str, /, type: str = "fact", **arguments: Any) -> str:
        """Store a memory; its id."""
        id: str = self.call("memory-write", content=content, type=type, **arguments)["memory_id"]
        return id

    def found(self, query: str, /, **arguments: Any) -> list[str]:
        """Search; the contents found, best first."""
        answer = self.call("memory-search", query=query, **arguments)
        return [each["content"] for each in answer["memories"]]

    def memory(self, id: str, organization: str | None = None) -> Memory:
        """A memory as it is kept."""
        return self.world.memory(short(id), organization or self.organization)

    def entries(self, id: str | None = None, organization: str | None = None) -> list[Entry]:
        """The audit entries about a memory (None: all), oldest first."""
        everything = self.world.trail(organization or self.organization)
        return [each for each in everything if id is None or each.subject == short(id)]

    def acts(self, id: str | None = None) -> list[tuple[str, str]]:
        """What was done about a memory, and what came of it."""
        return [(each.act, each.outcome) for each in self.entries(id)]


def told(text: str, code: int | None, structured: Any) -> dict[str, Any]:
    """The error of a refusal, in the form that the contract promises."""
    assert code is None
    error: dict[str, Any] = structured["error"]
    assert set(structured) == {"error"}
    assert set(error) == {"code", "number", "message", "request_id"}
    assert text == f"{error['code']}: {error['message']}"
    assert error["number"] == CONTRACT.promise["errors"][error["code"]]["number"]
    assert error["message"].endswith(".")
    assert len(text) < 400
    json.dumps(structured, allow_nan=False)
    return error


def short(id: str) -> str:
    """The id under which the store keeps what a client calls by a UUID."""
    found = id_of(id)
    assert found is not None
    assert str(UUID(id)) == id
    return found
