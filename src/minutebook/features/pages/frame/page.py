"""The types of pages: a person's request, the view that answers it, and the additions of a feature."""

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
    """A request of a signed-in person.

    `path` has the variables of the path, `query` and `form` the fields of the query string and of the form.
    `wants_part` if a script asks only for the results. `folder` is the folder in which the owner of this machine opened
    the pages, None for everybody else.
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
    """A redirect of the browser to a path, after an act.

    `language` is the person's choice for the browser to keep, "" to forget the choice, None for no change.
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
"""Returns the iterator of the events for a browser, or raises an error for its person."""


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of a page: the signed-in person, the key of its forms, and the path of the page."""

    caller: Caller | None = None
    csrf: str = ""
    here: str = ""


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """An entry of the menu or, with a group, of the page *More*; entries are ordered by `place`.

    `says` is the purpose of its page, in one sentence; `holds` tells whether the page has anything yet.
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
    """A kind of records that *Find* searches besides memories and sessions; kinds are ordered by `place`.

    `search` takes a visit, the question and the most hits to return. `template` shows the hits; if it is "", they are
    shown as those of the ranking. `beside` is the number of hits that are shown if all kinds are searched.
    """

    place: int
    name: str
    label: Later
    search: Callable[[Visit, str, int], Sequence[Any]]
    template: str = ""
    beside: int = 0


@dataclass(frozen=True, slots=True)
class OpenWay:
    """A configured way to sign in: its part of the form, as template and values, and its routes."""

    template: str
    facts: Mapping[str, Any]
    routes: Sequence[BaseRoute]


@dataclass(frozen=True, slots=True)
class WayIn:
    """A way to sign in besides a token.

    `name` returns its name by the settings, "" if they do not configure it; it raises InvalidInput if they do not fit
    together. `open` takes the BrowserAuthentication, which signs people in.
    """

    name: Callable[[Settings], str]
    open: Callable[[Any], OpenWay | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The additions of a feature to the web pages.

    `streams` has, by path, the functions that return the source of events for a host.
    """

    views: Sequence[Views] = ()
    menu: Sequence[MenuEntry] = ()
    streams: Mapping[str, Callable[[Host], Events]] = field(default_factory=dict)
    kinds: Sequence[FindKind] = ()
    ways_in: Sequence[WayIn] = ()
