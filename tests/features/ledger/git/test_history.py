"""What came into a ledger, from whom it may have come, and what it may not have done."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.features.ledger.git.history import BranchChanges, changes_since, read_all
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.lineage import Rule, scoped_target, superseding, violations
from minutebook.record.errors import LedgerBroken, LedgerError
from minutebook.record.records import Decision, DecisionStatus
from tests.features.ledger.git.given import (
    FOLDER,
    bare,
    git,
    numbered,
    own,
    person,
    record,
    shared,
    supersede,
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return person(tmp_path / "project")


@pytest.fixture
def ledger(place: Path) -> Repository:
    return shared(place)


def ids(told: BranchChanges) -> set[str]:
    return {each.id for each in told.decisions}


def test_only_what_came_since_a_commit_is_told(ledger: Repository, place: Path) -> None:
    first = record(ledger, numbered(1, "store"))
    git(place, "commit", "-q", "--allow-empty", "-m", "beside")
    second = supersede(ledger, numbered(2, "store"), numbered(1, "store"))
    told = changes_since(ledger, first.id)
    assert (told.head, told.commits, told.removed, told.violations) == (second.id, 2, (), ())
    assert sorted(told.decisions, key=id_of) == sorted(second.decisions, key=id_of)
    assert changes_since(ledger, second.id) == BranchChanges(second.id, (), (), (), 0)
    whole = changes_since(ledger, None)
    assert whole.commits == 4
    assert sorted(map(bare, whole.decisions), key=id_of) == sorted(
        (bare(each) for each in read_all(ledger, second.id) if isinstance(each, Decision)),
        key=id_of,
    )
    assert {each.commit_id for each in whole.decisions} == {second.id}
    earlier = changes_since(ledger, None, first.id)
    assert earlier.decisions == first.decisions


def id_of(each: Decision) -> str:
    return each.id


@settings(max_examples=15)
@given(steps=st.lists(st.sampled_from(["record", "supersede", "withdraw"]), max_size=8))
def test_a_ledger_read_back_is_the_one_that_was_written(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str]
) -> None:
    ledger = own(tmp_path_factory.mktemp("x") / "ledger")
    state: dict[str, Decision] = {}
    mark = None
    followed: dict[str, Decision] = {}
    for number, step in enumerate(steps):
        new = numbered(number, f"target {number % 2}")
        active = [each for each in state.values() if each.status is DecisionStatus.ACTIVE]
        old = [each for each in active if scoped_target(each) == scoped_target(new)]
        if step == "withdraw" and old:
            done = record(ledger, replace(old[0], status=DecisionStatus.WITHDRAWN))
        elif step == "record" and old:
            continue
        else:
            taking, *replaced = superseding(new, old)
            done = record(ledger, taking, *replaced)
        state |= {each.id: each for each in done.decisions}
        if number % 3 == 0:
            told = changes_since(ledger, mark)
            mark = told.head
            followed |= {each.id: each for each in told.decisions}
    told = changes_since(ledger, mark)
    followed |= {each.id: each for each in told.decisions}
    whole = {each.id: each for each in changes_since(ledger, None).decisions}
    assert state == followed == whole
    assert violations(whole.values()) == []
    assert changes_since(ledger, None).violations == ()


def file_of(place: Path, number: int) -> Path:
    (found,) = (place / FOLDER).glob(f"*-{numbered(number).id[-8:]}.md")
    return found


def rewrite(place: Path, old: str, new: str) -> None:
    file = file_of(place, 1)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


TAMPERING: list[tuple[Callable[[Path], object], Rule]] = [
    (lambda place: rewrite(place, "because it lasts", "because I say so"), Rule.FIXED),
    (lambda place: rewrite(place, "title: Choose 1", "title: Choose x"), Rule.FIXED),
    (lambda place: rewrite(place, "authorship: agent", "authorship: human"), Rule.FIXED),
    (lambda place: rewrite(place, "target: store", "target: wire"), Rule.PLACED),
    (lambda place: rewrite(place, "---\nid", "id"), Rule.READABLE),
    (lambda place: rewrite(place, "status: superseded", "status: active"), Rule.FORWARD),
    (lambda place: file_of(place, 1).unlink(), Rule.KEPT),
    (
        lambda place: file_of(place, 1).rename(place / FOLDER / "2026-01-01-x-00000001.md"),
        Rule.PLACED,
    ),
]


@pytest.mark.parametrize(("tamper", "rule"), TAMPERING)
def test_a_commit_that_changes_what_was_decided_is_found(
    ledger: Repository, place: Path, tamper: Callable[[Path], object], rule: Rule
) -> None:
    record(ledger, numbered(1, "store"))
    mark = supersede(ledger, numbered(2, "store"), numbered(1, "store")).id
    tamper(place)
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Nothing to see")
    told = changes_since(ledger, mark)
    assert rule in {each.rule for each in told.violations}
    # Undoing it does not make it undone.
    git(place, "revert", "--no-edit", "HEAD")
    assert rule in {each.rule for each in changes_since(ledger, mark).violations}
    assert changes_since(ledger, git(place, "rev-parse", "HEAD").strip()).violations == ()


def test_files_that_are_no_decisions_are_left_alone(ledger: Repository, place: Path) -> None:
    (place / FOLDER).mkdir(parents=True)
    for name in ("README.md", "0001-first.md", "template.md"):
        (place / FOLDER / name).write_text("# Ours\n")
    git(place, "add", ".")
    git(place, "commit", "-q", "-m", "Pages")
    record(ledger, numbered(1))
    assert ids(changes_since(ledger, None)) == {numbered(1).id}
    assert changes_since(ledger, None).violations == ()


def amend(place: Path) -> None:
    git(place, "commit", "-q", "--amend", "-m", "Other words")


def reset(place: Path) -> None:
    git(place, "reset", "-q", "--hard", "HEAD^")


def orphan(place: Path) -> None:
    git(place, "checkout", "-q", "--orphan", "fresh")


@pytest.mark.parametrize("rewrite", [amend, reset, orphan])
def test_a_rewritten_history_is_found(
    ledger: Repository, place: Path, rewrite: Callable[[Path], None]
) -> None:
    mark = record(ledger, numbered(1)).id
    rewrite(place)
    with pytest.raises(LedgerBroken, match="rewritten") as found:
        changes_since(ledger, mark)
    assert found.value.ids == (mark,)


def test_a_ledger_that_was_emptied_is_found(tmp_path: Path) -> None:
    ledger = own(tmp_path / "ledger")
    mark = record(ledger, numbered(1)).id
    (ledger.path / "refs/heads/main").unlink()
    with pytest.raises(LedgerBroken, match="rewritten"):
        changes_since(ledger, mark)


def test_a_changed_object_is_found(tmp_path: Path) -> None:
    ledger = own(tmp_path / "ledger")
    record(ledger, numbered(1))
    blob = git(ledger.path, "ls-tree", "-r", "HEAD").split()[2]
    other = git(ledger.path, "ls-tree", "HEAD").split()[2]
    place = ledger.path / "objects" / blob[:2] / blob[2:]
    place.chmod(0o600)
    place.write_bytes((ledger.path / "objects" / other[:2] / other[2:]).read_bytes())
    with pytest.raises(LedgerError):
        changes_since(ledger, None)


def clone(place: Path, name: str) -> tuple[Path, Repository]:
    made = place.parent / name / "project"
    made.parent.mkdir()
    git(place, "clone", "-q", str(place), str(made))
    git(made, "config", "user.name", name)
    git(made, "config", "user.email", f"{name}@example.org")
    return made, shared(made)


def test_what_colleagues_recorded_comes_with_their_merge(ledger: Repository, place: Path) -> None:
    record(ledger, numbered(1, "store"))
    there, theirs = clone(place, "bo")
    supersede(theirs, numbered(2, "store"), numbered(1, "store"))
    record(theirs, numbered(3, "wire"))
    mark = record(ledger, numbered(4, "form")).id
    git(place, "pull", "-q", "--no-rebase", "--no-edit", str(there), "work")
    told = changes_since(ledger, mark)
    assert ids(told) == {numbered(1).id, numbered(2).id, numbered(3).id}
    assert told.violations == ()
    authors = git(place, "log", "--no-merges", "--format=%cn", "--", FOLDER).split()
    assert sorted(authors) == ["Ana", "Ana", "bo", "bo"]


def test_two_active_on_one_target_after_a_merge_are_told_until_one_supersedes_both(
    ledger: Repository, place: Path
) -> None:
    git(place, "commit", "-q", "--allow-empty", "-m", "base")
    there, theirs = clone(place, "bo")
    mark = record(ledger, numbered(1, "store")).id
    record(theirs, numbered(2, "store"))
    git(place, "pull", "-q", "--no-rebase", "--no-edit", str(there), "work")
    told = changes_since(ledger, mark)
    assert told.violations == ()
    (conflict,) = violations([numbered(1, "store"), *told.decisions])
    assert (conflict.rule, conflict.ids) == (
        Rule.ONE_ACTIVE,
        (numbered(1).id, numbered(2).id),
    )
    supersede(ledger, numbered(3, "store"), numbered(1, "store"), numbered(2, "store"))
    assert violations(changes_since(ledger, None).decisions) == []


def test_two_that_superseded_the_same_merge_by_naming_both(ledger: Repository, place: Path) -> None:
    record(ledger, numbered(1, "store"))
    there, theirs = clone(place, "bo")
    mark = supersede(ledger, numbered(2, "store"), numbered(1, "store")).id
    supersede(theirs, numbered(3, "store"), numbered(1, "store"))
    git(place, "pull", "-q", "--no-rebase", str(there), "work", check=False)
    # Git leaves the choice to the person, who keeps the lines of both.
    file = file_of(place, 1)
    kept = [
        line
        for line in file.read_text().splitlines(keepends=True)
        if not line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
    ]
    file.write_text("".join(kept))
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "Keep both")
    told = changes_since(ledger, mark)
    assert told.violations == ()
    everything = {each.id: each for each in changes_since(ledger, None).decisions}
    assert everything[numbered(1).id].superseded_by == (numbered(2).id, numbered(3).id)
    assert [each.rule for each in violations(everything.values())] == [Rule.ONE_ACTIVE]
    supersede(
        ledger,
        numbered(4, "store"),
        *(each for each in everything.values() if each.status is DecisionStatus.ACTIVE),
    )
    assert violations(changes_since(ledger, None).decisions) == []


def test_a_history_without_its_beginning_is_refused_with_the_way_out(
    ledger: Repository, place: Path, tmp_path: Path
) -> None:
    mark = record(ledger, numbered(1)).id
    record(ledger, numbered(2))
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{place}", str(tmp_path / "shallow"))
    with pytest.raises(LedgerError, match="unshallow"):
        changes_since(shared(tmp_path / "shallow"), None)
    with pytest.raises(LedgerBroken):
        changes_since(shared(tmp_path / "shallow"), mark)
