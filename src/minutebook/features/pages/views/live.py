"""Activity as it happens: new entries of the trail, sent to whoever watches (server-sent events)."""

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

EVERY = 1.0
"""Seconds between two looks at where the trails end, whoever watches."""

BEAT = 15.0
"""Seconds after which something is sent in any case, so that a viewer who has gone is found out."""

MOST_AT_ONCE = 100
"""Entries that one look sends; if there are more, the page says that it shows a part."""

MOST_SAID = 50
"""Events that are remembered, for viewers who come to them later."""


class Live:
    """Tells viewers of new entries: the trails' ends are looked at once a second for all of them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = anyio.Lock()
        self._ends: dict[str | None, tuple[float, dict[str, int]]] = {}
        self._said: dict[object, str] = {}

    async def begin(self, request: Request, caller: Caller) -> AsyncIterator[str]:
        """Begin to send the events that an address asks for.

        Raises Forbidden to those who see a part of an organization, InvalidInput if filters or the mark
        cannot be read.
        """
        query = request.query_params
        mark = request.headers.get("last-event-id") or query.get("after", "")
        conditions_of(query)
        ends_of(mark)
        # Who may not read the trail is told so before anything is sent.
        await self._host.run(request, "live", caller, lambda app, caller: app.trail.ends(caller))
        return self.events(caller, query, mark)

    async def events(
        self, caller: Caller, query: Mapping[str, str], mark: str
    ) -> AsyncIterator[str]:
        """Yield events for entries that fit the filters of an address, from a mark in the trails on.

        Ends when the trail cannot be read. Raises Forbidden before the first event to those who see
        a part of an organization, InvalidInput if filters or the mark cannot be read.
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
            await anyio.sleep(EVERY)

    async def _ends_of(self, caller: Caller) -> dict[str, int]:
        """Return where the trails of the caller's organizations end, as of a second ago at most."""
        async with self._lock:
            at, ends = self._ends.get(caller.organization, (-EVERY, {}))
            now = time.monotonic()
            if now - at >= EVERY / 2:
                ends = await self._host.look(caller, lambda app, caller: app.trail.ends(caller))
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
        """Return the event of the changes between two marks; all watchers of the same share one."""
        # Who may read a trail reads all of it, so the organization tells what may be seen.
        seen = caller.organization, spoken().code, *sorted(map(str, conditions.items()))
        key = (*seen, mark_of(since), mark_of(until))

        def task(app: App, caller: Caller) -> list[tuple[Entry, str, Record | None]]:
            limit = MOST_AT_ONCE + 1
            found = app.trail.entries(caller, limit=limit, after=since, **conditions)
            return with_subjects(app, caller, found)

        async with self._lock:
            if key not in self._said or not mark_of(since):
                found = await self._host.look(caller, task)
                self._said = dict([*self._said.items()][1 - MOST_SAID :])
                self._said[key] = _event(found, mark_of(until))
            return self._said[key]


def _event(entries: Sequence[tuple[Entry, str, Record | None]], mark: str) -> str:
    """Write entries, newest first, as one event; its id is the mark up to which they reach."""
    parts: Any = environment().get_template("parts.html").module
    shown = entries[:MOST_AT_ONCE]
    data = [f"data: {' '.join(str(parts.entry(*each)).split())}\n" for each in shown]
    kind = "cut" if len(entries) > len(shown) else "message"
    # An event without data moves the mark alone: browsers note its id and run nothing.
    return f"event: {kind}\nid: {mark}\n{''.join(data)}\n"
