"""The progress and the result of a call of a tool, as the protocol has them."""

import time
from collections.abc import Callable
from typing import Any

import anyio.from_thread

from minutebook.record.caller import Progress
from minutebook.serve.contracts.answers import Answer, Failure, failed, texts_of

REPORT_EVERY = 0.5
"""Seconds between two progress notifications of one call."""

_NOTES = "minutebook"
"""The prefix of the names under which notes are in a result's `_meta`."""


def progress_of(context_of: Callable[[], Any | None]) -> Progress:
    """Return a callback that reports progress if the client asked, and ends a cancelled call."""
    sent_at, sent = 0.0, 0.0

    def progress(part: float, what: str) -> None:
        nonlocal sent_at, sent
        anyio.from_thread.check_cancelled()
        now = time.monotonic()
        context = context_of()
        if context is not None and now - sent_at >= REPORT_EVERY and part > sent:
            sent_at, sent = now, part
            anyio.from_thread.run(context.session.report_progress, part, 1.0, what)

    return progress


def result_of(outcome: Answer | Failure) -> dict[str, Any] | Failure:
    """Return the result of a call; a failure whose form is a JSON-RPC error as it is.

    Its texts may hold halves of characters: the command line can be given one, and so can a store hold one.
    """
    answer = failed(outcome) if isinstance(outcome, Failure) else outcome
    failure = answer.error
    if failure is not None and failure.code is not None:
        return failure
    structured = answer.content if failure is None else failure.structured
    structured = None if answer.in_lines else structured
    meta = {f"{_NOTES}/{name}": dict(note.facts) for name, note in answer.notes.items()}
    return {
        **({"_meta": meta} if meta else {}),
        "content": [{"type": "text", "text": text} for text in texts_of(answer)],
        **({} if structured is None else {"structuredContent": structured}),
        "isError": failure is not None,
    }
