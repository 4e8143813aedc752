"""The pages as one ASGI application: signing in and out, sessions in cookies, keys of forms, static files."""

import gzip
import hmac
import mimetypes
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
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

from minutebook.app import App
from minutebook.domain.caller import Caller
from minutebook.domain.errors import MinutebookError, Unidentified
from minutebook.features.code.pages import projects as code
from minutebook.features.code.pages.live import LiveProjects
from minutebook.features.explain import pages as why
from minutebook.features.ledger.pages import decisions
from minutebook.features.pages.frame import catalogue, pages
from minutebook.features.pages.frame.catalogue import Language
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.host import Host, ProviderError, ProviderFault, Rejected
from minutebook.features.pages.frame.pages import (
    Frame,
    Goto,
    Page,
    View,
    Visit,
    rendered,
    trouble_page,
)
from minutebook.features.pages.frame.sign_ins import CALLBACK, LONGEST, SignIn, SignIns
from minutebook.features.pages.frame.wording import Trouble, provider_trouble, trouble_of
from minutebook.features.pages.frame.words import said
from minutebook.features.pages.views import (
    activity,
    find,
    graph,
    health,
    memories,
    sessions,
    settings,
    timeline,
)
from minutebook.features.pages.views.activity import conditions_of, ends_of
from minutebook.features.pages.views.live import Live
from minutebook.features.recall_log import pages as recalls
from minutebook.features.sign_in.round_trips import LASTS, RoundTrips
from minutebook.features.tidying.pages import review

SIGN_IN = "/signin"

LONG = 365 * 24 * 3600
"""Seconds for which a browser keeps the choice of a language."""

VIEWS: tuple[Mapping[tuple[str, str], tuple[str, View]], ...] = (
    find.VIEWS,
    memories.VIEWS,
    decisions.VIEWS,
    sessions.VIEWS,
    code.VIEWS,
    graph.VIEWS,
    timeline.VIEWS,
    why.VIEWS,
    recalls.VIEWS,
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
        Route("/signin/provider", authentication.set_out, methods=["GET"]),
        Route(CALLBACK, authentication.come_back, methods=["GET"]),
        Route("/signout", authentication.sign_out, methods=["POST"]),
        Route("/static/{digest}/{name}", static_file, methods=["GET"]),
    ]
    routes.append(Route("/activity/live", authentication.live, methods=["GET"]))
    routes.append(Route("/code/live", authentication.live_projects, methods=["GET"]))
    for views in VIEWS:
        routes += [
            Route(path, authentication.guarded(act, view), methods=[method])
            for (method, path), (act, view) in views.items()
        ]
    handlers: dict[Any, Any] = {HTTPException: authentication.unserved}
    return Starlette(
        routes=routes,
        exception_handlers=handlers,
        middleware=[Middleware(_InLanguage, authentication=authentication)],
    )


class _InLanguage:
    """Has each request answered in the language that its person chose, or their browser asks for."""

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
class _Known:
    """A request of a browser that is signed in."""

    caller: Caller
    sign_in: SignIn


class BrowserAuthentication:
    """Signs browsers in and out, and shows views to those that are signed in."""

    def __init__(self, host: Host, sign_ins: SignIns) -> None:
        self._host = host
        self._sign_ins = sign_ins
        self._round_trips = RoundTrips()
        self._live = Live(host)
        self._live_projects = LiveProjects(host)

    def language(self, request: Request) -> Language:
        """Return the language in which a browser is answered."""
        choice = request.cookies.get(self._language_cookie(request), "")
        return catalogue.chosen(choice, request.headers.get("accept-language", ""))

    def guarded(self, act: str, view: View) -> Endpoint:
        """Return the endpoint that shows a view to signed-in people, errors as pages."""

        async def endpoint(request: Request) -> Response:
            try:
                known = await self._known(request)
                if known is None:
                    return self._to_sign_in(request)
                return await self._viewed(request, known, act, view)
            except MinutebookError as error:
                return self._failed(request, trouble_of(error))
            except Rejected as error:
                is_limit = error.status == HTTPStatus.TOO_MANY_REQUESTS
                title = _("Too many requests") if is_limit else _("That cannot be read")
                return self._failed(
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
            return self._failed(
                request, Trouble(HTTPStatus.FORBIDDEN, _("The link has ended"), reason, remedy)
            )
        assert self._sign_ins.owner is not None
        return self._signed_in(request, self._sign_ins.owner, Goto("/"))

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
                stale = _("This form is no longer valid. Try again.")
                return self._form(request, onward, stale, HTTPStatus.FORBIDDEN)
            authorization = f"Bearer {form.get('token', '').strip()}"
            await self._host.identify(authorization)
        except Unidentified as error:
            return self._form(request, onward, trouble_of(error).reason, HTTPStatus.UNAUTHORIZED)
        except MinutebookError as error:
            return self._failed(request, trouble_of(error))
        except Rejected as error:
            return self._form(request, "/", said(error.reason), error.status)
        return self._signed_in(request, authorization, Goto(onward))

    async def set_out(self, request: Request) -> Response:
        """Lead a browser to the provider, where its person signs in."""
        if self._host.provider is None:
            return await self.unserved(request, HTTPException(HTTPStatus.NOT_FOUND))
        trip = self._round_trips.begin(_next(request.query_params.get("next", "")))
        try:
            url = await self._host.authorization_url(trip.state, trip.nonce, trip.challenge)
        except ProviderError as error:
            return self._failed(request, provider_trouble(error))
        response = rendered(Goto(url), Frame())
        # Not `strict`: the browser comes back from another site.
        self._set(response, self._trip_cookie(request), trip.cookie, "lax", int(LASTS))
        return response

    async def come_back(self, request: Request) -> Response:
        """Sign in the person in the provider's answer."""
        if self._host.provider is None:
            return await self.unserved(request, HTTPException(HTTPStatus.NOT_FOUND))
        try:
            response = await self._answered(request)
        except ProviderError as error:
            response = self._failed(request, provider_trouble(error))
        except Unidentified as error:
            response = self._failed(request, trouble_of(error))
        except MinutebookError as error:
            response = self._failed(request, trouble_of(error))
        name, is_secure = self._trip_cookie(request), self._host.is_secure
        response.delete_cookie(name, path="/", secure=is_secure, httponly=True, samesite="lax")
        return response

    async def _answered(self, request: Request) -> Response:
        answer, cookie = request.query_params, request.cookies.get(self._trip_cookie(request), "")
        trip = self._round_trips.finish(cookie, answer.get("state", ""))
        if (fault := answer.get("error")) is not None:
            await self._host.check_issuer(answer.get("iss"))
            detail = f"{fault}: {answer.get('error_description', '')}"[:300]
            raise ProviderError(ProviderFault.DECLINED, detail.strip(": "))
        code = answer.get("code", "")
        person = await self._host.redeem(code, trip.verifier, trip.nonce, answer.get("iss"))
        # A redirect from another site brings no strict cookie: the browser goes on by itself.
        facts = {"path": trip.onward, "heading": _("You are signed in")}
        arrived = Page("again.html", facts)
        return self._signed_in(request, person.caller, arrived, person.lasts, person.id_token)

    async def sign_out(self, request: Request) -> Response:
        """Sign a browser out."""
        secret, elsewhere = request.cookies.get(self._cookie(request), ""), None
        sign_in = self._sign_ins.find(secret)
        try:
            form = await self._host.form(request)
        except Rejected as error:
            return self._failed(
                request, Trouble(error.status, _("Not signed out"), said(error.reason))
            )
        if sign_in is not None:
            if not _is_ours(request) or not _same(form.get("csrf"), sign_in.csrf):
                return self._failed(request, _stale_form())
            self._sign_ins.end(secret)
            elsewhere = await self._signed_out_at(sign_in)
        if elsewhere is None:
            response = rendered(Goto(SIGN_IN), Frame())
        else:
            # No redirect: a form of ours may lead to our own pages only.
            facts = {"path": elsewhere, "heading": _("You are signed out here")}
            response = rendered(Page("again.html", facts), Frame())
        response.delete_cookie(self._cookie(request), path="/")
        return response

    async def live(self, request: Request) -> ASGIApp:
        """Send new entries of the trail as they come, as long as the browser is signed in."""
        query = request.query_params

        async def begin(caller: Caller) -> AsyncIterator[str]:
            mark = request.headers.get("last-event-id") or query.get("after", "")
            conditions_of(query)
            ends_of(mark)
            # Who may not read the trail is told so before anything is sent.
            await self._host.run(request, "live", caller, _read_ends)
            return self._live.events(caller, query, mark)

        return await self._streamed(request, begin)

    async def live_projects(self, request: Request) -> ASGIApp:
        """Send how far indices of code are whenever it changes, as long as the browser is signed in."""

        async def begin(caller: Caller) -> AsyncIterator[str]:
            state = request.headers.get("last-event-id") or request.query_params.get("state", "")
            return self._live_projects.events(caller, state)

        return await self._streamed(request, begin)

    async def _streamed(
        self, request: Request, begin: Callable[[Caller], Awaitable[AsyncIterator[str]]]
    ) -> ASGIApp:
        """Return the app that sends events to a browser that is signed in, until it is not."""
        try:
            known = await self._known(request)
            if known is None:
                return Response(status_code=HTTPStatus.UNAUTHORIZED, headers=pages.HEADERS)
            events = await begin(known.caller)
        except MinutebookError as error:
            return self._failed(request, trouble_of(error))
        except Rejected as error:
            return self._failed(
                request, Trouble(error.status, _("Not now"), said(error.reason)), error.headers
            )
        secret = request.cookies.get(self._cookie(request), "")

        async def check() -> None:
            sign_in = self._sign_ins.peek(secret)
            if sign_in is None:
                raise Unidentified("this browser is signed out")
            if isinstance(sign_in.who, str):
                await self._host.identify(sign_in.who)
            elif sign_in.id_token:
                await self._host.check_person(sign_in.id_token)

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
        """Return the signed-in person; None if the browser is not signed in, or no longer. Raises StoreError."""
        sign_in = self._sign_ins.find(request.cookies.get(self._cookie(request), ""))
        if sign_in is None:
            return None
        try:
            if isinstance(sign_in.who, Caller):
                if sign_in.id_token:
                    await self._host.check_person(sign_in.id_token)
                return _Known(sign_in.who, sign_in)
            return _Known(await self._host.identify(sign_in.who), sign_in)
        except Unidentified:
            # Revoked or expired since: the form tells so when the token is given again.
            return None

    async def _viewed(self, request: Request, known: _Known, act: str, view: View) -> Response:
        form: dict[str, str] = {}
        frame = Frame(known.caller, known.sign_in.csrf, request.url.path)
        if request.method == "POST":
            form = await self._host.form(request)
            if not _is_ours(request) or not _same(form.get("csrf"), known.sign_in.csrf):
                return trouble_page(_stale_form(), frame)
        query, path = dict(request.query_params), dict(request.path_params)
        places = None if known.caller.token else self._sign_ins.places
        wants_part = request.headers.get("hx-request") == "true"

        def task(app: Any, caller: Caller) -> Response:
            answer = view(Visit(app, caller, path, query, form, wants_part, places))
            response = rendered(answer, frame)
            if isinstance(answer, Goto) and answer.language is not None:
                lasts = LONG if answer.language else 0
                self._set(response, self._language_cookie(request), answer.language, lasts=lasts)
            return response

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
        facts["provider"] = self._host.provider
        response = rendered(Page("signin.html", facts, status), Frame(csrf=csrf))
        self._set(response, self._visitor_cookie(request), visitor)
        return response

    def _signed_in(
        self,
        request: Request,
        who: str | Caller,
        answer: Page | Goto,
        lasts: float = LONGEST,
        id_token: str = "",
    ) -> Response:
        """Answer with the cookie of a new sign-in; the one that the browser had before ends."""
        name, response = self._cookie(request), rendered(answer, Frame())
        self._sign_ins.end(request.cookies.get(name, ""))
        self._set(response, name, self._sign_ins.begin(who, lasts, id_token))
        return response

    async def _signed_out_at(self, sign_in: SignIn) -> str | None:
        """Return where a browser is to sign out at the provider too, if it signed in there."""
        if not sign_in.id_token:
            return None
        try:
            return await self._host.sign_out_url(sign_in.id_token)
        except ProviderError:
            return None

    def _to_sign_in(self, request: Request) -> Response:
        """Lead to the form; a link from another site gets a second look, as it brings no cookie."""
        if request.headers.get("hx-request") == "true":
            # Script would put the form where results stand; the whole page is to change.
            return Response(
                status_code=HTTPStatus.UNAUTHORIZED,
                headers={**pages.HEADERS, "HX-Redirect": SIGN_IN},
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

    def _trip_cookie(self, request: Request) -> str:
        return f"{self._cookie(request)}-round-trip"

    def _language_cookie(self, request: Request) -> str:
        return f"{self._cookie(request)}-language"

    def _set(
        self,
        response: Response,
        name: str,
        value: str,
        samesite: Literal["strict", "lax"] = "strict",
        lasts: int | None = None,
    ) -> None:
        is_secure = self._host.is_secure
        response.set_cookie(
            name, value, lasts, httponly=True, samesite=samesite, secure=is_secure, path="/"
        )


def _read_ends(app: App, caller: Caller) -> object:
    return app.trail.ends(caller)


def _stale_form() -> Trouble:
    return Trouble(
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
    # Browsers take two slashes or more, of either kind, for the beginning of another site's address.
    is_ours = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if is_ours and path.isprintable() else "/"
