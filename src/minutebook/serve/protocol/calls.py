"""The progress and the result of a call of a tool, as the protocol has them."""

import time
from collections.abc import Callable
from typing import Any

import anyio.from_thread

from minutebook.record.caller import Progress
from minutebook.serve.contracts.answers import Answer, Failure, failed, readable_parts

REPORT_EVERY = 0.5
"""Seconds between two progress notifications of one call."""

_NOTES = "minutebook"
"""The prefix of notes' names in the `_meta` of a result."""


def progress_of(context_of: Callable[[], Any | None]) -> Progress:
    """Return a callback for a call's progress: it notifies the client, and raises if the call was cancelled.

    `context_of` returns the request under way, None if there is none.
    """
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
    """Return the result of a call, or its failure if that is a JSON-RPC error.

    The texts may hold lone surrogates: a command line, and so the store, can hold them.
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
        "content": [{"type": "text", "text": text} for text in readable_parts(answer)],
        **({} if structured is None else {"structuredContent": structured}),
        "isError": failure is not None,
    }
