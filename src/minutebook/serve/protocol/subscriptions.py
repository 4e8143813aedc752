"""Notify clients when the content of a subscribed resource changes, or the list of resources.

A change by any process shows in the store's sequences. Then the watched resources are read again in
the name of each watcher, who is notified if the content is another.
"""

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import mcp_types as types
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp.shared.exceptions import MCPError

from minutebook.app import App
from minutebook.record.caller import Caller, with_call
from minutebook.record.errors import MinutebookError
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.dispatch import CallJob, Dispatcher, connection_of
from minutebook.serve.limits import WATCHED_RESOURCES

log = logging.getLogger(__name__)

CHECK_EVERY = 1.0
"""Seconds between two checks for changes by other processes."""

NOTIFY_WITHIN = 1.0
"""Seconds in which one client has to take all its notifications, since others wait."""

REST_RATIO = 4.0
"""The pause after a check, as a multiple of the time that the check took."""

LIST = ""
"""Stands for the list of resources among the watched URIs."""

_Context = ServerRequestContext[Any, Any]


@dataclass(eq=False, slots=True)
class _Watcher:
    """A client that watches resources; `shown` has the digest of the content that it last saw, by URI."""

    caller: Caller
    tell: Callable[[str], Awaitable[None]]
    shown: dict[str, str] = field(default_factory=dict)


class Watch:
    """Remembers the resources to which clients subscribed, and notifies the clients when the content changes."""

    def __init__(self, contracts: Sequence[Contract], dispatcher: Dispatcher) -> None:
        self.contracts = list(contracts)
        self._dispatcher = dispatcher
        self._connected: dict[Connection, _Watcher] = {}
        self._watchers: set[_Watcher] = set()
        self._sequences: object = None
        self._woken = anyio.Event()

    @asynccontextmanager
    async def lifespan(self, server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        """Watch for changes as long as the server runs."""
        async with anyio.create_task_group() as group:
            if self.contracts:
                group.start_soon(self._keep_checking)
            yield {}
            group.cancel_scope.cancel()

    def check_now(self) -> None:
        """Check for changes now, not only after CHECK_EVERY."""
        self._woken.set()

    async def subscribe_to_list(self, context: _Context) -> None:
        """Notify a client, which asks for the list of resources, from now on when the list changes."""
        await self._watch(self._watcher_of(context), [LIST])

    async def subscribe(self, uri: str, context: _Context) -> None:
        """Notify a client of handshake revisions from now on when the content of a resource changes."""
        await self._watch(self._watcher_of(context), [uri])

    def unsubscribe(self, uri: str, context: _Context) -> None:
        """Stop notifying a client of a resource."""
        self._watcher_of(context).shown.pop(uri, None)

    async def listen(
        self, context: _Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of notifications to a client of 2026-07-28."""
        wishes = params.notifications
        uris = [
            *(wishes.resource_subscriptions or ()),
            *([LIST] * bool(wishes.resources_list_changed)),
        ]
        if len(uris) > WATCHED_RESOURCES:
            raise _too_many()
        bus = InMemorySubscriptionBus()

        async def tell(uri: str) -> None:
            await bus.publish(ResourcesListChanged() if uri == LIST else ResourceUpdated(uri))

        watcher = _Watcher(self._subscriber(context), tell)
        self._watchers.add(watcher)
        try:
            await self._watch(watcher, uris)
            return await ListenHandler(bus)(context, params)
        finally:
            self._watchers.discard(watcher)

    def _subscriber(self, context: _Context) -> Caller:
        """Return the caller of a request, with another request id: its subscriptions outlive the request."""
        return with_call(self._dispatcher.caller(context), request="watch")

    def _watcher_of(self, context: _Context) -> _Watcher:
        """Return the watcher of a request's connection, which ends with the connection."""
        session, connection = context.session, connection_of(context.session)
        if connection in self._connected:
            return self._connected[connection]

        async def tell(uri: str) -> None:
            if uri == LIST:
                await session.send_resource_list_changed()
            else:
                await session.send_resource_updated(uri)

        watcher = _Watcher(self._subscriber(context), tell)
        if connection.has_standalone_channel:
            self._connected[connection] = watcher
            self._watchers.add(watcher)
            connection.exit_stack.callback(self._leave, connection)
        return watcher

    def _leave(self, connection: Connection) -> None:
        self._watchers.discard(self._connected.pop(connection))

    async def _watch(self, watcher: _Watcher, uris: Iterable[str]) -> None:
        """Add resources to a watcher. Raises MCPError if they are too many."""
        new = [uri for uri in uris if not watcher.shown.get(uri)]
        if watcher not in self._watchers or not new:
            return
        if len(watcher.shown.keys() | set(new)) > WATCHED_RESOURCES:
            raise _too_many()
        # Entered before they are read, so that a request in the meantime counts them.
        watcher.shown |= dict.fromkeys(new, "")
        watcher.shown |= await self._fingerprints(watcher.caller, new)
        # They may have changed while they were read: compare next time whatever the sequences are.
        self._sequences = None
        self.check_now()

    def _is_watched(self) -> bool:
        return any(each.shown for each in self._watchers)

    async def _keep_checking(self) -> None:
        while True:
            with anyio.move_on_after(CHECK_EVERY if self._is_watched() else None):
                await self._woken.wait()
            self._woken = anyio.Event()
            began = anyio.current_time()
            is_changed = self._is_watched() and await self._is_changed()
            changed = await self._compare() if is_changed else {}
            seconds = anyio.current_time() - began
            await _tell_all(changed)
            # A client that watches many changing resources must not take up the server.
            await anyio.sleep(REST_RATIO * seconds)

    async def _is_changed(self) -> bool:
        """Tell whether an organization of a watcher has changed since the last check."""
        sequences: dict[str, int] = {}
        for caller in {each.caller for each in self._watchers}:
            job = CallJob(self.contracts[0], "watch", {}, caller, _read_sequences)
            seen = await self._dispatcher.run_shared(job)
            if not isinstance(seen, Failure):
                sequences |= seen
        before, self._sequences = self._sequences, sequences
        return sequences != before

    async def _compare(self) -> dict[_Watcher, list[str]]:
        """Read the watched resources again; return the URIs of those that have changed, by watcher."""
        changed: dict[_Watcher, list[str]] = {}
        for watcher in list(self._watchers):
            # A resource without a digest is being read for the first time.
            watched = [uri for uri, shown in watcher.shown.items() if shown]
            for uri, now in (await self._fingerprints(watcher.caller, watched)).items():
                if watcher.shown.get(uri, now) != now:
                    watcher.shown[uri] = now
                    changed.setdefault(watcher, []).append(uri)
        return changed

    async def _fingerprints(self, caller: Caller, uris: Iterable[str]) -> dict[str, str]:
        """Return the digests of the contents, or errors, that a client would read now, by URI."""
        found = dict.fromkeys(uris, "")
        for contract in self.contracts:
            own = [
                uri
                for uri, digest in found.items()
                if not digest and (uri == LIST or contract.resource(uri) is not None)
            ]
            job = CallJob(
                contract, "watch", {}, caller, partial(_read, contract=contract, uris=own)
            )
            read = await self._dispatcher.run_shared(job) if own else []
            if not isinstance(read, Failure):
                found.update(zip(own, map(_digest, read), strict=True))
        return found


def _read(app: App, caller: Caller, contract: Contract, uris: Iterable[str]) -> list[str]:
    """Return the contents of resources, or of their list, as a client reads them; errors as their text."""
    return [_read_one(app, caller, contract, uri) for uri in uris]


def _read_one(app: App, caller: Caller, contract: Contract, uri: str) -> str:
    try:
        if uri != LIST:
            return contract.read(app, caller, uri).text
        listed = contract.listing(app, caller)
        return json.dumps([(each["uri"], each["name"]) for each in listed])
    except MinutebookError as error:
        return contract.worded(error, caller, {"uri": uri}).text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


async def _tell_all(changed: Mapping[_Watcher, Sequence[str]]) -> None:
    """Notify the clients, all at the same time."""
    async with anyio.create_task_group() as group:
        for watcher, uris in changed.items():
            group.start_soon(_tell, watcher, uris)


async def _tell(watcher: _Watcher, uris: Sequence[str]) -> None:
    """Notify one client; a client that is gone or does not read must not keep others waiting."""
    try:
        with anyio.move_on_after(NOTIFY_WITHIN):
            for uri in uris:
                await watcher.tell(uri)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        log.debug("a client that watches %s has gone", uris)


def _too_many() -> MCPError:
    reason = f"At most {WATCHED_RESOURCES} resources are watched at once; unsubscribe from some"
    return MCPError(types.INVALID_PARAMS, reason)


def _read_sequences(app: App, caller: Caller) -> dict[str, int]:
    return app.overview.sequences(caller)
