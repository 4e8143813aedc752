"""What must hold of a data directory after any fault: one checker for every test that provokes one.

A test notes what callers were told is kept (`Acknowledged`) and calls `check`, or `of_app` where it has the store
open itself. Each violation is a sentence; there are none where nothing was lost.
"""

import subprocess
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minutebook.app import App, open_app
from minutebook.config import Settings, settings_with
from minutebook.config.places import data_directory
from minutebook.features.audit_proof.audit_proof import prove_trail
from minutebook.features.audit_proof.trail_proof import Proof
from minutebook.features.ledger.git.history import read_all
from minutebook.features.ledger.repositories import Ledgers
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.record.caller import Caller
from minutebook.record.records import (
    Decision,
    Entity,
    Entry,
    Kind,
    Memory,
    MemoryType,
    Proposal,
    Record,
    Relation,
    Role,
    Summary,
    Turn,
)
from minutebook.record.trust.trail import DONE, ERASE, text_digest
from minutebook.record.writing.drafts import Draft
from minutebook.store.disk.atomic_file import PART
from minutebook.store.disk.filelock import FileLock
from tests.world import everything

TEXTS: Mapping[type[Record], Callable[[Any], str]] = {
    Memory: lambda memory: memory.content,
    Entity: lambda entity: entity.name,
    Relation: lambda relation: relation.type,
    Decision: lambda decision: decision.title,
    Proposal: lambda proposal: proposal.title,
    Turn: lambda turn: turn.prompt,
    Summary: lambda summary: summary.session,
}
"""By which text a test knows a record of its own again."""

PROBER = Caller(name="prober", role=Role.AGENT)


@dataclass
class Acknowledged:
    """What callers were told is kept: texts, by kind. Each text of a test is to be one of its kind."""

    texts: dict[type[Record], set[str]] = field(default_factory=dict)
    gone: dict[type[Record], set[str]] = field(default_factory=dict)
    """Texts that callers were told are no more."""

    def note(self, of: type[Record], *texts: str) -> None:
        """Note that records are kept."""
        self.texts.setdefault(of, set()).update(texts)

    def note_gone(self, of: type[Record], *texts: str) -> None:
        """Note that records are kept no more, or with another text."""
        self.texts.get(of, set()).difference_update(texts)
        self.gone.setdefault(of, set()).update(texts)

    def note_unknown(self, of: type[Record], *texts: str) -> None:
        """Note that an act is under way that takes records away: until it is acknowledged, they may be there or not."""
        self.texts.get(of, set()).difference_update(texts)

    def include(self, other: "Acknowledged") -> None:
        """Note all that another noted."""
        for of, texts in other.texts.items():
            self.note(of, *texts)
        for of, texts in other.gone.items():
            self.note_gone(of, *texts)

    def __len__(self) -> int:
        return sum(map(len, self.texts.values()))


def check(home: Path, said: Acknowledged, **options: Any) -> None:
    """Raise AssertionError, with every violation, unless all holds of a data directory that nobody uses.

    The store is opened as a server's start does, examined, written to and closed; `options` are settings.
    """
    found = violations(home, said, **options)
    assert not found, "\n".join(found)


def violations(home: Path, said: Acknowledged, **options: Any) -> list[str]:
    """Return what does not hold, as `check` looks at it."""
    given: dict[str, Any] = {"embedder": "none"} | options
    settings = settings_with(home=home, **given)
    with closing(open_app(settings)) as app:
        found = [*of_app(app, said), *_goes_on(app)]
    return [*found, *of_folder(settings)]


def of_app(app: App, said: Acknowledged) -> list[str]:
    """Return what does not hold in an open store: records, trail, ledgers, what is derived."""
    app.get(Ledgers).recover()
    store = app.infrastructure.store
    organizations = store.organizations()
    return [
        *(each.finding for each in app.doctor.examine()),
        *_lost_or_twice(app, said),
        *unproven(prove_trail(store, name) for name in organizations),
        *(line for name in organizations for line in _against_trail(app, name)),
        *(line for name in organizations for line in _of_ledger(app, name)),
    ]


def of_folder(settings: Settings) -> list[str]:
    """Return what is left of work in a data directory that nobody uses, and the locks that somebody has."""
    return [*_leftovers(settings), *_held_locks(settings)]


def _lost_or_twice(app: App, said: Acknowledged) -> Iterator[str]:
    for of in {*said.texts, *said.gone}:
        there = Counter(map(TEXTS[of], _all(app, of)))
        noted = said.texts.get(of, set())
        for text in sorted(noted - there.keys()):
            yield f"lost: the {of.__name__} {text!r} was acknowledged"
        for text in sorted(said.gone.get(of, set()) & there.keys()):
            yield f"back: the {of.__name__} {text!r} is there again"
        for text in sorted(text for text, count in there.items() if count > 1 and text in noted):
            yield f"twice: the {of.__name__} {text!r} is there {there[text]} times"


def _all(app: App, of: type[Record]) -> Iterator[Record]:
    store = app.infrastructure.store
    for name in store.organizations():
        yield from store.find(of, everything(name))


def _against_trail(app: App, organization: str) -> Iterator[str]:
    """Yield each memory whose text is none that its last entry knows, and each entry whose memory is none."""
    store = app.infrastructure.store
    entries = store.find(Entry, everything(organization), order=["number"])
    done = [each for each in entries if each.outcome == DONE]
    reset = max((each.number for each in done if each.act == "reset"), default=0)
    last = {
        each.subject: each
        for each in done
        if each.subject_kind is Kind.MEMORY
        and (each.before or each.after or each.act == ERASE)
        # An import from another program has one entry a batch, with the digest of all its texts.
        and each.act != "import"
    }
    memories = {each.id: each for each in store.find(Memory, everything(organization))}
    for id, entry in last.items():
        memory = memories.get(id)
        # A reset has one entry for all that it removed.
        if memory is None and entry.after and entry.number > reset:
            yield f"half: entry {entry.number} of {organization} says that memory {id} has a text, and it is not there"
        elif memory is not None and entry.after and text_digest(memory.content) != entry.after:
            yield f"half: memory {id} of {organization} has another text than entry {entry.number} says"


def unproven(proofs: Iterable[Proof]) -> Iterator[str]:
    """Yield what is wrong with trails: breaks, and records that are not as they say."""
    for proof in proofs:
        name = proof.organization
        if proof.broken is not None:
            yield f"the trail of {name} breaks at entry {proof.broken.number}: {proof.broken.reason}"
        for each in proof.differences:
            yield f"{each.kind} {each.id} of {name} is not as its trail says: {each.reason}"


def _of_ledger(app: App, organization: str) -> Iterator[str]:
    ledger = app.get(Ledgers).repository(organization)
    if not ledger.is_there or (head := ledger.head()) is None:
        return
    # What a kill left before the branch moved is named by nothing, and no fault.
    command = ["git", "-C", str(ledger.path), "fsck", "--strict", "--no-dangling"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or done.stdout:
        yield f"git fsck of {ledger.path}: {done.stdout}{done.stderr}"
    in_git = {each.id for each in read_all(ledger, head) if isinstance(each, Decision)}
    in_tables = set(app.infrastructure.store.ids(Decision, everything(organization), ()))
    if in_git != in_tables:
        yield f"the tables and Git differ about {sorted(in_git ^ in_tables)} of {organization}"


def _goes_on(app: App) -> Iterator[str]:
    """Yield why the store can no longer be written, if it cannot."""
    try:
        memory = app.memories.store(PROBER, Draft(content="It goes on.", type=MemoryType.FACT))
        app.memories.delete(PROBER, memory.id)
    except Exception as error:
        yield f"nothing can be written any more: {error!r}"


def _leftovers(settings: Settings) -> Iterator[str]:
    home = settings.home
    for path in sorted(home.rglob("*")):
        is_part = PART in path.name or path.suffix == ".queue"
        is_log = path.name == f"{settings.database.name}-wal" or _is_hot(path)
        is_gits = path.suffix == ".lock" and settings.of(LedgerSettings).ledgers in path.parents
        if is_part or is_gits or (is_log and path.stat().st_size):
            yield f"left over: {path.relative_to(home)}"


def _is_hot(path: Path) -> bool:
    """Tell whether a file is a journal that would be rolled back; SQLite lets one lie that was never flushed."""
    return path.name.endswith(".db-journal") and path.read_bytes()[:8].strip(b"\0") != b""


def _held_locks(settings: Settings) -> Iterator[str]:
    database = settings.database
    for path in (database.with_name(f"{database.name}-lock"), *_locks_below(settings.claims)):
        lock = FileLock(path)
        if not lock.try_acquire():
            yield f"locked: {path.relative_to(settings.home)}"
        lock.close()
    with data_directory(settings).reserved():
        pass


def _locks_below(folder: Path) -> Iterable[Path]:
    return (each for each in sorted(folder.rglob("*.lock")) if each.is_file())
