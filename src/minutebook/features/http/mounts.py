"""The parts of the HTTP server that other features mount, beside contracts."""

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
    """The parts of a server that a mount uses, too."""

    settings: Settings
    dispatcher: "Dispatcher"
    access: "AccessControl"


class Mount(Protocol):
    """Something to serve: it comes last, so that no path of a contract is among its own."""

    def check(self, settings: Settings, address: "Address") -> None:
        """Raise InvalidInput if it cannot be served at an address."""

    def announced(self, settings: Settings, url: str) -> str:
        """Return the sentence that tells where it is."""

    def routes(self, served: Served) -> "Sequence[BaseRoute]":
        """Return its routes."""


@dataclass(frozen=True, slots=True)
class MountOption:
    """An option of `serve --http`, by the name of its value, that has something else served, too."""

    name: str
    option: Callable[[Callable[..., object]], Callable[..., object]]
    open: Callable[[], Mount]
