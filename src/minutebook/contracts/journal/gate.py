"""The door of the `journal` contract: whoever stopped the database starts it before they go on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from minutebook.app import App
from minutebook.contracts.contract import Entrant, Tool
from minutebook.domain.caller import Caller


@contextmanager
def door(app: App, caller: Caller, tool: Tool, arguments: Mapping[str, Any]) -> Iterator[Entrant]:
    """Let a call in whose tool can work without the store, or whose connection has it open."""
    if tool.promise.get("needsStore", True):
        app.database.check_open(caller)
    yield caller, arguments
