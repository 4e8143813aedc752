"""How calls of programs and commands reach a store: in this process, by the daemon's socket, over HTTP."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from minutebook.ask.operation import Operation
from minutebook.record.caller import Progress, no_progress

P = ParamSpec("P")
R = TypeVar("R")


class Operating(ABC):
    """Has operations done where the store is open; each raises the error of the domain that stood in the way.

    `notes` has by name what was said beside the answers.
    """

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self.has_written = False
        """Whether an operation that writes was begun."""
        self._progress: Progress = no_progress

    def run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Have an operation done, and return its answer."""
        self.has_written = self.has_written or operation.writes
        return self._run(operation, *arguments, **named)

    @contextmanager
    def reporting(self, progress: Progress) -> Iterator[None]:
        """Have the operations meanwhile report how far they are."""
        self._progress = progress
        try:
            yield
        finally:
            self._progress = no_progress

    @abstractmethod
    def _run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R: ...

    @abstractmethod
    def close(self) -> None:
        """Release the resources of the connection."""
