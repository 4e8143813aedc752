"""Records move from one engine's store into another's, and nothing is lost on the way."""

import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from minutebook.app import now
from minutebook.features.migration import migration
from minutebook.features.migration.migration import Migrated, Migration
from minutebook.features.migration.rows import Transfer
from minutebook.features.recall_log.rows import RecallRows
from minutebook.features.tidying.findings import State
from minutebook.features.tidying.rows import TidyRows
from minutebook.memory.access.audit import Trail
from minutebook.record.caller import Caller
from minutebook.record.errors import StoreError
from minutebook.record.filters import Filter
from minutebook.record.origin import Origin
from minutebook.record.records import (
    CLASSES,
    TEXT_CLASSES,
    Entity,
    Kind,
    Link,
    Memory,
    Mention,
    Record,
    Relation,
    Role,
    Turn,
)
from minutebook.store.protocol import Tended
from minutebook.store.token_uses import TokenUses
from minutebook.store.values import Carried, VectorSpace
from minutebook.text.words import parse_query
from tests.features.migration.moves import BATCH, opened
from tests.features.recall_log.samples import logged
from tests.features.tidying.samples import suggested
from tests.store.engine import Engine, engine_named
from tests.store.samples import (
    START,
    chunk,
    commit,
    decision,
    edge,
    entity,
    file,
    mark,
    memory,
    project,
    proposal,
    summary,
    token,
    turn,
    unit,
    version,
)

SPACE = VectorSpace("small", "1", 4)
WITH_STATES = replace(SPACE, states="one")
OTHER = VectorSpace("other", "2", 3)
EVERYONE = {
    name: Filter(organization=name, with_deleted=True) for name in ("acme", "zoo", "ü\ud800")
}
ANA = Caller(name="ana", role=Role.HUMAN, organization="acme")

Stores = tuple[Tended, Tended]


class Pair:
    """Two stores of different engines, of which the second is empty."""

    def __init__(self, engines: tuple[Engine, Engine], folder: Path) -> None:
        self.engines = engines
        self.folders = folder / "source", folder / "target"
        self._stack = ExitStack()
        for engine, each in zip(engines, self.folders, strict=True):
            engine.make(each)
            self._stack.callback(engine.discard, each)
        self.source, self.target = (
            opened(engine.name, each) for engine, each in zip(engines, self.folders, strict=True)
        )

    def move(self) -> Migrated:
        return Migration(self.source, self.target, now).run(lambda part, what: None)

    def close(self) -> None:
        self.source.close()
        self.target.close()
        self._stack.close()


@pytest.fixture(
    params=[
        pytest.param(("sqlite", "postgres"), id="to a server"),
        # `make test` moves one store back, in tests/features/migration/test_cli.py.
        pytest.param(("postgres", "sqlite"), id="to a file", marks=pytest.mark.thorough),
    ]
)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    made = Pair((engine_named(request.param[0]), engine_named(request.param[1])), tmp_path)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migration, "BATCH", BATCH)


def fill(store: Tended) -> None:
    """Keep something of every kind in two organizations, and what only careful columns keep."""
    for name in ("acme", "zoo"):
        records: list[Record] = [
            *(memory("a"), memory("b", "wine \0 and \ud800\udfff", deleted_at=now())),
            memory("c", "cheese", metadata={"z": 1, "\0": [None]}, origin=Origin(client="cursor")),
            *(version("a"), entity("e", "Ana Maria", aliases=("The Boss",)), entity("f", "Bo")),
            *(edge(of, "a", "e", id="x", weight=0.5) for of in (Relation, Link, Mention)),
            *(
                project(),
                file(),
                chunk(),
                commit(),
                decision(),
                proposal(),
                mark(),
                token(),
                turn(),
                summary(),
            ),
        ]
        with store.transaction(name):
            for record in records:
                store.put(replace(record, organization=name))
            rows = np.stack([unit(1, 2, 3, 4), unit(0, 0, 1, 0)])
            store.put_vectors(Memory, name, "a", WITH_STATES, rows, b"states")
            store.put_vectors(Memory, name, "b", SPACE, unit(4, 3, 2, 1)[None])
            store.put_vectors(Turn, name, "a", OTHER, unit(1, 0, 1)[None])
            store.put(replace(memory("gone"), organization=name))
            store.delete(Memory, name, "gone")
        Trail(store, now).log(ANA, name, "recall", Kind.MEMORY, ["a", "b", "c"])
    store.put(memory("only", organization="ü\ud800"))


def all_of(store: Tended) -> dict[str, object]:
    held: dict[str, object] = {"organizations": store.organizations()}
    for name, where in EVERYONE.items():
        for kind, of in CLASSES.items():
            held[f"{name} {kind}"] = sorted(store.find(of, where), key=lambda record: record.id)
        for kind, with_text in TEXT_CLASSES.items():
            found = Transfer(store.database).embeddings(
                with_text, name, [each.id for each in store.find(with_text, where)]
            )
            held[f"{name} {kind} vectors"] = {
                id: (repr(each.space), each.vectors.tobytes(), each.states)
                for id, each in found.items()
            }
    return held


def test_all_kinds_of_records_move_with_vectors_and_trail(pair: Pair) -> None:
    fill(pair.source)
    before, sequence = all_of(pair.source), pair.source.sequence("acme")
    TokenUses(pair.source.database).note("t", START)
    entries = [logged("1", "a"), logged("2", "a", question=None)]
    RecallRows(pair.source.database).write("acme", entries)
    refused = TidyRows(pair.source.database).add("acme", [suggested("1", state=State.REFUSED)])
    done = pair.move()
    assert list(TidyRows(pair.target.database).everything("acme")) == refused
    assert TokenUses(pair.target.database).latest() == {"t": START}
    assert list(RecallRows(pair.target.database).everything("acme")) == entries
    assert all_of(pair.target) == before == all_of(pair.source)
    assert pair.source.sequence("acme") == sequence
    assert (done.organizations, done.breaks, done.vectors) == (3, (), 6)
    assert set(+done.records) == set(CLASSES)
    assert Trail(pair.target, now).verify("acme") is None
    # What is derived is derived from what moved.
    acme = EVERYONE["acme"]
    assert [each.id for each in pair.target.match(Memory, acme, parse_query("cheese"), 9)] == ["c"]
    nearest = pair.target.nearest(Memory, acme, SPACE, unit(4, 3, 2, 1), 1)
    assert [each.id for each in nearest] == ["b"]
    assert pair.target.entities_named(acme, ["the", "boss"]) == ["e"]
    assert pair.target.upkeep.check() == []


def test_nobody_opens_a_store_until_all_is_there_and_anybody_does_then(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(pair.source)
    with monkeypatch.context() as patched:
        patched.setattr(Transfer, "end", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pair.move()
    pair.target.close()
    engine, folder = pair.engines[1], pair.folders[1]
    with pytest.raises(StoreError, match="records are being moved here"):
        engine.open(folder)
    pair.target = opened(engine.name, folder)
    assert pair.move().changes == 0
    pair.target.close()
    engine.open(folder).close()
    pair.target.upkeep.open()


@pytest.mark.thorough
@pytest.mark.parametrize("after", [pytest.param(0, marks=pytest.mark.slow), 3])
def test_what_a_kill_cut_short_goes_on(pair: Pair, after: int) -> None:
    fill(pair.source)
    before = all_of(pair.source)
    pair.source.close()
    pair.target.close()
    places = [
        str(part)
        for engine, folder in zip(pair.engines, pair.folders, strict=True)
        for part in (engine.name, folder)
    ]
    moving = [sys.executable, "-m", "tests.features.migration.moves", *places, str(after)]
    ended = subprocess.run(moving, check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    pair.target.upkeep.open()
    pair.source.upkeep.open()
    moved = sum(
        pair.target.count(of, where) for of in CLASSES.values() for where in EVERYONE.values()
    )
    assert bool(moved) == bool(after)
    # Meanwhile the source may have been used.
    pair.source.delete(Entity, "acme", "e")
    pair.source.put(memory("a", "rye"))
    pair.source.put(memory("new", "barley", organization="new"))
    total = sum(len(pair.source.changes(name, 0)) for name in pair.source.organizations())
    assert pair.move().changes <= total - BATCH * after + 3
    assert all_of(pair.target) == all_of(pair.source) != before
    assert pair.target.get(Memory, "new", "new") is not None


@pytest.mark.thorough
def test_a_second_move_brings_what_was_written_since_unless_both_were(pair: Pair) -> None:
    fill(pair.source)
    pair.move()
    assert pair.move().changes == 0
    pair.source.put(memory("late", "bread"))
    assert pair.move().changes == 1
    assert pair.target.get(Memory, "acme", "late") == pair.source.get(Memory, "acme", "late")
    pair.target.put(memory("own", organization="zoo"))
    pair.source.put(memory("later"))
    with pytest.raises(StoreError, match=r"was written to since \(zoo\)"):
        pair.move()
    assert pair.target.get(Memory, "acme", "later") is None


def test_moving_the_same_again_changes_nothing(pair: Pair) -> None:
    fill(pair.source)
    pair.move()
    asked = logged("later", "a")
    RecallRows(pair.target.database).write("acme", [asked])
    assert pair.move().changes == 0
    assert asked in list(RecallRows(pair.target.database).everything("acme")), (
        "what was asked here since stays"
    )


def test_a_store_with_other_records_is_left_alone(pair: Pair) -> None:
    fill(pair.source)
    pair.target.put(memory("own"))
    with pytest.raises(StoreError, match="holds records already; name an empty database"):
        pair.move()
    assert pair.target.find(Memory, EVERYONE["acme"]) == [memory("own")]


def test_a_move_from_another_store_is_not_gone_on_with(pair: Pair) -> None:
    fill(pair.source)
    Transfer(pair.target.database).begin("another")
    with pytest.raises(StoreError, match="moved from another store"):
        pair.move()
    assert pair.target.organizations() == []


def test_a_difference_is_found_and_the_store_stays_shut(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(pair.source)
    receive: Any = Transfer.receive

    def careless(taking: Any, name: str, carried: Sequence[Carried], *others: Any) -> None:
        changed = [
            Carried(memory("c", "another", organization=name)) if each.record.id == "c" else each
            for each in carried
        ]
        receive(taking, name, changed, *others)

    monkeypatch.setattr(Transfer, "receive", careless)
    with pytest.raises(StoreError, match="the memory records of acme: c is another"):
        pair.move()
    with pytest.raises(StoreError, match="records are being moved here"):
        pair.engines[1].open(pair.folders[1])


def test_who_writes_to_the_source_meanwhile_waits(pair: Pair) -> None:
    fill(pair.source)
    other = opened(pair.engines[0].name, pair.folders[0], wait=0.05)
    seen: list[str] = []

    def progress(part: float, what: str) -> None:
        if not seen:
            seen.append(what)
            other.put(memory("mine"))

    with pytest.raises(StoreError, match="writing"):
        Migration(pair.source, pair.target, now).run(progress)
    other.close()
    assert seen
