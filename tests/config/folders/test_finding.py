"""`config/folders/finding.py`: to which repository a folder belongs, with folders that Git itself made."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from minutebook.config.folders.finding import find_place, repository_of, with_name
from minutebook.config.folders.small_files import LARGEST
from minutebook.config.folders.trust import FILE, TrustedFolders
from minutebook.record.errors import InvalidInput

REMOTE = "https://github.com/acme/api.git"
NAME = "github.com/acme/api"


def git(folder: Path, *arguments: str) -> None:
    options = ["user.name=h", "user.email=h@example.org", "protocol.file.allow=always"]
    command = ["git", *(part for each in options for part in ("-c", each)), *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def repository(folder: Path, remote: str | None = REMOTE) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "README.md").write_text("Read me.\n")
    git(folder, "add", "README.md")
    if remote is not None:
        git(folder, "remote", "add", "origin", remote)
    return folder


def with_commit(folder: Path) -> Path:
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


def test_every_clone_and_every_folder_of_it_is_the_same_repository(tmp_path: Path) -> None:
    one = repository(tmp_path / "a" / "api")
    other = repository(tmp_path / "b" / "elsewhere", "git@github.com:Acme/api")
    deep = one / "src" / "deep"
    deep.mkdir(parents=True)
    assert {repository_of(each) for each in (one, other, deep)} == {NAME}
    assert find_place(deep).root == one


def test_worktrees_and_submodules_are_followed(tmp_path: Path) -> None:
    main = with_commit(repository(tmp_path / "main"))
    git(main, "worktree", "add", "-q", "../side")
    assert repository_of(tmp_path / "side") == NAME
    outer = repository(tmp_path / "outer", "https://github.com/acme/outer")
    git(outer, "submodule", "add", "-q", str(main), "parts/api")
    git(outer / "parts" / "api", "remote", "set-url", "origin", REMOTE)
    assert repository_of(outer / "parts" / "api") == NAME
    assert repository_of(outer / "parts") == "github.com/acme/outer"


def test_two_folders_of_one_name_without_remotes_are_two(tmp_path: Path) -> None:
    one = repository(tmp_path / "a" / "api", None)
    other = repository(tmp_path / "b" / "api", None)
    assert find_place(one).repository is None
    names = [with_name(find_place(each)).repository for each in (one, other)]
    assert names[0] != names[1]
    assert all(name is not None and name.startswith("local/api-") for name in names)
    assert [repository_of(each) for each in (one, other)] == names


def test_a_kept_name_is_that_of_worktrees_clones_and_the_moved_folder(tmp_path: Path) -> None:
    main = with_commit(repository(tmp_path / "main", None))
    git(main, "worktree", "add", "-q", "../side")
    git(tmp_path, "clone", "-q", str(main), "clone")
    name = with_name(find_place(tmp_path / "side")).repository
    assert name is not None
    assert {repository_of(tmp_path / each) for each in ("main", "side", "clone")} == {name}
    git(main, "worktree", "remove", "../side")
    main.rename(tmp_path / "moved")
    assert repository_of(tmp_path / "moved") == name


def test_a_clone_of_a_clone_has_the_remote_of_the_first(tmp_path: Path) -> None:
    with_commit(repository(tmp_path / "first"))
    git(tmp_path, "clone", "-q", "first", "second")
    git(tmp_path, "clone", "-q", "second", "third")
    assert repository_of(tmp_path / "third") == NAME


def test_a_repository_that_gets_a_remote_still_has_what_was_kept_before(tmp_path: Path) -> None:
    folder = repository(tmp_path / "api", None)
    name = with_name(find_place(folder)).repository
    git(folder, "remote", "add", "origin", REMOTE)
    now = find_place(folder)
    assert (now.repository, now.also) == (NAME, (name,))


@pytest.mark.parametrize("below", ["", "notes"])
def test_home_and_what_is_in_no_repository_belong_to_none(tmp_path: Path, below: str) -> None:
    repository(tmp_path / "home")
    folder = tmp_path / "home" / below
    folder.mkdir(exist_ok=True)
    place = find_place(folder, home=tmp_path / "home")
    assert (place.repository, place.root, place.problem) == (None, None, None)


def test_a_folder_that_is_gone_belongs_to_none(tmp_path: Path) -> None:
    repository(tmp_path / "api")
    assert repository_of(tmp_path / "api" / "gone") is None


@pytest.mark.parametrize("name", ["half \ud800", "zero \0", "long " * 2000])
def test_what_can_be_no_path_belongs_to_none(tmp_path: Path, name: str) -> None:
    assert repository_of(tmp_path / name) is None


def test_a_file_may_name_a_part_of_its_own_repository(tmp_path: Path) -> None:
    mono = repository(tmp_path / "mono")
    (mono / "pay" / "deep").mkdir(parents=True)
    (mono / "pay" / ".minutebook.toml").write_text('repository = "github.com/Acme/api/pay"\n')
    place = find_place(mono / "pay" / "deep")
    assert (place.repository, place.also, place.problem) == (f"{NAME}/pay", (NAME,), None)
    assert repository_of(mono) == NAME


@pytest.mark.parametrize(
    "claimed", ["github.com/acme/secrets", "acme", "github.com/acme/api2", "github.com"]
)
def test_a_file_that_claims_another_repository_is_believed_once_it_is_trusted(
    tmp_path: Path, claimed: str
) -> None:
    folder = with_commit(repository(tmp_path / "clone"))
    (folder / ".minutebook.toml").write_text(f'repository = "{claimed}"\n')
    trusted = TrustedFolders(tmp_path)
    place = find_place(folder, trusted.has)
    assert place.repository == NAME
    assert place.problem is not None
    assert claimed in place.problem
    assert place.claim is not None
    trusted.add(place.claim.place, place.claim.repository)
    now = find_place(folder, trusted.has)
    assert (now.repository, now.also, now.problem) == (claimed, (NAME,), None)
    git(folder, "worktree", "add", "-q", "../side")
    (tmp_path / "side" / ".minutebook.toml").write_text(f'repository = "{claimed}"\n')
    assert repository_of(tmp_path / "side", trusted.has) == claimed
    (folder / ".minutebook.toml").write_text('repository = "acme/other"\n')
    assert repository_of(folder, trusted.has) == NAME
    assert trusted.remove(place.claim.place)
    assert not trusted.remove(place.claim.place)


def test_a_file_outside_of_git_is_believed_once_it_is_trusted(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / ".minutebook.toml").write_text('repository = "notes"\nhooks = "off"\n')
    place = find_place(folder)
    assert (place.repository, place.root, place.hooks_off) == (None, folder, True)
    assert place.claim is not None
    assert repository_of(folder, lambda key, name: (key, name) == (str(folder), "notes")) == "notes"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("repository = \n", "line 1"),
        ('# x\norganization = "acme"\n', "line 2: organization"),
        ("repository = 7\n", "line 1: repository"),
        ('repository = "a\\nb"\n', "line 1: repository"),
        ('hooks = "maybe"\n', "line 1: hooks"),
        ("x = " + "[" * 2000, "TOML"),
        ("#" * (LARGEST + 1), "bytes"),
    ],
)
def test_a_broken_file_is_named_with_line_and_key_and_nothing_is_believed(
    tmp_path: Path, text: str, told: str
) -> None:
    folder = repository(tmp_path / "api")
    (folder / ".minutebook.toml").write_text(text)
    place = find_place(folder)
    assert place.repository is None
    assert place.problem is not None
    assert str(folder / ".minutebook.toml") in place.problem
    assert told in place.problem


def test_a_folder_that_leads_to_anothers_repository_is_not_believed(tmp_path: Path) -> None:
    secret = repository(tmp_path / "secret", "git@github.com:acme/secrets")
    evil = tmp_path / "evil"
    evil.mkdir()
    (evil / ".git").write_text(f"gitdir: {secret / '.git'}\n")
    place = find_place(evil)
    assert place.repository is None
    assert "does not lead back" in (place.problem or "")
    trusted = find_place(evil, lambda key, name: key == str(evil))
    assert trusted.repository == "github.com/acme/secrets"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives a folder away")
def test_a_repository_of_another_user_is_not_believed(tmp_path: Path) -> None:
    folder = repository(tmp_path / "api")
    os.chown(folder / ".git", 12345, 12345)
    place = find_place(folder)
    assert place.repository is None
    assert "another user" in (place.problem or "")


@pytest.mark.skipif(sys.platform == "win32", reason="files have no inodes")
@pytest.mark.parametrize(
    ("configuration", "address", "is_believed"),
    [
        (".gitconfig", "h@example.org", True),
        (".config/git/config", "h@example.org", True),
        (".gitconfig", "else@example.org", False),
        # What came with the folder says nothing of the person.
        ("project/.git/config", "h@example.org", False),
    ],
)
def test_a_home_that_was_copied_belongs_to_its_projects(
    tmp_path: Path, configuration: str, address: str, is_believed: bool
) -> None:
    home = tmp_path / "home"
    with_commit(repository(home / "project"))
    path = home / configuration
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(f"[user]\n\temail = {address}\n")
    restored = Path(shutil.copytree(home, tmp_path / "restored"))
    place = find_place(restored / "project", home=restored)
    assert (place.repository == NAME) is is_believed


@pytest.mark.skipif(sys.platform == "win32", reason="files have no inodes")
@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_a_repository_that_was_unpacked_is_asked_for_once(tmp_path: Path, version: str) -> None:
    made = repository(tmp_path / "made")
    (made / "src").mkdir()
    for name in ("a long name.txt", "src/b.txt", "src/ba.txt"):
        (made / name).write_text(name)
    git(made, "add", ".")
    if version == "3":
        git(made, "add", "--intent-to-add", "--force", ".")
        (made / "new.txt").write_text("new")
        git(made, "add", "--intent-to-add", "new.txt")
    git(made, "update-index", "--index-version", version)
    for name in ("README.md", "a long name.txt", "src/b.txt"):
        # Only the last of those in the index is as Git knew it.
        Path(shutil.copy(made / name, tmp_path / "copy")).replace(made / name)
    assert repository_of(made) == NAME
    trusted = TrustedFolders(tmp_path)
    unpacked = Path(shutil.copytree(made, tmp_path / "unpacked"))
    without = Path(shutil.copytree(made, tmp_path / "without"))
    (without / ".git" / "index").unlink()
    for folder in (unpacked, without):
        place = find_place(folder, trusted.has)
        assert place.repository is None
        assert "may have come with the folder" in (place.problem or "")
        assert place.claim is not None
        trusted.add(place.claim.place, place.claim.repository)
        assert repository_of(folder, trusted.has) == NAME
    # Once the person's own Git has looked at it, it is believed as any clone.
    git(unpacked, "status")
    assert repository_of(unpacked) == NAME


@pytest.mark.parametrize(
    "index",
    [b"", b"DIRC", b"DIRC" + bytes(8), b"no index" * 99, b"DIRC\0\0\0\4\0\0\0\7" + b"\xff" * 200],
)
def test_a_damaged_index_knows_nothing(tmp_path: Path, index: bytes) -> None:
    folder = repository(tmp_path / "api")
    (folder / ".git" / "index").write_bytes(index)
    assert repository_of(folder) is None


def test_odd_files_are_told_and_hold_nobody_up(tmp_path: Path) -> None:
    folder = repository(tmp_path / "api")
    config = folder / ".git" / "config"
    config.write_text("#" * (LARGEST + 1))
    assert "bytes" in (find_place(folder).problem or "")
    config.unlink()
    os.mkfifo(config)
    assert "regular" in (find_place(folder).problem or "")
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".git").write_text("gitdir: nowhere\n")
    assert "leads to no repository" in (find_place(linked).problem or "")
    named = repository(tmp_path / "named", None)
    (named / ".git" / "minutebook").write_text("github.com/acme/secrets\n")
    place = find_place(named)
    assert place.repository is None
    assert "no name of a repository" in (place.problem or "")


def test_a_name_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    place = find_place(repository(tmp_path / "api", None))
    (tmp_path / "api" / ".git" / "minutebook").mkdir()
    now = with_name(place)
    assert now.repository is None
    assert now.problem is not None


def test_a_damaged_list_of_trusted_folders_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[1]")
    with pytest.raises(InvalidInput, match=FILE):
        TrustedFolders(tmp_path).has("x", "y")
