"""Open a memory: a store in this process, or a server's."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from minutebook import __version__
from minutebook.ask.client import Minutebook
from minutebook.ask.connection import P, R, StoreConnection
from minutebook.ask.operation import Operation
from minutebook.record.caller import Caller, Note, no_progress, with_call
from minutebook.record.errors import InvalidInput
from minutebook.record.origin import Origin, as_client

if TYPE_CHECKING:
    from minutebook.app import App


class OnApp(StoreConnection):
    """Runs operations on an app that the opener keeps, in a caller's name."""

    def __init__(self, app: "App", caller: Caller) -> None:
        super().__init__()
        self._app, self._caller = app, caller

    def _run(self, operation: Operation[P, R], *arguments: P.args, **named: P.kwargs) -> R:
        notes: dict[str, Note] = {}
        progress = self._progress
        if progress is no_progress:
            from minutebook.model.service import until_loaded

            progress = until_loaded(self._app.embedding)
        try:
            caller = with_call(self._caller, notes=notes, progress=progress)
            return operation.act(self._app, caller, *arguments, **named)
        finally:
            self.notes |= {name: note.text for name, note in notes.items()}

    def close(self) -> None:
        """Leave the app open: its opener closes it."""


PROGRAM = "minutebook-python"
"""The program's name in provenance if it gives none."""

TIMEOUT = 60.0
"""Seconds that a call to a server may take by default."""


def open_memory(
    home: str | os.PathLike[str] | None = None,
    *,
    url: str | None = None,
    token: str | None = None,
    organization: str | None = None,
    repository: str | None = None,
    user: str | None = None,
    agent: str | None = None,
    client: str = PROGRAM,
    timeout: float = TIMEOUT,
) -> Minutebook:
    """Open a memory in this process, or with `url` that of a server.

    In this process, `home` is the data directory, which is made if it is missing; values that are not given come from
    the settings, as on the command line. All calls are bound to `organization`, `repository` and `user`, and `agent`
    is their author. With `url` the token determines these; `timeout` is in seconds. `client` names the program
    in provenance.

    Raises InvalidInput if a value does not fit, StoreError if the store cannot be opened.
    """
    origin = Origin(client=as_client(client), version=__version__ if client == PROGRAM else "")
    identity = {
        "organization": organization,
        "repository": repository,
        "user": user,
        "agent": agent,
    }
    given = {name: value for name, value in identity.items() if value is not None}
    if url is None:
        if token is not None:
            raise InvalidInput("token", "must be left out without url: this process needs none")
        return Minutebook(_in_process(home, given, origin))
    if home is not None:
        raise InvalidInput("home", "must be left out with url: the server has its own")
    for name in given:
        raise InvalidInput(name, "must be left out with url: the token says it")
    from minutebook.ask.over_http import OverHttp

    return Minutebook(OverHttp(url, token, timeout, origin))


def _in_process(
    home: str | os.PathLike[str] | None, given: dict[str, str], origin: Origin
) -> StoreConnection:
    from minutebook.ask.in_process import open_in_process
    from minutebook.config import load

    if home is not None:
        given = {**given, "home": str(Path(home).expanduser().absolute())}
    return open_in_process(load(given), origin)
