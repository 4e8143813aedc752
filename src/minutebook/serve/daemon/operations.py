"""The services of the daemon for processes of this machine: operations of commands, and requests of features."""

import json
import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from minutebook import __version__
from minutebook.ask.table import operation_named
from minutebook.config import Settings, load
from minutebook.config.whereabouts import at_work
from minutebook.feature import features
from minutebook.model.service import until_loaded
from minutebook.record.caller import Caller, Note, with_call
from minutebook.record.errors import InvalidInput, MinutebookError
from minutebook.record.plain import plain
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.daemon.rendezvous import send_line

log = logging.getLogger(__name__)

Send = Callable[[Mapping[str, Any]], None]


class LeftToClient(Exception):
    """The daemon cannot do a request as the client would, which therefore does it itself; the message says why."""


class ClientLost(Exception):
    """The client that asked is gone: nobody reads the answer."""


@dataclass(frozen=True, slots=True)
class DaemonHost:
    """The parts of the daemon that serving a client needs.

    `check` raises LeftToClient if a client's settings differ from the daemon's. Within `stay` the
    daemon does not end by itself.
    """

    loader: AppLoader
    check: Callable[[Settings], None]
    stay: Callable[[], AbstractContextManager[None]]


def attend(connection: socket.socket, hello: Mapping[str, Any], host: DaemonHost) -> None:
    """Do a client's requests, one after the other, until it leaves.

    `hello` has the fields that `greeting.greet` sends. Raises OSError if the connection fails, ValueError if a
    request is not JSON.
    """

    def send(answer: Mapping[str, Any]) -> None:
        try:
            send_line(connection, answer)
        except OSError as error:
            raise ClientLost from error

    try:
        if hello.get("version") != __version__:
            raise LeftToClient(f"it is of version {__version__}")
        settings = load(hello["given"], hello["variables"], hello["folder"])
        host.check(settings)
        send({"ready": True})
        # A client that did not wait for this does the work itself, and is gone.
        connection.settimeout(None)
        person = settings.person(hello["given"], hello["user"])
        caller = at_work(settings, person, hello["folder"])
        client = DaemonClient(connection, host, settings, caller, send)
        with connection.makefile("rb") as lines:
            for line in lines:
                client.serve(json.loads(line))
    except (LeftToClient, InvalidInput) as reason:
        send({"refused": str(reason)})
    except ClientLost:
        log.debug("a client is gone that asked for something")


@dataclass(slots=True)
class DaemonClient:
    """A process that sends requests, in a caller's name and with settings of its own.

    `on_printed` is called once the process says that it printed the last answer.
    """

    connection: socket.socket
    host: DaemonHost
    settings: Settings
    caller: Caller
    send: Send
    on_printed: Callable[[], None] | None = None

    def serve(self, request: Mapping[str, Any]) -> None:
        """Do one request, and send its result."""
        try:
            match request:
                case {"operation": str(name), "arguments": dict(given)}:
                    self._operate(name, given, reports=request.get("reports") is True)
                case {"printed": True}:
                    # An answer that came too late is not printed, and so not noted as told.
                    if self.on_printed is not None:
                        self.on_printed()
                case _:
                    _feature_act(request)(self, request)
        except MinutebookError as error:
            self.send({**_failure(error), "notes": {}})

    def _operate(self, name: str, given: Mapping[str, Any], *, reports: bool) -> None:
        notes: dict[str, Note] = {}
        app = self.host.loader()
        progress = self._report if reports else until_loaded(app.embedding)
        asks = with_call(self.caller, progress=progress, notes=notes)
        try:
            answer = {"answer": operation_named(name).answer(app, asks, given)}
        except MinutebookError as error:
            answer = _failure(error)
        self.send({**answer, "notes": {name: note.text for name, note in notes.items()}})

    def _report(self, part: float, what: str) -> None:
        self.send({"part": part, "what": what})


def _feature_act(request: Mapping[str, Any]) -> Callable[[DaemonClient, Mapping[str, Any]], None]:
    """Return the function of a feature that does a request, by the field that names it. Raises InvalidInput if there is none."""
    for feature in features():
        for name in request.keys() & feature.daemon_requests.keys():
            act: Callable[[DaemonClient, Mapping[str, Any]], None]
            act = feature.load(feature.daemon_requests[name])
            return act
    raise unknown_request()


def unknown_request() -> InvalidInput:
    """Return the error for a request that the daemon does not know."""
    return InvalidInput("request", "is none that a daemon knows")


def _failure(error: MinutebookError) -> dict[str, Any]:
    return {"error": plain(error), "text": str(error)}
