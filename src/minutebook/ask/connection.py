"""The connection of a program or command to a store: in this process, by the daemon's socket, or over HTTP."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

from minutebook.ask.operation import Operation
from minutebook.record.caller import Progress, no_progress

P = ParamSpec("P")
R = TypeVar("R")


class StoreConnection(ABC):
    """Runs operations where the store is open, and raises their errors; `notes` has the notes on all answers, by name."""

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self.has_written = False
        """Whether an operation that writes was run."""
        self._progress: Progress = no_progress

    def run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        """Run an operation, and return its answer. Raises its error."""
        self.has_written = self.has_written or operation.writes
        return self._run(operation, *arguments, **named)

    @contextmanager
    def reporting(self, progress: Progress) -> Iterator[None]:
        """Report the progress of the operations within this context."""
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
