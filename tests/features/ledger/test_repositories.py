import getpass
import shutil
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import pygit2
import pytest

from minutebook.config import settings_with
from minutebook.config.places import data_directory
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.git import markdown
from minutebook.features.ledger.git.history import read_all
from minutebook.features.ledger.lineage import Rule, superseding
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.features.ledger.repositories import Ledgers
from minutebook.features.ledger.search import DecisionMode, DecisionSearch
from minutebook.memory.maintenance.data_directory import start_anew
from minutebook.record.errors import (
    Conflict,
    Decided,
    Forbidden,
    LedgerBroken,
    LedgerDamaged,
    LedgerError,
    StoreError,
    StoreLost,
)
from minutebook.record.origin import Origin
from minutebook.record.records import Authorship, Decision, DecisionStatus, LedgerMark
from tests.features.ledger.decided import (
    ADMIN,
    AGENT,
    PERSON,
    VIEWER,
    committed,
    decisions_in,
    draft,
    git,
    ledger_of,
    written,
)
from tests.serve.contracts.requirements import requirement
from tests.world import NOON, Opener, World

ELSEWHERE = pygit2.Signature("cleo", "cleo@example.org", 1767700800, 0)


def rewritten(world: World, change: Callable[[bytes], bytes], decision: Decision) -> str:
    """Commit a decision's file as somebody changed it by hand."""
    ledger = ledger_of(world.app)
    repository = ledger.open()
    tip = repository.references["refs/heads/main"].target
    assert isinstance(tip, pygit2.Oid)
    head = cast("pygit2.Commit", repository[tip])
    folder, name = ledger.layout.path(decision).split("/")
    shard = head.tree[folder]
    assert isinstance(shard, pygit2.Tree)
    blob = shard[name]
    assert isinstance(blob, pygit2.Blob)
    inner = repository.TreeBuilder(shard)
    inner.insert(name, repository.create_blob(change(blob.data)), pygit2.enums.FileMode.BLOB)
    outer = repository.TreeBuilder(head.tree)
    outer.insert(folder, inner.write(), pygit2.enums.FileMode.TREE)
    parents = [head.id]
    made = repository.create_commit("HEAD", ELSEWHERE, ELSEWHERE, "x", outer.write(), parents)
    return str(made)


def reasons(world: World) -> list[str]:
    return [each.reason for each in world.app.get(Ledgers).states() if each.reason is not None]


def agree(world: World) -> bool:
    """Tell whether Git and the tables say the same."""
    ledger, tables = ledger_of(world.app), decisions_in(world.app)
    head = ledger.head()
    assert head is not None
    read = read_all(ledger, head)
    found = {each.id: each for each in read if isinstance(each, Decision)}
    return found == {id: replace(each, commit_id=None, origin=None) for id, each in tables.items()}


# What one side lacks


def test_a_commit_that_the_tables_lack_is_taken_in_at_the_next_question(
    opener: Opener,
) -> None:
    world = opener(ledger_trust="everyone")
    first = world.app.get(DecisionActs).record(AGENT, draft("wire"))
    commit = committed(world.app, made := written(1))
    origin = Origin(client="git", version=commit[:12], brought="cleo <human@minutebook.invalid>")
    known = replace(made, commit_id=commit, origin=origin)
    assert world.app.get(DecisionActs).read(AGENT, made.id) == known
    assert {each.id for each in world.app.get(DecisionActs).active_by_target(AGENT)} == {
        first.id,
        made.id,
    }
    [entry] = world.entries(made.id)
    assert (entry.actor, entry.role, entry.act) == (getpass.getuser(), "human", "take_in")
    assert entry.reason == (
        f"commit {commit[:12]} by cleo <human@minutebook.invalid>, in the name of cleo (human)"
    )
    assert agree(world)
    assert world.app.embeddings.backfill_batch() == 1


@requirement("ledger/git/crash")
def test_a_commit_that_the_tables_lack_is_taken_in_at_start_and_once(opener: Opener) -> None:
    world = opener(ledger_trust="everyone")
    committed(world.app, made := written(1))
    world.app.close()
    again = opener(ledger_trust="everyone")
    for _ in range(2):
        again.app.get(Ledgers).recover()
        assert set(decisions_in(again.app)) == {made.id}
        assert len(again.entries(made.id)) == 1


def test_what_came_is_looked_at_before_anything_is_decided_on_top(
    opener: Opener,
) -> None:
    world = opener(ledger_trust="everyone")
    committed(world.app, made := written(1))
    with pytest.raises(Decided) as refusal:
        world.app.get(DecisionActs).record(PERSON, draft())
    assert refusal.value.id == made.id
    new = world.app.get(DecisionActs).supersede(PERSON, [made.id], draft())
    assert new.supersedes == (made.id,)
    assert agree(world)


@requirement("ledger/git/rebuild")
def test_whoever_lost_the_tables_has_them_again_from_git(opener: Opener, tmp_path: Path) -> None:
    world = opener()
    old = world.app.get(DecisionActs).record(PERSON, draft())
    world.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="Use files"))
    before = decisions_in(world.app)
    world.app.close()
    for each in (tmp_path / "one").glob("minutebook.db*"):
        each.unlink()
    shutil.rmtree(tmp_path / "one" / "index", ignore_errors=True)
    with pytest.raises(StoreLost):
        opener()
    start_anew(data_directory(settings_with(home=tmp_path / "one")), NOON)
    again = opener()
    again.app.get(Ledgers).recover()
    assert decisions_in(again.app) == before
    assert again.app.get(Ledgers).check() == []


def test_whoever_lost_the_repository_reads_on_and_has_it_again_by_a_rebuild(world: World) -> None:
    old = world.app.get(DecisionActs).record(PERSON, draft())
    new = world.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="Use files"))
    shutil.rmtree(ledger_of(world.app).path)
    assert [each.id for each in world.app.get(DecisionActs).active_by_target(AGENT)] == [new.id]
    [reason] = reasons(world)
    assert "no commits any more" in reason
    with pytest.raises(LedgerBroken):
        world.app.get(DecisionActs).record(PERSON, draft("wire"))
    rebuilt = world.app.get(Rebuilds).rebuild(PERSON)
    assert set(rebuilt.to_git) == {old.id, new.id}
    assert rebuilt.to_tables == ()
    assert agree(world)
    assert reasons(world) == []
    world.app.get(DecisionActs).record(PERSON, draft("wire"))


@requirement("ledger/git/rebuild")
def test_a_rebuild_gives_each_side_what_it_lacks(
    opener: Opener,
) -> None:
    world = opener(ledger_trust="everyone")
    old = world.app.get(DecisionActs).record(PERSON, draft())
    early = ledger_of(world.app).head()
    assert early is not None
    new = world.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="Use files"))
    other = world.app.get(DecisionActs).record(PERSON, draft("wire"))
    # The branch is set back, and others go on from there.
    git(ledger_of(world.app).path, "update-ref", "refs/heads/main", early)
    committed(world.app, theirs := written(1, target="model"))
    [reason] = reasons(world)
    assert "rewritten" in reason
    rebuilt = world.app.get(Rebuilds).rebuild(PERSON)
    assert set(rebuilt.to_git) == {old.id, new.id, other.id}
    assert set(rebuilt.to_tables) == {theirs.id}
    assert set(decisions_in(world.app)) == {old.id, new.id, other.id, theirs.id}
    assert agree(world)
    assert world.app.get(Ledgers).check() == []
    assert [each.act for each in world.trail()][-2:] == ["take_in", "rebuild"]
    assert world.app.get(Rebuilds).rebuild(PERSON).to_git == ()


def test_agents_rebuild_nothing(world: World) -> None:
    for caller in (AGENT, VIEWER):
        with pytest.raises(Forbidden):
            world.app.get(Rebuilds).rebuild(caller)
    assert [each.outcome for each in world.trail()] == ["Forbidden", "Forbidden"]


# What may not be


@requirement("ledger/invariants/read-only", "ledger/git/tampered")
@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (b"needs no server", b"needs a server", Rule.FIXED),
        (b"author: ann", b"author: eve", Rule.FIXED),
        (b"status: active", b"status: superseded", Rule.ENDED),
        (b"status: active", b"status: lost", Rule.READABLE),
        (b"id: decision_2026", b"id: decision_2027", Rule.KEPT),
    ],
)
def test_a_history_that_somebody_changed_is_found_served_as_it_was_and_never_mended_silently(
    world: World, old: bytes, new: bytes, rule: Rule
) -> None:
    made = world.app.get(DecisionActs).record(PERSON, draft())
    kept = world.kept()
    rewritten(world, lambda data: data.replace(old, new), made)
    assert world.app.get(DecisionActs).active_by_target(AGENT) == [made]
    assert (
        world.app.get(DecisionSearch).search(AGENT, "SQLite", DecisionMode.STRICT, 5)[0].record
        == made
    )
    [state] = world.app.get(Ledgers).states()
    assert state.reason is not None
    assert str(rule) in state.reason or rule is Rule.KEPT
    for act in (
        lambda: world.app.get(DecisionActs).record(PERSON, draft("wire")),
        lambda: world.app.get(DecisionActs).supersede(PERSON, [made.id], draft()),
        lambda: world.app.get(Rebuilds).rebuild(PERSON),
    ):
        with pytest.raises(LedgerBroken):
            act()
    assert world.kept() == kept
    app = world.app
    [finding] = app.doctor.examine()
    assert "read-only" in finding.finding


def test_what_was_undone_by_hand_is_sound_again_once_somebody_says_so(world: World) -> None:
    made = world.app.get(DecisionActs).record(PERSON, draft())
    rewritten(world, lambda data: data.replace(b"needs no", b"needs a"), made)
    rewritten(world, lambda data: data.replace(b"needs a", b"needs no"), made)
    assert reasons(world) != []
    rebuilt = world.app.get(Rebuilds).rebuild(PERSON)
    assert {each.rule for each in rebuilt.notes} == {Rule.FIXED}
    assert reasons(world) == []
    world.app.get(DecisionActs).record(PERSON, draft("wire"))


def test_a_rewritten_history_is_found(world: World) -> None:
    world.app.get(DecisionActs).record(PERSON, draft())
    early = ledger_of(world.app).head()
    assert early is not None
    world.app.get(DecisionActs).record(PERSON, draft("wire"))
    git(ledger_of(world.app).path, "update-ref", "refs/heads/main", early)
    [reason] = reasons(world)
    assert "rewritten" in reason
    assert len(world.app.get(DecisionActs).active_by_target(AGENT)) == 2


# Colleagues


def test_two_truths_after_a_merge_are_a_conflict_on_that_target_alone(
    opener: Opener,
) -> None:
    world = opener(ledger_trust="everyone")
    ours = world.app.get(DecisionActs).record(AGENT, draft())
    committed(world.app, theirs := written(1))
    assert {each.id for each in world.app.get(DecisionActs).active_by_target(AGENT)} == {
        ours.id,
        theirs.id,
    }
    assert reasons(world) == []
    [violation] = world.app.get(Ledgers).check()
    assert violation.rule is Rule.ONE_ACTIVE
    assert set(violation.ids) == {ours.id, theirs.id}
    app = world.app
    [finding] = app.doctor.examine()
    assert "supersedes all of them" in finding.remedy
    with pytest.raises(Decided):
        app.get(DecisionActs).record(PERSON, draft())
    with pytest.raises(Conflict):
        app.get(DecisionActs).supersede(PERSON, [ours.id], draft())
    with pytest.raises(Forbidden):
        app.get(DecisionActs).supersede(AGENT, [ours.id, theirs.id], draft())
    app.get(DecisionActs).record(AGENT, draft("wire"))
    new = app.get(DecisionActs).supersede(PERSON, [ours.id, theirs.id], draft(title="Use files"))
    assert set(new.supersedes) == {ours.id, theirs.id}
    assert app.get(Ledgers).check() == []


def test_a_colleague_may_supersede_what_was_recorded_here(
    opener: Opener,
) -> None:
    world = opener(ledger_trust="everyone")
    ours = world.app.get(DecisionActs).record(AGENT, draft())
    new, *replaced = superseding(written(1), [replace(ours, commit_id=None)])
    committed(world.app, new, *replaced)
    [truth] = world.app.get(DecisionActs).active_by_target(AGENT)
    assert truth.id == new.id
    assert decisions_in(world.app)[ours.id].status is DecisionStatus.SUPERSEDED
    assert world.app.get(Ledgers).check() == []


# A person's own repository


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "a project"
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "config", "user.name", "Ann")
    git(place, "config", "user.email", "ann@example.org")
    (place / "README.md").write_text("hello\n", encoding="utf-8")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "--message=First")
    return place


@requirement("ledger/git/place")
@pytest.mark.parametrize("named", [".", "docs/decisions", "docs/adr"])
def test_a_ledger_lies_in_the_project_that_is_named(
    opener: Opener, project: Path, named: str
) -> None:
    world = opener(ledger=project / named)
    made = world.app.get(DecisionActs).record(PERSON, draft())
    folder = "docs/decisions" if named == "." else named
    path = project / folder / markdown.file_name(made)
    assert path.read_bytes() == markdown.render(made)
    assert git(project, "status", "--porcelain") == ""
    assert git(project, "log", "--format=%an|%s", "-1") == "ann|Record store: Use SQLite"
    assert git(project, "fsck", "--strict") == ""
    assert not (project.parent / "one" / "ledgers").exists()


def test_two_stores_share_a_project(opener: Opener, project: Path) -> None:
    one = opener(ledger=project, ledger_trust="everyone")
    two = opener(name="two", ledger=project, ledger_trust="everyone")
    made = one.app.get(DecisionActs).record(PERSON, draft())
    [truth] = two.app.get(DecisionActs).active_by_target(AGENT)
    assert replace(truth, origin=None) == made
    with pytest.raises(Decided):
        two.app.get(DecisionActs).record(AGENT, draft())
    new = two.app.get(DecisionActs).supersede(PERSON, [made.id], draft(title="Use files"))
    assert [each.id for each in one.app.get(DecisionActs).active_by_target(AGENT)] == [new.id]


def test_other_organizations_keep_their_own_ledger(opener: Opener, project: Path) -> None:
    world = opener(ledger=project)
    world.app.get(DecisionActs).record(replace(PERSON, organization="Acme & Söhne"), draft())
    assert git(project, "rev-list", "--count", "HEAD") == "1"
    state = {each.organization: each for each in world.app.get(Ledgers).states()}["Acme & Söhne"]
    assert Path(state.path).parent == project.parent / "one" / "ledgers"


def test_a_ledger_without_git_refuses_writes_with_the_way_out(
    opener: Opener, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    world = opener(ledger=tmp_path / "plain")
    kept = world.kept()
    with pytest.raises(LedgerError, match="git init"):
        world.app.get(DecisionActs).record(PERSON, draft())
    assert world.kept() == kept
    assert world.app.get(DecisionActs).active_by_target(AGENT) == []
    assert len(reasons(world)) == 1


def test_a_detached_head_refuses_writes_and_nothing_is_half_done(
    opener: Opener, project: Path
) -> None:
    world = opener(ledger=project)
    made = world.app.get(DecisionActs).record(PERSON, draft())
    git(project, "checkout", "--quiet", "--detach")
    kept, head = world.kept(), git(project, "rev-parse", "HEAD")
    with pytest.raises(LedgerError, match="detached"):
        world.app.get(DecisionActs).record(PERSON, draft("wire"))
    assert (world.kept(), git(project, "rev-parse", "HEAD")) == (kept, head)
    assert world.app.get(DecisionActs).active_by_target(AGENT) == [made]


def test_moving_to_a_project_brings_the_decisions_along_by_a_rebuild(
    opener: Opener, project: Path
) -> None:
    world = opener()
    old = world.app.get(DecisionActs).record(PERSON, draft())
    new = world.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="Use files"))
    world.app.close()
    moved = opener(ledger=project)
    assert [each.id for each in moved.app.get(DecisionActs).active_by_target(AGENT)] == [new.id]
    rebuilt = moved.app.get(Rebuilds).rebuild(ADMIN)
    assert set(rebuilt.to_git) == {old.id, new.id}
    assert agree(moved)


# Where nobody decides


def test_who_decides_nothing_has_no_repository(world: World, tmp_path: Path) -> None:
    world.remember("Ana likes tea")
    world.app.get(Ledgers).recover()
    assert world.app.get(DecisionActs).active_by_target(AGENT) == []
    assert world.app.get(Ledgers).states() == []
    assert not (tmp_path / "one" / "ledgers").exists()


@requirement("ledger/git/place")
def test_a_ledger_lies_in_the_data_directory_unless_another_place_is_named(
    world: World, tmp_path: Path
) -> None:
    world.app.get(DecisionActs).record(AGENT, draft())
    assert ledger_of(world.app).path.is_relative_to(tmp_path / "one" / "ledgers")


def test_how_far_a_ledger_was_followed_is_kept(world: World) -> None:
    made = world.app.get(DecisionActs).record(AGENT, draft())
    assert made.authorship is Authorship.AGENT
    mark = world.store.get(LedgerMark, "default", "own")
    assert isinstance(mark, LedgerMark)
    assert mark.commit_id == made.commit_id


def test_a_store_that_fails_after_the_commit_says_so_and_takes_it_in_later(
    opener: Opener, project: Path, tmp_path: Path
) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", small], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("no small disk can be mounted here")
    try:
        world = opener(name="small", ledger=project)
        first = world.app.get(DecisionActs).record(PERSON, draft("wire"))
        ballast = small / "ballast"
        with suppress(OSError), ballast.open("wb") as file:
            while True:
                file.write(bytes(4096))
                file.flush()
        with pytest.raises(LedgerError) as failure:
            world.app.get(DecisionActs).record(PERSON, draft())
        assert "is in Git" in failure.value.reason
        ballast.unlink()
        made = {each.target: each for each in world.app.get(DecisionActs).active_by_target(AGENT)}
        assert made["wire"] == first
        assert made["store"].id in failure.value.reason
        assert world.app.get(Ledgers).check() == []
        world.app.close()
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)


def test_a_store_that_fails_to_note_the_commit_says_that_it_is_in_git(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the connection was cut")

    world.app.get(DecisionActs).record(PERSON, draft("wire"))
    with monkeypatch.context() as patch:
        patch.setattr(world.app.get(Ledgers).tables, "put_mark", fail)
        with pytest.raises(LedgerError, match=r"is in Git .* connection was cut"):
            world.app.get(DecisionActs).record(PERSON, draft())
    assert {each.target for each in world.app.get(DecisionActs).active_by_target(AGENT)} == {
        "wire",
        "store",
    }


# Git that is damaged, or busy


def cut_short(world: World, name: str, size: int) -> Path:
    """Cut an object of the ledger to so many bytes, as a torn write leaves it."""
    place = ledger_of(world.app).path
    id = git(place, "rev-parse", name)
    file = place / "objects" / id[:2] / id[2:]
    file.chmod(0o600)
    file.write_bytes(file.read_bytes()[:size])
    return file


@requirement("ledger/invariants/read-only")
@pytest.mark.parametrize(("name", "size"), [("HEAD^{tree}", 20), ("HEAD", 8)])
def test_a_damaged_head_makes_the_ledger_read_only_and_is_named_with_the_way_out(
    world: World, name: str, size: int
) -> None:
    old = world.app.get(DecisionActs).record(PERSON, draft("wire"))
    made = world.app.get(DecisionActs).record(PERSON, draft())
    file = cut_short(world, name, size)
    app = world.app
    for act in (
        lambda: app.get(DecisionActs).record(PERSON, draft("model")),
        lambda: app.get(DecisionActs).supersede(PERSON, [made.id], draft()),
        lambda: app.get(Rebuilds).rebuild(PERSON),
    ):
        with pytest.raises(LedgerDamaged) as damage:
            act()
        assert str(file) in damage.value.reason
    assert app.get(DecisionActs).active_by_target(AGENT) == [made, old]
    world.remember("Ana likes tea")
    [reason] = reasons(world)
    assert str(file) in reason
    [finding] = app.doctor.examine()
    assert str(file) in finding.finding
    assert "git fsck" in finding.remedy
    # The remedy holds: the tables have everything.
    place = ledger_of(app).path
    place.rename(place.with_name("away"))
    app.get(Rebuilds).rebuild(PERSON)
    assert reasons(world) == []
    assert agree(world)


def test_damage_anywhere_in_the_history_is_found_by_the_doctor(world: World) -> None:
    world.app.get(DecisionActs).record(PERSON, draft("wire"))
    world.app.get(DecisionActs).record(PERSON, draft())
    files = {cut_short(world, "HEAD^", 8), cut_short(world, "HEAD^{tree}", 0)}
    app = world.app
    found = app.doctor.examine()
    assert len(found) == 2
    assert all(any(str(file) in each.finding for each in found) for file in files)


def test_while_a_decision_waits_for_another_git_command_others_write(
    opener: Opener, project: Path
) -> None:
    world = opener(ledger=project)
    held = project / ".git" / "index.lock"
    held.write_text("")
    made: list[Decision] = []
    deciding = threading.Thread(
        target=lambda: made.append(world.app.get(DecisionActs).record(PERSON, draft()))
    )
    deciding.start()
    try:
        for number in range(3):
            world.remember(f"Ana likes tea {number}")
        assert deciding.is_alive()
    finally:
        held.unlink()
        deciding.join()
    assert world.app.get(DecisionActs).active_by_target(AGENT) == made
    assert git(project, "status", "--porcelain") == ""


# In whose name
