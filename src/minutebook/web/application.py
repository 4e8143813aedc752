"""The pages as one ASGI application: signing in and out, sessions in cookies, keys of forms, static files."""

import gzip
import hmac
import mimetypes
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.errors import MinutebookError, Unidentified
from minutebook.web import (
    activity,
    decisions,
    find,
    graph,
    health,
    memories,
    pages,
    review,
    sessions,
    settings,
    timeline,
    why,
)
from minutebook.web.activity import conditions_of, ends_of
from minutebook.web.catalogue import text as _
from minutebook.web.host import Host, Rejected
from minutebook.web.live import Live
from minutebook.web.pages import Frame, Goto, Page, View, Visit, rendered, trouble_page
from minutebook.web.sign_ins import SignIn, SignIns
from minutebook.web.wording import Trouble, trouble_of

SIGN_IN = "/signin"

VIEWS: tuple[Mapping[tuple[str, str], tuple[str, View]], ...] = (
    find.VIEWS,
    memories.VIEWS,
    decisions.VIEWS,
    sessions.VIEWS,
    graph.VIEWS,
    timeline.VIEWS,
    why.VIEWS,
    review.VIEWS,
    activity.VIEWS,
    health.VIEWS,
    settings.VIEWS,
)
"""What each module shows: by method and path, the name of the act and its view."""

_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}

Endpoint = Callable[[Request], Awaitable[Response]]


def pages_application(host: Host, sign_ins: SignIns) -> Starlette:
    """Return the application that serves every page, behind a sign-in."""
    authentication = BrowserAuthentication(host, sign_ins)
    routes: list[BaseRoute] = [
        Route("/enter", authentication.enter, methods=["GET"]),
        Route(SIGN_IN, authentication.ask, methods=["GET"]),
        Route(SIGN_IN, authentication.sign_in, methods=["POST"]),
        Route("/signout", authentication.sign_out, methods=["POST"]),
        Route("/static/{digest}/{name}", static_file, methods=["GET"]),
    ]
    routes.append(Route("/activity/live", authentication.live, methods=["GET"]))
    for views in VIEWS:
        routes += [
            Route(path, authentication.guarded(act, view), methods=[method])
            for (method, path), (act, view) in views.items()
        ]
    handlers: dict[Any, Any] = {HTTPException: authentication.unserved}
    return Starlette(routes=routes, exception_handlers=handlers)


@dataclass(frozen=True, slots=True)
class _Known:
    """A request of a browser that is signed in."""

    caller: Caller
    sign_in: SignIn


class BrowserAuthentication:
    """Lets browsers in and out, and shows views to those that are in."""

    def __init__(self, host: Host, sign_ins: SignIns) -> None:
        self._host = host
        self._sign_ins = sign_ins
        self._live = Live(host)

    def guarded(self, act: str, view: View) -> Endpoint:
        """Return the endpoint that shows a view to people who are signed in, errors as pages."""

        async def endpoint(request: Request) -> Response:
            try:
                known = await self._known(request)
                if known is None:
                    return self._to_sign_in(request)
                return await self._viewed(request, known, act, view)
            except MinutebookError as error:
                return self._failed(request, trouble_of(error))
            except Rejected as error:
                title = HTTPStatus(error.status).phrase
                return self._failed(
                    request, Trouble(error.status, title, error.reason), error.headers
                )
            except ClientDisconnect:
                return Response(status_code=400)

        return endpoint

    async def enter(self, request: Request) -> Response:
        """Sign the owner in who follows a one-time link."""
        if not self._sign_ins.redeem(request.query_params.get("key", "")):
            reason = _("This link was used already, or its two minutes are over.")
            remedy = _("`minutebook ui` opens another.")
            return self._failed(
                request, Trouble(HTTPStatus.FORBIDDEN, _("The link has ended"), reason, remedy)
            )
        return self._signed_in(request, None, "/")

    async def ask(self, request: Request) -> Response:
        """Show the form that takes a token."""
        return self._form(request, _next(request.query_params.get("next", "")))

    async def sign_in(self, request: Request) -> Response:
        """Sign the bearer of a token in; the token is checked as any other request's is."""
        try:
            form = await self._host.form(request)
            onward = _next(form.get("next", ""))
            visitor = request.cookies.get(self._visitor_cookie(request), "")
            expected = self._sign_ins.form_key(visitor)
            if not visitor or not _is_ours(request) or not _same(form.get("csrf"), expected):
                return self._form(request, onward, _STALE, HTTPStatus.FORBIDDEN)
            authorization = f"Bearer {form.get('token', '').strip()}"
            await self._host.identify(authorization)
        except Unidentified as error:
            return self._form(request, onward, trouble_of(error).reason, HTTPStatus.UNAUTHORIZED)
        except MinutebookError as error:
            return self._failed(request, trouble_of(error))
        except Rejected as error:
            return self._form(request, "/", error.reason, error.status)
        return self._signed_in(request, authorization, onward)

    async def sign_out(self, request: Request) -> Response:
        """Sign a browser out."""
        secret = request.cookies.get(self._cookie(request), "")
        sign_in = self._sign_ins.find(secret)
        try:
            form = await self._host.form(request)
        except Rejected as error:
            return self._failed(request, Trouble(error.status, _("Not signed out"), error.reason))
        if sign_in is not None:
            if not _is_ours(request) or not _same(form.get("csrf"), sign_in.csrf):
                return self._failed(request, _STALE_FORM)
            self._sign_ins.end(secret)
        response = rendered(Goto(SIGN_IN), Frame())
        response.delete_cookie(self._cookie(request), path="/")
        return response

    async def live(self, request: Request) -> ASGIApp:
        """Send new entries of the trail as they come, as long as the browser is signed in."""
        try:
            known = await self._known(request)
            if known is None:
                return Response(status_code=HTTPStatus.UNAUTHORIZED, headers=pages.HEADERS)
            query = request.query_params
            mark = request.headers.get("last-event-id") or query.get("after", "")
            conditions_of(query)
            ends_of(mark)
            # Who may not read the trail is told so before anything is sent.
            await self._host.run(request, "live", known.caller, _read_ends)
        except MinutebookError as error:
            return self._failed(request, trouble_of(error))
        except Rejected as error:
            return self._failed(
                request, Trouble(error.status, _("Not now"), error.reason), error.headers
            )
        secret = request.cookies.get(self._cookie(request), "")

        async def check() -> None:
            sign_in = self._sign_ins.peek(secret)
            if sign_in is None:
                raise Unidentified("this browser is signed out")
            if sign_in.authorization is not None:
                await self._host.identify(sign_in.authorization)

        events = self._live.events(known.caller, query, mark)
        headers = {**pages.HEADERS, "X-Accel-Buffering": "no"}
        response = StreamingResponse(events, media_type="text/event-stream", headers=headers)
        return self._host.stream(request, known.caller, response, check)

    async def unserved(self, request: Request, error: Exception) -> Response:
        """Say that there is nothing at a path: to browsers as a page, to programs as JSON."""
        assert isinstance(error, HTTPException)
        if "text/html" not in request.headers.get("accept", ""):
            reason = f"{request.method} {request.url.path[:200]}: {error.detail}"
            body = {"error": HTTPStatus(error.status_code).phrase, "message": reason}
            return JSONResponse(body, error.status_code, error.headers)
        trouble = Trouble(
            error.status_code,
            _("No such page"),
            _("There is nothing at {path}.", path=request.url.path[:200]),
            _("An old bookmark may lead to what has moved. Search for it."),
        )
        return self._failed(request, trouble, error.headers)

    async def _known(self, request: Request) -> _Known | None:
        """Return who asks; None if the browser is not signed in, or no longer. Raises StoreError."""
        sign_in = self._sign_ins.find(request.cookies.get(self._cookie(request), ""))
        if sign_in is None:
            return None
        if sign_in.authorization is None:
            assert self._sign_ins.owner is not None
            return _Known(self._sign_ins.owner, sign_in)
        try:
            return _Known(await self._host.identify(sign_in.authorization), sign_in)
        except Unidentified:
            # Revoked or expired since: the form tells so when the token is given again.
            return None

    async def _viewed(self, request: Request, known: _Known, act: str, view: View) -> Response:
        form: dict[str, str] = {}
        frame = Frame(known.caller, known.sign_in.csrf, request.url.path)
        if request.method == "POST":
            form = await self._host.form(request)
            if not _is_ours(request) or not _same(form.get("csrf"), known.sign_in.csrf):
                return trouble_page(_STALE_FORM, frame)
        query, path = dict(request.query_params), dict(request.path_params)
        places = None if known.caller.token else self._sign_ins.places
        wants_part = request.headers.get("hx-request") == "true"

        def task(app: Any, caller: Caller) -> Response:
            return rendered(view(Visit(app, caller, path, query, form, wants_part, places)), frame)

        try:
            return await self._host.run(request, act, known.caller, task)
        except MinutebookError as error:
            return trouble_page(trouble_of(error), frame)

    def _form(
        self, request: Request, onward: str, message: str = "", status: int = HTTPStatus.OK
    ) -> Response:
        visitor = request.cookies.get(self._visitor_cookie(request)) or secrets.token_urlsafe(16)
        csrf = self._sign_ins.form_key(visitor)
        facts = {"next": onward, "said": message, "has_link": self._sign_ins.owner is not None}
        response = rendered(Page("signin.html", facts, status), Frame(csrf=csrf))
        self._set(response, self._visitor_cookie(request), visitor)
        return response

    def _signed_in(self, request: Request, authorization: str | None, onward: str) -> Response:
        response = rendered(Goto(onward), Frame())
        self._set(response, self._cookie(request), self._sign_ins.begin(authorization))
        return response

    def _to_sign_in(self, request: Request) -> Response:
        """Lead to the form; a link from another site gets a second look, as it brings no cookie."""
        if request.headers.get("hx-request") == "true":
            # Script would put the form where results stand; the whole page is to change.
            return Response(
                status_code=HTTPStatus.UNAUTHORIZED,
                headers={**pages.HEADERS, "HX-Redirect": SIGN_IN},
            )
        if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
            return rendered(Page("again.html", {"path": _address(request)}), Frame())
        onward = _address(request) if request.method == "GET" else "/"
        query = "" if onward == "/" else f"?next={quote(onward, safe='')}"
        return rendered(Goto(SIGN_IN + query), Frame())

    def _failed(
        self, request: Request, trouble: Trouble, headers: Mapping[str, str] | None = None
    ) -> Response:
        return trouble_page(trouble, Frame(here=request.url.path), headers or {})

    def _cookie(self, request: Request) -> str:
        """Name the session's cookie: browsers keep those of two servers of one machine together."""
        if self._host.is_secure:
            return "__Host-minutebook"
        return f"minutebook-{request.url.port or 80}"

    def _visitor_cookie(self, request: Request) -> str:
        return f"{self._cookie(request)}-visitor"

    def _set(self, response: Response, name: str, value: str) -> None:
        secure = self._host.is_secure
        response.set_cookie(name, value, httponly=True, samesite="strict", secure=secure, path="/")


def _read_ends(app: App, caller: Caller) -> object:
    return app.trail.ends(caller)


_STALE = _("This form is no longer valid. Try again.")
_STALE_FORM = Trouble(
    HTTPStatus.FORBIDDEN,
    _("The form has expired"),
    _("It was made before you signed in, or by another page. Nothing was changed."),
    _("Go back, reload the page, and send it again."),
)


async def static_file(request: Request) -> Response:
    """Serve one of our own files, compressed; its address holds its digest."""
    name = request.path_params["name"]
    known = {each.name for each in pages.STATIC.iterdir() if each.suffix in _TYPES}
    if name not in known or request.url.path != pages.static_address(name):
        return PlainTextResponse("Not found", 404)
    headers = {"X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding", **_FOREVER}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        body = (pages.STATIC / name).read_bytes()
    else:
        body, headers["Content-Encoding"] = _compressed(name), "gzip"
    return Response(body, media_type=mimetypes.guess_type(name)[0], headers=headers)


_TYPES = frozenset({".js", ".css", ".svg"})


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress((pages.STATIC / name).read_bytes(), mtime=0)


def _is_ours(request: Request) -> bool:
    """Tell whether the browser says that a form came from a page of this server, or says nothing."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in (None, "same-origin", "none"):
        return False
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _same(given: str | None, expected: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), expected.encode())


def _address(request: Request) -> str:
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")


def _next(path: str) -> str:
    """Return where to go after signing in: a path of this server, else the first page."""
    parts = urlsplit(path)
    is_ours = path.startswith("/") and not parts.scheme and not parts.netloc
    return path if is_ours and not path.startswith("/\\") and path.isprintable() else "/"
