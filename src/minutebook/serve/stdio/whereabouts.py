"""Where a client over stdio works: in its working directory, else in the first project among its roots."""

import logging
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio

from minutebook.config import Settings
from minutebook.config.folders.finding import FolderPlace
from minutebook.config.whereabouts import follows_folders, place_in, scope_of, work_tree_of
from minutebook.record.caller import Caller, Note, with_call

if TYPE_CHECKING:
    import mcp_types as types
    from mcp.server.lowlevel import Server

log = logging.getLogger(__name__)

ROOTS_WAIT = 2.0
"""Seconds in which a client has to name its roots; then it works nowhere in particular."""

MOST_ROOTS = 32
"""Roots of a client that are looked at."""

_CHANGED = "notifications/roots/list_changed"


class Whereabouts:
    """The caller of a connection, with the scope of the folder that the client works in."""

    def __init__(self, settings: Settings, caller: Caller, folder: str) -> None:
        """`folder` is the client's working directory, empty if it has none."""
        self._settings = settings
        self._caller = caller
        self._place: FolderPlace | None = None
        self._by_roots = False
        self.asks_roots = False
        """Whether the next request asks the client for its roots, where it has any."""
        # The id of the request that is answered with a note on the place's problem.
        self._noted_request: str | int | None = None
        self._lock = anyio.Lock()
        if follows_folders(settings):
            place = place_in(settings, Path(folder or "/"))
            self._work_in(place)
            self.asks_roots = self._by_roots = place.root is None

    def add_to(self, server: "Server[Any]") -> None:
        """Have a server listen for changes of the roots."""
        import mcp_types as types

        server.add_notification_handler(_CHANGED, types.NotificationParams, self._changed)

    def caller(self, context: Any) -> Caller:
        """Return the caller of a request; the first call of a tool gets a note if the place has a problem."""
        caller, place = self._caller, self._place
        if place is None or place.problem is None or context.method != "tools/call":
            return caller
        if self._noted_request is None:
            self._noted_request = context.request_id
        is_noted = self._noted_request == context.request_id
        return with_call(caller, notes=_notes(place)) if is_noted else caller

    async def locate(self, context: Any) -> None:
        """Ask the client for its roots if its working directory belongs to no project."""
        if not self.asks_roots:
            return
        async with self._lock:
            if self.asks_roots:
                self.asks_roots = False
                await self._ask(context)

    async def _ask(self, context: Any) -> None:
        params = context.session.client_params
        if params is None or params.capabilities.roots is None:
            return
        from mcp.shared.exceptions import MCPDeprecationWarning, MCPError

        try:
            with anyio.fail_after(ROOTS_WAIT), warnings.catch_warnings():
                warnings.simplefilter("ignore", MCPDeprecationWarning)
                listed = await context.session.list_roots()
        except (MCPError, TimeoutError, ValueError) as error:
            log.info("the client does not name its roots: %s", type(error).__name__)
            return
        places = [place_in(self._settings, path) for path in _paths(listed.roots)]
        nowhere = place_in(self._settings, Path("/"))
        self._work_in(next((each for each in places if each.root is not None), nowhere))

    async def _changed(self, context: Any, params: "types.NotificationParams") -> None:
        """Ask for the roots again at the next request, if they decide where the client works."""
        self.asks_roots = self._by_roots

    def _work_in(self, place: FolderPlace) -> None:
        self._place, self._noted_request = place, None
        located = replace(self._caller, folder_scope=scope_of(place))
        self._caller = with_call(located, work_tree=work_tree_of(place))
        if place.problem is not None:
            log.warning("where a client works is not settled: %s", place.problem)


def _paths(roots: "Iterable[types.Root]") -> list[Path]:
    """Return the local folders that roots name."""
    found = []
    for root in list(roots)[:MOST_ROOTS]:
        parts = urlsplit(str(root.uri))
        if parts.scheme == "file" and parts.netloc in ("", "localhost"):
            found.append(Path(url2pathname(parts.path)))
    return found


def _notes(place: FolderPlace) -> dict[str, Note]:
    """Return the note that a place has a problem, without its text: a stranger may have written the folder's files."""
    kept = "belongs to no project" if place.repository is None else "belongs to its repository"
    text = (
        "It could not be settled to which project this folder belongs. What is stored here meanwhile "
        f"{kept}. A person can see why with `minutebook where`."
    )
    return {"folder": Note({"repository": place.repository}, text)}
