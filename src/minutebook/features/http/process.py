"""The process that serves HTTP: from the socket to its end."""

import logging
import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import FrameType
from typing import NoReturn
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import uvicorn

from minutebook import __version__
from minutebook.config import Settings
from minutebook.features.http.application import application
from minutebook.features.http.mounts import Mount
from minutebook.features.http.requests.authentication import Authenticator
from minutebook.features.http.requests.hosts import Address, AllowedHosts
from minutebook.features.http.settings import HttpSettings
from minutebook.record.errors import InvalidInput
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.limits import CONNECTIONS

log = logging.getLogger(__name__)

IDLE = 60
"""Seconds between two requests after which a connection is closed."""

SWITCH_SECONDS = 0.0005
"""Seconds after which a thread lets another run Python (`sys.setswitchinterval`). A search releases the interpreter at
each call of SQLite, and waits this long for each working thread to get it back; Python's default is 0.005."""

ACCEPTED_AT_ONCE = 4
"""Connections that are accepted before requests over the others are read; asyncio takes it from the backlog."""

WAITING_CONNECTIONS = 256
"""Connections that wait to be accepted."""

ENDS_WITHIN = 0.9
"""Seconds after a signal at which the process ends, even with requests under way."""


def of_this_machine(settings: Settings) -> Settings:
    """Return the settings without a public URL, by which a mount is served to this machine only."""
    return replace(settings.of(HttpSettings), public_url=None)


def serve(
    settings: Settings,
    contracts: Mapping[str, Contract],
    address: Address,
    announce: Callable[[str], None],
    mounts: Sequence[Mount] = (),
) -> None:
    """Serve contracts at an address until a signal comes, then end the process.

    `announce` is called with the server's URL. Raises InvalidInput if the address cannot be used, by a mount or at all,
    or if others can reach it and no token exists, StoreError if the store cannot be opened.
    """
    for each in mounts:
        each.check(settings, address)
    loader = AppLoader(settings)
    authenticator = Authenticator(settings, loader)
    names = _allowed_hosts(settings, address)
    _check_is_guarded(address, authenticator)
    listener = listen(address)
    traces_url = settings.of(HttpSettings).traces_url
    flush = None if traces_url is None else trace_to(traces_url)
    loader.start()
    sys.setswitchinterval(SWITCH_SECONDS)

    end = partial(_end, loader, flush)
    announce(f"http://{_bound_address(address, listener)}")

    async def run() -> None:
        leaving = anyio.Event()
        app = application(settings, loader, contracts, authenticator, names, leaving, mounts)
        await _HttpServer(_config(app), leaving, end).serve(sockets=[listener])

    anyio.run(run)
    end()


def _end(loader: AppLoader, flush: Callable[[], object] | None) -> NoReturn:
    """End the process at once; the engine completes or undoes a transaction under way."""
    loader.close()
    if flush is not None:
        flush()
    sys.stderr.flush()
    os._exit(0)


def serve_alone(
    settings: Settings,
    loader: AppLoader,
    address: Address,
    announce: Callable[[str], None],
    mount: Mount,
    wait: Callable[[], None],
) -> None:
    """Serve only a mount at an address of this machine, on an app that others use too, until `wait` returns.

    Runs in a thread of the daemon. Raises InvalidInput if the address cannot be used.
    """
    authenticator = Authenticator(settings, loader)
    names = _allowed_hosts(settings, address)
    with listen(address) as listener:
        announce(f"http://{_bound_address(address, listener)}")

        async def run() -> None:
            leaving = anyio.Event()
            app = application(settings, loader, {}, authenticator, names, leaving, [mount])
            server = _Listening(_config(app))
            async with anyio.create_task_group() as group:
                group.start_soon(partial(server.serve, sockets=[listener]))
                await anyio.to_thread.run_sync(wait)
                leaving.set()
                server.should_exit = True

        anyio.run(run)


def _check_is_guarded(address: Address, authenticator: Authenticator) -> None:
    if not address.is_loopback and not authenticator.is_required():
        raise InvalidInput(
            "http",
            "= {address} can be reached by others, and no token exists that would keep them out; make one with "
            "`minutebook token create`, or serve at 127.0.0.1",
            address=address,
        )


class _Listening(uvicorn.Server):
    """Accepts ACCEPTED_AT_ONCE connections at a time, of WAITING_CONNECTIONS that may wait."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to accept connections."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(WAITING_CONNECTIONS)


class _HttpServer(_Listening):
    """Sets `leaving` when a signal comes, and calls `end` ENDS_WITHIN seconds later, even with requests under way."""

    def __init__(
        self, config: uvicorn.Config, leaving: anyio.Event, end: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._leaving = leaving
        self._end = end

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; unlike uvicorn's, this does not raise the signal again at the end."""
        if not self.should_exit:
            self.should_exit = True
            self._leaving.set()
            timer = threading.Timer(ENDS_WITHIN, self._end)
            timer.daemon = True
            timer.start()


def _config(app: object) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http="h11",
        limit_concurrency=CONNECTIONS,
        backlog=ACCEPTED_AT_ONCE,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=1,
    )


def listen(address: Address) -> socket.socket:
    """Return a socket that listens at an address, with TCP_NODELAY.

    Raises InvalidInput if the address cannot be used.
    """
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        listener = socket.create_server((address.host, address.port), family=family)
        # asyncio sets it on sockets that it makes itself; without it each answer waits 40 ms.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "= {address} cannot be listened at: {reason}; choose another address or port"
        raise InvalidInput("http", remedy, address=address, reason=reason) from error


def _bound_address(address: Address, listener: socket.socket) -> Address:
    """Return the address with the port that the system chose for port 0."""
    return Address(address.host, listener.getsockname()[1])


def _allowed_hosts(settings: Settings, address: Address) -> AllowedHosts:
    """Return the host names and the origins that are allowed."""
    own = settings.of(HttpSettings)
    hosts, origins = {*own.http_hosts, address.host}, {*own.http_origins}
    if own.public_url is not None:
        public = urlsplit(own.public_url)
        hosts.add(public.hostname or "")
        origins.add(f"{public.scheme}://{public.netloc}")
    return AllowedHosts({host.lower() for host in hosts}, origins, address.is_loopback)


FLUSHED_WITHIN = 300
"""Milliseconds that sending the last spans may take at the end."""


def trace_to(url: str) -> Callable[[], object]:
    """Send spans to the collector at a URL (OTLP over HTTP); return the function that flushes them.

    Raises InvalidInput if the library for it is not installed.
    """
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        remedy = "needs a library that is not there: pip install 'minutebook[traces]' ({error})"
        raise InvalidInput("traces_url", remedy, error=error) from error
    from opentelemetry.trace import set_tracer_provider

    about = Resource.create({"service.name": "minutebook", "service.version": __version__})
    provider = TracerProvider(resource=about)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=url)))
    set_tracer_provider(provider)
    return partial(provider.force_flush, FLUSHED_WITHIN)
