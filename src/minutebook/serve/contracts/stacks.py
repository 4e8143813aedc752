"""Stack traces for the log: where an error was raised, without its message."""

import traceback
from collections.abc import Iterator


class Stack:
    """The types and stacks of an error and of those that caused it, the first cause first.

    Messages are left out, since they may quote what a caller sent or what is stored. It is written
    out only when a log takes it, as the attribute `stack` of a record.
    """

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __str__(self) -> str:
        return "\n".join(reversed(list(_stacks(self._error))))


def _stacks(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        stack = "".join(traceback.format_tb(error.__traceback__))
        yield f"Traceback (most recent call last):\n{stack}{type(error).__name__}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
