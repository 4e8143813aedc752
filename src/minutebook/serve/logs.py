"""Log lines, each with the request that it belongs to, if any."""

import logging
import sys
from contextvars import ContextVar
from typing import Any

from minutebook.config import Settings
from minutebook.record.control_characters import escaped

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The request that this task or thread works for."""

STACK = "stack"
"""The attribute of a log record with a `serve.contracts.stacks.Stack`, which is written below its line."""

CHATTY = ("mcp", "uvicorn", "sse_starlette", "httpx2")
"""Libraries that log useless lines at `info`, and at `debug` what was sent; both are left out."""


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


def log_to_stderr(settings: Settings, level: str = "warning") -> None:
    """Write log lines to stderr; `level` is the level if the settings have none."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Plain())
    logging.basicConfig(handlers=[handler], level=(settings.log_level or level).upper())
    least = max(logging.WARNING, logging.getLogger().level)
    for name in CHATTY:
        logging.getLogger(name).setLevel(least)
