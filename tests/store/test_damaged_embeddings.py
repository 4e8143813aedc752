"""Vectors and token states that are damaged are told, end no search unexpectedly, and are made anew after a repair."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from minutebook.features.postgres.store import PostgresStore
from minutebook.record.errors import StoreDamaged
from minutebook.record.filters import Filter
from minutebook.record.records import Memory
from minutebook.store.protocol import Tended
from minutebook.store.sqlite import SqliteStore
from minutebook.text.late_interaction import FORM, TokenStates
from tests.packed import packed_of
from tests.store.engine import Engine, engine_named
from tests.store.samples import SPACES, memory
from tests.store.worker import direction

ACME = Filter(organization="acme")
FORMED = replace(SPACES[0], states=f"3 {FORM}")


class Damaging:
    """A store, and statements that damage it past it."""

    def __init__(self, engine: Engine, store: Tended, folder: Path) -> None:
        self.store = store
        self._engine = engine
        self._folder = folder

    def set(self, id: str, column: str, value: str) -> None:
        """Set `vectors` or `states` of a record to what SQL makes of the old value, `x`."""
        if self._engine.name == "postgres":
            column = "token_states" if column == "states" else column
            statement = f"UPDATE memories SET {column} = {value} WHERE id = '{id}'"
        else:
            row = f"(SELECT row FROM memories WHERE id = '{id}')"
            statement = f"UPDATE memories_{column} SET {column} = {value} WHERE row = {row}"
        self._engine.execute(self._folder, statement.replace("x.", f"{column}"))

    @property
    def nothing(self) -> str:
        """No bytes, in SQL."""
        return "''::bytea" if self._engine.name == "postgres" else "x''"


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def damaging(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Damaging]:
    engine, folder = engine_named(request.param), tmp_path / "store"
    engine.make(folder)
    store = engine.open(folder)
    assert isinstance(store, SqliteStore | PostgresStore)
    for id in "abcd":
        store.put(memory(id))
        tokens = TokenStates(
            np.arange(1, 4, dtype=np.int32),
            np.ones(3, np.float32),
            np.ones((3, 16), np.float32),
        )
        packed = b"" if id == "d" else packed_of(tokens)
        store.put_vectors(Memory, "acme", id, FORMED, direction(1)[None], packed)
    yield Damaging(engine, store, folder)
    store.close()
    engine.discard(folder)


@pytest.mark.needs("migration")
def test_vectors_that_are_cut_short_are_told_and_made_anew(damaging: Damaging) -> None:
    from minutebook.features.migration.rows import Transfer

    store = damaging.store
    damaging.set("a", "vectors", "substr(x., 2)")
    damaging.set("b", "vectors", damaging.nothing)
    for read in (
        lambda: store.nearest(Memory, ACME, FORMED, direction(1), 3),
        lambda: store.vectors(Memory, "acme", "a"),
        lambda: Transfer(store.database).embeddings(Memory, "acme", "ab"),
    ):
        with pytest.raises(StoreDamaged, match="cut short; `minutebook doctor --repair`"):
            read()
    assert store.upkeep.check() == ["2 memories have vectors that are cut short"]
    store.upkeep.rebuild()
    assert store.upkeep.check() == []
    assert [each.id for each in store.without_vectors([Memory], FORMED, 9)] == ["b", "a"]
    found = store.nearest(Memory, ACME, FORMED, direction(1), 3)
    assert [each.id for each in found] == ["c", "d"]


def test_damaged_token_states_are_told_and_made_anew(damaging: Damaging) -> None:
    store = damaging.store
    kept = store.token_states(Memory, "acme", "c", FORMED)
    damaging.set("a", "states", "substr(x., 2)")
    damaging.set("b", "states", "substr(x., 1, 5)")
    assert store.upkeep.check() == ["2 memories have damaged token states"]
    store.upkeep.rebuild()
    assert store.upkeep.check() == []
    assert [each.id for each in store.without_vectors([Memory], FORMED, 9)] == ["b", "a"]
    assert store.token_states(Memory, "acme", "abcd", FORMED) == kept | {"d": b""}
    assert len(store.nearest(Memory, ACME, FORMED, direction(1), 9)) == 4
