"""Notify clients of changes: subscribed resources that read differently, and the list of them.

A change in this process or another shows in the store's sequences. Then what is watched is read
again, in the name of each who watches it; only who would read something else hears of it.
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

EVERY = 1.0
"""Seconds between two looks for what other processes changed."""

TOLD_WITHIN = 1.0
"""Seconds that one client may take to be told of all that changed, while others wait."""

REST = 4.0
"""Of the time that a look took, how many times as long no other is begun."""

LIST = ""
"""What stands for the list of resources among the URIs that are watched."""

_Context = ServerRequestContext[Any, Any]


@dataclass(eq=False, slots=True)
class _Watcher:
    """A watcher with its resources, and the content shown to it, as digests by URI."""

    caller: Caller
    tell: Callable[[str], Awaitable[None]]
    shown: dict[str, str] = field(default_factory=dict)


class Watch:
    """Remembers the resources that clients read, and notifies them when these would read differently."""

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
                group.start_soon(self._keep_looking)
            yield {}
            group.cancel_scope.cancel()

    def wake(self) -> None:
        """Wake the watcher: look for changes now."""
        self._woken.set()

    async def list_to(self, context: _Context) -> None:
        """Tell a client, which is about to be shown the list of resources, when it changes."""
        await self._note(self._watcher_of(context), [LIST])

    async def subscribe(self, uri: str, context: _Context) -> None:
        """Tell a client of handshake revisions from now on when a resource reads differently."""
        await self._note(self._watcher_of(context), [uri])

    def unsubscribe(self, uri: str, context: _Context) -> None:
        """Stop notifying a client of a resource."""
        self._watcher_of(context).shown.pop(uri, None)

    async def listen(
        self, context: _Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of notifications, as clients of 2026-07-28 ask for it."""
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

        watcher = _Watcher(self._lasting(context), tell)
        self._watchers.add(watcher)
        try:
            await self._note(watcher, uris)
            return await ListenHandler(bus)(context, params)
        finally:
            self._watchers.discard(watcher)

    def _lasting(self, context: _Context) -> Caller:
        """Return the caller that subscribes, without the parts that belong to the request."""
        return with_call(self._dispatcher.caller(context), request="watch")

    def _watcher_of(self, context: _Context) -> _Watcher:
        """Return the subscriptions of a connection, which end with it."""
        session, connection = context.session, connection_of(context.session)
        if connection in self._connected:
            return self._connected[connection]

        async def tell(uri: str) -> None:
            if uri == LIST:
                await session.send_resource_list_changed()
            else:
                await session.send_resource_updated(uri)

        watcher = _Watcher(self._lasting(context), tell)
        if connection.has_standalone_channel:
            self._connected[connection] = watcher
            self._watchers.add(watcher)
            connection.exit_stack.callback(self._leave, connection)
        return watcher

    def _leave(self, connection: Connection) -> None:
        self._watchers.discard(self._connected.pop(connection))

    async def _note(self, watcher: _Watcher, uris: Iterable[str]) -> None:
        new = [uri for uri in uris if not watcher.shown.get(uri)]
        if watcher not in self._watchers or not new:
            return
        if len(watcher.shown.keys() | set(new)) > WATCHED_RESOURCES:
            raise _too_many()
        # Before they are read: what comes meanwhile is to count them.
        watcher.shown |= dict.fromkeys(new, "")
        watcher.shown |= await self._fingerprints(watcher.caller, new)
        # They may have changed while they were read: compare whatever the sequences say.
        self._sequences = None
        self.wake()

    def _is_watched(self) -> bool:
        return any(each.shown for each in self._watchers)

    async def _keep_looking(self) -> None:
        while True:
            with anyio.move_on_after(EVERY if self._is_watched() else None):
                await self._woken.wait()
            self._woken = anyio.Event()
            began = anyio.current_time()
            is_changed = self._is_watched() and await self._is_changed()
            changed = await self._compare() if is_changed else {}
            looked = anyio.current_time() - began
            await _tell_all(changed)
            # Who watches much, and changes it all the time, takes no more than a share of the server.
            await anyio.sleep(REST * looked)

    async def _is_changed(self) -> bool:
        """Tell whether any organization of a watcher has changed since the last look."""
        sequences: dict[str, int] = {}
        for caller in {each.caller for each in self._watchers}:
            job = CallJob(self.contracts[0], "watch", {}, caller, _sequences_of)
            seen = await self._dispatcher.run_shared(job)
            if not isinstance(seen, Failure):
                sequences |= seen
        before, self._sequences = self._sequences, sequences
        return sequences != before

    async def _compare(self) -> dict[_Watcher, list[str]]:
        """Read the watched resources again; return those that would read differently now, by watcher."""
        changed: dict[_Watcher, list[str]] = {}
        for watcher in list(self._watchers):
            # What is being read for the first time is compared the next time.
            watched = [uri for uri, shown in watcher.shown.items() if shown]
            for uri, now in (await self._fingerprints(watcher.caller, watched)).items():
                if watcher.shown.get(uri, now) != now:
                    watcher.shown[uri] = now
                    changed.setdefault(watcher, []).append(uri)
        return changed

    async def _fingerprints(self, caller: Caller, uris: Iterable[str]) -> dict[str, str]:
        """Digest the content that a client would read now, by URI; an unreadable one has a digest too."""
        found = dict.fromkeys(uris, "")
        for contract in self.contracts:
            its = [
                uri
                for uri, digest in found.items()
                if not digest and (uri == LIST or contract.resource(uri) is not None)
            ]
            job = CallJob(
                contract, "watch", {}, caller, partial(_read, contract=contract, uris=its)
            )
            read = await self._dispatcher.run_shared(job) if its else []
            if not isinstance(read, Failure):
                found.update(zip(its, map(_digest, read), strict=True))
        return found


def _read(app: App, caller: Caller, contract: Contract, uris: Iterable[str]) -> list[str]:
    """Read resources, and the list of them, as a client would: in place of one that cannot be read, why."""
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
    """Notify clients, all at once."""
    async with anyio.create_task_group() as group:
        for watcher, uris in changed.items():
            group.start_soon(_tell, watcher, uris)


async def _tell(watcher: _Watcher, uris: Sequence[str]) -> None:
    """Notify one client; a client that has gone, or does not read, keeps no other waiting."""
    try:
        with anyio.move_on_after(TOLD_WITHIN):
            for uri in uris:
                await watcher.tell(uri)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        log.debug("a client that watches %s has gone", uris)


def _too_many() -> MCPError:
    reason = f"At most {WATCHED_RESOURCES} resources are watched at once; unsubscribe from some"
    return MCPError(types.INVALID_PARAMS, reason)


def _sequences_of(app: App, caller: Caller) -> dict[str, int]:
    return app.overview.sequences(caller)
