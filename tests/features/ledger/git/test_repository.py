"""A ledger in a repository of its own."""

import errno
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.ledger.git.history import changes_since, read_all
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.lineage import check_may_record
from minutebook.record.caller import Caller
from minutebook.record.errors import (
    Conflict,
    Decided,
    InvalidInput,
    LedgerBroken,
    LedgerBusy,
    LedgerError,
)
from minutebook.record.origin import Origin
from minutebook.record.records import Authorship, Decision, DecisionStatus, Role
from minutebook.store.file_locks import HeldFile
from tests.faults.calls import IS_POSSIBLE, Calls, Fault
from tests.features.ledger.git.given import (
    act,
    bare,
    git,
    never,
    numbered,
    own,
    perform,
    record,
    supersede,
)


@pytest.fixture
def ledger(tmp_path: Path) -> Repository:
    return own(tmp_path / "a ledger")


def kept(repository: Repository) -> dict[str, Decision]:
    found = read_all(repository, repository.head() or "")
    assert all(isinstance(each, Decision) for each in found), found
    return {each.id: each for each in found if isinstance(each, Decision)}


def test_a_ledger_is_made_by_its_first_act(ledger: Repository) -> None:
    assert ledger.head() is None
    assert changes_since(ledger, None).decisions == ()
    assert not ledger.path.exists()
    record(ledger, numbered(1))
    assert git(ledger.path, "rev-parse", "--is-bare-repository") == "true\n"


def test_an_act_is_one_commit_by_the_caller_that_names_it(ledger: Repository) -> None:
    done = record(ledger, numbered(1, authorship=Authorship.HUMAN), author="Bo <x>\nRoe")
    assert done.id == ledger.head()
    assert [each.commit_id for each in done.decisions] == [done.id]
    shown = git(ledger.path, "log", "--format=%an|%ae|%cn|%at|%s|%b")
    at = int(datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC).timestamp())
    assert shown.startswith(f"Bo x Roe|human@minutebook.invalid|Minutebook|{at}|Record: Choose 1|")
    said = git(ledger.path, "log", "--format=%B")
    assert [line for line in said.splitlines() if line.startswith("Act: ")] == [
        f"Act: act-{numbered(1).id}"
    ]
    assert f"Decision: {numbered(1).id}" in said
    assert "Client:" not in said


def test_a_commit_says_which_client_decided_in_which_session(ledger: Repository) -> None:
    origin = Origin(client="claude\nAct: none", version="2.1", session="session_1")
    record(ledger, numbered(1), origin=origin)
    trailers = git(ledger.path, "log", "--format=%(trailers:only,unfold)").split("\n")
    assert [each for each in trailers if each] == [
        f"Act: act-{numbered(1).id}",
        f"Decision: {numbered(1).id}",
        "Client: claude Act: none 2.1",
        "Session: session_1",
    ]
    assert kept(ledger) == {numbered(1).id: numbered(1)}


@pytest.mark.parametrize("name", ["", "<>", "\0\n", ".", "ü" * 300])
def test_any_name_of_a_caller_can_be_an_author(ledger: Repository, name: str) -> None:
    record(ledger, numbered(1), author=name, summary="x" * 300 + "\0\n y")
    assert git(ledger.path, "log", "--format=%an") != "\n"
    assert len(git(ledger.path, "log", "--format=%s").strip()) == 72
    assert git(ledger.path, "fsck", "--strict") == ""


def test_what_was_committed_is_read_back(ledger: Repository) -> None:
    first, other = numbered(1, "store"), numbered(2, "wire", consequences=("slow",))
    record(ledger, first)
    record(ledger, other)
    taking = supersede(ledger, numbered(3, "store"), first).decisions
    assert kept(ledger) == {each.id: bare(each) for each in [*taking, other]}
    assert kept(ledger)[first.id].status is DecisionStatus.SUPERSEDED
    assert git(ledger.path, "fsck", "--strict") == ""


@pytest.mark.thorough
def test_the_decisions_of_a_thousand_targets_are_shared_among_folders(ledger: Repository) -> None:
    many = [numbered(n) for n in range(1000)]
    record(ledger, *many)
    folders = git(ledger.path, "ls-tree", "--name-only", "HEAD").split()
    assert 200 < len(folders) <= 256
    assert kept(ledger) == {each.id: each for each in many}


def test_who_was_overtaken_decides_again_on_what_is_there_now(ledger: Repository) -> None:
    record(ledger, numbered(1))
    seen: list[str | None] = []

    def decide(head: str | None) -> Any:
        seen.append(head)
        if len(seen) == 1:
            git_commit_beside(ledger)
        return act(numbered(2))

    done = perform(ledger, decide)
    assert len(set(seen)) == 2
    assert git(ledger.path, "rev-parse", f"{done.id}^") == f"{seen[-1]}\n"
    assert set(kept(ledger)) == {numbered(1).id, numbered(2).id}


def git_commit_beside(ledger: Repository) -> None:
    """Commit as another program would, without asking for the turn."""
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    made = git(ledger.path, *identity, "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "beside")
    git(ledger.path, "update-ref", "HEAD", made.strip())


def test_the_second_on_a_target_is_refused_and_nothing_is_written(ledger: Repository) -> None:
    done = record(ledger, numbered(1, "store"))
    caller = Caller(name="bo", role=Role.AGENT)

    def decide(_: str | None) -> Any:
        check_may_record(caller, list(kept(ledger).values()))
        return act(numbered(2, "store"))

    with pytest.raises(Decided) as refused:
        perform(ledger, decide)
    assert refused.value.id == numbered(1).id
    assert ledger.head() == done.id


@pytest.mark.parametrize(
    ("after", "error"),
    [
        (numbered(1, rationale="something else entirely"), LedgerBroken),
        (numbered(1, superseded_by=("x",), status=DecisionStatus.SUPERSEDED), None),
    ],
)
def test_an_act_cannot_change_what_was_decided(
    ledger: Repository, after: Decision, error: type[Exception] | None
) -> None:
    done = record(ledger, numbered(1))
    if error is None:
        assert record(ledger, after).id != done.id
        return
    with pytest.raises(error, match="rationale was changed"):
        record(ledger, after)
    assert ledger.head() == done.id


def test_two_ids_do_not_share_a_file(ledger: Repository) -> None:
    done = record(ledger, numbered(1, "store"))
    twin = replace(numbered(1, "store"), id=numbered(1).id.replace("T000001", "T000002"))
    with pytest.raises(Conflict):
        record(ledger, twin)
    assert ledger.head() == done.id


def test_half_a_character_is_refused_and_nothing_is_written(ledger: Repository) -> None:
    with pytest.raises(InvalidInput, match="target"):
        record(ledger, numbered(1, "\ud800"))
    assert ledger.head() is None


def test_whoever_waits_too_long_for_the_turn_is_told(tmp_path: Path) -> None:
    ledger = Repository.managed(tmp_path / "x", "acme", never)
    with pytest.raises(LedgerBusy, match="keeps writing"):
        record(ledger, numbered(1))


def detach(path: Path) -> None:
    (path / "HEAD").write_text(git(path, "rev-parse", "HEAD"))


def hold_branch(path: Path) -> None:
    (path / "refs/heads/main.lock").write_text("")


def forget_objects(path: Path) -> None:
    tree = git(path, "rev-parse", "HEAD^{tree}").strip()
    (path / "objects" / tree[:2] / tree[2:]).unlink()


def damage_objects(path: Path) -> None:
    tree = git(path, "rev-parse", "HEAD^{tree}").strip()
    place = path / "objects" / tree[:2] / tree[2:]
    place.chmod(0o600)
    place.write_bytes(b"nonsense")


def make_another_program_s(path: Path) -> None:
    (path / "HEAD").unlink()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (detach, "detached"),
        (hold_branch, "main.lock"),
        (forget_objects, "git fsck"),
        (damage_objects, "git fsck"),
        (make_another_program_s, "git fsck"),
    ],
)
def test_what_stands_in_the_way_is_named_and_nothing_is_changed(
    ledger: Repository, spoil: Callable[[Path], None], reason: str
) -> None:
    record(ledger, numbered(1))
    ledger.wait = 0.2
    before = (ledger.path / "refs/heads/main").read_text()
    spoil(ledger.path)
    with pytest.raises(LedgerError) as refused:
        record(ledger, numbered(2))
    assert reason in str(refused.value)
    assert (ledger.path / "refs/heads/main").read_text() == before
    assert not (ledger.path / "minutebook.pending").exists()


def alone() -> AbstractContextManager[HeldFile]:
    return nullcontext(HeldFile())


def test_a_ledger_that_cannot_be_made_is_refused_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LedgerError) as refused:
        record(Repository.managed(tmp_path / "file" / "ledger", "acme", alone), numbered(1))
    assert "file" in refused.value.reason


def test_a_ledger_where_nothing_may_be_written_is_read_and_refuses_acts(tmp_path: Path) -> None:
    mount = ("mount", "-t", "tmpfs", "tmpfs", str(tmp_path))
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("no disk can be mounted here")
    try:
        ledger = Repository.managed(tmp_path / "ledger", "acme", alone)
        done = record(ledger, numbered(1))
        subprocess.run(("mount", "-o", "remount,ro", str(tmp_path)), check=True)
        with pytest.raises(LedgerError, match="may not be written"):
            record(ledger, numbered(2))
        assert ledger.head() == done.id
        assert set(kept(ledger)) == {numbered(1).id}
    finally:
        subprocess.run(("umount", "--lazy", str(tmp_path)), check=True)


@pytest.mark.thorough
def test_packed_history_is_read_and_continued(ledger: Repository) -> None:
    for number in range(20):
        record(ledger, numbered(number))
    git(ledger.path, "gc", "-q", "--prune=now")
    git(ledger.path, "pack-refs", "--all")
    record(ledger, numbered(20))
    assert len(kept(ledger)) == 21
    assert git(ledger.path, "fsck", "--strict") == ""


@pytest.mark.thorough
@pytest.mark.skipif(not IS_POSSIBLE, reason="the tables of libraries are Linux's")
@pytest.mark.parametrize(
    ("call", "ending", "number"),
    # What is pending is removed before a commit, too: what a kill left.
    [("fsync", "/refs/heads", 0), ("unlink", "/minutebook.pending", 1)],
)
def test_what_fails_after_the_branch_moved_makes_no_act_fail(
    ledger: Repository, tmp_path: Path, call: str, ending: str, number: int
) -> None:
    """Git flushes the branch's folder, and what is pending is removed, once the commit is in."""
    calls, broken = Calls(), Fault("broken", {call}, errno.EIO, ending=ending)
    record(ledger, numbered(1, "store"))
    with calls.hooked(), calls.failing(tmp_path, broken, number) as plan:
        record(ledger, numbered(2, "wire"))
    assert plan.failed == 1
    assert len(kept(ledger)) == 2
    record(ledger, numbered(3, "tea"))
    assert len(kept(ledger)) == 3
