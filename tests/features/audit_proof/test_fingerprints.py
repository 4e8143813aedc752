"""Every field of a record that is changed past the acts is named by `audit verify`; no act leaves a false alarm."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path

import pytest

from minutebook.features.audit_proof.audit_proof import prove_trail
from minutebook.features.audit_proof.last_states import (
    BACK,
    CHANGED,
    MISSING,
    changed_before_reason,
    fields_differ_reason,
    link_missing_reason,
)
from minutebook.features.audit_proof.trail_proof import Proof
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.memory.access.audit import AuditDraft, Trail
from minutebook.record.caller import Caller
from minutebook.record.filters import Filter
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Decision,
    Entity,
    Entry,
    Kind,
    Link,
    Memory,
    Proposal,
    Record,
    Relation,
    Role,
    Status,
    Summary,
    TextRecord,
    Token,
    Turn,
    Version,
)
from minutebook.record.rights.grants import Grant
from minutebook.record.trust.fingerprints import (
    FINGERPRINTED,
    LEFT_OUT,
    Fingerprinted,
    fields_changed_since,
    fingerprint,
    id_in_trail,
    is_same_state,
)
from minutebook.store.protocol import Tended
from minutebook.store.sql.tables import Value, table_of
from tests.examples import parametrize_in_part
from tests.features.ledger.decided import PERSON, draft
from tests.memory.test_write_acts import HOMELY, MANY, NAMED, PLACED
from tests.scoped import BEARER, populated
from tests.store.engine import engine_named
from tests.store.samples import (
    decision,
    edge,
    entity,
    memory,
    proposal,
    summary,
    token,
    turn,
    version,
)
from tests.world import NOON, World

CALLER = Caller(name="ana", role=Role.ADMIN, organization="acme")

SAMPLES: dict[type[Record], Record] = {
    type(each): each
    for each in (
        *(memory(), version(), decision(), proposal(), turn(), summary(), entity()),
        *(edge(Relation, "e1", "e2"), edge(Link, "m1", "m2")),
        token(organization=SYSTEM_ORGANIZATION, bound_organization="acme"),
    )
}

OF_TEXT = {
    Memory: {"content", "title"},
    Version: {"content", "title"},
    Decision: {"title", "target", "rationale", "consequences"},
    Proposal: {"title", "target", "rationale", "consequences"},
    Turn: {"prompt", "thought", "response"},
    Summary: {"title", "summary", "technologies"},
    Entity: {"name"},
    Relation: set(),
    Link: set(),
    Token: {"name"},
}
"""Fields that salt the others: of a change of one of them the text alone is told."""

TAMPERED = [(of, f.name) for of in FINGERPRINTED for f in fields(of) if f.name not in LEFT_OUT]

OTHER: dict[str, str | dict[str, str]] = {
    "status": {"memories": "verified", "decisions": "withdrawn", "proposals": "declined"},
    "scope": "user",
    "type": {"memories": "risk", "entities": "place", "edges": "far"},
    "role": "admin",
    "bound_repositories": '["forged"]',
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


@contextmanager
def acting(store: Tended, act: str, record: Record) -> Iterator[AuditDraft]:
    """Run an act on a record, audited in acme."""
    also, trail = {record.organization} - {"acme"}, Trail(store, lambda: NOON)
    with trail.audited(CALLER, "acme", act, record.kind, record.id, also=also) as audit:
        audit.check()
        yield audit


def kept(store: Tended, record: Record) -> None:
    """Keep a record as an act does."""
    with acting(store, "created", record) as audit:
        store.put(record)
        if isinstance(record, TextRecord):
            audit.changes(None, record.text)


def reasons(proof: Proof) -> list[tuple[str, str]]:
    return [(each.id, each.reason) for each in proof.differences]


def value_for(table: str, name: str, value: Value) -> Value:
    """Return another value for a column than the one that it has."""
    other = OTHER.get(name)
    if isinstance(other, dict):
        other = other.get(table)
    if other is not None and value != other:
        return other
    match value:
        case bytes():
            return value + b"forged"
        case str() if value.startswith("["):
            return json.dumps([*json.loads(value), "forged"])
        case int() | float():
            return value + 1
        case None if name.endswith(("_at", "_until", "_time")):
            return 1
        case None:
            return "forged"
        case _:
            return f"{value!s} forged"


@pytest.mark.parametrize("engine", ["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
@parametrize_in_part("case", TAMPERED)
def test_a_field_that_was_changed_past_the_store_is_named(
    tmp_path: Path, engine: str, case: tuple[type[Record], str]
) -> None:
    of, name = case
    record, database = SAMPLES[of], engine_named(engine)
    with database.fresh(tmp_path / "store") as store:
        kept(store, record)
        assert prove_trail(store, "acme").is_sound
        table = table_of(of).name
        rows = database.execute(tmp_path / "store", f'SELECT "{name}" FROM {table}')
        other = value_for(table, name, rows[0][0])
        database.execute(tmp_path / "store", f'UPDATE {table} SET "{name}" = ?', other)
        ((id, reason),) = reasons(prove_trail(store, "acme"))
    assert id == record.id
    text = CHANGED if isinstance(record, TextRecord) else fields_differ_reason(())
    assert reason == (text if name in OF_TEXT[of] else fields_differ_reason((name,)))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tended]:
    with engine_named(request.param).fresh(tmp_path / "store") as store:
        yield store


@pytest.mark.parametrize("of", [of for of in FINGERPRINTED if of is not Memory])
def test_a_record_that_was_taken_out_of_the_file_is_named(store: Tended, of: type[Record]) -> None:
    record = SAMPLES[of]
    kept(store, record)
    store.delete(of, record.organization, record.id)
    ((id, reason),) = reasons(prove_trail(store, "acme"))
    assert id == id_in_trail(of.kind, record.id)
    assert reason == (link_missing_reason(1) if of is Link else MISSING)


@pytest.mark.parametrize("of", [of for of in FINGERPRINTED if of is not Memory])
def test_a_record_that_an_act_removed_and_somebody_put_back_is_named(
    store: Tended, of: type[Record]
) -> None:
    record = SAMPLES[of]
    kept(store, record)
    with acting(store, "remove", record):
        store.delete(of, record.organization, record.id)
    assert prove_trail(store, "acme").is_sound
    store.put(record)
    assert reasons(prove_trail(store, "acme")) == [(record.id, BACK)]


def test_a_change_past_the_trail_that_an_act_took_over_is_still_named(world: World) -> None:
    id = world.remember("tea at five")
    world.app.status.deprecate(world.caller, id, "cold")
    world.store.put(replace(world.memory(id), status=Status.ACTIVE, reason=None))
    world.app.memories.update(world.caller, id, {"content": "tea at six"})
    ((named, reason),) = reasons(prove_trail(world.store, "default"))
    assert named == id
    assert "before entry 3" in reason


def test_a_token_that_somebody_changed_is_named_by_the_trail_of_whom_it_was_for(
    world: World,
) -> None:
    tokens, owner = world.app.tokens, replace(CALLER, organization=None, writes_system=True)
    grant = Grant(name="ci", role=Role.AGENT, organization="acme")
    moved, raised = (tokens.create(owner, grant).token for _ in range(2))
    world.store.put(replace(moved, bound_organization="globex"))
    world.store.put(replace(raised, role=Role.ADMIN))
    tokens.revoke(owner, raised.id)
    assert dict(reasons(prove_trail(world.store, "acme"))) == {
        moved.id: fields_differ_reason(("bound_organization",)),
        raised.id: changed_before_reason(3),
    }
    assert prove_trail(world.store, SYSTEM_ORGANIZATION).is_sound


def test_entries_do_not_hold_what_somebody_wrote_as_the_type_of_a_link(world: World) -> None:
    ids = [world.remember(text) for text in ("tea", "rye")]
    world.app.links.link(world.caller, ids[0], ids[1], "owes money to")
    link = world.store.find(Link, Filter(organization="default"))[0]
    entries = world.store.find(Entry, Filter(organization="default"))
    kept = "\n".join(text for entry in entries for text in entry.fingerprints)
    assert id_in_trail(Kind.LINK, link.id) in kept
    assert "owes" not in kept
    world.store.put(replace(link, weight=0.5))
    assert reasons(prove_trail(world.store, "default")) == [
        (link.id, fields_differ_reason(("weight",)))
    ]


def test_a_decision_that_was_changed_after_a_rebuild_of_its_ledger_is_named(world: World) -> None:
    made = world.app.get(DecisionActs).record(PERSON, draft())
    world.app.get(Rebuilds).rebuild(PERSON)
    proof = prove_trail(world.store, "default")
    assert proof.is_sound
    world.store.put(replace(made, author="forged"))
    assert reasons(prove_trail(world.store, "default")) == [
        (made.id, fields_differ_reason(("author",)))
    ]


def test_an_act_on_many_records_has_the_fingerprint_of_each(store: Tended) -> None:
    record = entity()
    trail = Trail(store, lambda: NOON)
    with trail.audited(CALLER, record.organization, "import", Kind.ENTITY, "many") as audit:
        audit.check()
        for number in range(1203):
            store.put(replace(record, id=f"e{number:04}"))
    assert store.count(Entry, _everything(record)) == 3
    proof = prove_trail(store, record.organization)
    assert proof.is_sound
    store.put(replace(record, id="e1100", description="forged"))
    assert reasons(prove_trail(store, record.organization)) == [
        ("e1100", fields_differ_reason(("description",)))
    ]


def _everything(record: Record) -> Filter:
    return Filter(organization=record.organization)


def test_a_fingerprint_says_nothing_of_a_field_without_the_text() -> None:
    one = memory()
    other = replace(one, content="something else")
    alike = [a == b for a, b in zip(*(_parts(fingerprint(e)) for e in (one, other)), strict=True)]
    assert not any(alike)
    assert fields_changed_since(fingerprint(one), other) == ()


def _parts(text: str) -> list[str]:
    return [text[at : at + 3] for at in range(43, len(text), 3)]


def test_a_fingerprint_is_the_same_once_the_record_was_kept(store: Tended) -> None:
    for record in SAMPLES.values():
        store.put(record)
        back = store.get(type(record), record.organization, record.id)
        assert back is not None
        assert is_same_state(fingerprint(record), fingerprint(back))
        item = Fingerprinted(record.kind, f"a b {record.id}", "", fingerprint(back))
        assert Fingerprinted.from_text(item.text()) == item


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
            proof = prove_trail(app.infrastructure.store, name)
            assert proof.is_sound, (proof.broken, proof.differences)
