"""Git objects that were torn or changed: everything ends, and says which object it was."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from minutebook.features.ledger.git.history import changes_since, damage_in, read_all
from minutebook.features.ledger.git.repository import Repository
from minutebook.record.errors import LedgerDamaged
from tests.examples import parametrize_in_part
from tests.features.ledger.git.given import FOLDER, git, numbered, own, person, record, shared

ROOT = Path(__file__).resolve().parents[4]
PLACES = ["own", "shared"]
KINDS = ["commit", "root", "folder", "blob"]
CUTS: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda data: data[: len(data) // 2],
    "eight bytes": lambda data: data[:8],
    "nothing": lambda _: b"",
    "last byte": lambda data: data[:-1],
    "flipped": lambda data: bytes([*data[:-9], data[-9] ^ 0xFF, *data[-8:]]),
    "more": lambda data: data + b"more",
}


def made(where: str, path: Path) -> Repository:
    """A ledger with two decisions on one target, so that each act reads the other's folder."""
    ledger = own(path) if where == "own" else shared(person(path))
    record(ledger, numbered(1, "store"))
    record(ledger, numbered(2, "store"))
    return ledger


def object_of(ledger: Repository, kind: str, commit: str = "HEAD") -> str:
    folder = FOLDER if ledger.layout.folder else ledger.layout.path(numbered(1, "store"))[:2]
    names = {
        "commit": commit,
        "root": f"{commit}^{{tree}}",
        "folder": f"{commit}:{folder}",
        "blob": f"{commit}:{ledger.layout.path(numbered(1, 'store'))}",
    }
    return git(ledger.path, "rev-parse", names[kind]).strip()


def file_of(ledger: Repository, id: str) -> Path:
    control = ledger.path / ".git" if ledger.layout.folder else ledger.path
    return control / "objects" / id[:2] / id[2:]


def spoil(file: Path, cut: Callable[[bytes], bytes]) -> None:
    file.chmod(0o600)
    file.write_bytes(cut(file.read_bytes()))


def in_time(where: str, path: Path, code: str) -> str:
    """Run code with `ledger` in a process of its own: what never ends fails this test alone."""
    setup = (
        "from pathlib import Path; from tests.features.ledger.git.given import *; "
        "from minutebook.record.errors import *; from minutebook.features.ledger.git.history import *\n"
        f"ledger = {where}(Path({str(path)!r}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", setup + code],
        cwd=ROOT,
        env={**os.environ, "HOME": str(path.parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


EVERY_WAY = """
ways = {
    "head": lambda: ledger.head(),
    "all": lambda: read_all(ledger, HEAD),
    "news": lambda: changes_since(ledger, None),
    "next": lambda: changes_since(ledger, FIRST),
    "act": lambda: record(ledger, numbered(3, "store")),
    "follow": lambda: supersede(ledger, numbered(4, "store"), numbered(1, "store")),
}
for name, way in ways.items():
    for cut, data in CUTS.items():
        FILE.write_bytes(data)
        try:
            way()
        except LedgerDamaged as error:
            assert error.object == OBJECT, error
            assert error.remedy and str(FILE) in error.reason, error
            print(name)
    FILE.write_bytes(WHOLE)
"""


@parametrize_in_part("where", PLACES, every=2)
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_meets_a_damaged_object_ends_and_names_it(
    tmp_path: Path, where: str, kind: str
) -> None:
    ledger = made(where, tmp_path / "ledger")
    first = git(ledger.path, "rev-parse", "HEAD^").strip()
    head, id = ledger.head(), object_of(ledger, kind)
    file = file_of(ledger, id)
    file.chmod(0o600)
    whole = file.read_bytes()
    given = {
        "HEAD": head,
        "FIRST": first,
        "FILE": file,
        "OBJECT": id,
        "WHOLE": whole,
        "CUTS": {name: cut(whole) for name, cut in CUTS.items()},
    }
    told = "from pathlib import PosixPath, WindowsPath\n"
    told += "".join(f"{name} = {value!r}\n" for name, value in given.items())
    damaged = in_time(where, ledger.path, told + EVERY_WAY).split()
    # Who asks for the head reads none of our 256 folders; who adds a file reads no other.
    unread = {"blob": {"head", "next", "act"}, "folder": {"head"} if where == "own" else set()}
    every = {"head", "all", "news", "next", "act", "follow"} - unread.get(kind, set())
    assert {name: damaged.count(name) for name in every} == dict.fromkeys(every, len(CUTS))
    assert git(ledger.path, "fsck", "--strict", "--no-dangling") == ""


@pytest.mark.parametrize("where", PLACES)
def test_all_damage_is_found_back_to_the_first_commit(tmp_path: Path, where: str) -> None:
    ledger = made(where, tmp_path / "ledger")
    assert damage_in(ledger) == []
    damaged = {object_of(ledger, "blob"), object_of(ledger, "root", "HEAD^")}
    for id in damaged:
        spoil(file_of(ledger, id), CUTS["half"])
    found = {each.object: each for each in damage_in(ledger)}
    assert set(found) == damaged
    for id, each in found.items():
        assert str(file_of(ledger, id)) in each.reason
        assert "git fsck" in each.remedy


def test_an_object_that_is_gone_is_named(tmp_path: Path) -> None:
    ledger = made("own", tmp_path / "ledger")
    id = object_of(ledger, "blob")
    file_of(ledger, id).unlink()
    with pytest.raises(LedgerDamaged, match="missing") as damage:
        changes_since(ledger, None)
    assert damage.value.object == id
    assert [each.object for each in damage_in(ledger)] == [id]


def test_a_damaged_pack_is_found(tmp_path: Path) -> None:
    ledger = made("own", tmp_path / "ledger")
    git(ledger.path, "gc", "-q", "--prune=now")
    head = ledger.head() or ""
    assert len(read_all(ledger, head)) == 2
    (pack,) = (ledger.path / "objects" / "pack").glob("*.pack")
    data = pack.read_bytes()
    spoil(pack, lambda _: data[:100] + bytes(len(data) - 140) + data[-40:])
    assert damage_in(ledger) != []


def test_a_damaged_copy_of_what_is_packed_whole_does_no_harm(tmp_path: Path) -> None:
    ledger = made("own", tmp_path / "ledger")
    files = {each: each.read_bytes() for each in (ledger.path / "objects").glob("??/*")}
    git(ledger.path, "gc", "-q", "--prune=now")
    for file, data in files.items():
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data[:8])
    code = "print(len(changes_since(ledger, None).decisions)); record(ledger, numbered(3, 'store'))"
    assert in_time("own", ledger.path, code) == "2\n"
    assert damage_in(ledger) == []


def test_objects_that_are_borrowed_from_another_repository_are_read(tmp_path: Path) -> None:
    ledger = made("shared", tmp_path / "ledger")
    there = tmp_path / "borrowing"
    git(tmp_path, "clone", "-q", "--shared", str(ledger.path), str(there))
    assert changes_since(shared(there), None) == changes_since(ledger, None)
