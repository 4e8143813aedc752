"""Repositories that are gone, broken, cut off, huge or hostile, made of a small one."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pygit2
import pytest

from minutebook.features.citations.trees import MOST_FILES
from tests.features.citations.repositories import committed
from tests.world import NOON

PAY = "def total(lines):\n    return round(sum(lines))\n\n\ndef refund(order):\n    return -order\n"
BEFORE, AFTER = int(NOON.timestamp()) - 86_400, int(NOON.timestamp()) + 600
MANY = 100_000

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def git(root: Path, *arguments: str, given: bytes | None = None) -> str:
    """Run Git in a folder as Ana; return what it says."""
    who = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "commit.gpgsign=false"]
    more = ["-c", "protocol.file.allow=always", "-c", "init.defaultBranch=master"]
    command = ["git", *who, *more, "-C", str(root), *arguments]
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{BEFORE + 120} +0000")
    env = os.environ | dates
    done = subprocess.run(command, check=True, capture_output=True, input=given, env=env)
    return done.stdout.decode("utf-8", "replace").strip()


def shop_in(folder: Path) -> Path:
    """Make a repository of two commits, of which the second says why line 2 of `pay.py` is as it is."""
    root = folder / "shop"
    committed(root, {"pay.py": PAY, "deep/ship.py": "fee = 5\n"}, BEFORE, "Add totals")
    rounded = PAY.replace("round(sum", "half_up(sum")
    committed(root, {"pay.py": rounded}, BEFORE + 60, "Round half up\n\nThe tax office wants it.")
    return root


def commit_all(root: Path, message: str = "Something odd") -> None:
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", message)


# Those of which nothing can be said.


def gone(root: Path) -> None:
    shutil.rmtree(root)


def without_git(root: Path) -> None:
    shutil.rmtree(root / ".git")


def leading_nowhere(root: Path) -> None:
    without_git(root)
    (root / ".git").write_text("gitdir: /nowhere\n")


def rubbish_for_git(root: Path) -> None:
    without_git(root)
    (root / ".git").write_bytes(b"\0\xff\n")


def empty_git(root: Path) -> None:
    without_git(root)
    (root / ".git").mkdir()


def dangling_git(root: Path) -> None:
    without_git(root)
    (root / ".git").symlink_to(root / "nowhere")


def bare(root: Path) -> None:
    shutil.move(root / ".git", root.parent / "kept")
    shutil.rmtree(root)
    shutil.move(root.parent / "kept", root)
    git(root, "config", "core.bare", "true")


def unborn(root: Path) -> None:
    without_git(root)
    git(root, "init", "-q")


def rubbish_for_head(root: Path) -> None:
    (root / ".git/HEAD").write_bytes(b"\0\xff rubbish\n")


def empty_head(root: Path) -> None:
    (root / ".git/HEAD").write_bytes(b"")


def head_of_no_ref(root: Path) -> None:
    (root / ".git/HEAD").write_text("ref: refs/heads/gone\n")


def head_of_no_commit(root: Path) -> None:
    (root / ".git/HEAD").write_text("1" * 40 + "\n")


def head_of_a_blob(root: Path) -> None:
    (root / ".git/HEAD").write_text(git(root, "rev-parse", "HEAD:pay.py") + "\n")


def without_objects(root: Path) -> None:
    shutil.rmtree(root / ".git/objects")
    (root / ".git/objects").mkdir()


def rubbish_for_objects(root: Path) -> None:
    for each in (root / ".git/objects").rglob("*"):
        if each.is_file():
            each.chmod(0o600)
            each.write_bytes(b"rubbish")


def torn_pack(root: Path) -> None:
    git(root, "gc", "-q")
    (pack,) = (root / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o600)
    os.truncate(pack, pack.stat().st_size // 3)


def _without(root: Path, name: str) -> None:
    id = git(root, "rev-parse", name)
    (root / ".git/objects" / id[:2] / id[2:]).unlink()


def without_its_tree(root: Path) -> None:
    _without(root, "HEAD^{tree}")


def without_a_folder(root: Path) -> None:
    _without(root, "HEAD:deep")


def without_its_parent(root: Path) -> None:
    _without(root, "HEAD~1")


def rubbish_for_the_index(root: Path) -> None:
    (root / ".git/index").write_bytes(b"DIRC rubbish")


def rubbish_for_the_config(root: Path) -> None:
    (root / ".git/config").write_bytes(b"[core\n\0 = \xff")


def rubbish_for_packed_refs(root: Path) -> None:
    git(root, "pack-refs", "--all")
    (root / ".git/packed-refs").write_bytes(b"\0rubbish\n\xff")


def of_sha256(root: Path) -> None:
    without_git(root)
    git(root, "init", "-q", "--object-format=sha256")
    commit_all(root)


def of_another_owner(root: Path) -> None:
    for each in (root, *root.rglob("*")):
        os.lchown(each, 12_345, 12_345)


def shallow(root: Path) -> None:
    kept = root.parent / "whole"
    shutil.move(root, kept)
    git(kept.parent, "clone", "-q", "--depth=1", f"file://{kept}", str(root))


def partial(root: Path) -> None:
    kept = root.parent / "whole"
    shutil.move(root, kept)
    git(kept, "config", "uploadpack.allowFilter", "true")
    git(kept.parent, "clone", "-q", "--filter=blob:none", f"file://{kept}", str(root))
    shutil.rmtree(kept)


# Those in which something odd lies beside the code that is asked about.


def odd_names(root: Path) -> None:
    """Names with line ends, colons and escapes, and in no encoding, committed and not."""
    names = [b"a\nb.py", b"caf\xe9.py", b"\x1b[2J.py", b"a:b.py", b"-x", b"\xed\xa0\x80.py"]
    for name in [*names, b"d\xff/a"]:
        place = root / os.fsdecode(name)
        place.parent.mkdir(exist_ok=True)
        place.write_text("x = 1\n")
    commit_all(root)
    for name in names:
        (root / os.fsdecode(b"un" + name)).write_text("x = 1\n")
        (root / os.fsdecode(name)).write_text("x = 2\n")


def _commit_by(root: Path, who: bytes, message: bytes) -> None:
    """Commit what is in the index as anybody, in no encoding."""
    tree, parent = git(root, "write-tree").encode(), git(root, "rev-parse", "HEAD").encode()
    head = b"tree %b\nparent %b\nauthor %b\ncommitter %b\nencoding no-such\n\n"
    made = head % (tree, parent, who, who) + message
    arguments = ("hash-object", "-t", "commit", "-w", "--stdin", "--literally")
    git(root, "update-ref", "HEAD", git(root, *arguments, given=made))


def odd_commits(root: Path) -> None:
    """Commits without a change, in no encoding, with neither name nor day of an author."""
    for date in (b"-5 +0000", b"99999999999999 +9999", b"1700000000 +0000"):
        _commit_by(root, b"A\xff\x1b <> " + date, b"Caf\xe9 \0 \x1b[2J\n")
    (root / "pay.py").write_text((root / "pay.py").read_text().replace("sum(lines)", "sum( lines)"))
    git(root, "add", ".")
    _commit_by(root, b"\xff <\xff> 1700000000 +0000", b"Caf\xe9 \x1b[2J\n")


def without_a_day(root: Path) -> None:
    _commit_by(root, b"Ana <ana@example.org> today", b"When\n")


def detached(root: Path) -> None:
    git(root, "checkout", "-q", "--detach")


def links(root: Path) -> None:
    (root / "out").symlink_to("/etc")
    (root / "loop.py").symlink_to(root / "loop.py")
    (root / "up").symlink_to("..")
    (root / "file.py").symlink_to("pay.py")
    commit_all(root)
    (root / "new").symlink_to(root)
    shutil.move(root / "deep", root / "deeper")
    (root / "deep").symlink_to("deeper")


def pipes_and_sockets(root: Path) -> None:
    (root / "deep/ship.py").unlink()
    os.mkfifo(root / "deep/ship.py")
    os.mkfifo(root / "pipe.py")
    os.mkfifo(root / ".gitmodules")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(root)
        listening.bind("socket.py")
        os.chdir(here)


def unreadable_beside(root: Path) -> None:
    (root / "deep/ship.py").write_text("fee = 6\n")
    (root / "deep/ship.py").chmod(0)
    (root / "closed").mkdir()
    (root / "closed/a.py").write_text("a = 1\n")
    (root / "closed").chmod(0)


def submodules(root: Path) -> None:
    other = root.parent / "other"
    committed(other, {"part.py": "def refund2():\n    pass\n"}, BEFORE)
    git(root, "submodule", "--quiet", "add", str(other), "vendor/other")
    commit_all(root)
    committed(root / "vendor/other", {"more.py": "x = 1\n"}, BEFORE + 130)
    commit_all(root)
    committed(root / "inner", {"a.py": "x = 1\n"}, BEFORE)
    (root / "vendor/other/part.py").write_text("x = 2\n")


def lost_submodule(root: Path) -> None:
    submodules(root)
    shutil.rmtree(root / ".git/modules")
    (root / ".gitmodules").write_bytes(b"[submodule\n\xff\0")


def a_submodule_itself(root: Path) -> None:
    kept = root.parent / "kept"
    shutil.move(root, kept)
    outer = root.parent / "outer"
    committed(outer, {"a.py": "x = 1\n"}, BEFORE)
    git(outer, "submodule", "--quiet", "add", str(kept), "shop")
    root.symlink_to(outer / "shop")


def a_work_tree(root: Path) -> None:
    kept = root.parent / "kept"
    shutil.move(root, kept)
    git(kept, "worktree", "add", "-q", str(root))


def sparse(root: Path) -> None:
    git(root, "sparse-checkout", "set", "--no-cone", "/pay.py")


def large_and_binary(root: Path) -> None:
    (root / "large.py").write_bytes(b"x = 1\n" * 400_000)
    (root / "binary.py").write_bytes(bytes(range(256)) * 40)
    (root / "wide.py").write_bytes("x = 'ä'\n".encode("utf-16"))
    commit_all(root)
    (root / "large.py").write_bytes(b"y = 1\n" * 400_000)
    (root / "binary.py").write_bytes(bytes(range(255)) * 40)


def deep_folders(root: Path) -> None:
    """A tree in a tree, 3,000 times."""
    blob = git(root, "rev-parse", "HEAD:pay.py")
    tree = git(root, "mktree", given=f"100644 blob {blob}\tpay.py\n".encode())
    repository = pygit2.Repository(str(root))
    id = pygit2.Oid(hex=tree)
    for _ in range(3_000):
        made = repository.TreeBuilder()
        made.insert("d", id, pygit2.enums.FileMode.TREE)
        id = made.write()
    made = repository.TreeBuilder(repository.head.peel(pygit2.Tree))
    made.insert("d", id, pygit2.enums.FileMode.TREE)
    who = pygit2.Signature("Ana", "ana@example.org", BEFORE + 90, 0)
    repository.create_commit("HEAD", who, who, "Deep", made.write(), [repository.head.target])


def hostile_tree(root: Path) -> None:
    """A tree with names that no work tree may have, and an entry of no object."""
    blob = git(root, "rev-parse", "HEAD:pay.py")
    kept = git(root, "ls-tree", "HEAD").encode()
    odd = b"".join(
        b"100644 blob %b\t%b\n" % (blob.encode(), name) for name in (b".git", b"..", b".")
    )
    missing = b"160000 commit " + b"1" * 40 + b"\tsub\n"
    raw = [line.split(b"\t", 1) for line in (kept + b"\n" + odd + missing).splitlines()]
    made = b"".join(
        about.split()[0].lstrip(b"0")
        + b" "
        + name
        + b"\0"
        + bytes.fromhex(about.split()[2].decode())
        for about, name in sorted(raw, key=lambda each: each[1])
    )
    tree = git(root, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", given=made)
    commit = git(root, "commit-tree", tree, "-p", "HEAD", "-m", "Hostile")
    git(root, "update-ref", "HEAD", commit)


# Huge ones.


def _grown(root: Path, count: int, at: int, pay: str, *, stays: bool) -> None:
    """Commit many files with a change of `pay.py`, and remove them in the next commit unless they stay."""
    branch = git(root, "symbolic-ref", "HEAD").encode()
    head = git(root, "rev-parse", "HEAD").encode()
    commit = b"commit %b\nmark :%d\ncommitter Ana <ana@example.org> %d +0000\ndata 4\n%b\nfrom %b\n"
    file = b"M 100644 inline %b\ndata %d\n%b\n"
    given = [
        commit % (branch, 1, at, b"Many", head),
        file % (b"pay.py", len(pay), pay.encode()),
        *(file % (b"many/%d/%d.py" % (n % 100, n), 12, b"x = %07d\n" % n) for n in range(count)),
    ]
    if not stays:
        given += [commit % (branch, 2, at + 5, b"Few.", b":1"), b"D many\n"]
    git(root, "fast-import", "--quiet", "--force", given=b"".join(given))
    git(root, "reset", "-q", "--hard")


def many_in_history(root: Path) -> None:
    """A commit of 100,000 files, which the next one removes."""
    _grown(root, MANY, BEFORE + 90, (root / "pay.py").read_text(), stays=False)


def many_in_a_change(root: Path) -> None:
    """A commit of 100,000 files that changes what is cited, and the line that is asked about."""
    _grown(root, MANY, AFTER, "def total(lines):\n    return 1\n", stays=False)


def of_many_entries(root: Path) -> None:
    """More files in the index than are judged unasked, none of them in the folder."""
    index = pygit2.Repository(str(root)).index
    blob = index["pay.py"].id
    for number in range(MOST_FILES):
        index.add(pygit2.IndexEntry(f"f{number}", blob, pygit2.enums.FileMode.BLOB))
    index.write()


def many_files(root: Path) -> None:
    """More files than are judged unasked."""
    _grown(root, MOST_FILES + 100, BEFORE + 90, (root / "pay.py").read_text(), stays=True)
