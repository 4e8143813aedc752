"""Services that are composed when they are first asked for."""

from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class service(Generic[T]):  # noqa: N801
    """A service of an app, composed when it is first asked for, once for all threads."""

    def __init__(self, compose: Callable[[Any], T]) -> None:
        self._compose = compose
        self._name = compose.__name__

    def __get__(self, app: Any, owner: type[object]) -> T:
        """Return the one service of this name."""
        kept = vars(app)
        with app.composing:
            if self._name not in kept:
                # Found there from now on, before this descriptor.
                kept[self._name] = self._compose(app)
        made: T = kept[self._name]
        return made


def service_names(of: type) -> Iterator[str]:
    """Yield the name of each service that a class composes."""
    yield from (name for name, value in vars(of).items() if isinstance(value, service))


def compose_all(composer: object) -> None:
    """Compose every service that an object's class has."""
    for name in service_names(type(composer)):
        getattr(composer, name)
