"""The form of a page: a request of a person, the view that answers it, and the additions of a feature."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.routing import BaseRoute

from minutebook.app import App
from minutebook.config import Settings
from minutebook.features.pages.frame.catalogue import Later, later
from minutebook.features.pages.frame.host import Host
from minutebook.record.caller import Caller


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a signed-in person.

    `path` holds the parts of the address, `query` what follows the `?`, `form` the fields that were
    sent. `wants_part` says that script asks for the results alone. `folder` is where the owner of this
    machine opened the pages, None for everybody else.
    """

    app: App
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = field(repr=False)
    wants_part: bool = False
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The result of a view: a template, its values, and the HTTP status."""

    template: str
    facts: Mapping[str, Any]
    status: int = 200


@dataclass(frozen=True, slots=True)
class Goto:
    """Where a view leads the browser after an act.

    `language` is what the browser is to keep as its person's choice; empty to forget that there was one.
    """

    path: str
    language: str | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """The data for a script of ours, as JSON."""

    value: object


View = Callable[[Visit], Page | Goto | Data]

Views = Mapping[tuple[str, str], tuple[str, View]]
"""Views by method and path, each with the name of the act."""

Events = Callable[[Request, Caller], Awaitable[AsyncIterator[str]]]
"""Begins to send events to a browser, or raises an error for its person."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of each page: the signed-in person, the key of its forms, which part is open."""

    caller: Caller | None = None
    csrf: str = ""
    here: str = ""


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the head or, with a group, of the page *More*; those with lower places come first.

    `says` is the purpose of its page, in one sentence; `holds` tells whether there is anything on it yet.
    """

    place: int
    path: str
    name: Later
    group: Later | None = None
    says: Later | None = None
    holds: Callable[[Visit], bool] | None = None


LOOK_CLOSER = later("Look closer")
WHAT_HAPPENS = later("See what happens")
THE_STORE = later("Look after the store")
"""The groups of the page *More*."""


@dataclass(frozen=True, slots=True)
class FindKind:
    """A kind of records that *Find* searches besides memories and sessions.

    `search` takes a visit, the question and the most hits to return. The hits
    are shown by `template`, or, if it is empty, as those of the ranking. `beside` is how many are shown where
    everything is searched. Those with lower places come first.
    """

    place: int
    name: str
    label: Later
    search: Callable[[Visit, str, int], Sequence[Any]]
    template: str = ""
    beside: int = 0


@dataclass(frozen=True, slots=True)
class OpenWay:
    """A way to sign in that is open: its part of the form, with the values of it, and its routes."""

    template: str
    facts: Mapping[str, Any]
    routes: Sequence[BaseRoute]


@dataclass(frozen=True, slots=True)
class WayIn:
    """Another way to sign in than a token.

    `name` says what lets people in by these settings, empty if nothing does; it raises InvalidInput if they do not
    fit together. `open` takes the BrowserAuthentication that signs people in.
    """

    name: Callable[[Settings], str]
    open: Callable[[Any], OpenWay | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The additions of a feature to the web pages.

    `streams` are the addresses that send events as they happen, each with what makes the sender for a host.
    """

    views: Sequence[Views] = ()
    menu: Sequence[MenuEntry] = ()
    streams: Mapping[str, Callable[[Host], Events]] = field(default_factory=dict)
    kinds: Sequence[FindKind] = ()
    ways_in: Sequence[WayIn] = ()
