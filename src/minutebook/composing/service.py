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
        """Return the app's one service of this name."""
        kept = vars(app)
        with app.composing:
            if self._name not in kept:
                # Found there from now on, before this descriptor.
                kept[self._name] = self._compose(app)
        made: T = kept[self._name]
        return made


def service_names(app: type) -> Iterator[str]:
    """Yield the name of each service that a class of apps composes, of its bases' too."""
    for each in app.__mro__:
        yield from (name for name, value in vars(each).items() if isinstance(value, service))
