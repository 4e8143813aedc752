"""Services that are composed when they are first asked for, and what they stand on."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from minutebook.disk.filelock import FileLock
from minutebook.domain.ids import RandomBits
from minutebook.models import Models
from minutebook.services.access.audit import Trail
from minutebook.services.access.tokens import Tokens
from minutebook.services.access.visibility import Clock
from minutebook.services.embeddings import Embeddings
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Tended

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """What the services of an app stand on: what is open, who may what, chance and time."""

    presence: FileLock
    locks: NamedLocks
    store: Tended
    models: Models
    embeddings: Embeddings
    trail: Trail
    tokens: Tokens
    clock: Clock
    randbits: RandomBits


class service(Generic[T]):  # noqa: N801
    """A service of an app, composed when it is first asked for, once for all threads."""

    def __init__(self, compose: Callable[[Any], T]) -> None:
        self._compose = compose
        self._name = compose.__name__

    def __get__(self, app: Any, owner: type[object]) -> T:
        """Return the app's one service of this name."""
        kept = vars(app)
        with app.composing:
            if self._name not in kept:
                # Found there from now on, before this descriptor.
                kept[self._name] = self._compose(app)
        made: T = kept[self._name]
        return made
