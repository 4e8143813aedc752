"""Operations in this process, on a store that it opens."""

import itertools
import secrets
import threading
from dataclasses import replace

from minutebook.app import App, open_app
from minutebook.ask.connection import P, R, StoreConnection
from minutebook.ask.operation import BY_OPERATION, Operation
from minutebook.config import Settings
from minutebook.model.service import until_loaded
from minutebook.record.caller import Call, Caller, with_call
from minutebook.record.errors import InvalidInput, StoreClosed, StoreError
from minutebook.record.origin import Origin


class InProcess(StoreConnection):
    """Runs operations on an app of its own, by way of JSON as over HTTP: arguments are checked, answers are copies."""

    def __init__(self, app: App, caller: Caller, origin: Origin) -> None:
        """Take over an app, which is closed with the connection."""
        super().__init__()
        self._app = app
        session = f"session_{secrets.token_hex(8)}"
        origin = replace(origin, contract=BY_OPERATION)
        call = Call(session=session, origin=origin, progress=until_loaded(app.embedding))
        self._caller = replace(caller, call=call)
        self._numbers = itertools.count(1)
        self._closing = threading.Lock()
        self._is_closed = False
        app.database.acquire(session)

    def _run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        if self._is_closed:
            raise StoreClosed("this memory was closed; open it again")
        request = f"{self._caller.call.session[-8:]}-{next(self._numbers)}"
        caller = with_call(self._caller, request=request, notes={})
        given = operation.as_json(*arguments, **named)
        return operation.read(operation.answer(self._app, caller, given))

    def close(self) -> None:
        """Close the store, once."""
        with self._closing:
            if not self._is_closed:
                self._is_closed = True
                self._app.close()
                self._app.embedding.close()


def open_in_process(settings: Settings, origin: Origin) -> InProcess:
    """Open the store of some settings, which is made if it is missing.

    Raises StoreError if it cannot be opened, InvalidInput if settings do not fit together.
    """
    app = open_app(settings)
    try:
        return InProcess(app, settings.caller(), origin)
    except (InvalidInput, StoreError):
        app.close()
        raise
