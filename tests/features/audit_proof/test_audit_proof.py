"""The records' texts against the digests of the trail: what differs, is missing or came past it is named."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.features.archives.archive_lines import Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.audit_proof.audit_proof import prove_trail
from minutebook.features.audit_proof.last_states import (
    BACK,
    CHANGED,
    MISSING,
    NO_ENTRY,
    fields_differ_reason,
)
from minutebook.features.audit_proof.trail_proof import Proof
from minutebook.features.importers.source_imports import SourceImports
from minutebook.memory.access.audit import Trail
from minutebook.record.caller import Caller
from minutebook.record.records import Head, Kind, Link, Memory, MemoryType, Role
from minutebook.record.trust.trail import ERASE
from minutebook.record.writing.source_drafts import MemoryDraft, SourcePlace
from minutebook.store.protocol import Tended
from tests.store.engine import engine_named
from tests.store.samples import edge, memory, turn
from tests.world import NOON, Opener, World

CALLER = Caller(name="ana", role=Role.HUMAN, organization="acme")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.thorough)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tended]:
    with engine_named(request.param).fresh(tmp_path / "store") as store:
        yield store


def written(store: Tended, *texts: str) -> list[Memory]:
    """Keep memories as an act does: each with the entry that has its digest."""
    trail, kept = Trail(store, lambda: NOON), []
    for number, text in enumerate(texts):
        record = memory(f"m{number}", text)
        with trail.audited(CALLER, "acme", "created", Kind.MEMORY, record.id) as audit:
            audit.check(record)
            store.put(record)
            audit.changes(None, record.text)
        kept.append(record)
    return kept


def found(store: Tended) -> list[tuple[str, str]]:
    return [(each.id, each.reason) for each in prove_trail(store, "acme").differences]


def test_records_that_the_trail_speaks_of_agree_with_it(store: Tended) -> None:
    written(store, "tea", "rye")
    proof = prove_trail(store, "acme")
    assert proof.is_sound
    assert proof.head is not None
    assert proof.head.number == 2


def test_a_text_that_was_changed_put_in_or_taken_out_is_named(store: Tended) -> None:
    tea, rye, oat = written(store, "tea", "rye", "oat")
    store.put(replace(tea, content="tee"))
    store.delete(Memory, "acme", rye.id)
    store.put(memory("new", "wine"))
    store.put(replace(oat, importance=0.9))
    assert found(store) == [
        ("m0", CHANGED),
        ("m2", fields_differ_reason(("importance",))),
        ("new", NO_ENTRY),
        ("m1", MISSING),
    ]


@pytest.mark.parametrize("most_held", [1, 3, 1000])
def test_a_proof_in_parts_finds_what_a_whole_one_does(store: Tended, most_held: int) -> None:
    kept = written(store, *(f"tea {number}" for number in range(12)))
    trail = Trail(store, lambda: NOON)
    with trail.audited(CALLER, "acme", ERASE, Kind.MEMORY, "m11") as audit:
        audit.check(kept[11])
        store.delete(Memory, "acme", "m11")
    store.put(replace(kept[1], content="tee"))
    store.put(replace(kept[7], importance=0.9))
    link = edge(Link, "m1", "m2")
    store.put(link)
    store.delete(Memory, "acme", "m5")
    whole, parts = prove_trail(store, "acme"), prove_trail(store, "acme", most_held=most_held)
    assert {each.id for each in whole.differences} == {"m1", "m7", "m5", link.id}
    assert sorted(map(repr, parts.differences)) == sorted(map(repr, whole.differences))
    assert parts.erased == whole.erased


def test_a_changed_text_that_an_act_passed_over_is_still_named(store: Tended) -> None:
    (tea,) = written(store, "tea")
    forged = replace(tea, content="tee")
    store.put(forged)
    with Trail(store, lambda: NOON).audited(CALLER, "acme", "lock", Kind.MEMORY, "m0") as audit:
        audit.check(forged)
        audit.changes(forged.text, forged.text)
    ((id, reason),) = found(store)
    assert id == "m0"
    assert "before entry 2" in reason


def test_a_memory_that_was_removed_by_an_act_is_no_difference_until_it_is_put_back(
    store: Tended,
) -> None:
    (tea,) = written(store, "tea")
    with Trail(store, lambda: NOON).audited(CALLER, "acme", "delete", Kind.MEMORY, "m0") as audit:
        audit.check(tea)
        audit.changes(tea.text, None)
        store.delete(Memory, "acme", "m0")
    assert found(store) == []
    store.put(tea)
    assert found(store) == [("m0", BACK)]


@pytest.mark.parametrize("digests", [("tea", None), (None, None)])
def test_an_erased_memory_is_told_as_erased(
    store: Tended, digests: tuple[str | None, str | None]
) -> None:
    (tea,) = written(store, "tea")
    with Trail(store, lambda: NOON).audited(CALLER, "acme", ERASE, Kind.MEMORY, "m0") as audit:
        audit.check(tea)
        audit.changes(*digests)
        store.delete(Memory, "acme", "m0")
    proof = prove_trail(store, "acme")
    assert proof.is_sound
    assert [(each.id, each.at) for each in proof.erased] == [("m0", NOON)]


def test_an_entry_of_many_covers_no_record_of_which_it_says_nothing(store: Tended) -> None:
    (tea,) = written(store, "tea")
    trail = Trail(store, lambda: NOON)
    store.put(replace(tea, content="tee"))
    store.put(memory("new", "wine"))
    store.put(turn("t"))
    trail.log(CALLER, "acme", "sync", Kind.MEMORY, ["taken from laptop"])
    trail.log_many(CALLER, "acme", "sync", Kind.MEMORY, "taken from laptop")
    assert [id for id, _ in found(store)] == [tea.id, "new", "t"]


def test_a_trail_that_breaks_says_nothing_of_the_records(store: Tended) -> None:
    written(store, "tea", "rye")
    store.put(memory("new", "wine"))
    store.delete(Head, "acme", "head")
    proof = prove_trail(store, "acme")
    assert proof.broken is not None
    assert proof.differences == ()


def proof(world: World, organization: str = "default") -> Proof:
    return prove_trail(world.store, organization)


def test_every_way_to_write_a_memory_leaves_its_digest(world: World) -> None:
    first, second = world.remember("tea at five"), world.remember("rye bread")
    app, caller = world.app, world.caller
    app.memories.update(caller, first, {"content": "tea at six", "title": "Tea"})
    app.memories.remove(caller, second)
    app.memories.restore(caller, second)
    app.memories.invalidate(caller, first, "old", second)
    app.memories.delete(caller, first)
    app.sessions.add(caller, "s", "prompt", "thought", "response")
    app.summaries.summarize(caller, "s")
    found = proof(world)
    assert found.is_sound, found.differences
    world.app.overview.reset(caller)
    assert proof(world).is_sound


def test_what_an_archive_brings_has_a_digest_each(
    world: World, opener: Opener, tmp_path: Path
) -> None:
    world.remember("tea at five")
    world.app.get(Archives).export_to(
        world.caller, [Kind.VERSION, Kind.MEMORY], tmp_path / "part.jsonl"
    )
    world.app.get(Archives).export_to(
        world.caller,
        [Kind.ENTRY, Kind.HEAD, Kind.MEMORY, Kind.VERSION],
        tmp_path / "all.jsonl",
    )
    for name in ("part", "all"):
        other = opener(name=name)
        if name == "part":
            other.remember("rye bread")
        other.app.get(Archives).import_from(
            replace(other.caller, role=Role.ADMIN, writes_system=True),
            tmp_path / f"{name}.jsonl",
            Mode.MERGE,
            is_own=True,
        )
        assert proof(other).is_sound
        entries = [each for each in other.trail() if each.act == "take_in"]
        assert len(entries) == (name == "part")


def test_what_another_program_brings_has_a_digest_each(world: World) -> None:
    place = SourcePlace("/notes.md")
    note = MemoryDraft(key="k", place=place, program="notes", content="tea", type=MemoryType.FACT)
    for draft in (note, replace(note, content="tea at six")):
        world.app.get(SourceImports).run(world.caller, "notes", [draft], lambda: 1.0, dry_run=False)
    found = proof(world)
    assert found.is_sound, found.differences
    assert [each.act for each in world.trail()].count("take_in") == 2


def test_a_doctor_names_a_record_that_differs(world: World) -> None:
    id = world.remember("tea at five")
    kept = world.store.get(Memory, "default", id)
    assert kept is not None
    world.store.put(replace(kept, content="tea at nine"))
    (finding,) = [each.finding for each in world.app.doctor.examine() if "trail" in each.finding]
    assert id in finding
