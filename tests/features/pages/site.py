"""The pages as a browser gets them: the whole HTTP application in this process, on a real store."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import anyio
import httpx2
from starlette.applications import Starlette
from starlette.testclient import TestClient

from minutebook.app import App
from minutebook.config import Settings, settings_with
from minutebook.features.http.application import application
from minutebook.features.http.requests.authentication import Authenticator
from minutebook.features.http.requests.hosts import AllowedHosts
from minutebook.features.http.settings import HttpSettings
from minutebook.features.pages.frame.sign_ins import SignIns
from minutebook.features.pages.serving import PagesMount
from minutebook.record.caller import Call, Caller
from minutebook.record.origin import Origin
from minutebook.record.records import Memory, MemoryType, Role
from minutebook.record.rights.grants import Grant
from minutebook.record.writing.drafts import Draft
from minutebook.serve.app_loader import AppLoader
from tests.empty_database import empty_database
from tools.build_hook import compile_stale

HOST = "127.0.0.1:8765"
BASE = f"http://{HOST}"
OWNER = Caller(name="ada", role=Role.HUMAN, writes_system=True)
AGENT = Caller(
    name="claude-code",
    role=Role.AGENT,
    organization="default",
    call=Call(session="s1", origin=Origin(client="claude-code", version="2", session="s1")),
)
# At a desk a translation may have been edited since the last `make`.
compile_stale(Path(__file__).parents[3])

_CSRF = re.compile(r'name="csrf" value="([^"]+)"')


@dataclass
class Browser:
    """A browser with cookies of its own, which sends back the key of the last form it saw."""

    http: TestClient
    csrf: str = ""

    def get(self, path: str, **headers: str) -> httpx2.Response:
        given = {"accept": "text/html", **{k.replace("_", "-"): v for k, v in headers.items()}}
        answer: httpx2.Response = self.http.get(path, headers=given, follow_redirects=False)
        if found := _CSRF.search(answer.text):
            self.csrf = found[1]
        return answer

    def post(self, path: str, **form: Any) -> httpx2.Response:
        """Send a form; `headers` are no field of it."""
        given = {"accept": "text/html", "origin": BASE, **form.pop("headers", {})}
        fields = {"csrf": self.csrf, **form}
        answer: httpx2.Response = self.http.post(
            path, data=fields, headers=given, follow_redirects=False
        )
        return answer

    def followed_link(self, page: str, start: str) -> str:
        """Follow the first link of a page whose address begins so."""
        found = re.search(f'href="({re.escape(start)}[^"]*)"', page)
        assert found is not None, page
        return self.get(unescape(found[1])).text

    def followed(self, answer: httpx2.Response) -> httpx2.Response:
        assert answer.status_code == 303, answer.text
        page = self.get(answer.headers["location"])
        # The first page is wherever the menu begins.
        return self.get(page.headers["location"]) if answer.headers["location"] == "/" else page


@dataclass
class Site:
    """The pages on a store, and the services behind them."""

    app: App
    sign_ins: SignIns
    browser: Callable[[], Browser]

    def owner(self) -> Browser:
        """A browser that came by a one-time link."""
        one = self.browser()
        one.followed(one.get(f"/enter?key={self.sign_ins.link()}"))
        return one

    def bearer(self, role: Role = Role.HUMAN, **grant: Any) -> Browser:
        """A browser whose person signed in with a token."""
        one = self.browser()
        one.get("/signin")
        one.followed(one.post("/signin", token=self.token(role, **grant)))
        return one

    def token(self, role: Role = Role.HUMAN, **grant: Any) -> str:
        told: dict[str, Any] = {"name": "grace", "organization": "default"} | grant
        return self.app.tokens.create(OWNER, Grant(role=role, **told)).secret

    def remember(self, content: str, caller: Caller = AGENT, **said: Any) -> Memory:
        draft = Draft(content=content, type=said.pop("type", MemoryType.FACT), **said)
        return self.app.memories.store(caller, draft)


def pages_on(settings: Settings, loader: AppLoader, sign_ins: SignIns) -> Starlette:
    """The whole HTTP application with pages and no contracts, on a new store."""
    empty_database(settings.database)
    hosts = {"testserver", "127.0.0.1", "minutebook.example"}
    return application(
        settings,
        loader,
        {},
        Authenticator(settings, loader),
        AllowedHosts(hosts, {"https://minutebook.example"}, is_loopback=True),
        anyio.Event(),
        [PagesMount(sign_ins)],
    )


@contextmanager
def site_on(home: Path, **changes: Any) -> Iterator[Site]:
    """Serve the pages of a new store in a folder; `changes` are settings."""
    settings = settings_with(home=home, **{"embedder": "none", "durability": "normal", **changes})
    loader = AppLoader(settings)
    sign_ins = SignIns(OWNER)
    served = pages_on(settings, loader, sign_ins)
    is_secure = settings.of(HttpSettings).public_url is not None
    base = "https://minutebook.example" if is_secure else BASE
    with ExitStack() as stack:
        stack.callback(loader.close)
        first = stack.enter_context(TestClient(served, base_url=base))

        def browser() -> Browser:
            client = TestClient(served, base_url=base)
            client.portal = first.portal
            return Browser(client)

        yield Site(loader(), sign_ins, browser)
