"""Signing in to the pages at a provider: the browser's way there and back, and the check of its ID token."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from minutebook.app import App
from minutebook.config import Settings
from minutebook.features.pages.frame.application import BrowserAuthentication, next_path
from minutebook.features.pages.frame.catalogue import text as _
from minutebook.features.pages.frame.page import Frame, Goto, OpenWay, Page, Pages, WayIn
from minutebook.features.pages.frame.rendering import rendered
from minutebook.features.pages.frame.wording import trouble_of
from minutebook.features.sign_in.faults import ProviderError, ProviderFault, provider_trouble
from minutebook.features.sign_in.openid import CALLBACK, Person, Provider, open_provider
from minutebook.features.sign_in.round_trips import LASTS, RoundTrip, RoundTrips
from minutebook.features.sign_in.signed_tokens import Issuer, audited, issued_token, open_issuer
from minutebook.record.errors import MinutebookError

PROVIDER_THREADS = 8
"""Threads that wait for the provider; further sign-ins are refused."""

T = TypeVar("T")


class ProviderSignIn:
    """Redirects browsers to a provider, and signs in the people in its answers."""

    def __init__(self, browsers: BrowserAuthentication, provider: Provider) -> None:
        self._browsers, self.host = browsers, browsers.host
        self._provider = provider
        self._round_trips = RoundTrips()
        self._threads = anyio.CapacityLimiter(PROVIDER_THREADS)

    async def set_out(self, request: Request) -> Response:
        """Redirect a browser to the provider, where its person signs in."""
        trip = self._round_trips.begin(next_path(request.query_params.get("next", "")))
        try:
            url = await self.ask(
                lambda provider: provider.authorization_url(trip.state, trip.nonce, trip.challenge)
            )
        except ProviderError as error:
            return self._browsers.failed(request, provider_trouble(error))
        response = rendered(Goto(url), Frame())
        # Not `strict`: the browser comes back from another site.
        self._browsers.set_cookie(response, self._cookie(request), trip.cookie, "lax", int(LASTS))
        return response

    async def come_back(self, request: Request) -> Response:
        """Sign in the person in the provider's answer."""
        try:
            response = await self._finish(request)
        except ProviderError as error:
            response = self._browsers.failed(request, provider_trouble(error))
        except MinutebookError as error:
            response = self._browsers.failed(request, trouble_of(error))
        name, is_secure = self._cookie(request), self.host.is_secure
        response.delete_cookie(name, path="/", secure=is_secure, httponly=True, samesite="lax")
        return response

    async def _finish(self, request: Request) -> Response:
        answer, cookie = request.query_params, request.cookies.get(self._cookie(request), "")
        trip, issuer = self._round_trips.finish(cookie, answer.get("state", "")), answer.get("iss")
        if (fault := answer.get("error")) is not None:
            await self.ask(lambda provider: provider.check_issuer(issuer))
            detail = f"{fault}: {answer.get('error_description', '')}"[:300]
            raise ProviderError(ProviderFault.DECLINED, detail.strip(": "))
        self._check_is_free()
        person = await self.host.access.ask(
            lambda app: self._redeem(app, trip, answer.get("code", ""), issuer), self._threads
        )
        # A redirect from another site sends no strict cookie, so the page itself leads on.
        facts = {"path": trip.onward, "heading": _("You are signed in")}
        arrived, proof = Page("again.html", facts), IdToken(self, person.id_token)
        return self._browsers.signed_in(request, person.caller, arrived, person.lasts, proof)

    def _redeem(self, app: App, trip: RoundTrip, code: str, issuer: str | None) -> Person:
        self._provider.check_issuer(issuer)
        with audited(app.tokens):
            person = self._provider.redeem(code, trip.verifier, trip.nonce)
        issued_token(person.id_token).check(app.tokens)
        return person

    async def ask(self, task: Callable[[Provider], T]) -> T:
        """Run a task on the provider in a thread. Raises ProviderError if it does not answer, or all threads are busy."""
        self._check_is_free()
        return await anyio.to_thread.run_sync(task, self._provider, limiter=self._threads)

    def _check_is_free(self) -> None:
        if self._threads.available_tokens < 1:
            raise ProviderError(ProviderFault.BUSY, "many sign in at this moment")

    def _cookie(self, request: Request) -> str:
        return f"{self._browsers.cookie(request)}-round-trip"


@dataclass(frozen=True, slots=True)
class IdToken:
    """The ID token by which a person signed in."""

    way: ProviderSignIn
    token: str = field(repr=False)

    async def check(self) -> None:
        """Raise Unidentified if the token was revoked, StoreError if that cannot be read."""
        issued = issued_token(self.token)
        await self.way.host.access.ask(lambda app: issued.check(app.tokens))

    async def sign_out_url(self) -> str | None:
        """Return the URL at which a browser signs out at the provider; None if there is none."""
        try:
            return await self.way.ask(lambda provider: provider.sign_out_url(self.token))
        except ProviderError:
            return None


def _opened(browsers: BrowserAuthentication) -> OpenWay | None:
    """Return the sign-in at the provider that settings name, None if they name none. Raises InvalidInput."""
    issuer = browsers.host.access.authenticator.issuer
    provider = open_provider(browsers.host.settings, issuer if isinstance(issuer, Issuer) else None)
    if provider is None:
        return None
    way = ProviderSignIn(browsers, provider)
    routes = [
        Route("/signin/provider", way.set_out, methods=["GET"]),
        Route(CALLBACK, way.come_back, methods=["GET"]),
    ]
    return OpenWay("sign_in/way.html", {"name": provider.name}, routes)


def _name(settings: Settings) -> str:
    return "the provider" if open_provider(settings, open_issuer(settings)) else ""


PAGES = Pages(ways_in=(WayIn(_name, _opened),))
