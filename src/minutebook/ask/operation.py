"""An operation: a request to an open store, by name, with arguments and an answer that JSON can hold."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput
from minutebook.record.plain import plain, value_of

if TYPE_CHECKING:
    from minutebook.app import App

MOST = 2**53 - 1
"""The largest whole number that every reader of JSON reads exactly."""

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

BY_OPERATION = "operations"
"""In place of a contract in the origin of a record: an operation wrote it."""

ANY = "any"
"""In place of an operation's contract: any server offers it."""


@dataclass(frozen=True, slots=True)
class Operation(Generic[P, R_co]):
    """An act on an open store in a caller's name; the annotations of its function are the types of its JSON.

    `contract` is the contract that a server must serve to offer it, or ANY; None if no server offers it. `writes` if it
    changes records, `is_long` if it reads many: it then reports its progress, and can be cancelled by that.
    """

    name: str
    act: "Callable[Concatenate[App, Caller, P], R_co]"
    contract: str | None
    writes: bool
    is_long: bool = False

    def as_json(self, *arguments: P.args, **named: P.kwargs) -> dict[str, Any]:
        """Return arguments as JSON values, by name."""
        bound = inspect.signature(self.act).bind(None, None, *arguments, **named)
        return {name: plain(each) for name, each in list(bound.arguments.items())[2:]}

    def answer(self, app: "App", caller: Caller, given: Mapping[str, Any]) -> Any:
        """Do the act with arguments that came as JSON; return the answer as JSON.

        Raises InvalidInput if an argument is missing, unknown or of another type.
        """
        parameters = dict(list(inspect.signature(self.act).parameters.items())[2:])
        if unknown := given.keys() - parameters.keys():
            raise InvalidInput(
                min(unknown)[:50], "is no argument of {operation}", operation=self.name
            )
        arguments: dict[str, Any] = {}
        for name, each in parameters.items():
            if name not in given:
                if each.default is inspect.Parameter.empty:
                    raise InvalidInput(
                        name, "is missing: {operation} needs it", operation=self.name
                    )
                continue
            try:
                arguments[name] = value_of(each.annotation, given[name])
            except (TypeError, ValueError, KeyError, OverflowError, RecursionError) as error:
                remedy = "is not what {operation} takes"
                raise InvalidInput(name, remedy, operation=self.name) from error
        return plain(self.act(app, caller, **arguments))  # type: ignore[call-arg]

    def read(self, answered: Any) -> R_co:
        """Return the answer that came as JSON. Raises ValueError if it is not of the act's return type."""
        try:
            answer: R_co = value_of(self.act.__annotations__["return"], answered)
        except (TypeError, KeyError, OverflowError, RecursionError) as error:
            raise ValueError(f"{self.name} was answered with a value of another type") from error
        return answer


def operation(
    contract: str | None = None, *, writes: bool = False, is_long: bool = False
) -> "Callable[[Callable[Concatenate[App, Caller, P], R]], Operation[P, R]]":
    """Return the decorator that makes an operation of a function, under the function's name."""

    def make(act: "Callable[Concatenate[App, Caller, P], R]") -> Operation[P, R]:
        return Operation(act.__name__, act, contract, writes, is_long)

    return make


def check_range(argument: str, value: int, most: int, least: int = 1) -> None:
    """Raise InvalidInput if a number is not from `least` to `most`."""
    if not least <= value <= most:
        raise InvalidInput(argument, "must be {least:,} to {most:,}", least=least, most=most)


def check_filled(**texts: str) -> None:
    """Raise InvalidInput if a text is blank; the keywords are the names of the arguments."""
    for name, text in texts.items():
        if not text.strip():
            raise InvalidInput(name, "must not be empty")


def check_page(limit: int, offset: int) -> None:
    """Raise InvalidInput if the limit or the offset of a page is out of range."""
    check_range("limit", limit, MOST)
    check_range("offset", offset, MOST, 0)


def is_at_keyboard(caller: Caller) -> bool:
    """Tell whether the caller is a person at this machine's keyboard, and so may see its state and its secrets."""
    return caller.writes_system and not caller.token
