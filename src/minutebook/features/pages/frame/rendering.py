"""Render pages: the templates, their common parts, and errors as pages."""

import gzip
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePath

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader, StrictUndefined
from starlette.responses import HTMLResponse, RedirectResponse, Response

from minutebook import __version__
from minutebook.features.pages.frame import catalogue, markup, records
from minutebook.features.pages.frame.page import Data, Frame, Goto, Page
from minutebook.features.pages.frame.register import folders, is_under_more, menu
from minutebook.features.pages.frame.wording import VERDICTS, Trouble
from minutebook.features.pages.frame.words import said, word

OWN = "pages"
"""The feature with templates and static files of plain names; those of other features begin with the feature's name."""

_SERVED = frozenset({".js", ".css", ".svg"})

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
"""The headers of every page."""


def rendered(answer: Page | Goto | Data, frame: Frame) -> Response:
    """Return a view's answer as a response."""
    if isinstance(answer, Data):
        body = json.dumps(answer.value, ensure_ascii=False, separators=(",", ":")).encode()
        # Always compressed: every browser with scripts can read it, and it has no secrets such as keys of forms.
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


_FILTERS: Sequence[Callable[..., object]] = (
    *(markup.markdown, markup.marked, markup.with_commands, markup.percent),
    *(markup.moment, markup.day, markup.clock, markup.weekday, markup.age, markup.lasted),
)
"""The filters of templates that have the names of these functions."""


@cache
def environment() -> Environment:
    """Return the environment of the templates; all values but markup are escaped."""
    made = Environment(
        loader=_templates(),
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
        menu=menu,
        is_under_more=is_under_more,
        styles=styles,
        verdicts=VERDICTS,
        said=said,
    )
    made.filters.update(
        {each.__name__: each for each in _FILTERS},
        number=catalogue.numeral,
        word=word,
        name=records.name_of,
        address=records.address_of,
        written=records.written_at,
        project=records.project_name,
    )
    return made


def _templates() -> ChoiceLoader:
    """Return the loader of templates; `code/found.html` is one of the feature `code`."""
    found = {name: FileSystemLoader(folder) for name, folder in folders("templates")}
    return ChoiceLoader([found.pop(OWN), PrefixLoader(found)])


@cache
def static_files() -> Mapping[str, Path]:
    """Return the static files by name."""
    return {
        path.name if feature == OWN else f"{feature}/{path.name}": path
        for feature, folder in folders("static")
        for path in sorted(folder.iterdir())
        if path.suffix in _SERVED
    }


def styles() -> Sequence[str]:
    """Return the names of the style sheets, that of all pages first."""
    return sorted((name for name in static_files() if PurePath(name).name == "style.css"), key=len)


@cache
def static_address(name: str) -> str:
    """Return the address of a static file, with its digest, so that browsers can keep the file for ever."""
    digest = hashlib.sha256(static_files()[name].read_bytes()).hexdigest()[:12]
    return f"/static/{digest}/{name}"
