"""How the calls of a program reach the contracts, in this process or on a server."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Reply:
    """What a call came to: the contract's answer, and by name what is said beside it."""

    content: Mapping[str, Any]
    notes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Connection(Protocol):
    """A way to the contracts; may be used from any thread.

    Each method raises the error of the domain that stood in the way, whichever way the call went.
    """

    def call(self, contract: str, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Call a tool of a contract."""

    def read(self, contract: str, uri: str) -> Mapping[str, Any]:
        """Read a resource of a contract."""

    def close(self) -> None:
        """Let go of what the connection holds."""
