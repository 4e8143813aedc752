"""A small world for tests: a real store, a clock that is turned by hand, a model made of words."""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import apsw
import jsonschema
import numpy as np
import pytest

from minutebook.app import App, open_app
from minutebook.config import settings_with
from minutebook.config.models import models_of
from minutebook.feature import features
from minutebook.model import Embedded, Embedder, Embedding, Model, Vector
from minutebook.record.caller import Call, Caller, with_call
from minutebook.record.errors import ModelUnavailable
from minutebook.record.filters import Filter
from minutebook.record.records import (
    CLASSES,
    SYSTEM_ORGANIZATION,
    Decision,
    Edge,
    Entity,
    Entry,
    Kind,
    Link,
    Memory,
    Mention,
    Proposal,
    Record,
    Relation,
    Role,
    Status,
    Summary,
    Turn,
    Version,
)
from minutebook.serve.contracts.answers import Failure
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.serve.contracts.registry import CONTRACTS
from minutebook.store.protocol import Store, Tended
from minutebook.store.sql.tables import table_of, value_text
from minutebook.store.sqlite import SqliteStore
from minutebook.text.words import words
from tests.empty_database import empty_database
from tests.homes import note_store

NOON = datetime(2026, 1, 6, 12, tzinfo=UTC)
DIMENSIONS = 64


class Clock:
    """A clock that stands still until a test moves it."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def turn(self, seconds: float = 1) -> datetime:
        self.now += timedelta(seconds=seconds)
        return self.now


class WordEmbedder:
    """Near is what shares words: each word has a direction of its own, a text is their sum."""

    model = Model("words", "1", DIMENSIONS)

    def __init__(self, part: int = 40) -> None:
        self.part = part
        self.embedded: list[str] = []
        """Every passage that was asked for."""

    def embed_query(self, text: str) -> Embedded:
        return Embedded(_unit(words(text))[None])

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        self.embedded += texts
        return [
            Embedded(np.stack([_unit(part) for part in self._parts(words(text))])) for text in texts
        ]

    def _parts(self, told: list[str]) -> list[list[str]]:
        return [told[at : at + self.part] for at in range(0, len(told), self.part)] or [[]]


def _unit(told: Sequence[str]) -> Vector:
    total = np.full(DIMENSIONS, 1e-3, dtype=np.float32)
    for word in told:
        total += _direction(word)
    vector: Vector = (total / np.linalg.norm(total)).astype(np.float32)
    return vector


@lru_cache(maxsize=1 << 14)
def _direction(word: str) -> Vector:
    seed = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "surrogatepass")).digest()[:8])
    return np.random.default_rng(seed).standard_normal(DIMENSIONS).astype(np.float32)


def ready(embedder: Embedder | None = None) -> Embedding:
    """Return an embedding whose model opens at once."""
    chosen = embedder or WordEmbedder()
    return Embedding(lambda: chosen, chosen.model)


def failed(reason: str = "model.onnx is damaged") -> Embedding:
    """Return an embedding whose model cannot be had."""

    def opener() -> Embedder:
        raise ModelUnavailable(reason, "reinstall minutebook")

    return Embedding(opener, WordEmbedder.model)


def loading(release: threading.Event) -> Embedding:
    """Return an embedding that loads until it is released."""
    embedder = WordEmbedder()

    def opener() -> Embedder:
        release.wait()
        return embedder

    return Embedding(opener, WordEmbedder.model)


_CALL = {each.name for each in fields(Call)}


@cache
def validator(contract: str, tool: str) -> jsonschema.Draft202012Validator:
    """Hold an answer to its output schema, and to what it names alone."""
    return jsonschema.Draft202012Validator(
        closed(CONTRACTS[contract]().tools[tool].promise["outputSchema"])
    )


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema, but that objects have no other properties."""
    made = dict(schema)
    if "properties" in made:
        made["properties"] = {name: closed(each) for name, each in made["properties"].items()}
        made["additionalProperties"] = False
    if "items" in made:
        made["items"] = closed(made["items"])
    if "anyOf" in made:
        made["anyOf"] = [closed(each) for each in made["anyOf"]]
    return made


@dataclass(frozen=True)
class World:
    """A contract on an app, as one caller meets it."""

    app: App
    clock: Clock
    contract: Contract
    caller: Caller
    database: "DatabaseReader | StoreReader"

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must answer; what it answers, as it goes over the wire."""
        answer = self.contract.call(self.app, self.caller, tool, arguments)
        assert answer.error is None, answer.error
        told: dict[str, Any] = json.loads(json.dumps(answer.content, allow_nan=False))
        if (promised := self.contract.tools.get(tool)) and "outputSchema" in promised.promise:
            validator(self.contract.name, tool).validate(told)
        return told

    def told(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool that must answer; the JSON of its text, or the text that is none."""
        answer = self.contract.call(self.app, self.caller, tool, arguments)
        assert answer.error is None, answer.error
        return json.loads(answer.text) if answer.text[:1] in "[{" else answer.text

    def failure(self, tool: str, /, **arguments: Any) -> Failure:
        """Call a tool that must not answer; the error as the contract words it."""
        answer = self.contract.call(self.app, self.caller, tool, arguments)
        assert answer.error is not None, answer.text
        assert answer.content is None
        if answer.error.structured is not None and answer.error.code is None:
            # Clients hold what is structured to the tool's schema, also of a refusal.
            promised = self.contract.tools.get(tool)
            if promised is not None and "outputSchema" in promised.promise:
                refusal = json.loads(json.dumps(answer.error.structured))
                validator(self.contract.name, tool).validate(refusal)
        return answer.error

    def refused(self, tool: str, /, **arguments: Any) -> str:
        """Call a tool that must not answer; the error's text."""
        return self.failure(tool, **arguments).text

    def speaking(self, contract: Contract) -> "World":
        """The same world as it is met through another contract."""
        return replace(self, contract=contract)

    def by(self, **changes: Any) -> "World":
        """The same world as another caller meets it; to the system's own every door is open."""
        call = {name: changes.pop(name) for name in list(changes) if name in _CALL}
        caller = with_call(replace(self.caller, **changes), **call)
        if "organization" in changes and "writes_system" not in changes:
            caller = replace(caller, writes_system=caller.organization == SYSTEM_ORGANIZATION)
        return replace(self, caller=caller)

    def remember(self, content: str, /, **arguments: Any) -> str:
        """Store a memory a second after the last; its id."""
        self.clock.turn()
        id: str = self.call("store_memory", content=content, **arguments)["id"]
        return id

    def entity(self, name: str, /, **arguments: Any) -> str:
        """Create an entity; its id."""
        id: str = self.call("create_entity", name=name, **arguments)["id"]
        return id

    def relate(self, source: str, target: str, type: str = "knows", /, **arguments: Any) -> str:
        """Create a relation; its id."""
        ends = {"from_entity": source, "to_entity": target, "relation_type": type}
        id: str = self.call("create_relation", **ends, **arguments)["id"]
        return id

    def ids(self, tool: str, /, **arguments: Any) -> list[str]:
        """Call a tool that answers with memories; their ids in order."""
        answer = self.call(tool, **arguments)
        return [
            bare(each["id"]) for each in answer["memories" if "memories" in answer else "results"]
        ]

    def memory(self, id: str, organization: str = "default") -> Memory:
        """The memory as it is kept."""
        found = self.store.get(Memory, organization, id)
        assert isinstance(found, Memory)
        return found

    def lock(self, id: str, role: Role = Role.MANAGER, organization: str = "default") -> None:
        """Lock a memory as another contract would."""
        told = self.memory(id, organization)
        self.store.put(replace(told, locked_by=role, status=Status.LOCKED))

    def entries(self, subject: str, organization: str = "default") -> list[Entry]:
        """The audit entries about one record, oldest first."""
        return [each for each in self.trail(organization) if each.subject == subject]

    @property
    def store(self) -> Tended:
        """The store that the app's services share."""
        return self.app.infrastructure.store

    @property
    def file_store(self) -> SqliteStore:
        """The same, for a test that is about its file; it is skipped where the store is on a server."""
        store = self.store
        if not isinstance(store, SqliteStore):
            pytest.skip("it is about the file of a store, and this one is on a server")
        return store

    def trail(self, organization: str = "default") -> list[Entry]:
        """An organization's audit entries, oldest first."""
        return self.store.find(Entry, everything(organization), order=["number"])

    def edges(self, node: str, kind: Kind, organization: str = "default") -> list[Edge]:
        """The edges of one kind that touch a node."""
        return [each for each in self.store.edges(organization, [node]) if each.kind is kind]

    def contents(self) -> dict[str, tuple[int, ...]]:
        """How much there is of everything, by organization: to see that nothing changed."""
        store = self.store
        return {
            name: (store.sequence(name), *(store.count(each, everything(name)) for each in COUNTED))
            for name in store.organizations()
        }

    def kept(self) -> dict[tuple[str, Kind, str], Record]:
        """Every record but the trail's and tokens, past the store: to see that nothing changed."""
        return self.database.records()


COUNTED: tuple[type[Record], ...] = (
    Memory,
    Version,
    Entity,
    Relation,
    Link,
    Mention,
    Decision,
    Proposal,
    Turn,
    Summary,
)


KEPT: tuple[type[Record], ...] = tuple(
    of for kind, of in CLASSES.items() if kind not in (Kind.ENTRY, Kind.HEAD, Kind.TOKEN)
)


class DatabaseReader:
    """Reads a database file past the store that has it open; again only after somebody committed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: apsw.Connection | None = None
        self._version = 0
        self._records: dict[tuple[str, Kind, str], Record] = {}

    def records(self) -> dict[tuple[str, Kind, str], Record]:
        """Return every record but the trail's and tokens, by organization, kind and id."""
        if self._connection is None:
            self._connection = apsw.Connection(str(self._path), apsw.SQLITE_OPEN_READONLY)
        version = self._connection.pragma("data_version")
        if version != self._version:
            read = self._read(self._connection)
            self._records = {(each.organization, each.kind, each.id): each for each in read}
            self._version = version
        return self._records

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _read(self, connection: apsw.Connection) -> Iterator[Record]:
        organizations = list(connection.execute("SELECT number, name FROM organizations"))
        for (number, name), of in product(organizations, KEPT):
            table = table_of(of)
            of_kind = f"AND r.kind = '{of.kind}'" if len(table.records) > 1 else ""
            for row in connection.execute(
                f"SELECT {table.fields} FROM {table.name} AS r WHERE r.organization = ? {of_kind}",
                (number,),
            ):
                yield _record(of.kind, value_text(name), row)


@lru_cache(maxsize=1 << 16)
def _record(kind: Kind, organization: str, row: tuple[Any, ...]) -> Record:
    """Make the record of a row, once: thousands are read again and again to see that none changed."""
    return table_of(CLASSES[kind]).record_of(CLASSES[kind], organization, row)


class StoreReader:
    """Does the same through a store on a server, which nobody reads past."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def records(self) -> dict[tuple[str, Kind, str], Record]:
        """Return every record but the trail's and tokens, by organization, kind and id."""
        names = self._store.organizations()
        found = (self._store.find(of, everything(name)) for name, of in product(names, KEPT))
        return {(each.organization, each.kind, each.id): each for part in found for each in part}

    def close(self) -> None:
        pass


def wait_until(seen: Callable[[], bool]) -> None:
    """Wait until something is seen; it must come to pass in 60 seconds."""
    for _ in range(1200):
        if seen():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to pass in 60 seconds")


def hears(caller: Caller, record: Any) -> bool:
    """Tell whether a record is the caller's to hear, worked out once more, the plain way."""
    return (
        (
            caller.organization in (None, record.organization)
            or record.organization == SYSTEM_ORGANIZATION
        )
        and (caller.repositories is None or record.repository in (None, *caller.repositories))
        and (caller.user is None or record.user in (None, caller.user))
    )


def everything(organization: str) -> Filter:
    return Filter(organization=organization, with_deleted=True)


def bare(id: Any) -> str:
    """The short form of an id in either form."""
    told: str = id if isinstance(id, str) else id["id"]["String"]
    return told


ON_SERVER = os.environ.get("STORE_OF_TESTS") == "postgres"
"""Whether the stores of worlds are databases on a server: `make test-all` runs the contracts so, too."""

Opener = Callable[..., World]

_UNASKED: dict[str, Any] = (
    {"index_history": 0} if any(each.name == "why" for each in features()) else {}
)
"""The settings without which a feature would do what few tests are about."""


@contextmanager
def worlds(home: Path) -> Iterator[Opener]:
    """Return a function that opens worlds below a folder, of one clock; they are closed at the end."""
    opened: list[App] = []
    readers: list[DatabaseReader | StoreReader] = []
    databases: dict[str, str] = {}
    clock = Clock()

    def open_one(
        embedding: Embedding | None = None,
        *,
        name: str = "one",
        wait: float = 0.0,
        caller: Caller | None = None,
        **changes: Any,
    ) -> World:
        plain: dict[str, Any] = {"durability": "normal"}
        options = plain | _UNASKED | changes
        settings = settings_with(home=home / name, **options)
        if ON_SERVER:
            from tests.features.postgres.server import server

            if name not in databases:
                databases[name] = f"world_{uuid4().hex}"
                server().make_store(databases[name])
            settings = replace(settings, store=server().url(databases[name]))
            note_store(settings.home, server().url(databases[name]))
        elif not settings.home.exists():
            empty_database(settings.database)
        chance = Random(f"{name} {len(opened)}")
        app = open_app(
            settings,
            models=replace(
                models_of(settings), embedding=ready() if embedding is None else embedding
            ),
            clock=clock,
            randbits=chance.getrandbits,
            embedding_wait=wait,
        )
        opened.append(app)
        if embedding is None:
            app.embedding.wait(60)
        reader: DatabaseReader | StoreReader = DatabaseReader(settings.database)
        if ON_SERVER:
            reader = StoreReader(app.infrastructure.store)
        readers.append(reader)
        identity = settings.caller() if caller is None else caller
        return World(app, clock, knowledge(), identity, reader)

    try:
        yield open_one
    finally:
        for reader in readers:
            reader.close()
        for app in opened:
            app.close()
        for database in databases.values():
            from tests.features.postgres.server import server

            server().drop(database)
