"""Decisions over a real store and a real ledger; also a process: `python -m tests.services.ledgers`.

Run with a folder, a name and a count, it records as many decisions, and prints each that was
acknowledged.
"""

import secrets
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from minutebook.domain.errors import Decided
from minutebook.domain.policy import Caller
from minutebook.domain.records import Role
from minutebook.embedding import Embedder
from minutebook.ledger.repository import Repository
from minutebook.services.decision_search import DecisionSearch
from minutebook.services.decisions import DecisionDraft, Decisions
from minutebook.services.following import Following
from minutebook.services.reach import Clock
from minutebook.services.trail import Trail
from minutebook.services.turns import Turns
from minutebook.services.vectors import Embedded
from minutebook.store.sqlite import SqliteStore
from tests.world import WordEmbedder, ready

HOME = "acme"


@dataclass(frozen=True)
class Bench:
    """Everything that decides, in one folder."""

    store: SqliteStore
    ledger: Repository
    following: Following
    decisions: Decisions
    search: DecisionSearch
    trail: Trail
    embedded: Embedded


def bench(folder: Path, clock: Clock, embedder: Embedder | None = None) -> Bench:
    """Open them, made if they are not there."""
    store = SqliteStore(folder / "store.db")
    turns = Turns(folder / "turns")
    ledger = Repository.own(folder / "ledger", HOME, partial(turns.taken, "ledger", 60.0))
    embedded = Embedded(store, ready(embedder or WordEmbedder()), 5.0, turns)
    trail = Trail(store, clock)
    following = Following(store, embedded, trail, lambda _: ledger, clock)
    decisions = Decisions(store, following, embedded, trail, clock, secrets.randbits)
    return Bench(
        store, ledger, following, decisions, DecisionSearch(store, embedded), trail, embedded
    )


def by(role: Role, name: str = "ana") -> Caller:
    return Caller(name=name, role=role, organization=HOME)


def draft(target: str = "store", title: str = "Use SQLite", **fields: object) -> DecisionDraft:
    plain = DecisionDraft(title=title, target=target, rationale="One file, and it lasts.")
    return replace(plain, **fields)  # type: ignore[arg-type]


def main(folder: Path, name: str, count: int) -> None:
    """Record decisions, each on a target of its own, and try for one that all want."""
    here = bench(folder, lambda: datetime.now(UTC))
    here.following.start(HOME)
    caller = by(Role.AGENT, name)
    try:
        print(f"won {here.decisions.record(caller, draft('all')).id}", flush=True)  # noqa: T201
    except Decided as refused:
        print(f"lost {refused.id}", flush=True)  # noqa: T201
    for number in range(count):
        made = here.decisions.record(caller, draft(f"{name} {number}"))
        print(f"made {made.id}", flush=True)  # noqa: T201
    here.store.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
