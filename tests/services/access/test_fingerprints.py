"""Every field of a record that is changed past the acts is named by `audit verify`; no act leaves a false alarm."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import apsw
import pytest

from minutebook.domain.caller import Caller
from minutebook.domain.filters import Filter
from minutebook.domain.fingerprints import (
    FINGERPRINTED,
    LEFT_OUT,
    Fingerprinted,
    differing,
    fingerprint,
    is_same,
)
from minutebook.domain.records import (
    Decision,
    Entity,
    Entry,
    Kind,
    Memory,
    Proposal,
    Record,
    Role,
    Status,
    Summary,
    TextRecord,
    Turn,
)
from minutebook.domain.trail_texts import BACK, CHANGED, MISSING, fields_differ
from minutebook.services.access.audit import Trail
from minutebook.services.access.audit_proof import Proof, proof_of
from minutebook.store.protocol import Store
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite.tables import table_of
from tests.examples import parametrize_in_part
from tests.scoped import BEARER, populated
from tests.services.test_write_acts import HOMELY, MANY, NAMED, PLACED
from tests.store.engine import engine_named
from tests.store.samples import decision, entity, memory, proposal, summary, turn
from tests.world import NOON, World

CALLER = Caller(name="ana", role=Role.ADMIN, organization="acme")

SAMPLES: dict[type[Record], Record] = {
    type(each): each for each in (memory(), decision(), proposal(), turn(), summary(), entity())
}

OF_TEXT = {
    Memory: {"content", "title"},
    Decision: {"title", "target", "rationale", "consequences"},
    Proposal: {"title", "target", "rationale", "consequences"},
    Turn: {"prompt", "thought", "response"},
    Summary: {"title", "summary", "technologies"},
    Entity: {"name"},
}
"""Fields that salt the others: of a change of one of them the text alone is told."""

TAMPERED = [(of, f.name) for of in FINGERPRINTED for f in fields(of) if f.name not in LEFT_OUT]

OTHER = {
    "status": {"memories": "verified", "decisions": "withdrawn", "proposals": "declined"},
    "scope": "user",
    "type": "risk",
    "category": "bugfix",
    "authorship": "human",
    "locked_by": "admin",
    "unlocks_to": "verified",
    "metadata": '{"forged":true}',
    "reasons": '{"quality":"forged"}',
    "origin": '{"client":"forged"}',
    "given_uuid": "00000000-0000-8000-8000-000000000000",
}
"""What is written into a column where a text or number would not be read back."""


def kept(store: Store, record: Record) -> None:
    """Keep a record as an act does."""
    trail = Trail(store, lambda: NOON)
    with trail.audited(CALLER, record.organization, "created", record.kind, record.id) as audit:
        audit.check()
        store.put(record)
        if isinstance(record, TextRecord):
            audit.changes(None, record.text)


def reasons(proof: Proof) -> list[tuple[str, str]]:
    return [(each.id, each.reason) for each in proof.differences]


def value_for(table: str, name: str, value: object) -> object:
    """Return another value for a column than the one that it has."""
    if name in OTHER:
        other = OTHER[name]
        return other[table] if isinstance(other, dict) else other
    match value:
        case str() if value.startswith("["):
            return json.dumps([*json.loads(value), "forged"])
        case int() | float():
            return value + 1
        case None if name.endswith(("_at", "_until", "_time")):
            return 1
        case None:
            return "forged"
        case _:
            return f"{value} forged"


@parametrize_in_part("case", TAMPERED)
def test_a_field_that_was_changed_in_the_file_is_named(
    tmp_path: Path, case: tuple[type[Record], str]
) -> None:
    of, name = case
    record, path = SAMPLES[of], tmp_path / "store.db"
    store = SqliteStore(path)
    kept(store, record)
    assert proof_of(store, record.organization).is_sound
    table = table_of(of).name
    file = apsw.Connection(str(path))
    ((before,),) = file.execute(f"SELECT {name} FROM {table}").fetchall()
    file.execute(f"UPDATE {table} SET {name} = ?", (value_for(table, name, before),))
    file.close()
    ((id, reason),) = reasons(proof_of(store, record.organization))
    store.close()
    assert id == record.id
    text = CHANGED if isinstance(record, TextRecord) else fields_differ(())
    assert reason == (text if name in OF_TEXT[of] else fields_differ((name,)))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with engine_named(request.param).fresh(tmp_path / "store") as store:
        yield store


@pytest.mark.parametrize("of", [of for of in FINGERPRINTED if of is not Memory])
def test_a_record_that_was_taken_out_of_the_file_is_named(store: Store, of: type[Record]) -> None:
    record = SAMPLES[of]
    kept(store, record)
    store.delete(of, record.organization, record.id)
    assert reasons(proof_of(store, record.organization)) == [(record.id, MISSING)]


@pytest.mark.parametrize("of", [of for of in FINGERPRINTED if of is not Memory])
def test_a_record_that_an_act_removed_and_somebody_put_back_is_named(
    store: Store, of: type[Record]
) -> None:
    record = SAMPLES[of]
    kept(store, record)
    trail = Trail(store, lambda: NOON)
    with trail.audited(CALLER, record.organization, "remove", record.kind, record.id) as audit:
        audit.check()
        store.delete(of, record.organization, record.id)
    assert proof_of(store, record.organization).is_sound
    store.put(record)
    assert reasons(proof_of(store, record.organization)) == [(record.id, BACK)]


def test_a_change_past_the_trail_that_an_act_took_over_is_still_named(world: World) -> None:
    id = world.remember("tea at five")
    world.app.status.deprecate(world.caller, id, "cold")
    world.store.put(replace(world.memory(id), status=Status.ACTIVE, reason=None))
    world.app.memories.update(world.caller, id, {"content": "tea at six"})
    ((named, reason),) = reasons(proof_of(world.store, "default"))
    assert named == id
    assert "before entry 3" in reason


def test_what_an_earlier_version_wrote_is_counted_as_not_covered(store: Store) -> None:
    record, trail = memory(), Trail(store, lambda: NOON)
    store.put(record)
    trail.log(CALLER, record.organization, "sync", Kind.MEMORY, ["taken from laptop"])
    proof = proof_of(store, record.organization)
    assert (proof.is_sound, proof.uncovered) == (True, 1)


def test_an_act_on_many_records_has_the_fingerprint_of_each(store: Store) -> None:
    record = entity()
    trail = Trail(store, lambda: NOON)
    with trail.audited(CALLER, record.organization, "import", Kind.ENTITY, "many") as audit:
        audit.check()
        for number in range(1203):
            store.put(replace(record, id=f"e{number:04}"))
    assert store.count(Entry, _everything(record)) == 3
    proof = proof_of(store, record.organization)
    assert (proof.is_sound, proof.uncovered) == (True, 0)
    store.put(replace(record, id="e1100", description="forged"))
    assert reasons(proof_of(store, record.organization)) == [
        ("e1100", fields_differ(("description",)))
    ]


def _everything(record: Record) -> Filter:
    return Filter(organization=record.organization)


def test_a_fingerprint_says_nothing_of_a_field_without_the_text() -> None:
    one = memory()
    other = replace(one, content="something else")
    alike = [a == b for a, b in zip(*(_parts(fingerprint(e)) for e in (one, other)), strict=True)]
    assert not any(alike)
    assert differing(fingerprint(one), other) == ()


def _parts(text: str) -> list[str]:
    return [text[at : at + 3] for at in range(43, len(text), 3)]


def test_a_fingerprint_is_the_same_once_the_record_was_kept(store: Store) -> None:
    for record in SAMPLES.values():
        store.put(record)
        back = store.get(type(record), record.organization, record.id)
        assert back is not None
        assert is_same(fingerprint(record), fingerprint(back))
        item = Fingerprinted(record.kind, f"a b {record.id}", "", fingerprint(back))
        assert Fingerprinted.of(item.text()) == item


@pytest.mark.thorough
def test_every_act_that_writes_leaves_the_trail_in_order(tmp_path: Path) -> None:
    with populated(tmp_path.resolve()) as population:
        app = population.world.app
        for table in (NAMED, PLACED, HOMELY, MANY):
            for act in table.values():
                given = population.fill("own")
                population.world.clock.turn()
                act(app, BEARER, given)
        for name in app.infrastructure.store.organizations():
            proof = proof_of(app.infrastructure.store, name)
            assert proof.is_sound, (proof.broken, proof.differences)
