"""A world with records of every kind in every scope, and whoever may write in one of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from minutebook.features.code.projects import Projects
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.caller import Caller
from minutebook.record.records import (
    SYSTEM_ORGANIZATION,
    Kind,
    MemoryType,
    Record,
    Role,
    ScopeLevel,
)
from minutebook.record.writing.drafts import Draft
from tests.features.ledger.decided import SECRET, draft
from tests.world import World, failed, worlds

TEXT = "Tea at five"
NUMBERS = count(1)

BEARER = Caller(
    name="ci",
    role=Role.ADMIN,
    organization="acme",
    repositories=frozenset({"one"}),
    user="ana",
    token="t",
    repository_bound=True,
)
"""Whoever shows a token that names a repository, with the role to which most is allowed."""

SCOPES: dict[str, dict[str, Any]] = {
    "own": {"repositories": frozenset({"one"}), "user": None},
    "other repository": {"repositories": frozenset({"two"}), "user": None},
    "organization": {"repositories": None, "user": None},
    "other user": {"repositories": None, "user": "ben"},
    "other organization": {"organization": "zoo", "repositories": frozenset({"one"}), "user": None},
    "system": {"organization": SYSTEM_ORGANIZATION, "repositories": None, "user": None},
}
UNSEEN = ("other repository", "other user", "other organization")
"""The scopes of whose records the bearer knows nothing."""


@dataclass(frozen=True)
class Given:
    """Two records of each kind in one scope, by their ids, and the scope as a draft names it."""

    memories: tuple[str, str]
    locked: str
    deleted: str
    ended: str
    joined: tuple[str, str]
    entities: tuple[str, str]
    decision: str
    target: str
    proposal: str
    declined: str
    session: str
    project: str
    folder: Path
    place: dict[str, Any]


@dataclass(frozen=True)
class Population:
    """A world with records of every scope."""

    world: World
    home: Path
    given: dict[str, Given]

    def fill(self, scope: str) -> Given:
        """Keep records of one scope, by someone who may write there."""
        app, number = self.world.app, next(NUMBERS)
        who = replace(BEARER, **SCOPES[scope], token="", repository_bound=False, writes_system=True)
        ids = []
        for _ in range(6):
            self.world.clock.turn()
            ids.append(app.memories.store(who, Draft(content=TEXT, type=MemoryType.FACT)).id)
        app.status.lock(who, ids[2])
        app.memories.remove(who, ids[3])
        app.memories.invalidate(who, ids[4], None, None)
        app.links.link(who, ids[4], ids[5])
        ends = [app.entities.create_entity(who, f"{n} {number}", "thing", None, None) for n in "ab"]
        app.entities.create_relation(who, ends[0].id, ends[1].id, "near", 1.0)
        target = f"target {number}"
        decision = app.get(DecisionActs).record(who, draft(target))
        proposal = app.get(Proposals).propose(who, draft(f"proposed {number}"))
        declined = app.get(Proposals).propose(who, draft(f"declined {number}"))
        app.get(Proposals).decline(who, declined.id)
        session = f"session {number}"
        app.sessions.add(who, session, "Mend it", "", "Done.")
        app.summaries.summarize(who, session)
        folder = self.home / f"code{number}"
        folder.mkdir()
        (folder / "a.py").write_text("def brew(): ...\n")
        project = app.get(Projects).index(who, str(folder)).progress.project
        return Given(
            memories=(ids[0], ids[1]),
            locked=ids[2],
            deleted=ids[3],
            ended=ids[4],
            joined=(ids[4], ids[5]),
            entities=(ends[0].id, ends[1].id),
            decision=decision.id,
            target=target,
            proposal=proposal.id,
            declined=declined.id,
            session=session,
            project=project.id,
            folder=folder,
            place=place(scope),
        )

    def records(self) -> dict[tuple[str, Kind, str], Record]:
        """Everything that is kept but the trail."""
        return self.world.kept()


def place(scope: str) -> dict[str, Any]:
    """The scope as whoever writes a memory may name it."""
    places: dict[str, dict[str, Any]] = {
        "own": {"scope": ScopeLevel.REPOSITORY, "repository": "one"},
        "other repository": {"scope": ScopeLevel.REPOSITORY, "repository": "two"},
        "organization": {"scope": ScopeLevel.ORGANIZATION},
        "other user": {"scope": ScopeLevel.USER, "user": "ben"},
        "other organization": {"scope": ScopeLevel.REPOSITORY, "repository": "zoo's"},
        "system": {"scope": ScopeLevel.SYSTEM},
    }
    return places[scope]


@contextmanager
def populated(home: Path) -> Iterator[Population]:
    """Return a world below a folder with records of every scope; it has no model."""
    with worlds(home) as open_one:
        world = open_one(
            failed(), index_roots={"acme": (home,)}, review_window=0.0, agent_memory_secret=SECRET
        )
        world.app.embedding.settle()
        admin = Caller(name="ada", role=Role.ADMIN, organization="acme")
        world.app.get(ApprovalSecret).set(admin, SECRET)
        filled = Population(world, home, {})
        filled.given.update({scope: filled.fill(scope) for scope in SCOPES})
        yield filled
