"""The gate of the `journal` contract: a connection that stopped the database has to start it first."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from minutebook.app import App
from minutebook.contracts.contract import Admitted, Tool
from minutebook.domain.caller import Caller


@contextmanager
def admit(app: App, caller: Caller, tool: Tool, arguments: Mapping[str, Any]) -> Iterator[Admitted]:
    """Admit a call if its tool needs no store, or its connection has it open. Raises StoreClosed."""
    if tool.promise.get("needsStore", True):
        app.database.check_open(caller)
    yield caller, arguments
