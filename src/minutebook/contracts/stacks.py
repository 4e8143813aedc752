"""Stack traces for the log: where an error was raised, without what it says."""

import traceback
from collections.abc import Iterator


def stack_of(error: BaseException) -> str:
    """Return the types and stacks of an error and of those that caused it, the first cause first.

    Messages are left out, since they may quote what a caller sent or what is stored.
    """
    return "\n".join(reversed(list(_stacks(error))))


def _stacks(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        stack = "".join(traceback.format_tb(error.__traceback__))
        yield f"Traceback (most recent call last):\n{stack}{type(error).__name__}"
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
