"""Render pages: the templates, their common parts, and errors as pages."""

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from minutebook import __version__
from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.features.install.clients import Places
from minutebook.features.pages.frame import catalogue, markup
from minutebook.features.pages.frame.wording import VERDICTS, Trouble
from minutebook.features.pages.frame.words import word

STATIC = Path(__file__).parent.parent / "static"

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "Vary": "Accept-Language, Cookie",
    "X-Content-Type-Options": "nosniff",
    # Not `no-referrer`: then browsers would not say where a form came from.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What every page is sent with."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One request of a signed-in person.

    `path` holds the parts of the address, `query` what follows the `?`, `form` the fields that were
    sent. `wants_part` says that script asks for the results alone. `places` is where the clients of
    this machine keep their configuration, for its owner alone.
    """

    app: App
    caller: Caller
    path: Mapping[str, str]
    query: Mapping[str, str]
    form: Mapping[str, str] = field(repr=False)
    wants_part: bool = False
    places: Places | None = None


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


@dataclass(frozen=True, slots=True)
class Frame:
    """The frame of each page: the signed-in person, the key of its forms, which part is open."""

    caller: Caller | None = None
    csrf: str = ""
    here: str = ""


def rendered(answer: Page | Goto | Data, frame: Frame) -> Response:
    """Return a view's answer as a response."""
    if isinstance(answer, Data):
        body = json.dumps(answer.value, ensure_ascii=False, separators=(",", ":")).encode()
        # Every browser that runs the script reads it; the page and its forms' keys are not in it.
        headers = {**HEADERS, "Content-Encoding": "gzip"}
        return Response(
            gzip.compress(body, 4, mtime=0), media_type="application/json", headers=headers
        )
    if isinstance(answer, Goto):
        return RedirectResponse(answer.path, 303, headers=HEADERS)
    page = environment().get_template(answer.template).render(frame=frame, **answer.facts)
    return HTMLResponse(page, answer.status, headers=HEADERS)


def trouble_page(trouble: Trouble, frame: Frame, headers: Mapping[str, str] = {}) -> Response:
    """Return the page of an error, with its status."""
    response = rendered(Page("trouble.html", {"trouble": trouble}, trouble.status), frame)
    response.headers.update(headers)
    return response


@cache
def environment() -> Environment:
    """Return the environment that finds and renders the templates: everything is escaped but markup."""
    made = Environment(
        loader=PackageLoader("minutebook.features.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=markup.shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(
        _=catalogue.text,
        number_of=catalogue.number_of,
        language=catalogue.spoken,
        version=__version__,
        static=static_address,
        verdicts=VERDICTS,
    )
    made.filters.update(
        markdown=markup.markdown,
        moment=markup.moment,
        number=catalogue.numeral,
        word=word,
        day=markup.day,
        percent=markup.percent,
        marked=markup.marked,
        with_commands=markup.with_commands,
    )
    return made


@cache
def static_address(name: str) -> str:
    """Return the address of a file that never changes under it: its digest is a part of the name."""
    digest = hashlib.sha256((STATIC / name).read_bytes()).hexdigest()[:12]
    return f"/static/{digest}/{name}"
