"""Mounts: routes of other features on the HTTP server, beside contracts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from minutebook.config import Settings

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from minutebook.features.http.requests.access import AccessControl
    from minutebook.features.http.requests.hosts import Address
    from minutebook.serve.dispatch import Dispatcher


@dataclass(frozen=True, slots=True)
class Served:
    """The parts of a server that a mount may use."""

    settings: Settings
    dispatcher: "Dispatcher"
    access: "AccessControl"


class Mount(Protocol):
    """Routes to serve beside contracts."""

    def check(self, settings: Settings, address: "Address") -> None:
        """Raise InvalidInput if the mount cannot be served at an address."""

    def announced(self, settings: Settings, url: str) -> str:
        """Return the sentence that tells a person the URL of the mount."""

    def routes(self, served: Served) -> "Sequence[BaseRoute]":
        """Return the routes of the mount."""


@dataclass(frozen=True, slots=True)
class MountOption:
    """An option of `serve --http`, by the name of its value, that adds a mount."""

    name: str
    option: Callable[[Callable[..., object]], Callable[..., object]]
    open: Callable[[], Mount]
