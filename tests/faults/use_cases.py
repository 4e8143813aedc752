"""Every use case that writes, each on a data directory of its own, copied from one that holds records of every kind."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Self

import apsw

from minutebook.app import App, open_app
from minutebook.config import Settings, settings_with
from minutebook.config.models import models_of
from minutebook.config.places import data_directory
from minutebook.features.archives.archive_lines import JOURNAL, Mode
from minutebook.features.archives.archives import Archives
from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.archives.copies.restores import Restores
from minutebook.features.archives.exports.folder_exports import FolderExports
from minutebook.features.archives.exports.graph_exports import GraphExports
from minutebook.features.archives.notes.note_sync import Deletion, NoteSync
from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.code.projects import Projects
from minutebook.features.code.search import CodeSearch
from minutebook.features.encryption.encryption import encryption_of
from minutebook.features.erasure.erasing import Erasing
from minutebook.features.erasure.selection import Choice
from minutebook.features.governance.governed import GovernedMemories
from minutebook.features.importers.source_imports import SourceImports
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.search import DecisionMode as SearchMode
from minutebook.features.ledger.search import DecisionSearch
from minutebook.features.migration.migration import Migration
from minutebook.features.pages.explained import ExplainedRecall
from minutebook.features.screening.secret_scan import SecretScan
from minutebook.features.sync.machines import MachineSync
from minutebook.features.sync.remotes import FolderRemote
from minutebook.features.tidying.inbox import Inbox
from minutebook.features.tidying.looking.rounds import Rounds
from minutebook.memory.search.recall import WHAT_HOLDS
from minutebook.model import Embedding
from minutebook.record.caller import Caller
from minutebook.record.errors import NotFound
from minutebook.record.filters import MemoryQuery
from minutebook.record.listed import Direction
from minutebook.record.records import Kind, MemoryType, Record, Role
from minutebook.record.rights.grants import Grant
from minutebook.record.sources import TEXTS
from minutebook.record.writing.drafts import Draft
from minutebook.store.disk.keys import place_of
from minutebook.store.sqlite import SqliteStore
from minutebook.store.sqlite.encryption import key_id_of
from tests.features.ledger.decided import SECRET, draft
from tests.memory.test_write_acts import HOMELY, MANY, NAMED, PLACED, imported
from tests.scoped import BEARER, Given, Population
from tests.store.next_format import next_format
from tests.world import Clock, DatabaseReader, StoreReader, ready, worlds

Records = Mapping[tuple[str, Kind, str], Record]

OWNER = Caller(name="ada", role=Role.ADMIN, organization="acme", writes_system=True)


@dataclass(frozen=True)
class Ground:
    """A data directory as a use case finds it, and beside it what use cases read and write.

    `code` is a project's folder, which all copies share.
    """

    folder: Path
    given: Given
    embedding: Embedding
    store: str | None = None
    """The URL of the database where the records are on a server."""

    @property
    def home(self) -> Path:
        """The data directory."""
        return self.folder / "one"

    @property
    def settings(self) -> Settings:
        """The settings for it; every commit is flushed, as by default."""
        return settings_with(
            home=self.home,
            store=self.store,
            index_roots={"acme": (self.given.folder.parent,)},
            review_window=0.0,
            agent_memory_secret=SECRET,
            key=f"file:{self.folder / 'keys'}",
        )

    def open(self, seed: str = "step") -> App:
        """Open an app whose clock stands still, and whose ids are always the same for a seed."""
        clock = Clock()
        clock.turn(3600)
        models = replace(models_of(self.settings), embedding=self.embedding)
        return open_app(
            self.settings,
            models=models,
            clock=clock,
            randbits=Random(seed).getrandbits,
            embedding_wait=0.0,
        )

    def copied(self, folder: Path) -> Self:
        """Copy it into a folder."""
        shutil.copytree(self.folder, folder)
        # The places of keys remember what they read, also of the last copy.
        place_of.cache_clear()
        return replace(self, folder=folder)

    def records(self) -> Records:
        """Return every record but the trail's and tokens, read past what has the store open."""
        database = self.home / "minutebook.db"
        if key_id_of(database) is not None:
            with closing(SqliteStore(database, keys=place_of(self.settings.key))) as store:
                return StoreReader(store).records()
        with closing(apsw.Connection(str(database))) as connection:
            # A log that was not carried over is read by who may write alone.
            connection.pragma("user_version")
        with closing(DatabaseReader(database)) as reader:
            return reader.records()


@contextmanager
def prepared(folder: Path, store: str | None = None) -> Iterator[Ground]:
    """Fill a data directory with records of every kind; make an archive, a backup and notes of them."""
    embedding = ready()
    embedding.wait(60)
    if store is not None:
        (folder / "one").mkdir()
    with worlds(folder) as open_one:
        world = open_one(
            embedding,
            store=store,
            index_roots={"acme": (folder,)},
            review_window=0.0,
            agent_memory_secret=SECRET,
        )
        app = world.app
        app.get(ApprovalSecret).set(OWNER, SECRET)
        population = Population(world, folder, {})
        given = population.fill("own")
        app.memories.store(OWNER, Draft(content="An old one", type=MemoryType.FACT))
        app.tokens.create(OWNER, Grant(name="ci", role=Role.AGENT, organization="acme"))
        app.embeddings.backfill_batch()
    template = folder / "template"
    template.mkdir()
    (folder / "one").rename(template / "one")
    ground = Ground(template, given, embedding, store)
    with closing(ground.open("prepared")) as app:
        app.get(Archives).export_to(OWNER, JOURNAL, template / "archive.jsonl")
        app.get(NoteSync).run(OWNER, template / "notes", lambda name, label: Deletion.ASK)
        if store is None:
            app.get(store_backups).make(OWNER, template / "backup.tar")
            (template / "remote").mkdir()
            app.get(MachineSync).run(PERSON, FolderRemote(template / "remote"))
        app.get(Rounds).run(OWNER)
        app.sessions.add(OWNER, "a later session", "Mend it", "", "Done.")
        app.memories.store(OWNER, Draft(content="A later one", type=MemoryType.FACT))
    for note in (template / "notes").rglob("*.md"):
        note.write_text(note.read_text().replace("Tea", "Coffee"))
    SqliteStore(template / "old.db").close()
    yield ground


PERSON = Caller(name="ada", role=Role.ADMIN, writes_system=True)

UseCase = Callable[[App, Ground], object]
Outside = Callable[[Ground], object]


def _named(name: str) -> UseCase:
    attempt = (NAMED | PLACED | HOMELY | MANY)[name]
    return lambda app, ground: attempt(app, BEARER, ground.given)


WRITES: dict[str, UseCase] = {
    **{name: _named(name) for name in (*NAMED, *PLACED, *HOMELY, *MANY)},
    # In the table their arguments are others each time.
    "decisions.record": lambda a, g: a.get(DecisionActs).record(BEARER, draft("a new target")),
    "SourceImports.run": lambda a, g: a.get(SourceImports).run(
        BEARER, "notes", [imported(number) for number in range(3)], lambda: 1.0, dry_run=False
    ),
    "tokens.create": lambda a, g: a.tokens.create(
        OWNER, Grant(name="new", role=Role.AGENT, organization="acme")
    ),
    "tokens.revoke": lambda a, g: a.tokens.revoke(OWNER, a.tokens.list(OWNER)[0].id),
    "tokens.rotate": lambda a, g: a.tokens.rotate(OWNER, a.tokens.list(OWNER)[0].id, None),
    "secret.set": lambda a, g: a.get(ApprovalSecret).set(OWNER, "another secret", SECRET),
    "secret_scan.mask": lambda a, g: a.get(SecretScan).mask(OWNER),
    "memories.move": lambda a, g: a.memories.move(OWNER, g.given.memories[:2], "two"),
    "archives.export_to": lambda a, g: a.get(Archives).export_to(
        OWNER, JOURNAL, g.folder / "out.jsonl"
    ),
    "archives.import_from": lambda a, g: a.get(Archives).import_from(
        OWNER, g.folder / "archive.jsonl", Mode.REPLACE
    ),
    "folder_exports.notes": lambda a, g: a.get(FolderExports).notes(OWNER, g.folder / "exported"),
    "graph_exports.run": lambda a, g: a.get(GraphExports).run(OWNER, g.folder / "graph.jsonl"),
    "backups.make": lambda a, g: a.get(store_backups).make(OWNER, g.folder / "new.tar"),
    "note_sync.run": lambda a, g: a.get(NoteSync).run(
        OWNER, g.folder / "notes", lambda name, label: Deletion.ASK
    ),
    "machine_sync.run": lambda a, g: a.get(MachineSync).run(
        PERSON, FolderRemote(g.folder / "remote")
    ),
    "rebuilds.rebuild": lambda a, g: a.get(Rebuilds).rebuild(OWNER),
    "doctor.repair": lambda a, g: a.doctor.repair(OWNER),
    "rounds.run": lambda a, g: a.get(Rounds).run(OWNER),
    "inbox.apply": lambda a, g: a.get(Inbox).apply(OWNER, _first_name(a)),
    "inbox.refuse": lambda a, g: a.get(Inbox).refuse(OWNER, _first_name(a)),
    "erasing.erase": lambda a, g: _erase(a, g.given.memories[0]),
    "erasing.erase of a decision": lambda a, g: _erase(a, g.given.decision),
    "erasing.scrub": lambda a, g: a.get(Erasing).scrub(OWNER),
}
"""What writes through an app that is open."""


def _first_name(app: App) -> str:
    """Return the name of what waits first of what was suggested."""
    return app.get(Inbox).listing(OWNER, 1).suggestions[0].name


def _erase(app: App, id: str) -> object:
    """Erase a record, or end its erasure."""
    if app.get(Erasing).unfinished() is not None:
        return app.get(Erasing).resume(OWNER)
    try:
        records = app.get(Erasing).find(OWNER, Choice((id,)))
    except NotFound:
        return None
    return app.get(Erasing).erase(OWNER, records, backups=True, from_ledger=True)


def _searched(app: App) -> object:
    """Search for all that there is."""
    return (
        app.get(ExplainedRecall).recall(OWNER, QUERY, 10, TEXTS, WHAT_HOLDS),
        app.get(DecisionSearch).search(OWNER, QUERY, SearchMode.AUDIT, 10),
        app.journal_search.turns(OWNER, QUERY, 10),
        app.journal_search.summaries(OWNER, QUERY, 10),
        app.get(CodeSearch).search(OWNER, "brew", 10),
        list(app.filtered_search.rank_all(OWNER, QUERY, MemoryQuery())),
    )


QUERY = "tea at five near a thing"
DOCTOR = "doctor.examine"

READS: dict[str, UseCase] = {
    "searches": lambda a, g: _searched(a),
    "governed.search": lambda a, g: a.get(GovernedMemories).search(OWNER, QUERY, None, 10),
    "entities.related": lambda a, g: a.entities.related(
        OWNER, g.given.entities[0], 3, Direction.BOTH
    ),
    "memories.page": lambda a, g: a.memories.page(OWNER, 10, 0),
    "memories.history": lambda a, g: a.memories.history(
        OWNER, a.memories.read(OWNER, g.given.memories[0])
    ),
    "decisions.everything": lambda a, g: a.get(DecisionActs).everything(OWNER),
    "proposals.pending": lambda a, g: a.get(Proposals).pending(OWNER),
    "sessions.all": lambda a, g: (
        a.sessions.all(OWNER),
        a.sessions.page(OWNER, g.given.session, 10, 0),
    ),
    "projects.all": lambda a, g: a.get(Projects).indexed(OWNER),
    "tokens.list": lambda a, g: a.tokens.list(OWNER),
    "trail.entries": lambda a, g: a.trail.entries(OWNER),
    "proving.prove": lambda a, g: a.get(TrailProving).prove(OWNER),
    "overview": lambda a, g: (
        a.overview.counts(OWNER, Kind),
        a.overview.to_embed(OWNER),
        a.overview.token_states(OWNER),
    ),
    DOCTOR: lambda a, g: a.doctor.examine(),
    "secret_scan.scan": lambda a, g: list(a.get(SecretScan).scan(OWNER)),
    "inbox.listing": lambda a, g: a.get(Inbox).listing(OWNER, 10),
    "erasing.find": lambda a, g: a.get(Erasing).find(OWNER, Choice(query="tea")),
}
"""What only reads: it gives the right answer, or an error, after which the next one is right."""

IN_PARTS = {
    "Projects.index",
    "Projects.delete",
    "Projects.forget",
    "SourceImports.run",
    "summaries.summarize_all",
    "overview.reset",
    "note_sync.run",
    "machine_sync.run",
    "secret_scan.mask",
}
"""What takes several transactions, each whole: one that is cut short goes on the next time."""


def _opened(ground: Ground) -> None:
    ground.open().close()


def _begun(ground: Ground) -> None:
    replace(ground, folder=ground.folder / "begun").open().close()


def _brought_up(ground: Ground) -> None:
    with next_format():
        SqliteStore(ground.folder / "old.db").close()


def _restored(ground: Ground) -> None:
    Restores(data_directory(ground.settings)).run(
        OWNER, ground.folder / "backup.tar", datetime.now(UTC)
    )


def _moved(ground: Ground) -> None:
    with (
        closing(SqliteStore(ground.home / "minutebook.db")) as source,
        closing(SqliteStore(ground.folder / "moved.db", receives=True)) as target,
    ):
        Migration(source, target, Clock()).run(lambda part, what: None)


def _encrypted(ground: Ground) -> None:
    encryption_of(ground.settings).encrypt()


def _rekeyed(ground: Ground) -> None:
    encryption_of(ground.settings).encrypt(with_new_key=True)


def _decrypted(ground: Ground) -> None:
    encryption_of(ground.settings).decrypt()


OUTSIDE: dict[str, Outside] = {
    "open": _opened,
    "begin": _begun,
    "upgrade": _brought_up,
    "restore": _restored,
    "migrate": _moved,
    "encrypt": _encrypted,
    "rekey": _rekeyed,
    "decrypt": _decrypted,
}
"""What opens stores itself."""

BEFORE: dict[str, Outside] = {"rekey": _encrypted, "decrypt": _encrypted}
"""What is done first, without a fault."""

IN_A_FILE = {"backups.make", "machine_sync.run"}
"""What is for stores in a file alone."""
