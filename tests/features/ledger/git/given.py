"""Ledgers to test with: a repository of our own, a person's, and Git itself as the witness."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.git.writer import Committed, LedgerAct, locked_writer
from minutebook.features.ledger.lineage import superseding
from minutebook.record.ids import decision_id
from minutebook.record.records import Decision
from minutebook.store.file_locks import FileLocks
from tests.store.samples import START, decision

FOLDER = "docs/decisions"


def own(path: Path) -> Repository:
    turns = FileLocks(path.with_name("turns"))
    return Repository.managed(path, "acme", partial(turns.hold, "ledger", 60.0))


def shared(path: Path) -> Repository:
    turns = FileLocks(path.with_name("turns"))
    return Repository.external(path, FOLDER, "acme", partial(turns.hold, "ledger", 60.0))


def numbered(number: int, target: str | None = None, **fields: Any) -> Decision:
    at = START + timedelta(seconds=number)
    plain: dict[str, Any] = {
        "target": target or f"target {number}",
        "title": f"Choose {number}",
        "created_at": at,
    }
    return decision(decision_id(at, lambda _: number), **{**plain, **fields})


def act(*decisions: Decision, **fields: Any) -> LedgerAct:
    plain: dict[str, Any] = {
        "id": f"act-{decisions[0].id}",
        "summary": f"Record: {decisions[0].title}",
        "author": "ana",
        "authorship": decisions[0].authorship,
        "at": decisions[0].created_at,
    }
    return LedgerAct(decisions=decisions, **{**plain, **fields})


def perform(repository: Repository, decide: Callable[[str | None], LedgerAct]) -> Committed:
    """Commit what `decide` says of the head; it is asked again where another commit came between."""
    with locked_writer(repository) as writer:
        return writer.repeat(lambda: writer.commit(decide(writer.head)))


def record(repository: Repository, *decisions: Decision, **fields: Any) -> Committed:
    return perform(repository, lambda _: act(*decisions, **fields))


def supersede(repository: Repository, new: Decision, *old: Decision) -> Committed:
    taking, *replaced = superseding(new, old)
    return record(repository, taking, *replaced)


def bare(each: Decision) -> Decision:
    """Leave out the commit, which no file holds."""
    return replace(each, commit_id=None)


def git(path: Path, *words: str, check: bool = True) -> str:
    clean = {"PATH": os.environ["PATH"], "HOME": str(path), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", "-C", str(path), *words], env=clean, capture_output=True, text=True, check=False
    )
    assert not check or done.returncode == 0, done.stderr
    return done.stdout if done.returncode == 0 else done.stderr


def person(path: Path, *, name: str = "Ana") -> Path:
    """Make a person's repository with one commit and something staged in it."""
    path.mkdir(parents=True)
    git(path, "init", "-q", "-b", "work")
    git(path, "config", "user.name", name)
    git(path, "config", "user.email", "ana@example.org")
    (path / "README.md").write_text("hello\n")
    git(path, "add", ".")
    git(path, "commit", "-q", "-m", "Begin")
    return path


@contextmanager
def never() -> Iterator[None]:
    yield None
