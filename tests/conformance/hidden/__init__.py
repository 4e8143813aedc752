"""The hidden contract: what the conformance suite asks of a server, as far as a contract can give it.

It is never registered. Served, it goes the way of every other: `build_server`, `Dispatcher`, `Contract`.
"""

import time
from collections.abc import Mapping
from typing import Any

from minutebook.app import App
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, MinutebookError
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.contract import Contract, Operation
from minutebook.serve.contracts.resources import ResourceHandlers
from minutebook.serve.protocol.calls import REPORT_EVERY

INTENDED = "This tool intentionally returns an error for testing"


def hidden() -> Contract:
    """Open the contract."""
    return Contract(__name__, OPERATIONS, word, handlers=HANDLERS)


def word(error: MinutebookError, arguments: Mapping[str, Any]) -> Failure:
    return Failure(error.reason if isinstance(error, Conflict) else str(error))


def simple_text(app: App, caller: Caller) -> str:
    return "This is a simple text response for testing."


def failing(app: App, caller: Caller) -> str:
    raise Conflict("test_error_handling", INTENDED)


def progressing(app: App, caller: Caller) -> str:
    for part in (0.25, 0.5, 1.0):
        caller.call.progress(part, f"{part:.0%} done")
        time.sleep(REPORT_EVERY * 1.1)
    return "Told three times."


def asking(app: App, caller: Caller, prompt: str = "What is the capital of France?") -> str:
    if caller.call.sample is None:
        raise Conflict("sampling", "The client's model cannot be asked")
    return f"LLM response: {caller.call.sample('Answer in one sentence.', prompt, 100)}"


def silent(app: App, caller: Caller) -> str:
    return "Nothing was logged."


def with_schema(app: App, caller: Caller, **arguments: Any) -> dict[str, Any]:
    return arguments


def of_template(app: App, caller: Caller, id: str) -> dict[str, Any]:
    return {"id": id, "templateTest": True, "data": f"Data for ID: {id}"}


OPERATIONS: Mapping[str, Operation] = {
    "test_simple_text": simple_text,
    "test_error_handling": failing,
    "test_tool_with_progress": progressing,
    "test_logging_tool": silent,
    "test_sampling": asking,
    "test_input_required_result_sampling": asking,
    "test_input_required_result_tampered_state": asking,
    "json_schema_2020_12_tool": with_schema,
    "test_x_header": with_schema,
}

HANDLERS = ResourceHandlers(readers={"template": of_template})
