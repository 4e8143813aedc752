"""The web pages: the processor time of the server for each, and how large it is.

`python -m benchmarks.pages` prints tables and writes `benchmarks/results/pages.json`; `--quick` is a short form. `--size 100000 1000000`
measures stores of several sizes in one run, each page of all in turn.

Requests go straight into the ASGI application of this process, as the server reads them from its socket; the
socket, and a browser's work, are not counted. The time is that of all threads of the process: the median of
the rounds, each with another question, page or record. Texts and vectors of memories and code are drawn as
`benchmarks.store` draws them, without token states, and a question's vector too, so no model runs: what the
built-in model and its late interaction add to a search is measured by `benchmarks.serving`. Beside the pages stand
some calls of a client on the same stores, without transport (`benchmarks.store_calls`), and the start of a process.
"""

import gzip
import http.cookies
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import numpy as np
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import ASGIApp

from benchmarks.measure import DATA, FORM, Cell, Table, asked, machine, publish
from benchmarks.store import UNRELATED, Records, text_queries, word
from benchmarks.store_calls import calls, first_question
from minutebook.app import App, open_app
from minutebook.config import Settings, settings_with
from minutebook.config.models import Models
from minutebook.features.http.application import application
from minutebook.features.http.requests.authentication import Authenticator
from minutebook.features.http.requests.hosts import AllowedHosts
from minutebook.features.pages.frame.sign_ins import SignIns
from minutebook.features.pages.serving import PagesMount
from minutebook.model.protocol import Embedded, Model
from minutebook.model.service import Embedding
from minutebook.record.caller import Caller
from minutebook.record.filters import Filter
from minutebook.record.records import (
    DEFAULT_ORGANIZATION,
    CodeChunk,
    Edge,
    Entity,
    IndexState,
    Kind,
    Memory,
    Mention,
    Project,
    Relation,
    Role,
    TextRecord,
)
from minutebook.serve.app_loader import AppLoader
from minutebook.store.protocol import Store
from minutebook.store.values import Vectors, VectorSpace
from tests.page_scope import page_scope

ENTITIES, AROUND, CHUNK_SHARE = 1200, 1000, 0.1
"""Entities, how many of them the first is connected with, and pieces of code a memory."""

SETTLED = 0.05
"""Seconds of processor time in one second below which the process counts as idle."""

QUIET = 3
"""So many such seconds in a row are waited for, as others may keep a process from its work for one."""

OWNER = Caller(name="ada", role=Role.ADMIN, writes_system=True)
HOST = "127.0.0.1:8765"


class RandomEmbedder:
    """Draws a vector for each question; as quick as no model is."""

    model = Model("synthetic", "4", 384, unrelated=UNRELATED)

    def __init__(self) -> None:
        self._records = Records(5)

    def embed_query(self, text: str) -> Embedded:
        """Return a drawn unit vector as the one row of a question."""
        return Embedded(self._records.vectors(1))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Return a drawn unit vector for each text."""
        return [Embedded(row[None]) for row in self._records.vectors(len(texts))]


def models() -> Models:
    """Return models of which none has to be loaded."""
    embedder = RandomEmbedder()
    return Models(Embedding(lambda: embedder, embedder.model), None)


def built(size: int) -> Path:
    """Fill the data directory of a size, if it is not there yet; return it."""
    home = DATA / f"pages-{size}-{FORM}-1"
    if not (home / "whole").exists():
        settings = settings_with(home=home, embedder="none", durability="normal")
        app = open_app(settings, models=models())
        try:
            _fill(app, size)
        finally:
            app.close()
        (home / "whole").touch()
    return home


def _fill(app: App, size: int) -> None:
    store, drawn, began = app.infrastructure.store, Records(1), datetime(2026, 1, 1, tzinfo=UTC)
    space, home = app.embeddings.space_of(Memory), DEFAULT_ORGANIZATION
    code = app.embeddings.space_of(CodeChunk)
    chance = np.random.default_rng(3)
    entities = [_entity(number, began) for number in range(ENTITIES)]
    with store.transaction(home):
        for entity in entities:
            store.put(entity)
        for number, other in enumerate(entities[1 : AROUND + 1]):
            store.put(_edge(Relation, f"r{number}", entities[0].id, other.id, "uses", began))
    for start in range(0, size, 1000):
        with store.transaction(home):
            for number in range(start, min(size, start + 1000)):
                memory, vectors = drawn.next(home, None)
                _put(store, memory, space, vectors)
                named = entities[int(chance.integers(ENTITIES))].id
                store.put(_edge(Mention, f"m{number}", memory.id, named, "mentions", began))
    files, pieces = max(1, size // 100), int(size * CHUNK_SHARE)
    with store.transaction(home):
        store.put(_project(began, files))
        for number in range(pieces):
            _put(
                store,
                _chunk(drawn, number, number % files, number // files),
                code,
                drawn.vectors(1),
            )
    for number in range(200):
        app.trail.log(OWNER, home, "read", Kind.MEMORY, [str(number)])


def _entity(number: int, at: datetime) -> Entity:
    return Entity(
        organization=DEFAULT_ORGANIZATION,
        id=f"e{number}",
        name=f"Thing {word(number + 100)} {number}",
        type="service",
        author="agent",
        created_at=at,
    )


def _edge(of: type[Edge], id: str, source: str, target: str, type: str, at: datetime) -> Edge:
    return of(
        organization=DEFAULT_ORGANIZATION,
        id=id,
        source=source,
        target=target,
        type=type,
        created_at=at,
    )


def _project(at: datetime, files: int) -> Project:
    return Project(
        organization=DEFAULT_ORGANIZATION,
        id="kettle",
        path="/srv/kettle",
        author="agent",
        state=IndexState.COMPLETED,
        started_at=at,
        read_at=at,
        completed_at=at,
        total_files=files,
        indexed_files=files,
    )


def _chunk(drawn: Records, number: int, file: int, place: int) -> CodeChunk:
    lines = [f"    {name} = make({name!r})" for name in drawn.words(30)]
    first = 1 + place * 31
    return CodeChunk(
        organization=DEFAULT_ORGANIZATION,
        id=f"c{number}",
        project="kettle",
        path=f"src/part{file}.py",
        language="python",
        type="function",
        name=f"make_{number}",
        signature=f"def make_{number}():",
        start_line=first,
        end_line=first + 30,
        content="\n".join([f"def make_{number}():", *lines]) + "\n",
    )


def _put(store: Store, record: TextRecord, space: VectorSpace, vectors: Vectors) -> None:
    store.put(record)
    store.put_vectors(type(record), record.organization, record.id, space, vectors)


class Loader(AppLoader):
    """Opens the app with models that are there already."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._models = models()


@dataclass
class Visitor:
    """Asks the application for pages, as a browser that is signed in."""

    served: ASGIApp
    portal: BlockingPortal
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, headers: Mapping[str, str] = {}) -> tuple[int, bytes]:
        """Return the status and the body of a page."""
        return self.portal.call(self._get, path, headers)

    async def _get(self, path: str, headers: Mapping[str, str]) -> tuple[int, bytes]:
        cookie = "; ".join(f"{k}={v}" for k, v in self.cookies.items())
        scope = page_scope(path, {"host": HOST, "cookie": cookie, **headers})
        status, body = 0, b""

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            nonlocal status, body
            if message["type"] == "http.response.start":
                status = message["status"]
                for name, value in message["headers"]:
                    if name == b"set-cookie":
                        jar = http.cookies.SimpleCookie(value.decode())
                        self.cookies |= {each.key: each.value for each in jar.values()}
            else:
                body += message.get("body", b"")

        await self.served(scope, receive, send)
        return status, body


@contextmanager
def visited(home: Path) -> Iterator[tuple[App, Visitor]]:
    """Serve the pages of a store in this process; give the app, and a visitor who is its owner."""
    settings = settings_with(home=home, durability="normal")
    loader, sign_ins = Loader(settings), SignIns(OWNER)
    served = application(
        settings,
        loader,
        {},
        Authenticator(settings, loader),
        AllowedHosts({"127.0.0.1"}, set(), is_loopback=True),
        anyio.Event(),
        [PagesMount(sign_ins)],
    )
    try:
        with start_blocking_portal() as portal:
            app = loader()
            app.embedding.wait()
            visitor = Visitor(served, portal)
            visitor.get(f"/enter?key={sign_ins.link()}")
            yield app, visitor
    finally:
        loader.close()


@contextmanager
def _another(home: Path) -> Iterator[App]:
    """Open a store once more, as another process does."""
    app = open_app(settings_with(home=home, durability="normal"), models=models())
    try:
        app.embedding.wait()
        yield app
    finally:
        app.close()


def pages(app: App, rounds: int) -> dict[str, Callable[[int], str]]:
    """Return the addresses that are measured, by what they show, for the number of a round."""
    questions = [quote(each) for each in text_queries(rounds, 7)]
    memories = _some_memories(app.infrastructure.store, rounds)
    return {
        "the sign-in form": lambda _: "/signin",
        "Find, a question": lambda at: f"/find?q={questions[at]}",
        "Find, memories alone": lambda at: f"/find?q={questions[at]}&in=memories",
        "Find, the list": lambda at: f"/find?from={20 * at}",
        "a memory": lambda at: f"/memories/{memories[at]}",
        "Review": lambda _: "/review?see=active",
        "Review, active memories": lambda at: f"/review?of=active&from={20 * at}",
        "Health": lambda _: "/health",
        "Graph, 40 of 1,080": lambda _: "/graph?at=e0",
        "Graph, 1,000 things": lambda _: "/graph?at=e0&show=1000",
        "Graph, the drawing of these": lambda _: "/graph/drawing?at=e0&show=1000",
        "Activity": lambda _: "/activity",
        "Code, a question": lambda at: f"/code?q={questions[at]}",
        "Code, the projects": lambda _: "/code",
        "Code, lines of a file": lambda at: f"/code/file?project=kettle&path=src/part{at % 5}.py",
    }


def _some_memories(store: Store, count: int) -> list[str]:
    """Return the ids of memories that lie evenly over a store."""
    everything = Filter(organization=DEFAULT_ORGANIZATION)
    step = max(1, store.count(Memory, everything) // count)
    places = range(0, count * step, step)
    found = (store.find(Memory, everything, order=["id"], limit=1, offset=at) for at in places)
    return [memory.id for (memory,) in found]


def settle(visitor: Visitor) -> None:
    """Wait until the process does nothing by itself: the index of words is made anew at a first question."""
    for path in ("/find?q=kettle", "/code?q=kettle"):
        visitor.get(path)
        quiet = 0
        while quiet < QUIET:
            before = time.process_time()
            time.sleep(1.0)
            quiet = quiet + 1 if time.process_time() - before < SETTLED else 0


def measured(stores: Sequence[tuple[App, Visitor]], rounds: int) -> Iterator[tuple[Cell, ...]]:
    """Yield for each page its name, the median processor time at each store in ms, the size, and that compressed."""
    warm = 3
    addresses = [pages(app, rounds + warm) for app, _ in stores]
    for name in addresses[0]:
        taken: list[list[float]] = [[] for _ in stores]
        body = b""
        for at in range(rounds + warm):
            for (app, visitor), address, times in zip(stores, addresses, taken, strict=True):
                if name == "Health":
                    # The counts are remembered until something is written.
                    app.trail.log(OWNER, DEFAULT_ORGANIZATION, "read", Kind.MEMORY, [str(at)])
                before = time.process_time()
                status, body = visitor.get(address[name](at))
                times.append(1e3 * (time.process_time() - before))
                assert status == HTTPStatus.OK, (name, status, body)
        size, compressed = len(body) / 1e3, len(gzip.compress(body)) / 1e3
        yield (name, *(statistics.median(each[warm:]) for each in taken), size, compressed)


def main() -> None:
    """Measure the pages of stores."""
    parser = asked("Measure the web pages.")
    parser.add_argument("--size", type=int, nargs="+", help="memories in a store (100,000)")
    given = parser.parse_args()
    sizes = given.size or [500 if given.quick else 100_000]
    rounds = 3 if given.quick else 25
    method, homes = machine(), [built(size) for size in sizes]
    starts = [first_question(home, 1 if given.quick else 3) for home in homes]
    with ExitStack() as stack:
        stores = [stack.enter_context(visited(home)) for home in homes]
        for _, visitor in stores:
            settle(visitor)
        shown = list(measured(stores, rounds))
        others = [stack.enter_context(_another(home)) for home in homes]
        apps = [(app, other) for (app, _), other in zip(stores, others, strict=True)]
        called = list(calls(apps, OWNER, rounds))
    named = [f"{size:,}" for size in sizes]
    tables = [
        Table("Pages, CPU ms", ("page", *named, "kB", "kB, compressed"), shown),
        Table("Calls, CPU ms", ("call", *named), called),
        Table(
            "A new process, from opening the store to its first answer",
            ("", *named),
            [(name, *(each[name] for each in starts)) for name in starts[0]],
        ),
    ]
    publish("pages", method, tables, quick=given.quick)


if __name__ == "__main__":
    main()
