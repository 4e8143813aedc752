"""The store of a command: on a server, in the daemon, or opened by this process."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from minutebook import __version__
from minutebook.cli.printing import warn
from minutebook.record.caller import Caller, FolderScope, with_call
from minutebook.record.errors import EmbeddingError, InvalidInput, StoreError
from minutebook.record.origin import Origin
from minutebook.serve.invocation import TOKEN_VARIABLE, Invocation, environment, working_directory

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from minutebook.app import App
    from minutebook.ask.connection import StoreConnection
    from minutebook.ask.over_http import OverHttp
    from minutebook.ask.over_socket import OverSocket
    from minutebook.config import Settings

    OpenHere = Callable[[dict[str, str]], AbstractContextManager[tuple[App, Caller]]]

TIMEOUT = 300.0
"""Seconds that an operation on a server may take; summarizing long sessions takes minutes."""

SERVER, CONNECTION = "minutebook.serve", "minutebook.connection"
"""The keys in click's `meta` of the server of `--url`, and of the command's StoreConnection."""


@dataclass(frozen=True, slots=True)
class Server:
    """The server of `--url`, and the variable that has its token."""

    url: str
    token_variable: str = TOKEN_VARIABLE

    @property
    def token(self) -> str | None:
        """The token, if its variable has one."""
        return environment().get(self.token_variable) or None


def server_named() -> Server | None:
    """Return the server of `--url`; None if it was not given."""
    context = click.get_current_context(silent=True)
    server: Server | None = None if context is None else context.meta.get(SERVER)
    return server


def connected_to(server: Server) -> "OverHttp":
    """Return the connection to a server. Raises InvalidInput for an invalid address or token."""
    from minutebook.ask.over_http import OverHttp

    origin = Origin(client="minutebook", version=__version__)
    return OverHttp(server.url, server.token, TIMEOUT, origin)


def _on_server(server: Server) -> "StoreConnection":
    """Return the connection to the server of `--url`. Raises UsageError for an invalid address, token or variable."""
    if server.token is None and server.token_variable != TOKEN_VARIABLE:
        raise click.UsageError(f"--token-env names {server.token_variable}, which is empty")
    try:
        return connected_to(server)
    except InvalidInput as error:
        raise click.UsageError(str(error)) from error


def daemon_of(
    options: dict[str, str], fallback: "Callable[[], StoreConnection] | None" = None
) -> "OverSocket | None":
    """Return the connection to the daemon; None if it is off, not ready, or has other settings.

    `fallback` opens another connection, for operations that only read, if the daemon ends.
    """
    from minutebook.ask.over_socket import connect

    invocation = Invocation(options, (), environment())
    return connect(invocation, fallback) if invocation.wants_daemon else None


def start_daemon(options: dict[str, str]) -> None:
    """Start the daemon of a store unless it runs, and wait until it listens. Raises ClickException if it cannot start."""
    from minutebook.serve.daemon import client
    from minutebook.serve.daemon.rendezvous import daemon_address

    invocation = Invocation(options, (), environment())
    try:
        client.start(invocation, daemon_address(invocation.address))
    except (client.NoDaemon, OSError) as error:
        raise click.ClickException(f"no daemon could be started: {error}") from error


@contextmanager
def opened(options: dict[str, str]) -> Iterator["StoreConnection"]:
    """Connect to the store for the person at the keyboard, with system scope open to them.

    Operations run on the server of `--url`, in the daemon if it is ready, or in this process. Raises StoreError
    if there is no store: a mistyped folder must not get one.
    """
    with _connected(options, opened_here) as api:
        yield api


@contextmanager
def opened_or_made(options: dict[str, str]) -> Iterator["StoreConnection"]:
    """Connect to the store as `opened` does, but make it if it is missing: for commands that bring something in."""
    with _connected(options, made_here) as api:
        yield api


@contextmanager
def opened_if_begun(options: dict[str, str]) -> Iterator["StoreConnection | None"]:
    """Connect to the store as `opened` does, but yield None if there is no store."""
    if server_named() is None and not is_begun(settings_of(options)):
        yield None
        return
    with opened(options) as api:
        yield api


@contextmanager
def _connected(options: dict[str, str], open_here: "OpenHere") -> Iterator["StoreConnection"]:
    with ExitStack() as stack:

        def in_process() -> "StoreConnection":
            from minutebook.ask.opening import OnApp

            return OnApp(*stack.enter_context(open_here(options)))

        api: StoreConnection | None
        if (server := server_named()) is not None:
            api = _on_server(server)
        elif (api := daemon_of(options, in_process)) is None:
            api = in_process()
        stack.callback(api.close)
        click.get_current_context().meta[CONNECTION] = api
        yield api
        warn(*filter(None, api.notes.values()))


@contextmanager
def opened_here(options: dict[str, str]) -> Iterator[tuple["App", Caller]]:
    """Open the store in this process; yield the app and the person at the keyboard as its caller.

    The model is loaded when it is first needed. Raises StoreError if there is no store.
    """
    check_begun(settings_of(options))
    with made_here(options) as found:
        yield found


@contextmanager
def made_here(options: dict[str, str]) -> Iterator[tuple["App", Caller]]:
    """Open the store in this process as `opened_here` does, but make it if it is missing."""
    import getpass

    from minutebook.app import open_app
    from minutebook.config.whereabouts import at_work
    from minutebook.model.service import until_loaded
    from minutebook.serve.logs import log_to_stderr

    settings = settings_of(options)
    log_to_stderr(settings)
    with ExitStack() as stack:
        app = stack.enter_context(closing(open_app(settings, or_reads=True)))
        stack.callback(app.embedding.close)
        caller = at_work(settings, settings.person(options, getpass.getuser()), working_directory())
        caller = with_call(caller, progress=until_loaded(app.embedding))
        yield app, caller
        warn(*(note.text for note in caller.call.notes.values() if note.text))
        if app.embeddings.is_notified and not app.embedding.is_off:
            _embed_new_texts(app)


def settings_of(options: dict[str, str]) -> "Settings":
    """Return the settings of a command's options. Raises InvalidInput if a value does not fit."""
    from minutebook.config import load

    return load(options)


def is_begun(settings: "Settings") -> bool:
    """Tell whether there is a store. Raises StoreError if there was one that is lost."""
    if settings.store is not None or settings.database.exists():
        return True
    from minutebook.config.stores import check_not_lost

    check_not_lost(settings)
    return False


def check_begun(settings: "Settings") -> None:
    """Raise StoreError, with how to begin, if there is no store in the data directory."""
    if not is_begun(settings):
        raise StoreError(
            "there is no store in {home}; `minutebook remember` begins one, and so does an agent after "
            "`minutebook install`; if another was meant, name it with --home",
            home=settings.home,
        )


def scope_here(options: dict[str, str]) -> FolderScope | None:
    """Return the scope of the folder in which the command was typed; None if folders do not determine the scope.

    With `--url` they do not: the token does.
    """
    invocation = Invocation(options, (), environment())
    # Not by the settings: every search would wait for their import.
    if server_named() is not None or invocation.value("scope_from_folder", "off") == "off":
        return None
    from minutebook.config.whereabouts import folder_scope

    return folder_scope(settings_of(options), Path.cwd())


def _embed_new_texts(app: "App") -> None:
    """Embed a first batch of this command's texts; the rest of a long import is left to the next server."""
    app.embedding.settle()
    try:
        app.embeddings.backfill_batch()
    except EmbeddingError as error:
        warn(f"Kept, and found by words only until the embedding model can be used: {error}")
