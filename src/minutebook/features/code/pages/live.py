"""The progress of indices, sent as it changes to every browser that shows the projects (server-sent events)."""

import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import anyio
from starlette.requests import Request

from minutebook.app import App
from minutebook.features.code.pages.projects import projects_part
from minutebook.features.code.reading import CodeReading
from minutebook.features.pages.frame.catalogue import PageLanguage, speaking, spoken
from minutebook.features.pages.frame.host import Host
from minutebook.features.pages.views.live import BEAT, CHECK_EVERY
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError
from minutebook.record.records import IndexState

Audience = tuple[str | None, frozenset[str] | None, str | None, PageLanguage]
"""Organization, repositories, user and language: viewers with the same ones are shown the same."""


@dataclass(frozen=True, slots=True)
class _Look:
    """The projects as markup at a time (seconds), with a digest `state` of it.

    `mark` differs once something has changed in the store; while an index is being made it equals no other.
    """

    at: float
    mark: object
    data: str
    state: str


class LiveProjects:
    """Sends the progress of indices to viewers; one reading of the store each second serves all with the same rights."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = anyio.Lock()
        self._looks: dict[Audience, _Look] = {}

    async def begin(self, request: Request, caller: Caller) -> AsyncIterator[str]:
        """Return the events for a browser, which names the state that it shows already."""
        state = request.headers.get("last-event-id") or request.query_params.get("state", "")
        return self.events(caller, state)

    async def events(self, caller: Caller, state: str) -> AsyncIterator[str]:
        """Yield the projects as markup whenever they differ from those sent last, at first from `state`.

        Ends when they cannot be read.
        """
        yield "retry: 3000\n\n"
        sent = time.monotonic()
        while True:
            try:
                look = await self._look(caller)
            except MinutebookError:
                return
            if look.state != state:
                state, sent = look.state, time.monotonic()
                yield f"event: message\nid: {state}\ndata: {look.data}\n\n"
            if time.monotonic() - sent >= BEAT:
                sent = time.monotonic()
                yield ": still here\n\n"
            await anyio.sleep(CHECK_EVERY)

    async def _look(self, caller: Caller) -> _Look:
        """Return the state of the projects for a caller; callers that may see the same share one for half of EVERY."""
        language = spoken()
        audience = caller.organization, caller.repositories, caller.user, language
        async with self._lock:
            now, last = time.monotonic(), self._looks.get(audience)
            if last is not None and now - last.at < CHECK_EVERY / 2:
                return last

            def task(app: App, caller: Caller) -> _Look:
                mark = app.get(CodeReading).mark(caller)
                if last is not None and last.mark == mark:
                    return _Look(now, mark, last.data, last.state)
                projects = app.get(CodeReading).projects(caller)
                is_busy = any(each.project.state is IndexState.INDEXING for each in projects)
                with speaking(language):
                    markup, state = projects_part(projects)
                return _Look(now, object() if is_busy else mark, " ".join(markup.split()), state)

            look = await self._host.run_shared(caller, task)
            recent = {key: each for key, each in self._looks.items() if now - each.at < BEAT}
            self._looks = {**recent, audience: look}
            return look
