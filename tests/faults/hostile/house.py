"""A data directory with all its doors: every contract over MCP, plain HTTP, the pages, the command line."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from click.testing import CliRunner, Result
from starlette.testclient import TestClient

from minutebook.app import App
from minutebook.cli import main
from minutebook.config import Settings, settings_with
from minutebook.features.http.application import application
from minutebook.features.http.requests.authentication import Authenticator
from minutebook.features.http.requests.hosts import AllowedHosts
from minutebook.features.pages.frame.sign_ins import SignIns
from minutebook.features.pages.serving import PagesMount
from minutebook.record.policy import Redact
from minutebook.serve import logs
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.contracts.registry import CONTRACTS
from tests.empty_database import empty_database
from tests.features.pages.site import BASE, OWNER, Browser

JSON = {"content-type": "application/json", "accept": "application/json"}


@dataclass(frozen=True)
class Answer:
    """What was answered, as it came, and whether it was a refusal."""

    text: str
    refused: bool = False

    @property
    def document(self) -> Any:
        """The answer read as JSON."""
        return json.loads(self.text)


class House:
    """A data directory that is served in this process; `folder` is its own, with what stands beside the data."""

    def __init__(
        self, settings: Settings, loader: AppLoader, http: TestClient, sign_ins: SignIns
    ) -> None:
        self.folder = settings.home.parent
        self.settings = settings
        self._loader = loader
        self._http = http
        self._sign_ins = sign_ins
        self._owner: Browser | None = None
        self.notices: list[str] = []

    @property
    def app(self) -> App:
        return self._loader()

    @property
    def owner(self) -> Browser:
        """A browser that is signed in as the owner."""
        if self._owner is None:
            self._owner = Browser(self._http)
            self._owner.followed(self._owner.get(f"/enter?key={self._sign_ins.link()}"))
        return self._owner

    def tool(self, contract: str, tool: str, /, **arguments: Any) -> Answer:
        """Call a tool over MCP."""
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self._http.post(f"/mcp/{contract}", content=json.dumps(message), headers=JSON)
        told = answer.json()
        return Answer(answer.text, "error" in told or told["result"].get("isError", False))

    def rest(self, path: str, body: Any) -> Answer:
        """Ask for an operation over plain HTTP; its notes stand in a header."""
        answer = self._http.post(path, content=json.dumps(body), headers=JSON)
        return Answer(
            answer.text + answer.headers.get("minutebook-notes", ""), answer.status_code >= 400
        )

    def form(self, path: str, **fields: str) -> Answer:
        """Send a page's form, and read the page that follows."""
        self.owner.get("/settings")
        answer = self.owner.post(path, **fields)
        if answer.status_code == 303:
            answer = self.owner.get(answer.headers["location"])
        return Answer(answer.text, answer.status_code >= 400)

    def command(self, *arguments: str, input: str | None = None) -> Answer:
        """Run a command of the command line."""
        env = {
            "MINUTEBOOK_HOME": str(self.settings.home),
            "MINUTEBOOK_EMBEDDER": "none",
            "MINUTEBOOK_REDACT": str(self.settings.redact) if self.settings.redact else None,
        }
        result: Result = CliRunner().invoke(main, arguments, env=env, input=input, color=True)
        assert result.exception is None or isinstance(result.exception, SystemExit), (
            arguments,
            result.exception,
        )
        return Answer(result.stdout + result.stderr, result.exit_code != 0)


@contextmanager
def house(folder: Path, redact: Redact | None = None) -> Iterator[House]:
    """Serve a new data directory in a folder until the block ends."""
    home = folder / "home"
    settings = settings_with(
        home=home,
        embedder="none",
        durability="normal",
        redact=redact,
        index_roots={"default": (folder,)},
        rate_limit=0,
    )
    empty_database(settings.database)
    loader, sign_ins = AppLoader(settings), SignIns(OWNER)
    served = application(
        settings,
        loader,
        {name: load() for name, load in CONTRACTS.items()},
        Authenticator(settings, loader),
        AllowedHosts({"127.0.0.1"}, set(), is_loopback=True),
        anyio.Event(),
        [PagesMount(sign_ins)],
    )
    with ExitStack() as stack:
        stack.callback(loader.close)
        http = stack.enter_context(TestClient(served, base_url=BASE))
        yield House(settings, loader, http, sign_ins)


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """Gather all that is logged."""
    stream = io.StringIO()
    root, level = logging.getLogger(), logging.getLogger().level
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._Plain())
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    try:
        yield stream
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
