"""Serve over stdin and stdout: one client, protocol on stdout and nothing else."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

from minutebook.app import App
from minutebook.config import Settings, load
from minutebook.feature import Event
from minutebook.record.caller import Caller, with_call
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.contracts.announced import safe_name
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.registry import open_contracts
from minutebook.serve.dispatch import Dispatcher, new_session
from minutebook.serve.invocation import Invocation, working_directory
from minutebook.serve.logs import log_to_stderr
from minutebook.serve.stdio.proxy import DaemonLink, Proxy, own_pipes
from minutebook.serve.stdio.transport import ConnectionService, serve_on
from minutebook.serve.stdio.whereabouts import Whereabouts

_LAST_WORDS = 5.0
"""Seconds that a server which failed may take to write its stack."""


class InProcessServer:
    """Serves contracts in threads of this process. Raises InvalidInput if settings do not fit together."""

    def __init__(self, settings: Settings, contracts: Sequence[Contract]) -> None:
        self._settings = settings
        self._contracts = contracts
        self._loader = AppLoader(settings)
        self._server: threading.Thread | None = None

    def link(self, session: str = "") -> DaemonLink:
        """Start a server and return the link to it; `session` names the session to continue, if any."""
        client_end, server_end = socket.socketpair()
        caller = with_call(self._settings.caller(), session=session or new_session())
        server = connection_server(
            self._settings, self._contracts, self._loader, caller, working_directory()
        )
        work = (server_end, server, self._loader.start)
        self._server = threading.Thread(target=serve_on, args=work, name="server", daemon=True)
        self._server.start()
        return DaemonLink(client_end, reading_tools(self._contracts), caller.call.session)

    def lost(self) -> NoReturn:
        """End the process: its server has ended although its client has not."""
        if self._server is not None:
            # Its connection closes before the stack of its failure is written.
            self._server.join(_LAST_WORDS)
        sys.stderr.write("minutebook: the server ended unexpectedly; see above\n")
        self.end(1)

    def end(self, status: int = 0) -> NoReturn:
        """End the process at once: a transaction under way is finished or undone by its own rules.

        Threads that load a model or wait on stdin would hold up an ordinary exit.
        """
        self._loader.close()
        sys.stderr.flush()
        os._exit(status)


def in_process(invocation: Invocation) -> InProcessServer:
    """Serve an invocation in this process.

    Raises InvalidInput if its settings or contracts do not fit.
    """
    settings = load(invocation.given, invocation.variables, invocation.folder)
    log_to_stderr(settings)
    contracts = open_contracts(
        invocation.contracts,
        read_only=settings.read_only,
        tools=settings.tools,
        answers=settings.answers,
    )
    return InProcessServer(settings, contracts)


def serve(settings: Settings, contracts: Sequence[Contract]) -> None:
    """Serve contracts in this process until stdin closes or a signal comes, then end it.

    Raises InvalidInput, before anything is served, if settings do not fit together.
    """
    server = InProcessServer(settings, contracts)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, lambda signum, frame: server.end())
    stdin, stdout = own_pipes()
    Proxy(server.link(), lambda is_awaited: server.lost(), stdin, stdout).run()
    server.end()


def connection_server(
    settings: Settings,
    contracts: Sequence[Contract],
    loader: AppLoader,
    caller: Caller,
    folder: str = "",
) -> ConnectionService:
    """Return the service of a connection on which all requests are one caller's.

    `folder` is the client's working directory, empty if it has none.
    """

    def open_app() -> App:
        app = loader()
        app.tell(Event.CONNECT, caller, folder)
        return app

    whereabouts = Whereabouts(settings, caller, folder)
    dispatcher = Dispatcher(open_app, whereabouts.caller, locate=whereabouts.locate)
    return ConnectionService(whereabouts, contracts, dispatcher, settings.tool_names == "safe")


def reading_tools(contracts: Sequence[Contract]) -> frozenset[str]:
    """Return the names of the tools that only read, in both spellings."""
    names = {
        tool.name
        for contract in contracts
        for tool in contract.tools.values()
        if tool.is_listed and tool.promise["annotations"]["readOnlyHint"]
    }
    return frozenset(names | {safe_name(name) for name in names})
