"""The work of requests: done in threads, in one caller's name, whatever happens."""

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import anyio.to_thread
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR

from minutebook.app import App
from minutebook.contracts.answers import Failure
from minutebook.contracts.contract import Contract
from minutebook.domain.errors import Fault, MinutebookError
from minutebook.domain.policy import Caller, Listener, unheard

log = logging.getLogger(__name__)

T = TypeVar("T")

OpenApp = Callable[[], App]
"""Gives the app, opening it at the first call."""

Deed = Callable[[App, Caller], T]
"""What a request asks for, done with the app in a caller's name."""


class Worker:
    """Does what requests ask for, in the name of one caller."""

    def __init__(self, open_app: OpenApp, caller: Caller) -> None:
        self._open_app = open_app
        self._caller = caller
        self._connection = secrets.token_hex(4)

    async def do(
        self,
        contract: Contract,
        act: str,
        given: Mapping[str, Any],
        request: Any,
        deed: Deed[T],
        listener: Listener = unheard,
    ) -> T | Failure:
        """Do a deed in a worker thread; what fails is worded by the contract."""
        asking = replace(self._caller, request=f"{self._connection}-{request}", listener=listener)
        return await anyio.to_thread.run_sync(self._try, contract, act, given, asking, deed)

    def _try(
        self,
        contract: Contract,
        act: str,
        given: Mapping[str, Any],
        asking: Caller,
        deed: Deed[T],
    ) -> T | Failure:
        """Do a deed: a fault of ours must not end the connection."""
        try:
            return deed(self._open_app(), asking)
        except MinutebookError as error:
            return contract.word(error, given)
        except Exception:
            log.exception("%s failed in request %s", act, asking.request)
            return contract.word(Fault(act, asking.request), given)


def protocol_error(failure: Failure) -> MCPError:
    """Give a failure as a JSON-RPC error, for requests whose results have no room for one."""
    code = INTERNAL_ERROR if failure.code is None else failure.code
    return MCPError(code, failure.text, failure.structured)
