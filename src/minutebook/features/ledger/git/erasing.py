"""Take the texts of decisions out of a ledger's whole history: the one act that rewrites commits.

A decision keeps its file, with id, target, status and its place in the chain, since later decisions name it;
its texts are gone from every commit.
"""

import re
import shutil
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from minutebook.features.ledger.git import markdown, write_intent
from minutebook.features.ledger.git.errors import translate_errors
from minutebook.features.ledger.git.objects import Objects, common_folder, header_of
from minutebook.features.ledger.git.repository import Repository, branch_of
from minutebook.features.ledger.git.trees import blob_at, decisions_in, with_files
from minutebook.record.errors import LedgerError
from minutebook.record.records import Decision
from minutebook.record.writing.decision_drafts import ERASED, erased
from minutebook.store.disk.atomic_file import replace_file


def check_can_erase(ledger: Repository) -> None:
    """Raise LedgerError if the history of a ledger is not ours alone to rewrite."""
    if not ledger.is_managed:
        raise LedgerError(
            "{path} is a person's own repository, whose history Minutebook does not rewrite",
            "rewrite it with `git filter-repo --replace-text`, then run `minutebook ledger rebuild`",
            path=ledger.path,
        )
    if not ledger.is_there:
        return
    with translate_errors(ledger.path):
        repository = ledger.open()
        branch = branch_of(repository, ledger.path)
        others = [name for name in repository.references if name not in (branch, "HEAD")]
    if others:
        raise LedgerError(
            "{path} has other branches or tags, which hold the old history: {others}",
            "remove them first, `git update-ref -d {others}`",
            path=ledger.path,
            others=others[0],
        )


def erase(ledger: Repository, ids: Collection[str]) -> None:
    """Rewrite the history without the texts of some decisions, and remove the old objects.

    Call it with the ledger's lock held. May be repeated after a kill. Raises LedgerError as
    `check_can_erase` does, or if Git fails; until the branch moves, nothing is changed.
    """
    check_can_erase(ledger)
    if not ledger.is_there:
        return
    with translate_errors(ledger.path):
        repository = ledger.open()
        tip = ledger.tip(repository)
        if tip is None:
            return
        history = _History(repository, ledger, frozenset(ids))
        head = history.rewrite(tip)
        if head != tip:
            _move(repository, branch_of(repository, ledger.path), head)
        _remove_unreachable(common_folder(repository), ledger.objects(ledger.open()), head)


def _move(repository: pygit2.Repository, branch: str, head: pygit2.Oid) -> None:
    """Move the branch. If that fails or is killed, the next act on the ledger removes the lock that Git left."""
    control = Path(repository.path)
    write_intent.PendingWrite(commit=str(head), branch=branch, files={}).write(control)
    repository.lookup_reference(branch).set_target(head)
    write_intent.remove(control)


class _History:
    """Writes commits, trees and files anew where they held the texts of the decisions with the ids."""

    def __init__(
        self, repository: pygit2.Repository, ledger: Repository, ids: frozenset[str]
    ) -> None:
        self._repository = repository
        self._layout = ledger.layout
        self._objects = ledger.objects(repository)
        self._ids = ids
        self._trees: dict[pygit2.Oid, pygit2.Oid] = {}
        self._paths: tuple[str, ...] = ()

    def rewrite(self, tip: pygit2.Oid) -> pygit2.Oid:
        """Rewrite every commit up to `tip`; return the id of the new tip, the same if nothing changed."""
        new: dict[pygit2.Oid, pygit2.Oid] = {}
        commits = self._objects.history(None, tip).commits
        # The fields that name a file never change: each lies where the last commit has it.
        self._paths = tuple(
            path
            for path, found in decisions_in(self._layout, self._objects, commits[-1].tree)
            if isinstance(found, Decision) and found.id in self._ids
        )
        for commit in commits:
            raw = self._objects.read(commit.id, ObjectType.COMMIT)
            head, blank, message = raw.partition(b"\n\n")
            lines = [self._rewritten_line(line, new) for line in head.split(b"\n")]
            written = b"\n".join(lines) + blank + self._rewritten_message(message)
            new[commit.id] = commit.id if written == raw else self._write(written)
        return new[tip]

    def _write(self, data: bytes) -> pygit2.Oid:
        id = self._repository.write(ObjectType.COMMIT, data)
        self._objects.read(id, ObjectType.COMMIT)
        return id

    def _rewritten_line(self, line: bytes, new: dict[pygit2.Oid, pygit2.Oid]) -> bytes:
        """Return a line of a commit's head; `new` has the new id of each commit by its old one."""
        word, _, rest = line.partition(b" ")
        if word == b"tree":
            return b"tree " + str(self._rewritten_tree(pygit2.Oid(hex=rest.decode()))).encode()
        if word == b"parent":
            parent = pygit2.Oid(hex=rest.decode())
            return b"parent " + str(new.get(parent, parent)).encode()
        return line

    def _rewritten_message(self, message: bytes) -> bytes:
        """Return a commit's message; if it names one of the decisions, without the subject, which has its title."""
        named = set(re.findall(rb"(?m)^Decision: (\S+)$", message))
        if not named & {id.encode() for id in self._ids}:
            return message
        _, newline, rest = message.partition(b"\n")
        return ERASED.encode() + newline + rest

    def _rewritten_tree(self, id: pygit2.Oid) -> pygit2.Oid:
        """Return a tree in which the erased decisions have no texts; the tree itself if it has none of them."""
        if id in self._trees:
            return self._trees[id]
        files = {}
        for path in self._paths:
            data = blob_at(self._objects, id, path)
            found = None if data is None else self._layout.read(path, data)
            if isinstance(found, Decision) and found.id in self._ids:
                files[path] = self._repository.create_blob(markdown.render(erased(found)))
        new = with_files(self._repository, self._objects, id, files) if files else id
        self._trees[id] = new
        return new


def _remove_unreachable(common: Path, objects: Objects, head: pygit2.Oid) -> None:
    """Remove every object that is not reachable from the head; packed objects are loose afterwards."""
    folder = common / "objects"
    kept = dict(_reachable(objects, head))
    packs = [path for path in (folder / "pack").glob("*") if path.is_file()]
    if packs:
        for id, kind in kept.items():
            path = folder / id[:2] / id[2:]
            if not path.exists():
                data = objects.read(pygit2.Oid(hex=id), kind)
                path.parent.mkdir(exist_ok=True)
                replace_file(path, zlib.compress(header_of(kind, data) + data), 0o444)
    for path in packs:
        path.unlink()
    for shard in folder.glob("[0-9a-f][0-9a-f]"):
        for path in shard.iterdir():
            if shard.name + path.name not in kept:
                path.unlink()
    shutil.rmtree(common / "logs", ignore_errors=True)
    for name in ("ORIG_HEAD", "FETCH_HEAD"):
        (common / name).unlink(missing_ok=True)


def _reachable(objects: Objects, head: pygit2.Oid) -> Iterator[tuple[str, ObjectType]]:
    """Yield id and kind of every object that the head leads to."""
    seen: set[pygit2.Oid] = set()
    for commit in objects.history(None, head).commits:
        yield str(commit.id), ObjectType.COMMIT
        waiting = [commit.tree]
        while waiting:
            tree = waiting.pop()
            if tree in seen:
                continue
            seen.add(tree)
            yield str(tree), ObjectType.TREE
            for entry in objects.tree(tree).values():
                if entry.is_tree:
                    waiting.append(entry.id)
                elif entry.is_blob and entry.id not in seen:
                    seen.add(entry.id)
                    yield str(entry.id), ObjectType.BLOB
