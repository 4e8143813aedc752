"""An OpenID provider for tests, over a real socket: discovery, sign-in, codes, ID tokens, keys, sign-out."""

import base64
import hashlib
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from time import time
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import httpx2
import jwt
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from minutebook.features.http.process import listen
from minutebook.features.http.requests.hosts import Address
from tests.features.sign_in.issuing import KEYS, RSA

CLIENT, SECRET = "minutebook-pages", "a secret:with + signs"


@dataclass(frozen=True)
class Grant:
    """What a code stands for, until it is exchanged."""

    nonce: str | None
    challenge: str
    redirect_uri: str


@dataclass
class OpenIdProvider:
    """A provider; what a test sets here makes it do otherwise than it should.

    `claims` are put into each ID token; one that is None is left out. `key`, `algorithm` and `kid` sign
    it. `configuration` is put into the discovery document, `answer` takes the token endpoint's place.
    """

    redirect_uris: set[str]
    url: str
    http: httpx2.Client
    secret: str | None = SECRET
    claims: dict[str, Any] = field(default_factory=dict)
    key: Any = RSA
    algorithm: str = "RS256"
    kid: str = "r"
    configuration: dict[str, Any] = field(default_factory=dict)
    answer: Response | None = None
    denies: bool = False
    keys: bytes = KEYS
    asked: list[str] = field(default_factory=list)
    codes: dict[str, Grant] = field(default_factory=dict)

    def reset(self) -> None:
        """Let it do again what a provider should."""
        fresh = OpenIdProvider(self.redirect_uris, self.url, self.http)
        for name in vars(fresh):
            setattr(self, name, getattr(fresh, name))

    def answered(self, url: str) -> str:
        """Sign in at the page that a browser was led to; return where it leads back to."""
        page = self.http.get(url)
        assert page.status_code == 200, page.text
        back = self.http.post(url, data={})
        assert back.status_code == 303, back.text
        return back.headers["location"]

    def routes(self) -> list[Route]:
        return [
            Route("/.well-known/openid-configuration", self._configuration),
            Route("/authorize", self._ask, methods=["GET"]),
            Route("/authorize", self._sign_in, methods=["POST"]),
            Route("/token", self._token, methods=["POST"]),
            Route("/keys", self._keys),
            Route("/end", self._end),
        ]

    async def _configuration(self, request: Request) -> Response:
        self.asked.append("configuration")
        plain = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "end_session_endpoint": f"{self.url}/end",
            "jwks_uri": f"{self.url}/keys",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        told = plain | self.configuration
        return JSONResponse({name: value for name, value in told.items() if value is not None})

    async def _ask(self, request: Request) -> Response:
        query = request.query_params
        fits = (
            query.get("client_id") == CLIENT
            and query.get("redirect_uri") in self.redirect_uris
            and query.get("response_type") == "code"
            and "openid" in query.get("scope", "").split()
            and query.get("code_challenge_method") == "S256"
            and len(query.get("code_challenge", "")) == 43
            and query.get("state")
        )
        if not fits:
            return HTMLResponse("What was asked is not allowed", 400)
        action = escape(f"{request.url.path}?{request.url.query}")
        form = f'<form method="post" action="{action}"><button>Sign in as Ana</button></form>'
        return HTMLResponse(f"<!doctype html><title>Provider</title>{form}")

    async def _sign_in(self, request: Request) -> Response:
        query = request.query_params
        said = {"state": query["state"], "iss": self.url}
        if self.denies:
            said |= {"error": "access_denied", "error_description": "<b>not you</b>"}
        else:
            said["code"] = secrets.token_urlsafe(16)
            self.codes[said["code"]] = Grant(
                query.get("nonce"), query["code_challenge"], query["redirect_uri"]
            )
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(said)}", 303)

    async def _token(self, request: Request) -> Response:
        self.asked.append("token")
        form = dict(parse_qsl((await request.body()).decode()))
        if self.answer is not None:
            return self.answer
        if self._client_of(request, form) != (CLIENT, self.secret):
            return JSONResponse({"error": "invalid_client"}, 401)
        grant = self.codes.pop(form.get("code", ""), None)
        proof = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(proof).decode().rstrip("=")
        if (
            grant is None
            or grant.challenge != challenge
            or grant.redirect_uri != form.get("redirect_uri")
            or form.get("grant_type") != "authorization_code"
        ):
            return JSONResponse({"error": "invalid_grant"}, 400)
        return JSONResponse(
            {
                "access_token": secrets.token_urlsafe(16),
                "token_type": "Bearer",
                "id_token": self.signed(grant.nonce),
            },
            headers={"Cache-Control": "no-store"},
        )

    def signed(self, nonce: str | None) -> str:
        now = int(time())
        plain = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "ana",
            "iat": now,
            "exp": now + 300,
            "nonce": nonce,
            "minutebook_role": "human",
        }
        told = {name: value for name, value in (plain | self.claims).items() if value is not None}
        return jwt.encode(told, self.key, self.algorithm, {"kid": self.kid})

    def _client_of(self, request: Request, form: dict[str, str]) -> tuple[str | None, str | None]:
        scheme, _, shown = request.headers.get("authorization", "").partition(" ")
        if scheme == "Basic":
            name, _, secret = base64.b64decode(shown).decode().partition(":")
            return unquote(name), unquote(secret)
        return form.get("client_id"), form.get("client_secret")

    async def _keys(self, request: Request) -> Response:
        return Response(self.keys, media_type="application/json")

    async def _end(self, request: Request) -> Response:
        query = request.query_params
        jwt.decode(query["id_token_hint"], RSA.public_key(), ["RS256"], audience=CLIENT)
        back = query["post_logout_redirect_uri"]
        origins = {
            f"{urlsplit(each).scheme}://{urlsplit(each).netloc}" for each in self.redirect_uris
        }
        assert back in {f"{origin}/signin" for origin in origins}
        self.asked.append("end")
        return RedirectResponse(back, 303)


@contextmanager
def provided(*redirect_uris: str) -> Iterator[OpenIdProvider]:
    """Serve a provider on loopback, which leads back to these addresses."""
    listener = listen(Address("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with httpx2.Client(timeout=60) as client:
        provider = OpenIdProvider(set(redirect_uris), url, client)
        with served_at(listener, Starlette(routes=provider.routes())):
            yield provider


@contextmanager
def served_at(listener: socket.socket, app: ASGIApp) -> Iterator[None]:
    """Serve an application at a socket, in a thread."""
    config = uvicorn.Config(app, log_config=None, ws="none")
    server = uvicorn.Server(config)
    # The socket listens already: who asks before the loop runs is answered when it does.
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(60)
        listener.close()
