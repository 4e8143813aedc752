"""The contracts in this process, on a store that it opens."""

import itertools
import json
import secrets
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from minutebook.api.connection import Reply
from minutebook.app import App, open_app
from minutebook.config import Settings
from minutebook.contracts.answers import Answer
from minutebook.contracts.contract import Contract
from minutebook.contracts.registry import CONTRACTS
from minutebook.domain.caller import Call, Caller
from minutebook.domain.error_facts import error_of
from minutebook.domain.errors import InvalidInput, StoreClosed, StoreError
from minutebook.domain.origin import Origin

MODEL_WAIT = 60.0
"""Seconds that a call waits for the model's first load; then it goes on as the settings say."""


class InProcess:
    """Calls the contracts as their servers do: with the same rules, trail and screening."""

    def __init__(self, app: App, caller: Caller, origin: Origin) -> None:
        """Take over an app, which is closed with the connection."""
        self._app = app
        session = f"session_{secrets.token_hex(8)}"
        call = Call(session=session, origin=origin, progress=self._await_model)
        self._caller = replace(caller, call=call)
        self._numbers = itertools.count(1)
        self._closing = threading.Lock()
        self._is_closed = False
        app.database.acquire(session)

    def call(self, contract: str, tool: str, arguments: Mapping[str, Any]) -> Reply:
        """Call a tool of a contract. Raises the error of the domain that stood in the way."""
        promise = CONTRACTS[contract]()
        answer = promise.call(self._open(), self._caller_of(promise), tool, arguments)
        _check(answer)
        notes = {name: note.facts for name, note in answer.notes.items()}
        # As it comes over HTTP: plain values, which nothing else holds.
        return Reply(*json.loads(json.dumps([answer.content or {}, notes])))

    def read(self, contract: str, uri: str) -> Mapping[str, Any]:
        """Read a resource of a contract. Raises the error of the domain that stood in the way."""
        promise = CONTRACTS[contract]()
        answer = promise.read(self._open(), self._caller_of(promise), uri)
        _check(answer)
        found: Mapping[str, Any] = json.loads(answer.text)
        return found

    def close(self) -> None:
        """Close the store, once."""
        with self._closing:
            if not self._is_closed:
                self._is_closed = True
                self._app.close()
                self._app.embedding.close()

    def _open(self) -> App:
        if self._is_closed:
            raise StoreClosed("this memory was closed; open it again")
        return self._app

    def _caller_of(self, contract: Contract) -> Caller:
        call = self._caller.call
        assert call.origin is not None
        origin = replace(call.origin, contract=contract.name)
        request = f"{call.session[-8:]}-{next(self._numbers)}"
        return replace(self._caller, call=replace(call, origin=origin, request=request, notes={}))

    def _await_model(self, part: float, what: str) -> None:
        """Wait while the model loads, if somebody asked for it."""
        if self._app.embedding.is_started:
            self._app.embedding.settle(MODEL_WAIT)


def open_in_process(settings: Settings, origin: Origin) -> InProcess:
    """Open the store of some settings, made if it is missing.

    Raises StoreError if it cannot be opened, InvalidInput if settings do not fit together.
    """
    app = open_app(settings)
    try:
        return InProcess(app, settings.caller(), origin)
    except (InvalidInput, StoreError):
        app.close()
        raise


def _check(answer: Answer) -> None:
    """Raise the error with which a contract answered, if it did."""
    if answer.error is not None:
        error = error_of(answer.error.facts)
        assert error is not None, answer.error
        error.add_note(answer.error.text)
        raise error
