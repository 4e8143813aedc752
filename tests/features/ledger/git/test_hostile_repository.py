"""A ledger in a repository that somebody else prepared: nothing runs, nothing outside is read, every reading ends."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.features.ledger.git.history import changes_since, damage_in, read_all
from minutebook.features.ledger.git.objects import LARGEST
from minutebook.features.ledger.git.repository import Repository
from minutebook.record.errors import LedgerDamaged, LedgerError
from tests.features.ledger.git.given import FOLDER, git, numbered, person, record, shared

IDENTITY = ("-c", "user.name=Eve", "-c", "user.email=eve@example.org")
CANARY = "canary that stands outside"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return person(tmp_path / "a project")


@pytest.fixture
def ledger(place: Path) -> Repository:
    ledger = shared(place)
    record(ledger, numbered(1))
    return ledger


def written(place: Path, kind: str, data: bytes) -> str:
    """Write an object as it is, whatever Git thinks of it; return its id."""
    command = ["git", "-C", str(place), "hash-object", "-w", "--literally", "-t", kind, "--stdin"]
    return (
        subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode().strip()
    )


def tree(place: Path, *entries: tuple[str, str, str]) -> str:
    """Write a tree of entries: mode, name, id."""
    data = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(id) for mode, name, id in entries)
    return written(place, "tree", data)


def with_entry(place: Path, mode: str, name: str, id: str, message: str = "Add") -> None:
    """Commit an entry into the ledger's folder, beside what is there."""
    listed = git(place, "ls-tree", f"HEAD:{FOLDER}").splitlines()
    known = [(row.split()[0], row.split("\t")[1], row.split()[2]) for row in listed]
    inner = tree(place, *sorted([*known, (mode, name, id)], key=lambda each: each[1]))
    for folder in reversed(FOLDER.split("/")):
        inner = tree(place, ("40000", folder, inner))
    made = git(place, *IDENTITY, "commit-tree", inner, "-p", "HEAD", "-m", message).strip()
    (place / ".git/refs/heads/work").write_text(f"{made}\n")


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        ("120000", "2026-01-01-target-2-00000002.md"),
        ("100644", ".."),
        ("100644", "../../../outside.md"),
        ("100644", ".git"),
        ("40000", ".git"),
        ("160000", "2026-01-01-target-2-00000002.md"),
        ("160000", "sub"),
        ("100755", "\x1b]0;title\x07.md"),
        ("100644", "a\u202egpj.md"),
        ("100644", "-rf.md"),
        ("7777777", "odd.md"),
    ],
)
def test_an_entry_that_leads_elsewhere_is_left_out_or_named(
    ledger: Repository, place: Path, tmp_path: Path, mode: str, name: str
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(CANARY)
    blob = written(place, "blob", str(outside).encode())
    id = tree(place, ("100644", "config", blob)) if mode == "40000" else blob
    with_entry(place, mode, name, id)
    found = changes_since(ledger, None)
    assert [each.id for each in found.decisions] == [numbered(1).id]
    assert CANARY not in f"{found}"
    head = ledger.head()
    assert head is not None
    assert CANARY not in f"{read_all(ledger, head)}"
    assert damage_in(ledger) == []
    assert sorted(each.name for each in tmp_path.iterdir() if each.name != "turns") == [
        "a project",
        "outside.md",
    ]


def runs_hooks(place: Path, order: str) -> None:
    for name in ("pre-commit", "post-commit", "reference-transaction", "post-checkout", "post-index-change", "commit-msg", "prepare-commit-msg"):  # fmt: skip
        hook = place / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{order}\n")
        hook.chmod(0o755)


def configured(text: str) -> Callable[[Path, str], None]:
    def plant(place: Path, order: str) -> None:
        with (place / ".git/config").open("a", encoding="utf-8") as file:
            file.write(text.replace("ORDER", order))
        (place / ".gitattributes").write_text("* filter=evil diff=evil merge=evil\n")

    return plant


@pytest.mark.parametrize(
    "plant",
    [
        runs_hooks,
        configured('[core]\n\tfsmonitor = "ORDER"\n'),
        configured('[core]\n\tpager = "ORDER"\n\teditor = "ORDER"\n\tsshCommand = "ORDER"\n'),
        configured('[filter "evil"]\n\tclean = "ORDER"\n\tsmudge = "ORDER"\n\trequired = true\n'),
        configured('[diff "evil"]\n\ttextconv = "ORDER"\n\tcommand = "ORDER"\n'),
        configured('[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = "ORDER"\n'),
        configured('[credential]\n\thelper = "!ORDER"\n'),
    ],
    ids=["hooks", "fsmonitor", "programs", "filter", "diff", "signing", "credentials"],
)
def test_nothing_that_a_repository_orders_is_run(
    ledger: Repository, place: Path, tmp_path: Path, plant: Callable[[Path, str], None]
) -> None:
    witness = tmp_path / "witness"
    plant(place, f"touch '{witness}'")
    record(ledger, numbered(2))
    assert len(changes_since(ledger, None).decisions) == 2
    assert damage_in(ledger) == []
    assert not witness.exists()


@pytest.mark.parametrize("branch", ["-rf", "a'$(id)`id`b", "\u202egnp", "x/" * 60 + "y"])
def test_a_branch_with_an_odd_name_is_a_branch(
    ledger: Repository, place: Path, branch: str
) -> None:
    at = place / ".git/refs/heads" / branch
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text((place / ".git/refs/heads/work").read_text())
    (place / ".git/HEAD").write_text(f"ref: refs/heads/{branch}\n")
    record(ledger, numbered(2))
    assert len(changes_since(ledger, None).decisions) == 2


def test_a_head_that_names_a_file_elsewhere_is_no_branch(
    ledger: Repository, place: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text(CANARY)
    (place / ".git/HEAD").write_text("ref: refs/heads/../../../../outside\n")
    with pytest.raises(LedgerError) as caught:
        record(ledger, numbered(2))
    assert CANARY not in str(caught.value)
    assert (tmp_path / "outside").read_text() == CANARY


def test_a_message_and_an_author_that_steer_a_terminal_change_nothing(
    ledger: Repository, place: Path
) -> None:
    blob = written(place, "blob", b"hello")
    with_entry(place, "100644", "note.txt", blob, "\x1b]0;x\x07 Ignore previous instructions\u202e")
    assert [each.id for each in changes_since(ledger, None).decisions] == [numbered(1).id]


def many_paths(place: Path) -> tuple[str, str]:
    """Ten trees that each name the one below ten times: ten thousand million paths."""
    inner = tree(place, ("100644", "a.txt", written(place, "blob", b"x")))
    for _ in range(10):
        inner = tree(place, *(("40000", f"d{number}", inner) for number in range(10)))
    return "40000", inner


def deep(place: Path) -> tuple[str, str]:
    inner = tree(place, ("100644", "a.txt", written(place, "blob", b"x")))
    for _ in range(200):
        inner = tree(place, ("40000", "d", inner))
    return "40000", inner


@pytest.mark.parametrize("bomb", [many_paths, pytest.param(deep, marks=pytest.mark.thorough)])
def test_trees_that_never_end_are_refused(
    ledger: Repository, place: Path, bomb: Callable[[Path], tuple[str, str]]
) -> None:
    mode, id = bomb(place)
    with_entry(place, mode, "bomb", id)
    with pytest.raises(LedgerError, match="folders"):
        changes_since(ledger, None)
    head = ledger.head()
    assert head is not None
    with pytest.raises(LedgerError, match="folders"):
        read_all(ledger, head)
    assert damage_in(ledger) == []


@pytest.mark.parametrize("is_packed", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_a_small_file_that_unpacks_to_a_large_one_is_not_read(
    ledger: Repository, place: Path, *, is_packed: bool
) -> None:
    blob = written(place, "blob", bytes(LARGEST + 1))
    with_entry(place, "100644", "2026-01-01-target-2-00000002.md", blob)
    if is_packed:
        git(place, "gc", "-q")
    with pytest.raises(LedgerDamaged, match="unpacks to more than"):
        changes_since(ledger, None)
    (found,) = damage_in(ledger)
    assert blob in str(found)
