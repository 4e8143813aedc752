"""New entries of the trail, sent to viewers of *Activity* as they happen (server-sent events)."""

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import anyio
from starlette.requests import Request

from minutebook.app import App
from minutebook.features.pages.frame.catalogue import spoken
from minutebook.features.pages.frame.host import Host
from minutebook.features.pages.frame.rendering import environment
from minutebook.features.pages.views.activity import conditions_of, ends_of, mark_of, with_subjects
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError
from minutebook.record.records import Entry, Record

CHECK_EVERY = 1.0
"""Seconds between two checks of the trails' ends, for all viewers together."""

BEAT = 15.0
"""Seconds after which something is sent in any case, to find out whether the viewer is still there."""

MOST_AT_ONCE = 100
"""The most entries in one event; if there are more, the page says that it shows a part."""

MOST_CACHED = 50
"""Events that are cached for other viewers."""


class Live:
    """Sends new entries to viewers; the trails' ends are read once a second for all viewers."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = anyio.Lock()
        self._ends: dict[str | None, tuple[float, dict[str, int]]] = {}
        self._events: dict[object, str] = {}

    async def begin(self, request: Request, caller: Caller) -> AsyncIterator[str]:
        """Return the events that an address asks for.

        Raises Forbidden for callers that see only a part of an organization, InvalidInput for invalid filters or marks.
        """
        query = request.query_params
        mark = request.headers.get("last-event-id") or query.get("after", "")
        conditions_of(query)
        ends_of(mark)
        # A caller that may not read the trail gets the error before the stream begins.
        await self._host.run(request, "live", caller, lambda app, caller: app.trail.ends(caller))
        return self.events(caller, query, mark)

    async def events(
        self, caller: Caller, query: Mapping[str, str], mark: str
    ) -> AsyncIterator[str]:
        """Yield the events of entries that fit the filters of an address, from a mark in the trails on.

        Ends when the trail cannot be read. Before the first event it raises Forbidden for callers that see only a part of
        an organization, InvalidInput for invalid filters or marks.
        """
        conditions, ends = conditions_of(query), ends_of(mark)
        if not ends:
            ends = await self._ends_of(caller)
        yield "retry: 3000\n\n"
        sent = time.monotonic()
        while True:
            try:
                now = await self._ends_of(caller)
                if now != ends:
                    event = await self._event(caller, conditions, ends, now)
                    ends = now
                    yield event
                    sent = time.monotonic()
            except MinutebookError:
                return
            if time.monotonic() - sent >= BEAT:
                sent = time.monotonic()
                yield ": still here\n\n"
            await anyio.sleep(CHECK_EVERY)

    async def _ends_of(self, caller: Caller) -> dict[str, int]:
        """Return the ends of the trails of the caller's organizations, which are cached for half of CHECK_EVERY."""
        async with self._lock:
            at, ends = self._ends.get(caller.organization, (-CHECK_EVERY, {}))
            now = time.monotonic()
            if now - at >= CHECK_EVERY / 2:
                ends = await self._host.run_shared(
                    caller, lambda app, caller: app.trail.ends(caller)
                )
                self._ends = {key: e for key, e in self._ends.items() if now - e[0] < BEAT}
                self._ends[caller.organization] = now, ends
            return ends

    async def _event(
        self,
        caller: Caller,
        conditions: Mapping[str, Any],
        since: Mapping[str, int],
        until: Mapping[str, int],
    ) -> str:
        """Return the event with the entries between two ends; viewers with the same filters share it."""
        # A caller that may read a trail may read all of it, so that the organization determines the entries.
        seen = caller.organization, spoken().code, *sorted(map(str, conditions.items()))
        key = (*seen, mark_of(since), mark_of(until))

        def task(app: App, caller: Caller) -> list[tuple[Entry, str, Record | None]]:
            limit = MOST_AT_ONCE + 1
            found = app.trail.entries(caller, limit=limit, after=since, **conditions)
            return with_subjects(app, caller, found)

        async with self._lock:
            if key not in self._events or not mark_of(since):
                found = await self._host.run_shared(caller, task)
                self._events = dict([*self._events.items()][1 - MOST_CACHED :])
                self._events[key] = _event(found, mark_of(until))
            return self._events[key]


def _event(entries: Sequence[tuple[Entry, str, Record | None]], mark: str) -> str:
    """Return the event with entries, the newest first; its id is the mark after them."""
    parts: Any = environment().get_template("parts.html").module
    shown = entries[:MOST_AT_ONCE]
    data = [f"data: {' '.join(str(parts.entry(*each)).split())}\n" for each in shown]
    kind = "cut" if len(entries) > len(shown) else "message"
    # An event without data moves the mark alone: browsers note its id and run nothing.
    return f"event: {kind}\nid: {mark}\n{''.join(data)}\n"
