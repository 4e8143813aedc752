"""The whole tool: `store_memory` and `recall` over stdio, where their time goes, and peers beside them.

`python -m benchmarks.tool [--quick]`. The store is filled through the tool itself with synthetic texts
(see `benchmarks.store`) and vectors given in the model's place, once a size, and kept; each run works
on a copy. What is measured then uses the real model: texts of 60 English words, questions of four
words that occur in the store, no two alike.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import peers
from benchmarks.measure import (
    DATA,
    FORM,
    NotThere,
    Table,
    Timing,
    apart,
    asked,
    machine,
    publish,
    timed,
    timed_in_turn,
)
from benchmarks.pipe import Pipe
from benchmarks.store import Records, text_queries
from minutebook.app import App, open_app
from minutebook.config import Settings, load, settings_with
from minutebook.config.models import Models
from minutebook.features.models.built_in import builtin
from minutebook.features.models.built_in.builtin import BuiltInEmbedder
from minutebook.memory.search.recall import CANDIDATES
from minutebook.model import Embedded, Embedding, Rows
from minutebook.record.filters import Filter, default_organization
from minutebook.record.records import DEFAULT_ORGANIZATION, Memory
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.text.words import parse_query

WARM = 3
LIMIT = 10
WORDS = 60
BATCH = 50
"""Texts in a call that fills another server: the most that mcp-memory-libsql takes."""

CLAUSES = (
    "the billing service retries a failed payment four times before it calls somebody",
    "writers kept waiting for one another after the database was moved in spring",
    "nobody renewed the certificate of the staging server although the alarm was raised",
    "the customer in Vienna wants every invoice as a document and as structured data",
    "short reviews before ten in the morning work better than long ones on Fridays",
    "logs are kept for ninety days and then moved to slower and cheaper storage",
    "the search page fails when somebody pastes more than a thousand words into it",
    "a new team member needs access to the wiki on the first day of the contract",
    "the release was postponed by two weeks because of a problem with the checkout",
    "tests run on every change and take eleven minutes on the smaller machines",
    "passwords are never sent by mail and tokens expire after twelve hours at most",
    "the report for the board has to be ready on the fifteenth of every April",
)


class Given:
    """Stands in for the model while a store is filled: gives drawn vectors in its name."""

    model = builtin.MODEL

    def __init__(self, data: Records) -> None:
        self._data = data
        self.vectors: list[Rows] = []

    def embed_query(self, text: str) -> Embedded:
        drawn = self._drawn()
        return Embedded(drawn, others={builtin.E5_ALONE.digest: drawn[0]})

    def _drawn(self) -> Rows:
        """Draw one for each of the two models."""
        return np.hstack([self._data.vectors(1), self._data.vectors(1)]) / np.float32(np.sqrt(2))

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        drawn = [self._drawn() for _ in texts]
        self.vectors += drawn
        return [Embedded(rows) for rows in drawn]


class Ready:
    """Stands in for the model where its time must not count: knows the vectors already."""

    model = builtin.MODEL

    def __init__(self, real: BuiltInEmbedder, work: "Work") -> None:
        self._passages = {text: real.embed_passages([text])[0] for text in work.texts}
        self._queries = {question: real.embed_query(question) for question in work.questions}

    def embed_query(self, text: str) -> Embedded:
        return self._queries[text]

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        return [self._passages[text] for text in texts]


@dataclass(frozen=True, slots=True)
class Work:
    """What is stored and asked while the clock runs, warm-up included."""

    texts: list[str]
    questions: list[str]


@dataclass(frozen=True, slots=True)
class Calls:
    """What was measured of storing and of finding."""

    store: Timing
    find: Timing


def drawn(count: int) -> Work:
    """Draw different texts and questions."""
    chosen = np.random.default_rng(11)
    texts = []
    for number in range(count + WARM):
        clauses = " and ".join(CLAUSES[at] for at in chosen.permutation(len(CLAUSES)))
        texts.append(" ".join([f"Note {number}:", *clauses.split()[: WORDS - 2]]))
    return Work(texts, text_queries(count + WARM, 12))


def filled(size: int) -> Path:
    """Return a folder with a filled home, its index up to date, and the texts and vectors in it."""
    folder = DATA / f"tool-{size}-{builtin.MODEL.digest[:8]}-{FORM}"
    data = Records(10)
    if not (folder / "whole").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _fill(folder, data, size)
        (folder / "whole").touch()
    with _given(folder, Given(data)) as call:
        call("search", {"query": "what may have to be derived anew"})
    return folder


def _fill(folder: Path, data: Records, size: int) -> None:
    given, texts = Given(data), [" ".join(data.words(WORDS)) for _ in range(size)]
    with _given(folder, given) as call:
        for start in range(0, size, 1000):
            call.together("store_memory", [{"content": t} for t in texts[start : start + 1000]])
    np.save(folder / "vectors.npy", np.concatenate(given.vectors))
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")


@contextmanager
def _given(folder: Path, given: Given) -> Iterator["Caller"]:
    settings = settings_with(home=folder / "home", durability="normal")
    app = open_app(settings, models=Models(Embedding(lambda: given, given.model), None))
    app.embedding.wait()
    yield Caller(app, settings)
    app.close()


class Caller:
    """Calls tools without a server; an error of a tool ends the measurement."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._app = app
        self._caller = settings.caller()
        self._contract = knowledge()

    def __call__(self, tool: str, arguments: Mapping[str, object]) -> None:
        answer = self._contract.call(self._app, self._caller, tool, arguments)
        if answer.content is None:
            raise RuntimeError(f"{tool}: {answer.error}")

    def together(self, tool: str, many: Sequence[Mapping[str, object]]) -> None:
        """Make many calls in one transaction."""
        with self._app.infrastructure.store.transaction(default_organization(self._caller)):
            for arguments in many:
                self(tool, arguments)


@contextmanager
def copied(home: Path) -> Iterator[Path]:
    """Return a copy that may be changed."""
    with tempfile.TemporaryDirectory() as scratch:
        yield Path(shutil.copytree(home, Path(scratch) / "home"))


def serve_command(home: Path) -> list[str | Path]:
    """Return the command that serves a home over stdio."""
    return [sys.executable, "-P", "-m", "minutebook", "serve", "--no-daemon", "--home", home]


def ours(home: Path, work: Work) -> dict[str, Timing]:
    """Measure a real server; in turn with it, here, the same calls less embedding, and parts alone.

    Server and process have a copy of the store each: neither meets the other's writes.
    """
    rounds = len(work.texts) - WARM
    with copied(home) as one, copied(home) as other, Pipe(serve_command(one)) as pipe:
        settings = load({"home": other})
        model = builtin.open_model()
        ready = Ready(model, work)
        app = open_app(settings, models=Models(Embedding(lambda: ready, ready.model), None))
        app.embedding.wait()
        pipe.initialize()
        pipe.call("get_status", {})
        pipe.settle()
        measured = timed_in_turn(_stores(pipe, app, settings, model, work), rounds)
        measured |= timed_in_turn(_finds(pipe, app, settings, model, work), rounds)
        app.close()
    return measured


Works = dict[str, tuple[Callable[[int], object], Callable[[], float]]]


def _stores(pipe: Pipe, app: App, settings: Settings, model: BuiltInEmbedder, work: Work) -> Works:
    call = Caller(app, settings)
    here = time.process_time
    return {
        "store": (lambda n: pipe.call("store_memory", {"content": work.texts[n]}), pipe.cpu),
        "store inside": (lambda n: call("store_memory", {"content": work.texts[n]}), here),
        "embed text": (lambda n: model.embed_passages([work.texts[n]]), here),
    }


def _finds(pipe: Pipe, app: App, settings: Settings, model: BuiltInEmbedder, work: Work) -> Works:
    call = Caller(app, settings)
    asking = [{"query": question, "limit": LIMIT} for question in work.questions]
    where = Filter(organization=DEFAULT_ORGANIZATION, valid_at=app.clock())
    vectors = [model.embed_query(question).vector for question in work.questions]
    parsed = [parse_query(question) for question in work.questions]
    store, space, here = app.infrastructure.store, app.embeddings.space, time.process_time
    return {
        "find": (lambda n: pipe.call("recall", asking[n]), pipe.cpu),
        "find inside": (lambda n: call("recall", asking[n]), here),
        "embed question": (lambda n: model.embed_query(work.questions[n]), here),
        "nearest": (
            lambda n: store.nearest(Memory, where, space, vectors[n], CANDIDATES),
            here,
        ),
        "match": (lambda n: store.match(Memory, where, parsed[n], CANDIDATES), here),
    }


def chroma(size: int, data: Path, work: Work, *, install: bool) -> Calls:
    """Measure chromadb with the same texts and vectors; NotThere."""
    python = peers.chroma(install=install)
    model = builtin.open_model()
    with tempfile.TemporaryDirectory() as scratch:
        task = Path(scratch)
        for name in ("texts.json", "vectors.npy"):
            (task / name).symlink_to(data / name)
        (task / "added.json").write_text(json.dumps(work.texts), encoding="utf-8")
        np.save(
            task / "added.npy",
            np.concatenate([made.rows for made in model.embed_passages(work.texts)]),
        )
        np.save(task / "asked.npy", np.stack([model.embed_query(q).vector for q in work.questions]))
        script = Path(peers.__file__).with_name("chroma.py")
        told = subprocess.run(
            [python, script, data / "chroma", task], check=True, stdout=subprocess.PIPE
        )
    figures = json.loads(told.stdout.splitlines()[-1])
    assert figures["records"] == size
    added, queried = figures["add"], figures["query"]
    return Calls(
        Timing(tuple(added["wall"]), added["cpu"]), Timing(tuple(queried["wall"]), queried["cpu"])
    )


@dataclass(frozen=True, slots=True)
class Server:
    """A memory server on stdio that keeps its files in a folder; `store` and `find` are its tools and their arguments."""

    command: Callable[[Path], Sequence[str | Path]]
    variables: Callable[[Path], Mapping[str, str]]
    store: tuple[str, Callable[[Sequence[str]], Mapping[str, object]]]
    find: tuple[str, Callable[[str], Mapping[str, object]]]


def _entities(texts: Sequence[str]) -> Mapping[str, object]:
    """Return the arguments that keep each text as an entity of its own."""
    named = ((hashlib.sha256(text.encode()).hexdigest(), text) for text in texts)
    return {
        "entities": [
            {"name": name, "entityType": "memory", "observations": [text]} for name, text in named
        ]
    }


def _rare_word(question: str) -> Mapping[str, object]:
    """Return the arguments of a search for one string: the longest word of the question."""
    return {"query": max(question.split(), key=len)}


def _opened_compartment(folder: Path) -> Sequence[str | Path]:
    """Make a vault that takes texts of more than 200 characters, without the facts that it comes with.

    Returns the command that serves it.
    """
    command: list[str | Path] = [peers.compartment(install=False), "--vault", folder / "vault"]
    init = ["init", "--passphrase", _in_process(folder)["COMPARTMENT_PASSPHRASE"], "--no-app"]
    variables = {**os.environ, **_in_process(folder)}
    subprocess.run([*command, *init], check=True, env=variables, capture_output=True)
    config = folder / "vault.config.json"
    told = json.loads(config.read_text(encoding="utf-8"))
    told["settings"] |= {"max_memory_chars": 0, "search_starter_facts": False}
    config.write_text(json.dumps(told), encoding="utf-8")
    return [*command, "serve"]


def _in_process(folder: Path) -> Mapping[str, str]:
    """Return the variables with which compartment's server embeds by itself, so that all its CPU is counted."""
    return {
        "HOME": str(folder),
        "COMPARTMENT_EMBED_DAEMON": "0",
        "COMPARTMENT_PASSPHRASE": "measured beside others",
    }


SERVERS: Mapping[str, tuple[Callable[..., object], Server]] = {
    "server-memory": (
        peers.memory_server,
        Server(
            lambda _: peers.memory_server(install=False),
            lambda folder: {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
            ("create_entities", _entities),
            ("search_nodes", _rare_word),
        ),
    ),
    "mcp-memory-libsql": (
        peers.libsql_server,
        Server(
            lambda _: peers.libsql_server(install=False),
            lambda folder: {"LIBSQL_URL": f"file:{folder / 'memory.db'}"},
            ("create_entities", _entities),
            ("search_nodes", _rare_word),
        ),
    ),
    "compartment": (
        peers.compartment,
        Server(
            _opened_compartment,
            _in_process,
            (
                "memory_store_many",
                lambda texts: {"facts": [{"text": text} for text in texts], "source": "measured"},
            ),
            ("memory_search", lambda question: {"query": question, "top_k": LIMIT}),
        ),
    ),
}
"""The memory servers beside ours, each with the function that installs it."""


def served(name: str, texts: Sequence[str], work: Work, *, install: bool) -> Calls:
    """Fill another server through its own tool, and measure it. Raises NotThere if it cannot be had."""
    there, server = SERVERS[name]
    there(install=install)
    rounds = len(work.texts) - WARM
    (storing, stored), (finding, asked_for) = server.store, server.find
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with Pipe(server.command(folder), **server.variables(folder)) as pipe:
            pipe.initialize()
            for start in range(0, len(texts), BATCH):
                pipe.call(storing, stored(texts[start : start + BATCH]))
            pipe.settle()
            store = timed(lambda n: pipe.call(storing, stored([work.texts[n]])), rounds, pipe.cpu)
            find = timed(
                lambda n: pipe.call(finding, asked_for(work.questions[n])), rounds, pipe.cpu
            )
    return Calls(store, find)


Row = tuple[str | int | float | None, ...]


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of each table, as sizes are measured one after the other."""

    store: list[Row]
    find: list[Row]
    beside: list[Row]


def measure(size: int, work: Work, into: Tables, *, install: bool) -> None:
    """Measure one size."""
    data = filled(size)
    found = ours(data / "home", work)
    text, question = found["embed text"], found["embed question"]
    whole = Calls(found["store"], found["find"])
    inside = Calls(found["store inside"], found["find inside"])
    into.store.extend(_split(size, whole.store, text, inside.store))
    near, matched = found["nearest"], found["match"]
    rows = _split(size, whole.find, question, inside.find)
    more = (near.p50, matched.p50), (near.cpu, matched.cpu)
    into.find.extend((*row, *of_it) for row, of_it in zip(rows, more, strict=True))

    def beside(name: str, calls: Calls) -> None:
        store, find = calls.store, calls.find
        into.beside.append(
            (
                *(size, name, store.p50, store.p99, store.cpu, store.p50 / whole.store.p50),
                *(find.p50, find.p99, find.cpu, find.p50 / whole.find.p50),
            )
        )

    beside("minutebook over stdio", whole)
    beside("minutebook, no server, no embedding", inside)
    try:
        calls = chroma(size, data, work, install=install)
        beside("chromadb, no server, no embedding", calls)
        beside("chromadb, no server, our embedding", _with(calls, text, question))
    except NotThere as reason:
        print(f"left out: {reason}")
    texts = json.loads((data / "texts.json").read_text(encoding="utf-8"))
    for name in SERVERS:
        try:
            beside(f"{name} over stdio", served(name, texts, work, install=install))
        except NotThere as reason:
            print(f"left out: {reason}")


def _split(size: int, whole: Timing, embedding: Timing, inside: Timing) -> list[Row]:
    """Tell where a call's time goes, in wall time and in CPU time."""
    left = apart(whole, inside, embedding), whole.cpu - inside.cpu - embedding.cpu
    return [
        (size, "wall", whole.p50, whole.p99, left[0], embedding.p50, inside.p50),
        (size, "CPU", whole.cpu, None, left[1], embedding.cpu, inside.cpu),
    ]


def _with(calls: Calls, text: Timing, question: Timing) -> Calls:
    """Add to each call what embedding took."""
    return Calls(_sum(calls.store, text), _sum(calls.find, question))


def _sum(one: Timing, other: Timing) -> Timing:
    wall = tuple(map(sum, zip(one.wall, other.wall, strict=True)))
    return Timing(wall, one.cpu + other.cpu)


def main() -> None:
    """Measure all sizes and publish."""
    parser = asked("Measure the whole tool, over stdio and beside others.")
    parser.add_argument("--sizes", type=int, nargs="+", default=None)
    given = parser.parse_args()
    sizes = given.sizes or ([30] if given.quick else [1_000])
    rounds = 3 if given.quick else 200
    method = {
        **machine(),
        "sizes": ", ".join(map(str, sizes)),
        "calls": f"{rounds} of each after {WARM}, over stdio, in process and parts alone in turn",
        "client": "JSON lines over a pipe, without a client library",
        "peers": peers.versions(),
        "times": "milliseconds; p50 unless said; CPU of all threads of the server, mean a call",
    }
    into = Tables([], [], [])
    work = drawn(rounds)
    for size in sizes:
        measure(size, work, into, install=not given.quick)
    publish("tool", method, _tables(into), quick=given.quick)


def _tables(rows: Tables) -> list[Table]:
    outside = ("memories", "time", "p50", "p99", "protocol", "embedding")
    both = (
        *("store p50", "store p99", "store CPU", "× ours"),
        *("find p50", "find p99", "find CPU", "× our find"),
    )
    return [
        Table(
            "store_memory over stdio (60 words)",
            (*outside, "write"),
            rows.store,
            "CPU is a mean; write: the call in process, the vectors known; protocol: what is left",
        ),
        Table(
            "recall over stdio (4 words, 10 results)",
            (*outside, "search", "of it vector", "of it text"),
            rows.find,
            "search: the call in process, the vector known; vector and text: the store's 50 nearest and "
            "50 best alone; protocol: what is left",
        ),
        Table(
            "side by side",
            ("memories", "what", *both),
            rows.beside,
            "not equal: chromadb keeps no versions, no trail, no ranking by words, and answers in "
            "process, found by vectors alone; server-memory and libsql find a string, not a "
            "meaning, and embed nothing; server-memory does not wait for the disk; compartment embeds "
            "by a model for English alone, and encrypts",
        ),
    ]


if __name__ == "__main__":
    main()
