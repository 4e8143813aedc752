"""The services of the daemon for processes of this machine: operations of commands, hooks, the pages."""

import json
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minutebook import __version__
from minutebook.config import Settings, load
from minutebook.domain.caller import Caller, Note, in_call
from minutebook.domain.error_facts import facts_of
from minutebook.domain.errors import InvalidInput, MinutebookError
from minutebook.domain.plain import plain
from minutebook.embedding.service import until_loaded
from minutebook.operations.table import operation_named
from minutebook.server.app_loader import AppLoader

log = logging.getLogger(__name__)

Send = Callable[[Mapping[str, Any]], None]


class LeftToClient(Exception):
    """The daemon cannot do the request as its client would, so the client does it."""


class ClientLost(Exception):
    """The client that asked is gone: nobody reads the answer."""


@dataclass(frozen=True, slots=True)
class DaemonHost:
    """The parts of the daemon that serve a client.

    `check` raises LeftToClient for settings of a client that are not the daemon's. Within `stay` the
    daemon does not end by itself.
    """

    loader: AppLoader
    check: Callable[[Settings], None]
    stay: Callable[[], AbstractContextManager[None]]


def attend(connection: socket.socket, hello: Mapping[str, Any], host: DaemonHost) -> None:
    """Do a client's requests, one after the other, until it leaves.

    Raises OSError if it is gone before, ValueError if what it says is not in its form.
    """
    given, variables, user = _who(hello)

    def send(answer: Mapping[str, Any]) -> None:
        try:
            connection.sendall(json.dumps(answer).encode() + b"\n")
        except OSError as error:
            raise ClientLost from error

    try:
        if hello.get("version") != __version__:
            raise LeftToClient(f"it is of version {__version__}")
        settings = load(given, variables)
        host.check(settings)
        send({"ready": True})
        # A client that has not waited so long does all by itself, and is gone.
        connection.settimeout(None)
        client = _Client(connection, host, settings, settings.person(given, user), send)
        with connection.makefile("rb") as lines:
            for line in lines:
                client.serve(json.loads(line))
    except (LeftToClient, InvalidInput) as reason:
        send({"refused": str(reason)})
    except ClientLost:
        log.debug("a client is gone that asked for something")


class _Client:
    """A process that asks, in a caller's name and with settings of its own."""

    def __init__(
        self,
        connection: socket.socket,
        host: DaemonHost,
        settings: Settings,
        caller: Caller,
        send: Send,
    ) -> None:
        self._connection, self._host, self._send = connection, host, send
        self._settings, self._caller = settings, caller
        self._note_printed: Callable[[], None] | None = None

    def serve(self, request: Mapping[str, Any]) -> None:
        """Do one request, and send its result."""
        try:
            match request:
                case {"operation": str(name), "arguments": dict(given)}:
                    self._operate(name, given, reports=request.get("reports") is True)
                case {"hook": str(client), "event": dict(fields)}:
                    self._answer_hook(client, fields, request.get("client_folder"))
                case {"printed": True}:
                    # What came too late was printed nowhere, and is not noted.
                    if self._note_printed is not None:
                        self._note_printed()
                case {"pages": dict(wanted)}:
                    self._show_pages(wanted)
                case _:
                    unknown = InvalidInput("request", "is none that a daemon knows")
                    self._send({**_failure(unknown), "notes": {}})
        except MinutebookError as error:
            self._send({**_failure(error), "notes": {}})

    def _operate(self, name: str, given: Mapping[str, Any], *, reports: bool) -> None:
        notes: dict[str, Note] = {}
        app = self._host.loader()
        waits = until_loaded(app.embedding, lambda part: self._send({"preparing": part}))
        progress = self._report if reports else waits
        asks = in_call(self._caller, progress=progress, notes=notes)
        try:
            answer = {"answer": operation_named(name).answer(app, asks, given)}
        except MinutebookError as error:
            answer = _failure(error)
        self._send({**answer, "notes": {name: note.text for name, note in notes.items()}})

    def _report(self, part: float, what: str) -> None:
        self._send({"part": part, "what": what})

    def _answer_hook(self, client: str, fields: Mapping[str, Any], folder: object) -> None:
        from minutebook.features.hooks import answers

        own = Path(folder) if isinstance(folder, str) else None
        said, self._note_printed = answers.answer(
            self._host.loader(), self._settings, client, fields, own
        )
        self._send({"answer": plain(said)})

    def _show_pages(self, wanted: Mapping[str, Any]) -> None:
        from minutebook.features.pages import in_daemon as pages

        with self._host.stay():
            pages.show(
                self._connection,
                self._host.loader,
                self._settings,
                self._caller,
                wanted,
                self._send,
            )


def _failure(error: MinutebookError) -> dict[str, Any]:
    return {"error": facts_of(error), "text": str(error)}


def _who(hello: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str], str]:
    """Return the options, variables and user that a client states. Raises ValueError for another form."""
    given, variables, user = (hello.get(name) for name in ("given", "variables", "user"))
    if (
        isinstance(given, dict)
        and isinstance(variables, dict)
        and isinstance(user, str)
        and all(isinstance(each, str) for each in (*given.values(), *variables.values()))
    ):
        return given, variables, user
    raise ValueError("a client states its options, its variables and its user's name")
