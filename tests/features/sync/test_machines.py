"""Machines in step: all end equal, and no text is lost, whatever was edited where and synced when."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.repositories import Ledgers
from minutebook.features.sync import machines as sync_machines
from minutebook.features.sync.machines import MachineSync
from minutebook.features.sync.remotes import FolderRemote, remote_of
from minutebook.record.caller import Caller
from minutebook.record.errors import InvalidInput, Refused, StoreBusy
from minutebook.record.records import (
    Decision,
    Entity,
    Kind,
    Link,
    Memory,
    Role,
    Status,
    Turn,
    Version,
)
from minutebook.record.writing.decision_drafts import ERASED
from tests.examples import examples
from tests.faults.invariants import unproven
from tests.features.ledger.decided import ADMIN, draft
from tests.features.sync.joined_machines import Machines, machines
from tests.world import everything


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Machines]:
    with machines(tmp_path) as joined:
        yield joined


def changes(joined: Machines) -> list[Path]:
    return sorted((joined.folder / "changes").iterdir())


def test_what_one_machine_learns_the_other_knows(two: Machines) -> None:
    one, other = two.worlds
    id = one.remember("Ana drinks tea", metadata={"b": [1.5, None], "a": {"c": "ä"}})
    ana, acme = one.entity("Ana"), one.entity("Acme")
    one.relate(ana, acme, "works at")
    one.app.sessions.add(two.person, "monday", "Why?", "", "So.")
    one.app.status.lock(two.person.__class__(name="ana", role=Role.ADMIN), id)
    two.settle()
    assert two.held(0) == two.held(1)
    assert len(two.held(0)) == 6
    there = other.memory(id)
    assert (there.content, there.status) == ("Ana drinks tea", Status.LOCKED)
    assert other.edges(id, Kind.MENTION), "mentions are made anew"
    assert two.compare(0).differences == two.compare(1).differences == ()
    assert two.compare(1).equal == 6


def test_two_edits_of_one_memory_are_both_kept_and_told(two: Machines) -> None:
    one, other = two.worlds
    id = one.remember("Tea is green")
    two.settle()
    two.edit(0, id, "Tea is black")
    two.edit(1, id, "Tea is white")
    two.sync(0)
    (conflict,) = two.sync(1).conflicts
    two.settle()
    assert two.held(0) == two.held(1)
    assert two.shown(0) == {"Tea is white", "Tea is black"}
    assert (conflict.id, conflict.fields) == (id, ("content",))
    (copy,) = conflict.copies
    kept = one.memory(copy)
    assert (kept.content, kept.status) == ("Tea is black", Status.UNVERIFIED)
    assert one.store.find(Link, everything("default"))[0].target == id
    assert {"conflict"} == {each.act for each in other.entries(id)} - {"update", "take_in"}
    # An edit of what is shown takes the place of no version.
    two.edit(1, id, "Tea is red")
    two.settle()
    assert two.texts(0) == {f"Tea is {each}" for each in ("green", "black", "white", "red")}
    assert one.memory(id).content == "Tea is red"


def test_an_edit_stands_against_a_removal(two: Machines) -> None:
    one, _other = two.worlds
    id, gone = one.remember("Tea is green"), one.remember("Milk is white")
    two.edit(0, id, "Tea is greener")
    two.settle()
    one.app.memories.delete(two.person, id)
    one.app.memories.delete(two.person, gone)
    two.edit(1, id, "Tea is red")
    two.sync(0)
    (conflict,) = two.sync(1).conflicts
    assert (conflict.id, conflict.was_removed) == (id, True)
    two.settle()
    assert two.held(0) == two.held(1)
    assert two.shown(0) == {"Tea is red"}
    assert two.texts(0) == {"Tea is green", "Tea is greener", "Tea is red"}, "its past, too"


def test_another_version_of_an_entity_is_a_memory_where_it_says_something_else(
    two: Machines,
) -> None:
    one, other = two.worlds
    id, same = one.entity("Ana"), one.entity("Acme")
    two.settle()
    for number, (world, description) in enumerate(((one, "drinks tea"), (other, "drinks milk"))):
        for each, text in ((id, description), (same, "brews")):
            entity = world.store.get(Entity, "default", each)
            assert entity is not None
            world.store.put(replace(entity, description=text, author=f"author {number}"))
    two.settle()
    assert two.held(0) == two.held(1)
    (kept,) = one.store.find(Memory, everything("default"))
    assert (kept.title, kept.status) == ("Another version of Ana", Status.UNVERIFIED)
    shown = one.store.get(Entity, "default", id)
    assert shown is not None
    assert {shown.description} ^ {"drinks tea", "drinks milk"} < set(kept.content.split('"'))


def test_what_a_person_locked_is_shown(two: Machines) -> None:
    one, other = two.worlds
    id = one.remember("Tea is green")
    two.settle()
    one.app.status.lock(Caller(name="ana", role=Role.ADMIN), id)
    two.edit(1, id, "Tea is red")
    two.settle()
    for world in (one, other):
        assert (world.memory(id).content, world.memory(id).status) == (
            "Tea is green",
            Status.LOCKED,
        )
    assert two.shown(1) == {"Tea is green", "Tea is red"}


def test_a_decision_is_committed_to_the_ledger_of_each_machine(two: Machines) -> None:
    one, other = two.worlds
    made = one.app.get(DecisionActs).record(two.person, draft("cache"))
    two.settle()
    there = other.store.get(Decision, "default", made.id)
    assert there is not None
    assert there.commit_id is not None
    assert there.rationale == made.rationale
    clock = one.clock
    clock.turn()
    later = other.app.get(DecisionActs).supersede(two.person, [made.id], draft("cache", "Better"))
    two.settle()
    here = one.store.get(Decision, "default", made.id)
    assert here is not None
    assert here.superseded_by == (later.id,)
    assert two.held(0) == two.held(1)
    assert [each.reason for each in one.app.get(Ledgers).states()] == [None]


def test_decisions_on_one_another_arrive_in_whatever_order_the_files_are_read(
    tmp_path: Path,
) -> None:
    with machines(tmp_path, 3) as three:
        last = three.worlds[0].app.get(DecisionActs).record(three.person, draft("cache"))
        for turn in range(1, 4):
            for number in (0, 1, 0):
                three.sync(number)
            three.worlds[0].clock.turn()
            decisions = three.worlds[turn % 2].app.get(DecisionActs)
            last = decisions.supersede(three.person, [last.id], draft("cache", f"Better {turn}"))
        three.sync(0)
        three.sync(1)
        assert len(changes(three)) == 4
        assert three.sync(2).refused == []
        assert three.held(1) == three.held(2)


def test_decisions_on_one_another_are_in_one_file(
    two: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync_machines, "BATCH", 2)
    one = two.worlds[0]
    made = []
    for number in range(5):
        one.clock.turn()
        made.append(one.app.get(DecisionActs).record(two.person, draft(f"target {number}")))
    one.clock.turn()
    one.app.get(DecisionActs).supersede(two.person, [made[0].id], draft("target 0", "Better"))
    one.remember("Tea is green")
    one.remember("Milk is white")
    two.settle()
    assert len(changes(two)) > 1
    assert two.held(0) == two.held(1)
    assert len(two.held(1)) == 10


def test_what_a_decision_said_is_erased_on_every_machine(two: Machines, tmp_path: Path) -> None:
    one, other = two.worlds
    text = "Ana owes money to Bo"
    made = one.app.get(DecisionActs).record(two.person, draft("cache", text))
    two.settle()
    one.clock.turn()
    # The other machine goes on with the decision before it hears of the erasure.
    later = other.app.get(DecisionActs).supersede(two.person, [made.id], draft("cache", "Better"))
    erasing = one.app.get(Erasing)
    records = erasing.find(two.person, Choice((made.id,)))
    erasing.erase(two.person, records, backups=False, from_ledger=True)
    two.sync(1)
    two.sync(0)
    assert two.sync(1).erased == 1
    two.settle()
    two.sync(0, compact=True)
    two.sync(1, compact=True)
    assert two.held(0) == two.held(1)
    for world in two.worlds:
        there = world.store.get(Decision, "default", made.id)
        assert there is not None
        assert (there.title, there.superseded_by) == (ERASED, (later.id,))
        assert [each.reason for each in world.app.get(Ledgers).states()] == [None]
        assert list(unproven(world.app.get(TrailProving).prove(ADMIN))) == []
        assert world.app.get(Erasing).check(ADMIN, [text]).traces == []
    files = [path for path in two.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if text.encode() in path.read_bytes()]
    (entry,) = (each for each in other.entries(made.id) if each.act == "erase")
    assert entry.reason.startswith("erased on ")


@pytest.mark.parametrize("killed", ["sync", "erase"])
def test_a_copy_of_a_git_repository_that_a_kill_left_half_removed_is_made_anew(
    two: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "remote.git")], check=True)
    home = tmp_path / "machine0"
    remote = remote_of(str(tmp_path / "remote.git"), home / ".sync", tmp_path)
    id = two.worlds[0].remember("Tea is green")
    two.sync(0, remote)
    erasing = two.worlds[0].app.get(Erasing)
    chosen = erasing.find(two.person, Choice((id,)))

    def erase() -> None:
        erasing.erase(two.person, chosen, backups=False, from_ledger=False)

    def half(path: Path, *, ignore_errors: bool) -> None:
        for objects in path.rglob("objects"):
            remove(objects, ignore_errors=ignore_errors)
        raise KeyboardInterrupt

    if killed == "sync":
        erase()
    remove = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", half)
    with pytest.raises(KeyboardInterrupt):
        two.sync(0, remote) if killed == "sync" else erase()
    monkeypatch.undo()
    two.worlds[0].remember("Milk is white")
    assert two.sync(0, remote).refused == []
    assert not list((home / ".sync").glob(".gone-*"))


def test_the_trails_stay_apart_and_name_one_another(two: Machines) -> None:
    one, other = two.worlds
    one.remember("Tea is green")
    two.settle()
    head = one.app.trail.head("default")
    assert head is not None
    taken = [each.subject for each in other.trail() if each.act == "sync"]
    assert any("taken from" in each and "stood at entry" in each for each in taken)
    for world in two.worlds:
        assert world.app.trail.verify("default") is None


def test_a_sync_without_news_writes_nothing(two: Machines) -> None:
    two.worlds[0].remember("Tea is green")
    two.settle()
    before = {path: path.stat().st_mtime_ns for path in two.folder.rglob("*")}
    entries = [len(world.trail()) for world in two.worlds]
    two.settle()
    assert {path: path.stat().st_mtime_ns for path in two.folder.rglob("*")} == before
    assert [len(world.trail()) for world in two.worlds] == entries


def test_a_damaged_file_is_named_and_nothing_of_it_is_taken(two: Machines) -> None:
    one, _other = two.worlds
    one.remember("Tea is green")
    two.sync(0)
    one.remember("Milk is white")
    two.sync(0)
    first, _second = changes(two)
    whole = first.read_bytes()
    first.write_bytes(whole[: len(whole) // 2])
    report = two.sync(1)
    ((name, reason),) = report.refused
    assert name == first.name
    assert "line" in reason or "ends" in reason
    assert two.shown(1) == {"Milk is white"}, "the file after it is taken all the same"
    assert [each for each, _ in two.compare(1).refused] == [first.name]
    two.sync(0, compact=True)
    assert two.sync(1).refused == [], "the snapshot has what the file had"
    two.settle()
    assert two.held(0) == two.held(1)


@pytest.mark.parametrize("change", ["flip", "empty", "link"])
def test_whatever_happened_to_a_file_it_is_named(two: Machines, change: str) -> None:
    two.worlds[0].remember("Tea is green")
    two.sync(0)
    (path,) = changes(two)
    text = path.read_bytes()
    match change:
        case "flip":
            path.write_bytes(text.replace(b"green", b"groen"))
        case "empty":
            path.write_bytes(b"")
        case _:
            path.rename(path.with_name("elsewhere"))
            path.symlink_to("elsewhere")
    report = two.sync(1)
    assert [name for name, _ in report.refused] == [path.name]
    assert two.shown(1) == set()


def test_who_lacks_what_is_gone_is_told_so_until_it_is_sent_again(two: Machines) -> None:
    two.worlds[0].remember("Tea is green")
    two.settle()
    two.worlds[0].remember("Milk is white")
    two.sync(0)
    (lost,) = changes(two)[-1:]
    assert two.sync(0).lost == 0
    lost.unlink()
    assert two.compare(1).lost == (lost.name,)
    assert list(two.compare(1).behind.values()) == [0]
    assert list(two.compare(0).behind.values()) == [1]
    assert two.sync(1).refused
    assert two.sync(0).lost == 1
    assert two.sync(1).refused == []
    assert two.shown(1) == {"Tea is green", "Milk is white"}
    assert two.compare(1).lost == ()


@pytest.mark.parametrize("folder", ["changes", "snapshots"])
def test_what_was_cut_short_in_the_remote_is_sent_again(two: Machines, folder: str) -> None:
    two.worlds[0].remember("Tea is green")
    two.sync(0, compact=folder == "snapshots")
    for path in (two.folder / "changes").iterdir() if folder == "snapshots" else ():
        path.unlink()
    (path,) = (two.folder / folder).iterdir()
    path.write_bytes(path.read_bytes()[:-20])
    assert two.sync(0).lost == 1
    assert two.sync(0).lost == 0
    assert not two.sync(1).refused
    assert two.shown(1) == {"Tea is green"}


def test_a_snapshot_takes_the_place_of_files_that_all_have_taken(two: Machines) -> None:
    for number in range(6):
        two.worlds[number % 2].remember(f"Fact {number}")
        two.sync(number % 2)
    two.settle()
    report = two.sync(0, compact=True)
    assert report.compacted == 6
    assert not changes(two)
    two.worlds[1].remember("Fact 6")
    two.settle()
    assert two.compare(0).differences == ()
    assert two.sync(1, compact=True).compacted == 1
    assert len(list((two.folder / "snapshots").iterdir())) == 1


def test_a_machine_that_comes_late_begins_with_the_snapshot(tmp_path: Path) -> None:
    with machines(tmp_path, 3) as three:
        id = three.worlds[0].remember("Tea is green")
        gone = three.worlds[0].remember("Milk is white")
        three.sync(0)
        three.sync(1)
        three.worlds[0].app.memories.delete(three.person, gone)
        three.edit(0, id, "Tea is red")
        three.sync(0)
        three.sync(1)
        three.sync(0, compact=True)
        assert not changes(three)
        three.worlds[2].remember("Bread is brown")
        three.settle()
        assert three.held(0) == three.held(1) == three.held(2)
        assert three.shown(2) == {"Tea is red", "Bread is brown"}


@pytest.mark.thorough
def test_a_copy_of_a_store_goes_by_another_name(tmp_path: Path) -> None:
    with machines(tmp_path / "one") as two:
        two.worlds[0].remember("Tea is green")
        two.settle()
    home = tmp_path / "one"
    # The data directory of one machine is copied onto a third.
    shutil.copytree(home / "machine0", home / "machine2")
    with machines(home, 3, later=100) as three:
        three.worlds[0].remember("Milk is white")
        three.worlds[2].remember("Bread is brown")
        first, third = three.sync(0), three.sync(2)
        assert first.machine != third.machine
        three.settle()
        assert three.held(0) == three.held(1) == three.held(2)
        assert three.shown(1) == {"Tea is green", "Milk is white", "Bread is brown"}


@pytest.mark.thorough
@pytest.mark.parametrize("compact", [False, True])
def test_a_store_that_was_restored_loses_nothing_that_came_later(
    tmp_path: Path, *, compact: bool
) -> None:
    with machines(tmp_path / "one") as two:
        id = two.worlds[0].remember("Tea is green")
        two.settle()
    home = tmp_path / "one"
    shutil.copytree(home / "machine0", tmp_path / "backup")
    with machines(home, later=100) as two:
        two.edit(0, id, "Tea is red")
        two.worlds[0].remember("Milk is white")
        two.settle()
        # A snapshot leaves no file that bears the name of the store.
        two.sync(1, compact=compact)
        assert bool(changes(two)) is not compact
    shutil.rmtree(home / "machine0")
    shutil.copytree(tmp_path / "backup", home / "machine0")
    with machines(home, later=1000) as two:
        two.worlds[0].remember("Bread is brown")
        two.settle()
        assert two.held(0) == two.held(1)
        assert two.shown(0) == {"Tea is red", "Milk is white", "Bread is brown"}


def test_who_may_not_take_everything_out_and_in_does_not_sync(two: Machines) -> None:
    remote = FolderRemote(two.folder)
    sync = two.worlds[0].app.get(MachineSync)
    held = Caller(name="ana", role=Role.HUMAN, writes_system=True, repositories=frozenset({"one"}))
    agent = Caller(name="bot", role=Role.AGENT, writes_system=True)
    for caller in (held, agent, Caller(name="ana", role=Role.ADMIN)):
        with pytest.raises(Refused):
            sync.run(caller, remote)
        with pytest.raises(Refused):
            sync.compare(caller, remote)
    assert list(two.folder.iterdir()) == []


def test_a_folder_of_other_things_is_refused(two: Machines, tmp_path: Path) -> None:
    other = tmp_path / "photos"
    other.mkdir()
    (other / "cat.jpg").touch()
    with pytest.raises(InvalidInput, match="empty folder"):
        two.sync(0, FolderRemote(other))
    assert [path.name for path in other.iterdir()] == ["cat.jpg"]
    for bad in (
        "",
        "-x",
        "ext::sh -c date",
        str(tmp_path / "nowhere"),
        "ssh://-oProxy/x",
        "ssh://h",
    ):
        with pytest.raises(InvalidInput, match="REMOTE"):
            remote_of(bad, tmp_path, tmp_path)


def test_one_sync_at_a_time(two: Machines) -> None:
    world = two.worlds[0]
    with world.app.infrastructure.locks.hold("sync"), pytest.raises(StoreBusy):
        two.sync(0)


_MACHINES = st.integers(0, 2)
_ACTS = st.sampled_from(
    [
        "remember",
        "edit",
        "remove",
        "restore",
        "delete",
        "link",
        "entity",
        "turn",
        "deprecate",
        "lock",
    ]
)
_STEPS = st.lists(
    st.tuples(
        _MACHINES, st.one_of(st.just("sync"), _ACTS), st.integers(0, 3), st.integers(-50, 90)
    ),
    max_size=24,
)


@given(_STEPS)
@settings(max_examples=examples(30), suppress_health_check=list(HealthCheck))
def test_machines_end_equal_and_lose_no_text(steps: list[tuple[int, str, int, int]]) -> None:
    with tempfile.TemporaryDirectory() as home, machines(Path(home), 3) as joined:
        ids, written, deleted = list[str](), set[tuple[str, str]](), set[str]()
        for number, (machine, act, which, seconds) in enumerate(steps):
            # A clock that goes back is one that was wrong, and the machines have one each.
            joined.worlds[machine].clock.turn(seconds)
            if act == "sync":
                joined.sync(machine)
                continue
            attempt(joined, machine, act, f"text {number}", ids, which, written, deleted)
        joined.settle()
        held = joined.held(0)
        assert held == joined.held(1) == joined.held(2)
        for number in range(3):
            compared = joined.compare(number)
            assert (compared.differences, compared.refused) == ((), ())
            assert compared.equal == len(held)
            assert joined.worlds[number].app.trail.verify("default") is None
        kept = {
            (each.memory, each.content)
            for each in joined.worlds[0].store.find(Version, everything("default"))
        }
        assert {each for each in written if each[0] not in deleted} <= kept


def attempt(
    joined: Machines,
    machine: int,
    act: str,
    text: str,
    ids: list[str],
    which: int,
    written: set[tuple[str, str]],
    deleted: set[str],
) -> None:
    """Do something on a machine, if it can be done there."""
    world, person = joined.worlds[machine], joined.person
    app = world.app
    store = world.store
    if act == "remember":
        ids.append(world.remember(text))
        written.add((ids[-1], text))
        return
    if act == "entity":
        world.entity(text)
        return
    if act == "turn":
        app.sessions.add(person, "s", text, "", "so")
        return
    known = [each for each in ids if store.get(Memory, "default", each) is not None]
    if not known:
        return
    id = known[which % len(known)]
    memory = world.memory(id)
    is_open = memory.deleted_at is None and memory.locked_by is None
    match act:
        case "edit" if is_open:
            joined.edit(machine, id, text)
            written.add((id, text))
        case "remove" if is_open:
            app.memories.remove(person, id)
        case "restore" if memory.deleted_at is not None and memory.locked_by is None:
            app.memories.restore(person, id)
        case "delete" if is_open:
            app.memories.delete(person, id)
            deleted.add(id)
        case "deprecate" if is_open and memory.superseded_by is None:
            app.status.deprecate(person, id, "old")
        case "lock" if is_open:
            app.status.lock(Caller(name="ana", role=Role.ADMIN), id)
        case "link" if is_open:
            other = world.memory(known[0])
            if other.id != id and other.locked_by is None and other.deleted_at is None:
                app.links.link(person, id, other.id)


def test_turns_of_both_machines_are_one_session(two: Machines) -> None:
    one, other = two.worlds
    one.app.sessions.add(two.person, "monday", "First", "", "So.")
    one.clock.turn()
    other.app.sessions.add(two.person, "monday", "Second", "", "So.")
    two.settle()
    for world in two.worlds:
        turns = world.store.find(Turn, everything("default"), order=("at",))
        assert [each.prompt for each in turns] == ["First", "Second"]
