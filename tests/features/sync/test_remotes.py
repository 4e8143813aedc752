"""Folders, Git repositories and folders over SSH carry the same files, and none is lost to another."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from minutebook.features.sync.machines import MachineSync
from minutebook.features.sync.remotes import (
    BRANCH,
    FolderRemote,
    GitRemote,
    NameTaken,
    Remote,
    SshRemote,
    names_in,
    remote_of,
)
from minutebook.record.errors import InvalidInput, StoreError
from tests.features.sync.joined_machines import Machines, machines

FAKE_SSH = """#!/bin/sh
# Takes the options of ssh, and runs here what should run on the host.
while [ "$1" != "--" ]; do shift; done
[ "$2" = "nobody" ] && { echo "Could not resolve hostname nobody" >&2; exit 255; }
exec sh -c "$3"
"""


@pytest.fixture(params=["folder", "git", "ssh"])
def address(request: pytest.FixtureRequest, tmp_path: Path, ssh: None) -> str:
    place = tmp_path / "the remote"
    match request.param:
        case "git":
            subprocess.run(["git", "init", "--quiet", "--bare", f"{place}.git"], check=True)
            return f"{place}.git"
        case "ssh":
            place.mkdir()
            return f"ssh://me@host:22{place}"
        case _:
            place.mkdir()
            return str(place)


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ssh").write_text(FAKE_SSH)
    (programs / "ssh").chmod(stat.S_IRWXU)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Machines]:
    with machines(tmp_path) as joined:
        yield joined


def places(address: str, folder: Path) -> list[Remote]:
    return [remote_of(address, folder / f"cache{number}", folder) for number in range(2)]


def test_machines_meet_in_any_remote(two: Machines, address: str, tmp_path: Path) -> None:
    one, other = places(address, tmp_path)
    id = two.worlds[0].remember("Tea is green")
    two.sync(0, one)
    two.sync(1, other)
    assert two.shown(1) == {"Tea is green"}
    two.edit(1, id, "Tea is red")
    two.worlds[0].remember("Milk is white")
    two.sync(1, other)
    two.sync(0, one, compact=True)
    two.sync(1, other, compact=True)
    two.sync(0, one)
    assert two.held(0) == two.held(1)
    assert two.shown(0) == {"Tea is red", "Milk is white"}
    sync = two.worlds[0].app.get(MachineSync)
    assert sync.compare(two.person, one).differences == ()


def kept(address: str, copy: Path) -> Path:
    """Copy what a remote holds by now."""
    place = Path(address.removeprefix("ssh://me@host:22"))
    shutil.copytree(place, copy)
    return place


def put_back(place: Path, copy: Path) -> None:
    shutil.rmtree(place)
    shutil.copytree(copy, place)


@pytest.mark.parametrize("compact", [False, True])
def test_what_is_gone_from_a_remote_that_was_put_back_is_sent_again(
    two: Machines, address: str, tmp_path: Path, *, compact: bool
) -> None:
    one, other = places(address, tmp_path)
    two.worlds[0].remember("Tea is green")
    two.sync(0, one, compact=compact)
    two.sync(1, other)
    place = kept(address, tmp_path / "earlier")
    two.worlds[0].remember("Milk is white")
    two.worlds[1].remember("Rye is dark")
    two.sync(1, other)
    two.sync(0, one, compact=compact)
    put_back(place, tmp_path / "earlier")
    for number, remote in enumerate((one, other)):
        compared = two.worlds[number].app.get(MachineSync).compare(two.person, remote)
        assert compared.lost, "each knows of files that it sent or took"
        assert compared.differences
    report = two.sync(0, one)
    assert report.lost
    two.sync(1, other)
    assert two.shown(1) == {"Tea is green", "Milk is white", "Rye is dark"}
    two.sync(0, one)
    for number, remote in enumerate((one, other)):
        assert two.sync(number, remote).lost == 0, "it is there by now"
        compared = two.worlds[number].app.get(MachineSync).compare(two.person, remote)
        assert (compared.lost, compared.differences) == ((), ())


@pytest.mark.thorough
def test_two_that_publish_at_once_lose_no_file(address: str, tmp_path: Path) -> None:
    remotes = places(address, tmp_path)
    for each in remotes:
        each.pull()

    def publish(number: int) -> None:
        for count in range(3):
            name = f"{number:016x}-{count:08}.jsonl"
            own = {f"machines/{number:016x}.json": f"{count}".encode()}
            remotes[number].publish({f"changes/{name}": name.encode()}, own)

    threads = [Thread(target=publish, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for each in remotes:
        each.pull()
        assert len(names_in(each.folder, "changes")) == 6
        for name in names_in(each.folder, "changes"):
            assert (each.folder / "changes" / name).read_text() == name
        for name in names_in(each.folder, "machines"):
            assert (each.folder / "machines" / name).read_text() == "2"


def test_a_file_never_takes_the_place_of_another(address: str, tmp_path: Path) -> None:
    one, other = places(address, tmp_path)
    one.pull()
    one.publish({"changes/a.jsonl": b"one"}, {})
    other.pull()
    other.publish({"changes/a.jsonl": b"one"}, {})
    with pytest.raises(NameTaken):
        other.publish({"changes/a.jsonl": b"other"}, {})
    one.pull()
    assert (one.folder / "changes" / "a.jsonl").read_bytes() == b"one"


@pytest.mark.thorough
def test_git_keeps_no_history_of_what_a_snapshot_took_the_place_of(tmp_path: Path) -> None:
    address = tmp_path / "r.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(address)], check=True)
    remote, _ = places(str(address), tmp_path)
    remote.pull()
    remote.publish({"changes/a": b"1"}, {})
    remote.publish({"changes/b": b"2"}, {})
    remote.publish({"snapshots/c": b"12"}, {}, ["changes/a", "changes/b"])
    log = subprocess.run(
        ["git", "-C", str(address), "log", "--format=%s", BRANCH],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert log.stdout == "Sync\n"
    fresh = GitRemote(str(address), tmp_path / "fresh")
    fresh.pull()
    assert names_in(fresh.folder, "changes") == {}
    assert list(names_in(fresh.folder, "snapshots")) == ["c"]


def test_a_remote_that_cannot_be_reached_says_why(tmp_path: Path, ssh: None) -> None:
    git = GitRemote(str(tmp_path / "missing.git"), tmp_path / "one")
    with pytest.raises(StoreError, match="ls-remote failed"):
        git.pull()
    with pytest.raises(StoreError, match="resolve hostname"):
        SshRemote("ssh://nobody/x", tmp_path / "two").pull()
    with pytest.raises(StoreError, match="no such folder"):
        SshRemote(f"ssh://host{tmp_path}/missing", tmp_path / "two").pull()


def test_a_link_in_a_remote_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "changes").symlink_to(outside)
    assert names_in(folder, "changes") == {}
    with pytest.raises(StoreError, match="is a link"):
        FolderRemote(folder).publish({"changes/a": b"1"}, {})
    assert list(outside.iterdir()) == []


def test_an_address_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "HEAD").touch()
    (bare / "objects").mkdir()
    kinds = {
        "plain": FolderRemote,
        "bare": GitRemote,
        "https://example.org/me/memory": GitRemote,
        "git@example.org:me/memory.git": GitRemote,
        "ssh://example.org/memory.git": GitRemote,
        "ssh://example.org/memory": SshRemote,
    }
    for text, kind in kinds.items():
        assert type(remote_of(text, tmp_path / "cache", tmp_path)) is kind, text
    shutil.rmtree(tmp_path / "plain")
    with pytest.raises(InvalidInput, match="make it first"):
        remote_of("plain", tmp_path / "cache", tmp_path)


def test_a_file_of_a_later_format_is_refused_with_what_to_do_and_taken_after_it(
    two: Machines,
) -> None:
    two.worlds[0].remember("Tea is green")
    two.sync(0)
    (path,) = (two.folder / "changes").iterdir()
    text = path.read_bytes()
    assert b'"version":1,' in text
    path.write_bytes(text.replace(b'"version":1', b'"version":2', 1))
    ((name, reason),) = two.sync(1).refused
    assert name == path.name
    assert "must be 1: a later version of Minutebook wrote this file, so upgrade" in reason
    assert two.shown(1) == set()
    path.write_bytes(text)
    assert two.sync(1).refused == []
    assert two.shown(1) == {"Tea is green"}


def test_a_remote_that_a_later_version_began_is_refused_with_what_to_do(two: Machines) -> None:
    two.worlds[0].remember("Tea is green")
    two.sync(0)
    place = two.folder / "sync.json"
    place.write_bytes(place.read_bytes().replace(b'"version":1', b'"version":2'))
    with pytest.raises(InvalidInput, match="begun by a later version; upgrade Minutebook"):
        two.sync(1)
