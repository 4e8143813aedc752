"""A ledger in a folder of a person's repository, whose own work stays as it is."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.features.ledger.git import checkout, write_intent
from minutebook.features.ledger.git.history import changes_since
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.git.writer import LedgerAct, Writer, recover
from minutebook.record.errors import LedgerError
from minutebook.record.records import Decision
from tests.examples import parametrize_in_part
from tests.features.ledger.git.given import (
    FOLDER,
    act,
    bare,
    git,
    numbered,
    perform,
    person,
    record,
    shared,
    supersede,
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return person(tmp_path / "a project")


@pytest.fixture
def ledger(place: Path) -> Repository:
    return shared(place)


def file_of(place: Path, each: Decision) -> Path:
    return place / FOLDER / f"2026-01-01-{each.target.replace(' ', '-')}-{each.id[-8:]}.md"


def test_a_decision_is_a_commit_on_the_branch_and_a_file_in_the_work_tree(
    ledger: Repository, place: Path
) -> None:
    done = record(ledger, numbered(1, "store"), numbered(2, "wire"))
    assert git(place, "rev-parse", "work") == f"{done.id}\n"
    assert git(place, "log", "-1", "--format=%an %ae %cn %ce").split() == [
        *("ana", "agent@minutebook.invalid"),
        *("Ana", "ana@example.org"),
    ]
    assert "# Choose 1" in file_of(place, numbered(1, "store")).read_text()
    assert git(place, "status", "--porcelain") == ""
    assert git(place, "fsck", "--strict") == ""


def test_what_the_person_has_under_way_stays_and_goes_into_their_next_commit_alone(
    ledger: Repository, place: Path
) -> None:
    (place / "staged.txt").write_text("staged")
    git(place, "add", "staged.txt")
    (place / "README.md").write_text("staged\n")
    git(place, "add", "README.md")
    (place / "README.md").write_text("changed after that\n")
    (place / "loose.txt").write_text("")
    before = git(place, "status", "--porcelain")
    first = numbered(1, "store")
    record(ledger, first)
    supersede(ledger, numbered(2, "store"), first)
    assert git(place, "status", "--porcelain") == before
    assert git(place, "diff", "--cached", "--name-only").split() == ["README.md", "staged.txt"]
    git(place, "commit", "-q", "-m", "Their own")
    assert git(place, "show", "--name-only", "--format=", "HEAD").split() == [
        *("README.md", "staged.txt"),
    ]
    assert len(changes_since(ledger, None).decisions) == 2


def test_a_person_who_commits_while_an_act_is_under_way_keeps_their_commit(
    ledger: Repository, place: Path
) -> None:
    heads: list[str | None] = []

    def decide(head: str | None) -> LedgerAct:
        heads.append(head)
        if len(heads) == 1:
            git(place, "commit", "-q", "--allow-empty", "-m", "Theirs")
        return act(numbered(1))

    record(ledger, numbered(0))
    perform(ledger, decide)
    assert len(set(heads)) == 2
    said = git(place, "log", "--format=%s").splitlines()
    assert said == ["Record: Choose 1", "Theirs", "Record: Choose 0", "Begin"]
    assert git(place, "status", "--porcelain") == ""
    assert changes_since(ledger, None).violations == ()


@pytest.mark.parametrize("lock", ["index.lock", "refs/heads/work.lock"])
def test_a_lock_that_is_held_for_a_moment_is_waited_for(
    ledger: Repository, place: Path, lock: str
) -> None:
    held = place / ".git" / lock
    held.write_text("")
    timer = threading.Timer(0.3, held.unlink)
    timer.start()
    record(ledger, numbered(1))
    timer.join()
    assert git(place, "status", "--porcelain") == ""


def test_hooks_do_not_run(ledger: Repository, place: Path) -> None:
    for name in ("pre-commit", "commit-msg", "post-commit", "reference-transaction"):
        hook = place / ".git/hooks" / name
        hook.write_text("#!/bin/sh\ntouch ran\nexit 1\n")
        hook.chmod(0o755)
    record(ledger, numbered(1))
    assert not (place / "ran").exists()


def test_a_branch_without_a_commit_gets_its_first(tmp_path: Path) -> None:
    place = tmp_path / "new"
    place.mkdir()
    git(place, "init", "-q", "-b", "work")
    git(place, "config", "user.name", "Ana")
    git(place, "config", "user.email", "ana@example.org")
    (place / "staged.txt").write_text("staged")
    git(place, "add", "staged.txt")
    ledger = shared(place)
    assert ledger.head() is None
    record(ledger, numbered(1))
    assert git(place, "rev-list", "--count", "work") == "1\n"
    assert git(place, "status", "--porcelain") == "A  staged.txt\n"


def test_a_linked_work_tree_commits_on_its_own_branch(place: Path, tmp_path: Path) -> None:
    git(place, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    record(shared(tmp_path / "linked"), numbered(1))
    assert git(place, "rev-list", "--count", "side") == "2\n"
    assert git(place, "rev-list", "--count", "work") == "1\n"
    assert git(tmp_path / "linked", "status", "--porcelain") == ""
    assert git(place, "status", "--porcelain") == ""


def detached(place: Path) -> None:
    git(place, "checkout", "-q", "--detach")


def merging(place: Path) -> None:
    git(place, "checkout", "-q", "-b", "side")
    git(place, "commit", "-q", "--allow-empty", "-m", "one")
    git(place, "checkout", "-q", "work")
    git(place, "commit", "-q", "--allow-empty", "-m", "two")
    git(place, "merge", "-q", "--no-commit", "--no-ff", "side")


def rebasing(place: Path) -> None:
    (place / ".git/rebase-merge").mkdir()
    (place / ".git/rebase-merge/interactive").write_text("")


def nameless(place: Path) -> None:
    git(place, "config", "--unset", "user.email")


def at_work(place: Path) -> None:
    (place / ".git/index.lock").write_text("")


def held(place: Path) -> None:
    (place / ".git/refs/heads/work.lock").write_text("")


def edited(place: Path) -> None:
    file = file_of(place, numbered(1, "store"))
    file.write_text(file.read_text() + "and more\n")


def edited_and_staged(place: Path) -> None:
    edited(place)
    git(place, "add", ".")


def removed(place: Path) -> None:
    file_of(place, numbered(1, "store")).unlink()


def linked_away(place: Path) -> None:
    git(place, "rm", "-rq", FOLDER)
    git(place, "commit", "-q", "-m", "away")
    (place / "docs").mkdir(exist_ok=True)
    (place.parent / "elsewhere").mkdir()
    (place / FOLDER).symlink_to(place.parent / "elsewhere")


def a_file_instead_of_the_folder(place: Path) -> None:
    git(place, "rm", "-rq", FOLDER)
    (place / "docs").mkdir(exist_ok=True)
    (place / FOLDER).write_text("")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "a file")


def split(place: Path) -> None:
    git(place, "update-index", "--split-index")


@parametrize_in_part(
    ("spoil", "reason"),
    [
        (detached, "detached"),
        (merging, "in the middle of a merge"),
        (rebasing, "in the middle of a rebase"),
        (nameless, "git config user.name"),
        (at_work, "index.lock"),
        (held, "work.lock"),
        (edited, "not committed"),
        (edited_and_staged, "not committed"),
        (removed, "not committed"),
        (linked_away, "symbolic link"),
        (a_file_instead_of_the_folder, "no folder"),
        (split, "--no-split-index"),
    ],
    every=2,
)
def test_what_stands_in_the_way_is_named_and_nothing_is_changed(
    ledger: Repository, place: Path, spoil: Callable[[Path], None], reason: str
) -> None:
    record(ledger, numbered(1, "store"))
    spoil(place)
    ledger.wait = 0.3
    before = state_of(place)
    with pytest.raises(LedgerError) as refused:
        supersede(ledger, numbered(2, "store"), numbered(1, "store"))
    assert reason in str(refused.value)
    assert state_of(place) == before


def state_of(place: Path) -> object:
    files = {
        path.relative_to(place): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and ".git/objects" not in str(path) and not path.is_symlink()
    }
    return files, git(place, "rev-parse", "HEAD")


def test_a_folder_without_git_is_refused_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(LedgerError, match="git init"):
        shared(tmp_path / "x").head()


class Killed(BaseException):
    """Stands for the kill at one instruction: nothing after it is done by this process."""


def _die(*_: object, **__: object) -> None:
    raise Killed


@pytest.mark.parametrize("file_comes", [True, False])
def test_a_commit_that_was_cut_short_after_it_landed_is_brought_to_its_end(
    ledger: Repository, place: Path, monkeypatch: pytest.MonkeyPatch, file_comes: bool
) -> None:
    def cut(self: checkout.Checkout, mark: Path, files: dict[str, object]) -> None:
        if file_comes:
            for path in files:
                self._draft(path).replace(self.root / path)
        raise Killed

    with monkeypatch.context() as cutting:
        cutting.setattr(checkout.Checkout, "finish", cut)
        with pytest.raises(Killed):
            record(ledger, numbered(1, "store"))
    assert (place / ".git/index.lock").exists()
    assert write_intent.read(place / ".git") is not None
    recover(ledger)
    assert git(place, "status", "--porcelain") == ""
    assert file_of(place, numbered(1, "store")).exists()
    record(ledger, numbered(2))
    assert {each.id for each in changes_since(ledger, None).decisions} == {
        numbered(1).id,
        numbered(2).id,
    }


def test_a_commit_that_was_cut_short_before_it_landed_leaves_no_trace(
    ledger: Repository, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = state_of(place)
    with monkeypatch.context() as cutting:
        cutting.setattr(Writer, "_move_branch", _die)
        cutting.setattr(checkout.Checkout, "abandon", lambda *_: None)
        cutting.setattr(write_intent, "remove", lambda *_: None)
        with pytest.raises(Killed):
            record(ledger, numbered(1, "store"))
    assert state_of(place) != before
    # Git's library was killed as well, in the middle of what it writes.
    held(place)
    (place / ".git/minutebook.index.lock").write_text("")
    recover(ledger)
    (place / FOLDER).rmdir()
    (place / "docs").rmdir()
    assert state_of(place) == before
    assert [bare(each) for each in record(ledger, numbered(1)).decisions] == [numbered(1)]
