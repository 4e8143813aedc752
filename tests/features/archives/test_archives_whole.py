"""A whole store, taken out and brought in elsewhere, or where it came from."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from minutebook.features.archives.archive_lines import KINDS, LEFT_OUT, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.audit_proof.last_states import MISSING
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.repositories import Ledgers
from minutebook.memory.intake import Outcome
from minutebook.record.caller import with_call
from minutebook.record.origin import Origin
from minutebook.record.records import (
    CLASSES,
    SYSTEM_ORGANIZATION,
    Decision,
    Edge,
    Entry,
    Kind,
    Memory,
    MemoryType,
    Mention,
    Record,
    Role,
    Token,
    Version,
)
from minutebook.record.rights.grants import Grant
from minutebook.record.writing.drafts import Draft
from tests.features.archives.test_archives import ADMIN, put, summary, turn
from tests.features.ledger.decided import draft, git, ledger_of
from tests.store.samples import chunk, file, project
from tests.world import Opener, World, everything


def test_every_kind_is_archived_or_left_out_for_a_reason() -> None:
    assert sorted((*KINDS, *LEFT_OUT)) == sorted(Kind)


def filled(world: World) -> World:
    """Fill a world with every kind: changed, soft-deleted, locked, linked, decided and indexed."""
    origin = Origin(client="cursor", version="1.2.3", contract="knowledge", session="s")
    app, asks = world.app, with_call(replace(ADMIN, organization="default"), origin=origin)
    app.memories.store(asks, Draft(content="tea", type=MemoryType.FACT))
    ana = world.entity("Ana")
    world.relate(ana, world.entity("Bo"))
    first, second = world.remember("Ana bakes bread"), world.remember("Bo eats it")
    world.call("update_memory", id=first, content="Ana bakes rye bread")
    app.links.link(asks, first, second, "because")
    app.memories.remove(asks, world.remember("forgotten"))
    app.status.lock(asks, second)
    world.by(organization="zoo").remember("tapir")
    made = app.get(DecisionActs).record(asks, draft())
    app.get(DecisionActs).supersede(asks, [made.id], draft(title="Use two files"))
    app.get(Proposals).propose(asks, draft("wire"))
    for record in (
        project(organization="default", path=str(Path("/nowhere/a"))),
        file(organization="default", project="a"),
        chunk(organization="default", project="a"),
    ):
        app.infrastructure.store.put(record)
    put(world, *(turn(n) for n in range(9)), summary(), turn(5, organization="zoo", user="bo"))
    return world


def whole(world: World, *without: Kind) -> dict[Any, Record]:
    """Every archived record, by what names it; decisions without the commit that wrote them."""
    store = world.store
    return {
        (name, kind, each.id): replace(each, commit_id="") if isinstance(each, Decision) else each
        for name in store.organizations()
        for kind in KINDS
        if kind not in without
        for each in store.find(CLASSES[kind], everything(name))
    }


def mentions(world: World) -> set[tuple[str, str, str]]:
    store = world.store
    return {
        (name, each.source, each.target)
        for name in store.organizations()
        for each in store.find(Mention, everything(name))
        if isinstance(each, Edge)
    }


def test_a_whole_store_comes_back_equal_with_versions_and_trail(
    opener: Opener, tmp_path: Path
) -> None:
    one, two = filled(opener()), opener(name="two")
    path = tmp_path / "whole.jsonl"
    before = whole(one)
    assert {kind for _, kind, _ in before} == set(KINDS)
    with_origin = {each.kind for each in before.values() if getattr(each, "origin", None)}
    assert with_origin >= {Kind.MEMORY, Kind.VERSION, Kind.LINK, Kind.ENTRY, Kind.DECISION}
    told = one.app.get(Archives).export_to(ADMIN, KINDS, path)
    assert sum(told.counts.values()) == len(before)
    two.app.get(Archives).import_from(ADMIN, path, Mode.MERGE, is_own=True)
    after = whole(two)
    heads = {key for key in before if key[1] is Kind.HEAD}
    for key in before.keys() - heads:
        assert after.pop(key) == before[key]
    added = [each for each in after.values() if isinstance(each, Entry)]
    assert {each.act for each in added} == {"import_own", "rebuild"}
    assert len(after) == len(added) + len(heads)
    assert mentions(two) == mentions(one) != set()
    for name in two.app.infrastructure.store.organizations():
        assert two.app.trail.verify(name) is None
    assert two.app.infrastructure.store.upkeep.check() == []


def test_a_trail_that_came_without_the_tokens_that_it_tells_of_holds(
    opener: Opener, tmp_path: Path
) -> None:
    one, other = opener(), opener(name="other")
    for organization in (None, "acme"):
        grant = Grant(name="ci", role=Role.AGENT, organization=organization)
        one.app.tokens.create(ADMIN, grant)
    one.remember("tea")
    one.app.get(Archives).export_to(ADMIN, KINDS, tmp_path / "all.jsonl")
    other.app.get(Archives).import_from(ADMIN, tmp_path / "all.jsonl", Mode.MERGE, is_own=True)
    proofs = other.app.get(TrailProving).prove(ADMIN)
    assert {each.organization for each in proofs} == {"acme", "default", SYSTEM_ORGANIZATION}
    assert [each.differences for each in proofs] == [()] * 3
    made = other.app.tokens.create(ADMIN, Grant(name="own", role=Role.AGENT)).token
    other.store.delete(Token, SYSTEM_ORGANIZATION, made.id)
    (told,) = (
        each for proof in other.app.get(TrailProving).prove(ADMIN) for each in proof.differences
    )
    assert (told.id, told.reason) == (made.id, MISSING)


def test_imported_decisions_are_in_git_and_can_be_gone_on_with(
    opener: Opener, tmp_path: Path
) -> None:
    one, two = filled(opener()), opener(name="two")
    path = tmp_path / "whole.jsonl"
    one.app.get(Archives).export_to(ADMIN, KINDS, path)
    two.app.get(Archives).import_from(ADMIN, path, Mode.MERGE, is_own=True)
    assert git(ledger_of(two.app).path, "rev-list", "--count", "main") == "1"
    two.app.get(DecisionActs).record(replace(ADMIN, organization="default"), draft("wire"))
    (state, *_) = two.app.get(Ledgers).states()
    assert state.reason is None
    assert two.app.get(Ledgers).check() == []


def test_merging_a_whole_store_brings_back_what_is_gone_and_leaves_the_rest(
    opener: Opener, tmp_path: Path
) -> None:
    world, path = filled(opener()), tmp_path / "whole.jsonl"
    world.app.get(Archives).export_to(ADMIN, KINDS, path)
    gone = next(
        each.id
        for each in world.store.find(Memory, everything("default"))
        if isinstance(each, Memory) and each.content.startswith("Ana")
    )
    world.app.memories.delete(replace(ADMIN, organization="default"), gone)
    world.call("update_memory", id=world.remember("later"), content="later still")
    before = whole(world, Kind.ENTRY, Kind.HEAD)
    archives = world.app.get(Archives)
    # What was removed by its name stays so, with all that belongs to it, unless it is wanted again.
    report = archives.import_from(ADMIN, path, Mode.MERGE, is_own=True)
    assert whole(world, Kind.ENTRY, Kind.HEAD) == before
    assert (
        report.counts[Outcome.REMOVED][Kind.MEMORY],
        report.counts[Outcome.REMOVED][Kind.VERSION],
    ) == (1, 2)
    archives.import_from(ADMIN, path, Mode.MERGE, is_own=True, again=True)
    after = whole(world, Kind.ENTRY, Kind.HEAD)
    assert {key: after[key] for key in before} == before
    # The link is to a memory that is locked, which no import changes.
    back = {(kind, id) for _, kind, id in after.keys() - before.keys()}
    assert back == {
        (Kind.MEMORY, gone),
        (Kind.VERSION, f"{gone}.1"),
        (Kind.VERSION, f"{gone}.2"),
    }
    assert world.app.trail.verify("default") is None


def test_a_memory_that_is_there_takes_no_versions_from_an_archive(
    opener: Opener, tmp_path: Path
) -> None:
    one, two, path = opener(), opener(name="two"), tmp_path / "whole.jsonl"
    id = one.remember("tea at four")
    early = tmp_path / "early.jsonl"
    one.app.get(Archives).export_to(ADMIN, KINDS, early)
    one.call("update_memory", id=id, content="tea at five")
    one.app.get(Archives).export_to(ADMIN, KINDS, path)
    two.app.get(Archives).import_from(ADMIN, early, Mode.MERGE, is_own=True)
    two.app.get(Archives).import_from(ADMIN, path, Mode.MERGE, is_own=True)
    assert two.memory(id).content == "tea at four"
    assert two.app.infrastructure.store.count(Version, everything("default")) == 1
