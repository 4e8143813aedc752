"""A store that organizations share, served in this process, and every door by which a caller comes to it."""

import json
import logging
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass, field, replace
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import anyio
import apsw
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.applications import Starlette

from minutebook.app import App
from minutebook.config import Settings, settings_with
from minutebook.features.http.application import application
from minutebook.features.http.requests.authentication import Authenticator
from minutebook.features.http.requests.hosts import AllowedHosts
from minutebook.record.caller import Caller, with_call
from minutebook.record.policy import Policy
from minutebook.record.records import Kind, Record, Role
from minutebook.record.rights.grants import Grant
from minutebook.serve.contracts.answers import Answer
from minutebook.serve.contracts.registry import CONTRACTS
from minutebook.store.sql.tables import table_of, value_text
from tests.commands_in_daemon import Daemon, daemon_on
from tests.faults.isolation.oracle import Key, View, Who
from tests.terminal import typed
from tests.world import KEPT, World, worlds

OPENED = {name: make() for name, make in CONTRACTS.items()}
OWNER = Caller(name="root", role=Role.ADMIN, writes_system=True)
SECRET = "open sesame, said the admin"

ONE, TWO = "one-canary00000001", "two-canary00000002"
ANA, BEN = "ana-canary00000003", "ben-canary00000004"
ACME, ZOO = "acme-canary00000005", "zoo-canary00000006"
"""Names of repositories, users and organizations are private texts as well."""

_BOUND: list[tuple[str | None, tuple[str, ...] | None, str | None]] = [
    (ACME, None, None),
    (ACME, (ONE,), None),
    (ACME, (TWO,), None),
    (ACME, (ONE, TWO), None),
    (ACME, None, ANA),
    (ACME, (ONE,), BEN),
    (ZOO, None, None),
    (ZOO, (ONE,), None),
    (ZOO, None, ANA),
]
_ROLES = ("viewer", "agent", "human", "manager", "admin")


def visitors() -> list[Who]:
    """Everybody who comes: with tokens of every reach and role, and at the machine's command line."""
    told = [
        Who(f"{role}{number}", role, org, None if repos is None else frozenset(repos), user)
        for number, (org, repos, user) in enumerate(_BOUND)
        for role in _ROLES
    ]
    told.append(Who("auditor", "admin"))
    # Somebody at the keyboard is held to one repository at most.
    local = [
        Who(
            f"typing-{role}{number}",
            role,
            org,
            None if repos is None else frozenset(repos),
            user,
            True,
        )
        for number, (org, repos, user) in enumerate(_BOUND)
        if repos is None or len(repos) == 1
        for role in ("agent", "human", "manager")
    ]
    return [*told, *local]


@dataclass(frozen=True)
class Request:
    """What is asked: by a tool's call, a resource, a list of resources, a completion, an operation, a command.

    `door` is `direct` or `http` for what a contract answers, `rest`, `endpoint` for a command that a server
    runs, `typed` for one at the machine.
    """

    door: str
    what: str
    contract: str = ""
    name: str = ""
    payload: Any = None

    @property
    def sent(self) -> str:
        """All that the caller sends."""
        return json.dumps([self.name, self.payload], ensure_ascii=False)

    def instead(self, exchange: Mapping[str, str]) -> "Request":
        """The same about something else."""
        sent = self.sent
        for old, new in exchange.items():
            sent = sent.replace(old, new)
        name, payload = json.loads(sent)
        return replace(self, name=name, payload=payload)


@dataclass(frozen=True)
class Said:
    """An answer: whether it is one and no refusal, all of its text, and what it holds."""

    is_done: bool
    text: str
    data: Any = None
    status: int = 0


class Kept:
    """All that is kept but the trail and tokens, read past the store, again only after somebody committed."""

    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)
        self._version = 0
        self._rows: dict[tuple[str, Kind], dict[tuple[Any, ...], Record]] = {}
        self.last: dict[Key, Record] = {}
        """What was there when it was last looked at."""

    def records(self) -> dict[Key, Record]:
        """Return every record, by organization, kind and id; what did not change is the same object."""
        version = self._connection.pragma("data_version")
        if version == self._version:
            return self.last
        names = dict(self._connection.execute("SELECT number, name FROM organizations"))
        self.last = {}
        for of in KEPT:
            table = table_of(of)
            where = f"WHERE r.kind = '{of.kind}'" if len(table.records) > 1 else ""
            rows = self._connection.execute(
                f"SELECT r.organization, {table.fields} FROM {table.name} AS r {where}"
            )
            before, now = self._rows.get((table.name, of.kind), {}), {}
            for row in rows:
                if (record := before.get(row)) is None:
                    record = table.record_of(of, value_text(names[row[0]]), row[1:])
                now[row] = record
                self.last[record.organization, record.kind, record.id] = record
            self._rows[table.name, of.kind] = now
        self._version = version
        return self.last

    def close(self) -> None:
        """Close it."""
        self._connection.close()


@dataclass
class House:
    """The store, what is kept in it, and its callers."""

    world: World
    home: Path
    policy: str
    portal: BlockingPortal
    served: Starlette
    secrets: dict[str, str]
    callers: dict[str, Caller]
    kept: Kept
    daemon: Daemon
    url: str
    variables: dict[str, str]
    view: View = field(default_factory=View)

    @property
    def app(self) -> App:
        """The services."""
        return self.world.app

    def ask(self, who: Who, asked: Request) -> Said:
        """Have somebody ask something."""
        self.world.clock.turn()
        match asked.door:
            case "direct":
                return self._direct(who, asked)
            case "http":
                return self._over_mcp(who, asked)
            case "rest":
                status, body = self.post(who, asked.name, asked.payload, asked.what)
                return Said(status < 300, body, _parsed(body), status)
            case _:
                return self._typed(who, asked)

    def _direct(self, who: Who, asked: Request) -> Said:
        contract, caller = OPENED[asked.contract], self.callers[who.name]
        caller = with_call(caller, request="r", session=f"own-{who.name}", notes={})
        match asked.what:
            case "tool":
                answer = contract.call(self.app, caller, asked.name, asked.payload)
            case "read":
                answer = contract.read(self.app, caller, asked.name)
            case "list":
                listed = [dict(each) for each in contract.listing(self.app, caller)]
                return Said(True, json.dumps(listed, default=str), listed)
            case _:
                template, variable, typed = asked.payload
                found = contract.complete(self.app, caller, template, variable, typed)
                return Said(True, json.dumps(found), found)
        return _said(answer)

    def _over_mcp(self, who: Who, asked: Request) -> Said:
        match asked.what:
            case "tool":
                method, params = "tools/call", {"name": asked.name, "arguments": asked.payload}
            case "read":
                method, params = "resources/read", {"uri": asked.name}
            case "list":
                method, params = "resources/list", {}
            case _:
                template, variable, typed = asked.payload
                method = "completion/complete"
                params = {
                    "ref": {"type": "ref/resource", "uri": template},
                    "argument": {"name": variable, "value": typed},
                }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        status, body = self.post(who, f"/mcp/{asked.contract}", message)
        told = _parsed(body)
        result = told.get("result") if isinstance(told, dict) else None
        if status != 200 or result is None or result.get("isError"):
            return Said(False, body, None, status)
        return Said(True, body, _content(asked.what, result), status)

    def _typed(self, who: Who, asked: Request) -> Said:
        """Type a command: beside a daemon, or with a token for a server."""
        if asked.door == "endpoint":
            words = ["--url", self.url, *asked.payload]
            done = typed(*words, env={"MINUTEBOOK_TOKEN": self.secrets[who.name]})
            return Said(done.exit_code == 0, done.output, None, done.exit_code)
        words = [*asked.payload[:1], "--role", who.role, "--agent", who.name]
        for name, value in (("organization", who.organization), ("user", who.user)):
            words += [] if value is None else [f"--{name}", value]
        for repository in who.repositories or ():
            words += ["--repository", repository]
        before = self.daemon.asked
        done = self.daemon.run(*words, *asked.payload[1:], env=self.variables)
        assert self.daemon.asked > before or done.exit_code == 2, (words, done.output)
        return Said(done.exit_code == 0, done.output, None, done.exit_code)

    def post(self, who: Who, path: str, payload: Any, method: str = "POST") -> tuple[int, str]:
        """Send a request with somebody's token; the status and the body of the answer."""
        body = json.dumps(payload).encode()
        return self.portal.call(self.send, who, path, body, method)

    async def send(self, who: Who, path: str, body: bytes, method: str) -> tuple[int, str]:
        """Serve one request as a server would."""
        given = {
            "host": "localhost",
            "authorization": f"Bearer {self.secrets[who.name]}",
            "content-type": "application/json",
            "accept": "application/json",
            "content-length": str(len(body)),
        }
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
            "client": ("127.0.0.1", 1),
            "server": ("localhost", 80),
        }
        parts: list[bytes] = []
        status, done, is_read = 0, anyio.Event(), False

        async def receive() -> dict[str, Any]:
            nonlocal is_read
            if is_read:
                await done.wait()
                return {"type": "http.disconnect"}
            is_read = True
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    done.set()

        await self.served(scope, receive, send)
        return status, b"".join(parts).decode()


class _Loaded:
    """Stands for the loader of an app that is open."""

    is_open = True

    def __init__(self, app: App) -> None:
        self._app = app

    def __call__(self) -> App:
        return self._app

    def find(self) -> App:
        return self._app


@contextmanager
def houses(home: Path, policy: str) -> Iterator[House]:
    """Open an empty store with tokens for all visitors, and serve it until the block ends."""
    options: dict[str, Any] = {
        "policy": Policy(policy),
        "rate_limit": 0.0,
        "review_window": 0.0,
        "agent_memory_secret": SECRET,
        "index_roots": {ACME: (home,), ZOO: (home,)},
        "archive_roots": {each: (home / "archives" / each,) for each in (ACME, ZOO)},
    }
    for organization in (ACME, ZOO):
        (home / "archives" / organization).mkdir(parents=True)
    with ExitStack() as stack:
        stack.enter_context(redirect_stderr(StringIO()))
        open_one = stack.enter_context(worlds(home))
        world = open_one(**options)
        settings = settings_with(home=home / "one", durability="normal", **options)
        loader: Any = _Loaded(world.app)
        made = {
            who.name: world.app.tokens.create(OWNER, _grant(who)).secret
            for who in visitors()
            if not who.is_local
        }
        portal = stack.enter_context(start_blocking_portal())
        served = portal.call(_application, settings, loader)
        stack.enter_context(
            portal.wrap_async_context_manager(served.router.lifespan_context(served))
        )
        callers = {name: world.app.tokens.caller_of(secret) for name, secret in made.items()}
        logger = logging.getLogger("minutebook")
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.ERROR)
        kept = Kept(settings.database)
        stack.callback(kept.close)
        variables = {
            "MINUTEBOOK_HOME": str(settings.home),
            "MINUTEBOOK_POLICY": policy,
            "MINUTEBOOK_EMBEDDER": "none",
        }
        daemon = stack.enter_context(daemon_on(world.app, None, {**os.environ, **variables}))
        url = stack.enter_context(_listening(portal, served))
        yield House(
            world, home, policy, portal, served, made, callers, kept, daemon, url, variables
        )


async def _application(settings: Settings, loader: Any) -> Starlette:
    return application(
        settings,
        loader,
        OPENED,
        Authenticator(settings, loader),
        AllowedHosts((), (), is_loopback=True),
        anyio.Event(),
    )


@contextmanager
def _listening(portal: BlockingPortal, served: Starlette) -> Iterator[str]:
    """Have the application listen, too; the address."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(served, lifespan="off", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    ending = portal.start_task_soon(partial(server.serve, sockets=[listener]))
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    ending.result(20)


def _grant(who: Who) -> Grant:
    return Grant(
        name=who.name,
        role=Role(who.role),
        organization=who.organization,
        repositories=None if who.repositories is None else tuple(sorted(who.repositories)),
        user=who.user,
    )


def _said(answer: Answer) -> Said:
    notes = {name: [dict(note.facts), note.text] for name, note in answer.notes.items()}
    failure = answer.error
    facts = None if failure is None else [failure.code, failure.structured, dict(failure.facts)]
    text = json.dumps([answer.text, answer.content, facts, notes], default=str, ensure_ascii=False)
    data = answer.content if answer.content is not None else _parsed(answer.text)
    return Said(failure is None, text, data)


def _content(what: str, result: dict[str, Any]) -> Any:
    match what:
        case "tool":
            data = result.get("structuredContent")
            return _parsed(result["content"][0]["text"]) if data is None else data
        case "read":
            return _parsed(result["contents"][0]["text"])
        case "list":
            return result["resources"]
        case _:
            return result["completion"]["values"]


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
