"""The pages as one ASGI application: signing in and out, sessions in cookies, keys of forms, static files."""

import gzip
import hmac
import mimetypes
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import Any, Literal
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from minutebook.features.pages.frame import catalogue
from minutebook.features.pages.frame.catalogue import PageLanguage
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.host import Host, Rejected
from minutebook.features.pages.frame.page import Events, Frame, Goto, OpenWay, Page, View, Visit
from minutebook.features.pages.frame.register import registered, views
from minutebook.features.pages.frame.rendering import (
    HEADERS,
    rendered,
    static_address,
    static_files,
    trouble_page,
)
from minutebook.features.pages.frame.sign_ins import LONGEST, IdentityProof, SignIn, SignIns
from minutebook.features.pages.frame.wording import Trouble, trouble_of
from minutebook.features.pages.frame.words import said
from minutebook.record.caller import Caller
from minutebook.record.errors import MinutebookError, Unidentified

SIGN_IN = "/signin"

LANGUAGE_LASTS = 365 * 24 * 3600
"""Seconds for which a browser keeps the chosen language."""

_FOREVER = {"Cache-Control": "public, max-age=31536000, immutable"}

Endpoint = Callable[[Request], Awaitable[Response]]
StreamEndpoint = Callable[[Request], Awaitable[ASGIApp]]


def pages_application(host: Host, sign_ins: SignIns, *, is_local: bool = False) -> Starlette:
    """Return the application of all pages, behind a sign-in; with `is_local` only tokens and one-time links sign in."""
    authentication = BrowserAuthentication(host, sign_ins)
    if not is_local:
        ways = (way.open(authentication) for each in registered() for way in each.ways_in)
        authentication.ways_in = tuple(filter(None, ways))
    routes: list[BaseRoute] = [
        Route("/enter", authentication.enter, methods=["GET"]),
        Route(SIGN_IN, authentication.ask, methods=["GET"]),
        Route(SIGN_IN, authentication.sign_in, methods=["POST"]),
        Route("/signout", authentication.sign_out, methods=["POST"]),
        Route("/static/{digest}/{name:path}", static_file, methods=["GET"]),
    ]
    routes += [route for way in authentication.ways_in for route in way.routes]
    routes += [
        Route(path, authentication.streamed(make(host)), methods=["GET"])
        for each in registered()
        for path, make in each.streams.items()
    ]
    routes += [
        Route(path, authentication.guarded(act, view), methods=[method])
        for each in views()
        for (method, path), (act, view) in each.items()
    ]
    handlers: dict[Any, Any] = {HTTPException: authentication.not_found}
    return Starlette(
        routes=routes,
        exception_handlers=handlers,
        middleware=[Middleware(_InLanguage, authentication=authentication)],
    )


class _InLanguage:
    """Answers each request in the language that the person chose, or that their browser asks for."""

    def __init__(self, app: ASGIApp, authentication: "BrowserAuthentication") -> None:
        self._app = app
        self._authentication = authentication

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with catalogue.speaking(self._authentication.language(Request(scope))):
            await self._app(scope, receive, send)


@dataclass(frozen=True, slots=True)
class _SignedIn:
    """A request of a browser that is signed in."""

    caller: Caller
    sign_in: SignIn


class BrowserAuthentication:
    """Signs browsers in and out, and shows views to signed-in ones."""

    def __init__(self, host: Host, sign_ins: SignIns) -> None:
        self.host = host
        self.ways_in: Sequence[OpenWay] = ()
        self._sign_ins = sign_ins

    def language(self, request: Request) -> PageLanguage:
        """Return the language for the answer to a request."""
        choice = request.cookies.get(self._language_cookie(request), "")
        return catalogue.chosen(choice, request.headers.get("accept-language", ""))

    def guarded(self, act: str, view: View) -> Endpoint:
        """Return the endpoint that shows a view to signed-in people, errors as pages."""

        async def endpoint(request: Request) -> Response:
            try:
                known = await self._signed_in(request)
                if known is None:
                    return self._to_sign_in(request)
                return await self._show(request, known, act, view)
            except MinutebookError as error:
                return self.failed(request, trouble_of(error))
            except Rejected as error:
                is_limit = error.status == HTTPStatus.TOO_MANY_REQUESTS
                title = _("Too many requests") if is_limit else _("That cannot be read")
                return self.failed(
                    request, Trouble(error.status, title, said(error.reason)), error.headers
                )
            except ClientDisconnect:
                return Response(status_code=400)

        return endpoint

    async def enter(self, request: Request) -> Response:
        """Sign in the owner that follows a one-time link."""
        if not self._sign_ins.redeem(request.query_params.get("key", "")):
            reason = _("This link was used already, or its two minutes are over.")
            remedy = _("`minutebook ui` opens another.")
            return self.failed(
                request, Trouble(HTTPStatus.FORBIDDEN, _("The link has ended"), reason, remedy)
            )
        assert self._sign_ins.owner is not None
        return self.signed_in(request, self._sign_ins.owner, Goto("/"))

    async def ask(self, request: Request) -> Response:
        """Show the form that takes a token."""
        return self._form(request, next_path(request.query_params.get("next", "")))

    async def sign_in(self, request: Request) -> Response:
        """Sign in the bearer of a token, which is checked as in the Authorization header of any request."""
        try:
            form = await self.host.form(request)
            onward = next_path(form.get("next", ""))
            visitor = request.cookies.get(self._visitor_cookie(request), "")
            expected = self._sign_ins.form_key(visitor)
            if (
                not visitor
                or not _is_same_origin(request)
                or not _matches(form.get("csrf"), expected)
            ):
                stale = _("This form is no longer valid. Try again.")
                return self._form(request, onward, stale, HTTPStatus.FORBIDDEN)
            authorization = f"Bearer {form.get('token', '').strip()}"
            await self.host.access.identify(authorization)
        except Unidentified as error:
            return self._form(request, onward, trouble_of(error).reason, HTTPStatus.UNAUTHORIZED)
        except MinutebookError as error:
            return self.failed(request, trouble_of(error))
        except Rejected as error:
            return self._form(request, "/", said(error.reason), error.status)
        return self.signed_in(request, authorization, Goto(onward))

    async def sign_out(self, request: Request) -> Response:
        """Sign a browser out."""
        secret, elsewhere = request.cookies.get(self.cookie(request), ""), None
        sign_in = self._sign_ins.find(secret)
        try:
            form = await self.host.form(request)
        except Rejected as error:
            return self.failed(
                request, Trouble(error.status, _("Not signed out"), said(error.reason))
            )
        if sign_in is not None:
            if not _is_same_origin(request) or not _matches(form.get("csrf"), sign_in.csrf):
                return self.failed(request, _stale_form())
            self._sign_ins.end(secret)
            elsewhere = None if sign_in.proof is None else await sign_in.proof.sign_out_url()
        if elsewhere is None:
            response = rendered(Goto(SIGN_IN), Frame())
        else:
            # No redirect: a form of ours may lead to our own pages only.
            facts = {"path": elsewhere, "heading": _("You are signed out here")}
            response = rendered(Page("again.html", facts), Frame())
        response.delete_cookie(self.cookie(request), path="/")
        return response

    def streamed(self, begin: Events) -> StreamEndpoint:
        """Return the endpoint that sends events to a browser while it is signed in."""

        async def endpoint(request: Request) -> ASGIApp:
            try:
                known = await self._signed_in(request)
                if known is None:
                    return Response(status_code=HTTPStatus.UNAUTHORIZED, headers=HEADERS)
                events = await begin(request, known.caller)
            except MinutebookError as error:
                return self.failed(request, trouble_of(error))
            except Rejected as error:
                return self.failed(
                    request, Trouble(error.status, _("Not now"), said(error.reason)), error.headers
                )
            headers = {**HEADERS, "X-Accel-Buffering": "no"}
            response = StreamingResponse(events, media_type="text/event-stream", headers=headers)
            return self.host.stream(request, known.caller, response, self._check(request))

        return endpoint

    def _check(self, request: Request) -> Callable[[], Awaitable[None]]:
        """Return a check that raises Unidentified once a request's browser is no longer signed in."""
        secret = request.cookies.get(self.cookie(request), "")

        async def check() -> None:
            sign_in = self._sign_ins.peek(secret)
            if sign_in is None:
                raise Unidentified("this browser is signed out")
            if isinstance(sign_in.who, str):
                await self.host.access.identify(sign_in.who)
            elif sign_in.proof is not None:
                await sign_in.proof.check()

        return check

    async def not_found(self, request: Request, error: Exception) -> Response:
        """Return the response that there is nothing at a path: a page for browsers, JSON for programs."""
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
        return self.failed(request, trouble, error.headers)

    async def _signed_in(self, request: Request) -> _SignedIn | None:
        """Return the signed-in person; None if the browser is not signed in, or its token is no longer valid. Raises StoreError."""
        sign_in = self._sign_ins.find(request.cookies.get(self.cookie(request), ""))
        if sign_in is None:
            return None
        try:
            if isinstance(sign_in.who, Caller):
                if sign_in.proof is not None:
                    await sign_in.proof.check()
                return _SignedIn(sign_in.who, sign_in)
            return _SignedIn(await self.host.access.identify(sign_in.who), sign_in)
        except Unidentified:
            # Revoked or expired: the form says so once the token is entered again.
            return None

    async def _show(self, request: Request, known: _SignedIn, act: str, view: View) -> Response:
        form: dict[str, str] = {}
        frame = Frame(known.caller, known.sign_in.csrf, request.url.path)
        if request.method == "POST":
            form = await self.host.form(request)
            if not _is_same_origin(request) or not _matches(form.get("csrf"), known.sign_in.csrf):
                return trouble_page(_stale_form(), frame)
        query, path = dict(request.query_params), dict(request.path_params)
        folder = None if known.caller.token else self._sign_ins.folder
        wants_part = request.headers.get("hx-request") == "true"

        def task(app: Any, caller: Caller) -> Response:
            answer = view(Visit(app, caller, path, query, form, wants_part, folder))
            response = rendered(answer, frame)
            if isinstance(answer, Goto) and answer.language is not None:
                lasts = LANGUAGE_LASTS if answer.language else 0
                self.set_cookie(
                    response, self._language_cookie(request), answer.language, lasts=lasts
                )
            return response

        try:
            return await self.host.run(request, act, known.caller, task)
        except MinutebookError as error:
            return trouble_page(trouble_of(error), frame)

    def _form(
        self, request: Request, onward: str, message: str = "", status: int = HTTPStatus.OK
    ) -> Response:
        visitor = request.cookies.get(self._visitor_cookie(request)) or secrets.token_urlsafe(16)
        csrf = self._sign_ins.form_key(visitor)
        facts: dict[str, Any] = {
            "next": onward,
            "said": message,
            "has_link": self._sign_ins.owner is not None,
        }
        facts["ways"] = self.ways_in
        response = rendered(Page("signin.html", facts, status), Frame(csrf=csrf))
        self.set_cookie(response, self._visitor_cookie(request), visitor)
        return response

    def signed_in(
        self,
        request: Request,
        who: str | Caller,
        answer: Page | Goto,
        lasts: float = LONGEST,
        proof: IdentityProof | None = None,
    ) -> Response:
        """Sign a browser in; return an answer with its cookie. An earlier sign-in of the browser ends.

        `who`, `lasts` and `proof` are those of `SignIns.begin`.
        """
        name, response = self.cookie(request), rendered(answer, Frame())
        self._sign_ins.end(request.cookies.get(name, ""))
        self.set_cookie(response, name, self._sign_ins.begin(who, lasts, proof))
        return response

    def _to_sign_in(self, request: Request) -> Response:
        """Redirect to the sign-in form; a link from another site, which sends no cookie, first leads here again."""
        if request.headers.get("hx-request") == "true":
            # The script would replace only a part of the page by the form.
            return Response(
                status_code=HTTPStatus.UNAUTHORIZED, headers={**HEADERS, "HX-Redirect": SIGN_IN}
            )
        if request.method == "GET" and request.headers.get("sec-fetch-site") == "cross-site":
            return rendered(
                Page(
                    "again.html",
                    {"path": _address(request), "heading": _("You came by a link from elsewhere")},
                ),
                Frame(),
            )
        onward = _address(request) if request.method == "GET" else "/"
        query = "" if onward == "/" else f"?next={quote(onward, safe='')}"
        return rendered(Goto(SIGN_IN + query), Frame())

    def failed(
        self, request: Request, trouble: Trouble, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Show an error as a page."""
        return trouble_page(trouble, Frame(here=request.url.path), headers or {})

    def cookie(self, request: Request) -> str:
        """Return the name of the sign-in's cookie, with the port: servers on one machine share a browser's cookies."""
        if self.host.is_secure:
            return "__Host-minutebook"
        return f"minutebook-{request.url.port or 80}"

    def _visitor_cookie(self, request: Request) -> str:
        return f"{self.cookie(request)}-visitor"

    def _language_cookie(self, request: Request) -> str:
        return f"{self.cookie(request)}-language"

    def set_cookie(
        self,
        response: Response,
        name: str,
        value: str,
        samesite: Literal["strict", "lax"] = "strict",
        lasts: int | None = None,
    ) -> None:
        """Set a cookie for this server only, which scripts cannot read; `lasts` are its seconds, None until the browser ends."""
        is_secure = self.host.is_secure
        response.set_cookie(
            name, value, lasts, httponly=True, samesite=samesite, secure=is_secure, path="/"
        )


def _stale_form() -> Trouble:
    return Trouble(
        HTTPStatus.FORBIDDEN,
        _("The form has expired"),
        _("It was made before you signed in, or by another page. Nothing was changed."),
        _("Go back, reload the page, and send it again."),
    )


async def static_file(request: Request) -> Response:
    """Serve a static file, compressed; its address has its digest."""
    name = request.path_params["name"]
    if name not in static_files() or request.url.path != static_address(name):
        return PlainTextResponse("Not found", 404)
    headers = {"X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding", **_FOREVER}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        body = static_files()[name].read_bytes()
    else:
        body, headers["Content-Encoding"] = _compressed(name), "gzip"
    return Response(body, media_type=mimetypes.guess_type(name)[0], headers=headers)


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(static_files()[name].read_bytes(), mtime=0)


def _is_same_origin(request: Request) -> bool:
    """Tell whether a form comes from a page of this server by the browser's headers, if it sends them."""
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site not in (None, "same-origin", "none"):
        return False
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def _matches(given: str | None, expected: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), expected.encode())


def _address(request: Request) -> str:
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")


def next_path(path: str) -> str:
    """Return the path to go to after signing in: `path` if it is one of this server, else the first page."""
    # Browsers read two slashes, of either kind, as the beginning of another site's address.
    is_own = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_own and path.isprintable() else "/"
