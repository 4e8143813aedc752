"""Decisions for tests, and who makes them."""

import subprocess
from pathlib import Path
from typing import Any

from minutebook.app import App
from minutebook.features.ledger.git.repository import Repository
from minutebook.features.ledger.git.writer import LedgerAct, locked_writer
from minutebook.features.ledger.repositories import Ledgers
from minutebook.record.caller import Caller
from minutebook.record.records import Authorship, Decision, DecisionStatus, Role
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.world import NOON, everything

VIEWER = Caller(name="vic", role=Role.VIEWER)
AGENT = Caller(name="robot", role=Role.AGENT)
PERSON = Caller(name="ann", role=Role.HUMAN)
ADMIN = Caller(name="ada", role=Role.ADMIN)
SECRET = "open sesame"


def draft(target: str = "store", title: str = "Use SQLite", **changes: Any) -> DecisionDraft:
    """A draft with a rationale that is long enough to supersede with."""
    said = {"rationale": "It is embedded and needs no server", "consequences": ("one file",)}
    return DecisionDraft(title=title, target=target, **(said | changes))


def written(number: int, **changes: Any) -> Decision:
    """A decision as a colleague would have written it elsewhere."""
    said: dict[str, Any] = {
        "organization": "default",
        "id": f"decision_20260106T120000000000Z_{number:08x}",
        "target": "store",
        "title": "Use a file",
        "rationale": "Everybody can read one",
        "status": DecisionStatus.ACTIVE,
        "authorship": Authorship.HUMAN,
        "author": "cleo",
        "created_at": NOON,
    }
    return Decision(**(said | changes))


def ledger_of(app: App, organization: str = "default") -> Repository:
    """The ledger itself, past all that is checked before."""
    return app.get(Ledgers).repository(organization)


def committed(app: App, *decisions: Decision, key: bytes | None = None) -> str:
    """Commit decisions as another store would, or the one with a key; the tables know nothing of it."""
    act = LedgerAct(
        key=key,
        id="elsewhere",
        summary="Decide elsewhere",
        author="cleo",
        authorship=Authorship.HUMAN,
        at=NOON,
        decisions=decisions,
    )
    with locked_writer(ledger_of(app)) as writer:
        return writer.repeat(lambda: writer.commit(act)).id


def decisions_in(app: App, organization: str = "default") -> dict[str, Decision]:
    """What the tables hold."""
    found = app.infrastructure.store.find(Decision, everything(organization))
    return {each.id: each for each in found if isinstance(each, Decision)}


def git(place: Path, *arguments: str) -> str:
    """What Git itself says."""
    done = subprocess.run(
        ["git", "-C", str(place), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
