"""Log lines: for people, or as JSON for machines; each with the request it belongs to, if any."""

import json
import logging
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from minutebook.config import Settings
from minutebook.domain.control_characters import escaped

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The request that this task or thread works for."""

FACTS = (
    *("method", "path", "status", "seconds", "caller"),
    *("contract", "tool", "outcome", "milliseconds", "client"),
)
"""What a line about an HTTP request, or about a call, tells besides its message."""

STACK = "stack"
"""What a record calls a `contracts.stacks.Stack` that is shown below its line."""

CHATTY = ("mcp", "uvicorn", "sse_starlette", "httpx2")
"""Libraries that say at `info` what is of no use here, and at `debug` what was sent."""


class _Plain(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        request, stack = request_id.get(), getattr(record, STACK, None)
        line = super().format(record) + (f" [{request}]" if request else "")
        return line if stack is None else f"{line}\n{escaped(str(stack), keep=chr(10))}"

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802
        """Return the line without traceback, with control characters escaped."""
        return escaped(super().formatMessage(record))

    def formatException(self, ei: Any) -> str:  # noqa: N802
        """Return the traceback, without the error's text in its last line."""
        return escaped(super().formatException(ei), keep="\n")


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request": request_id.get() or None,
            **{name: getattr(record, name, None) for name in FACTS},
            "error": self._error_of(record),
        }
        return json.dumps({name: value for name, value in fields.items() if value is not None})

    def _error_of(self, record: logging.LogRecord) -> str | None:
        stack = getattr(record, STACK, None)
        if stack is not None:
            return str(stack)
        return self.formatException(record.exc_info) if record.exc_info else None


def log_to_stderr(settings: Settings, level: str = "warning") -> None:
    """Write log lines to stderr, in the form that is set; `level` is the least where none is set."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if settings.log_format == "json" else _Plain())
    logging.basicConfig(handlers=[handler], level=(settings.log_level or level).upper())
    least = max(logging.WARNING, logging.getLogger().level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(least)
