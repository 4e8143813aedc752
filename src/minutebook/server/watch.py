"""Tell clients what changed: subscribed resources that read differently, and the list of them.

A change in this process or another shows in the store's sequences. Then what is watched is read
again; only who would read something else hears of it.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.session import ServerSession
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)

from minutebook.app import App
from minutebook.contracts.answers import Failure
from minutebook.contracts.contract import Contract
from minutebook.domain.policy import Caller
from minutebook.server.worker import Worker

EVERY = 1.0
"""Seconds between two looks for what other processes changed."""

LIST = ""
"""What stands for the list of resources among the URIs that are watched."""


class Watch:
    """Remembers what clients were shown, and tells them when it is no longer so."""

    def __init__(self, contracts: Sequence[Contract], worker: Worker) -> None:
        self.contracts = list(contracts)
        self._worker = worker
        self._bus = InMemorySubscriptionBus()
        self._handler = ListenHandler(self._bus)
        self._shown: dict[str, str] = {}
        self._subscribed: dict[str, ServerSession] = {}
        self._session: ServerSession | None = None
        self._listening: list[str] = []
        self._sequences: object = None
        self._woken = anyio.Event()

    @asynccontextmanager
    async def lifespan(self, server: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        """Look for changes as long as the server runs."""
        async with anyio.create_task_group() as group:
            if self.contracts:
                group.start_soon(self._keep_looking)
            yield {}
            group.cancel_scope.cancel()

    def wake(self) -> None:
        """Look for changes now."""
        self._woken.set()

    async def list_to(self, session: ServerSession) -> None:
        """Tell a session, which is about to be shown the list of resources, when it changes."""
        self._session = session
        await self._note(LIST)

    async def subscribe(self, uri: str, session: ServerSession) -> None:
        """Tell a session from now on when a resource reads differently."""
        self._subscribed[uri] = session
        await self._note(uri)

    def unsubscribe(self, uri: str) -> None:
        """Tell no more."""
        self._subscribed.pop(uri, None)
        self._forget(uri)

    async def listen(
        self,
        context: ServerRequestContext[Any, Any],
        params: types.SubscriptionsListenRequestParams,
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of notifications, as clients of 2026-07-28 ask for it."""
        asked = params.notifications
        uris = [
            *(asked.resource_subscriptions or ()),
            *([LIST] * bool(asked.resources_list_changed)),
        ]
        self._listening += uris
        try:
            for uri in uris:
                await self._note(uri)
            return await self._handler(context, params)
        finally:
            for uri in uris:
                self._listening.remove(uri)
                self._forget(uri)

    async def _note(self, uri: str) -> None:
        if uri not in self._shown:
            self._shown[uri] = await self._fingerprint(uri)
            # It may have changed while it was read: compare whatever the sequences say.
            self._sequences = None
            self.wake()

    def _forget(self, uri: str) -> None:
        if uri != LIST and uri not in self._subscribed and uri not in self._listening:
            self._shown.pop(uri, None)

    async def _keep_looking(self) -> None:
        while True:
            with anyio.move_on_after(EVERY if self._shown else None):
                await self._woken.wait()
            self._woken = anyio.Event()
            if not self._shown:
                continue
            sequences = await self._worker.do(
                self.contracts[0], "watch", {}, "watch", _sequences_of
            )
            if sequences != self._sequences:
                self._sequences = sequences
                for uri in list(self._shown):
                    await self._compare(uri)

    async def _compare(self, uri: str) -> None:
        now = await self._fingerprint(uri)
        if self._shown.get(uri, now) == now:
            return
        self._shown[uri] = now
        if uri == LIST:
            await self._bus.publish(ResourcesListChanged())
            if self._session is not None:
                await self._session.send_resource_list_changed()
        else:
            await self._bus.publish(ResourceUpdated(uri))
            if uri in self._subscribed:
                await self._subscribed[uri].send_resource_updated(uri)

    async def _fingerprint(self, uri: str) -> str:
        """Digest what a client would read now; what cannot be read has a digest too."""
        for contract in self.contracts:
            if uri == LIST or contract.resource(uri) is not None:

                def reading(app: App, caller: Caller, contract: Contract = contract) -> str:
                    if uri != LIST:
                        return contract.read(app, caller, uri).text
                    listed = contract.listing(app, caller)
                    return json.dumps([(each["uri"], each["name"]) for each in listed])

                text = await self._worker.do(contract, "watch", {"uri": uri}, "watch", reading)
                told = text.text if isinstance(text, Failure) else text
                return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
        return ""


def _sequences_of(app: App, caller: Caller) -> dict[str, int]:
    return app.overview.sequences(caller)
