"""The composition root: gives the services their collaborators.

A command composes the services that it uses and imports no others, for most of what a short one
costs is imports; a server composes all of them before its first call (`App.start`).
"""

import secrets
import threading
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from minutebook.composing import Infrastructure, service
from minutebook.config import Settings
from minutebook.domain.filters import default_organization
from minutebook.domain.ids import RandomBits
from minutebook.domain.policy import Rules, rules_of
from minutebook.domain.roots import Roots
from minutebook.models import Models, models_of
from minutebook.places import data_directory, repos_of, schedule_of, secret_place_of
from minutebook.services.access.audit import Trail
from minutebook.services.access.tokens import Tokens
from minutebook.services.access.visibility import Clock
from minutebook.services.embeddings import Embeddings
from minutebook.services.screening import Screening
from minutebook.stores import locks_of, open_store

if TYPE_CHECKING:
    from minutebook.services.access.recall_log import RecallLog
    from minutebook.services.background import BackgroundWork
    from minutebook.services.code.projects import Projects
    from minutebook.services.code.reading import CodeReading
    from minutebook.services.code.watching import Watching
    from minutebook.services.journal.sessions import Sessions
    from minutebook.services.journal.summaries import Summaries
    from minutebook.services.knowledge.browsing import Browsing
    from minutebook.services.knowledge.entities import Entities
    from minutebook.services.knowledge.id_lookup import IdLookup
    from minutebook.services.knowledge.links import Links
    from minutebook.services.knowledge.memories import Memories
    from minutebook.services.knowledge.mentions import Mentions
    from minutebook.services.knowledge.similar import SimilarMemories
    from minutebook.services.knowledge.status import StatusChanges
    from minutebook.services.knowledge.supersession import Supersession
    from minutebook.services.knowledge.surroundings import Surroundings
    from minutebook.services.knowledge.timeline import Timeline
    from minutebook.services.knowledge.writing import MemoryWriter
    from minutebook.services.ledger.approval_secret import Secret
    from minutebook.services.ledger.decisions import Decisions
    from minutebook.services.ledger.proposals import Proposals
    from minutebook.services.ledger.rebuilding import Rebuilds
    from minutebook.services.ledger.recording import DecisionWriter
    from minutebook.services.ledger.repositories import Ledgers
    from minutebook.services.maintenance.archives import Archives
    from minutebook.services.maintenance.backups import Backups
    from minutebook.services.maintenance.database import Database
    from minutebook.services.maintenance.doctor import Doctor
    from minutebook.services.maintenance.folder_exports import FolderExports
    from minutebook.services.maintenance.graph_exports import GraphExports
    from minutebook.services.maintenance.overview import Overview
    from minutebook.services.maintenance.scheduled_backups import ScheduledBackups
    from minutebook.services.maintenance.secret_scan import SecretScan
    from minutebook.services.maintenance.source_imports import SourceImports
    from minutebook.services.search.code import CodeSearch
    from minutebook.services.search.combined import CombinedRecall
    from minutebook.services.search.decisions import DecisionSearch
    from minutebook.services.search.explained import ExplainedRecall
    from minutebook.services.search.filtered import FilteredSearch
    from minutebook.services.search.governed import GovernedMemories
    from minutebook.services.search.recall import Recall
    from minutebook.services.search.sessions import JournalSearch
    from minutebook.services.search.viewpoints import Viewpoints


def now() -> datetime:
    """Return the present instant, in UTC."""
    return datetime.now(UTC)


class App:
    """The services on one open store, each given the collaborators that it needs.

    `infrastructure` is theirs alone. Nothing is opened or asked to make one.
    """

    def __init__(self, settings: Settings, infrastructure: Infrastructure) -> None:
        self.infrastructure = infrastructure
        self.embedding, self.embeddings = infrastructure.models.embedding, infrastructure.embeddings
        self.trail, self.tokens = infrastructure.trail, infrastructure.tokens
        self.screening = Screening(settings.redact)
        self.clock = infrastructure.clock
        self.include_decisions = settings.include_decisions
        # How strict the store is changes with its tokens.
        self.rules: Rules = lambda: rules_of(settings.policy, is_shared=self.tokens.is_shared())
        self.composing = threading.RLock()
        self._settings = settings
        self._store, self._locks = infrastructure.store, infrastructure.locks
        self._randbits = infrastructure.randbits
        self._home = default_organization(settings.caller())
        self._stop = threading.Event()

    @service
    def mentions(self) -> "Mentions":
        """Find the entities that a text names."""
        from minutebook.services.knowledge.mentions import Mentions

        return Mentions(self._store, self.clock)

    @service
    def supersession(self) -> "Supersession":
        """Settle which memory follows which."""
        from minutebook.services.knowledge.supersession import Supersession

        return Supersession(self._store, self.clock)

    @service
    def _writer(self) -> "MemoryWriter":
        from minutebook.services.knowledge.writing import MemoryWriter

        return MemoryWriter(self._store, self.embeddings, self.trail, self.screening, self.mentions)

    @service
    def recalls(self) -> "RecallLog":
        """Note what questions got, and tell it."""
        from minutebook.services.access.recall_log import RecallLog

        settings = self._settings
        return RecallLog(
            self._store,
            self.clock,
            self._randbits,
            self.screening.captured,
            settings.recall_log,
            settings.recall_log_days,
            settings.recall_log_most,
        )

    @service
    def links(self) -> "Links":
        """Link memories."""
        from minutebook.services.knowledge.links import Links

        return Links(self._store, self.trail, self.screening, self.clock, self.rules)

    @service
    def similar(self) -> "SimilarMemories":
        """Find memories that say the same."""
        from minutebook.services.knowledge.similar import SimilarMemories

        return SimilarMemories(self._store, self.embeddings, self.clock)

    @service
    def memories(self) -> "Memories":
        """Write, change and read memories."""
        from minutebook.services.knowledge.memories import Memories

        return Memories(
            self._store,
            self._writer,
            self.trail,
            self.supersession,
            self.links,
            self.clock,
            self._randbits,
            self.rules,
            self.similar,
        )

    @service
    def status(self) -> "StatusChanges":
        """Lock, verify and deprecate memories."""
        from minutebook.services.knowledge.status import StatusChanges

        return StatusChanges(self._store, self._writer, self.trail, self.clock, self.rules)

    @service
    def entities(self) -> "Entities":
        """Keep entities and their relations."""
        from minutebook.services.knowledge.entities import Entities

        return Entities(
            self._store, self.trail, self.screening, self.mentions, self.clock, self._randbits
        )

    @service
    def browsing(self) -> "Browsing":
        """Read what belongs to a memory."""
        from minutebook.services.knowledge.browsing import Browsing

        return Browsing(self._store)

    @service
    def id_lookup(self) -> "IdLookup":
        """Find records by a part of their id."""
        from minutebook.services.knowledge.id_lookup import IdLookup

        return IdLookup(self._store)

    @service
    def surroundings(self) -> "Surroundings":
        """Read what surrounds a memory."""
        from minutebook.services.knowledge.surroundings import Surroundings

        return Surroundings(self._store)

    @service
    def timeline(self) -> "Timeline":
        """Read what was known and true at an instant, and what changed since."""
        from minutebook.services.knowledge.timeline import Timeline

        return Timeline(self._store)

    @service
    def ledgers(self) -> "Ledgers":
        """Keep decisions in Git."""
        from minutebook.services.ledger.repositories import Ledgers

        return Ledgers(
            self._store,
            self.trail,
            self.embeddings,
            self._locks,
            repos_of(self._settings),
            self.infrastructure.store.shared_values,
            self.clock,
            self._randbits,
        )

    @service
    def rebuilds(self) -> "Rebuilds":
        """Bring tables and Git together again."""
        from minutebook.services.ledger.rebuilding import Rebuilds

        return Rebuilds(self.ledgers, self.trail, self.embeddings)

    @service
    def _decision_writer(self) -> "DecisionWriter":
        from minutebook.services.ledger.recording import DecisionWriter

        return DecisionWriter(
            self._store, self.ledgers, self.embeddings, self.trail, self.screening
        )

    @service
    def secret(self) -> "Secret":
        """Keep the secret that accepts proposals."""
        from minutebook.services.ledger.approval_secret import Secret

        return Secret(
            secret_place_of(self._settings, self.infrastructure.store),
            self._locks,
            self.trail,
            self.clock,
            self._settings.agent_memory_secret,
        )

    @service
    def decisions(self) -> "Decisions":
        """Record decisions."""
        from minutebook.services.ledger.decisions import Decisions

        return Decisions(self._store, self._decision_writer, self.trail, self.clock, self._randbits)

    @service
    def proposals(self) -> "Proposals":
        """Take and settle proposals."""
        from minutebook.services.ledger.proposals import Proposals

        return Proposals(
            self._store,
            self._decision_writer,
            self.trail,
            self.secret,
            self.clock,
            self._randbits,
            timedelta(seconds=self._settings.review_window),
        )

    @service
    def projects(self) -> "Projects":
        """Index code."""
        from minutebook.services.code.projects import Projects

        return Projects(
            self._store,
            self.embeddings,
            self.trail,
            self.screening,
            self._locks,
            Roots(self._settings.index_roots, self._home),
            self.clock,
            self._randbits,
        )

    @service
    def code_reading(self) -> "CodeReading":
        """Read what the index of code holds."""
        from minutebook.services.code.reading import CodeReading

        return CodeReading(self._store, self.projects)

    @service
    def watching(self) -> "Watching":
        """Index again what changes."""
        from minutebook.services.code.watching import Watching

        return Watching(self.projects, self._locks, self._stop)

    @service
    def sessions(self) -> "Sessions":
        """Keep the turns of sessions."""
        from minutebook.services.journal.sessions import Sessions

        return Sessions(self._store, self.embeddings, self.trail, self.screening, self.clock)

    @service
    def summaries(self) -> "Summaries":
        """Summarize sessions."""
        from minutebook.services.journal.summaries import Summaries

        return Summaries(
            self._store,
            self.embeddings,
            self.trail,
            self.screening,
            self._locks,
            self.sessions,
            self.infrastructure.models.summarizer,
            self.clock,
        )

    @service
    def decision_search(self) -> "DecisionSearch":
        """Search decisions."""
        from minutebook.services.search.decisions import DecisionSearch

        return DecisionSearch(self._store, self.embeddings, self.ledgers)

    @service
    def recall(self) -> "Recall":
        """Search memories and decisions."""
        from minutebook.services.search.recall import Recall

        return Recall(self._store, self.embeddings, self.clock, self.decision_search)

    @service
    def explained(self) -> "ExplainedRecall":
        """Search them, and show why each was found."""
        from minutebook.services.search.explained import ExplainedRecall

        return ExplainedRecall(self._store, self.recall)

    @service
    def viewpoints(self) -> "Viewpoints":
        """Search as another caller does, and tell what is left out."""
        from minutebook.services.search.viewpoints import Viewpoints

        return Viewpoints(
            self._store,
            self.embeddings,
            self.explained,
            self.decision_search,
            self.trail,
            self.clock,
        )

    @service
    def code_search(self) -> "CodeSearch":
        """Search code."""
        from minutebook.services.search.code import CodeSearch

        return CodeSearch(self._store, self.embeddings)

    @service
    def combined(self) -> "CombinedRecall":
        """Search memories, decisions and code together."""
        from minutebook.services.search.combined import CombinedRecall

        return CombinedRecall(self.recall, self.code_search)

    @service
    def filtered_search(self) -> "FilteredSearch":
        """Search memories that meet conditions."""
        from minutebook.services.search.filtered import FilteredSearch

        return FilteredSearch(self._store, self.embeddings, self.clock)

    @service
    def governed(self) -> "GovernedMemories":
        """Search for the governance contract, audited."""
        from minutebook.services.search.governed import GovernedMemories

        return GovernedMemories(self.memories, self.filtered_search, self.trail)

    @service
    def journal_search(self) -> "JournalSearch":
        """Search sessions."""
        from minutebook.services.search.sessions import JournalSearch

        return JournalSearch(self._store, self.embeddings)

    @service
    def archives(self) -> "Archives":
        """Export and import."""
        from minutebook.services.maintenance.archive_paths import ArchivePaths
        from minutebook.services.maintenance.archives import Archives

        return Archives(
            self._store,
            self.trail,
            self.embeddings,
            self.mentions,
            self.screening,
            self.rebuilds,
            ArchivePaths(self._settings.backups, Roots(self._settings.archive_roots, self._home)),
            self.clock,
            self.rules,
        )

    @service
    def secret_scan(self) -> "SecretScan":
        """Find and replace the secrets that are kept."""
        from minutebook.services.maintenance.secret_scan import SecretScan

        return SecretScan(
            self._store,
            self.trail,
            self.embeddings,
            self.mentions,
            self.clock,
            self.rules,
        )

    @service
    def source_imports(self) -> "SourceImports":
        """Import what other programs kept."""
        from minutebook.services.maintenance.source_imports import SourceImports

        return SourceImports(
            self._store,
            self.trail,
            self.embeddings,
            self._writer,
            self.screening,
            self.mentions,
            self.clock,
            self.rules,
        )

    @service
    def folder_exports(self) -> "FolderExports":
        """Export notes, or tables, into a folder."""
        from minutebook.services.maintenance.folder_exports import FolderExports

        return FolderExports(self._store, self.trail)

    @service
    def graph_exports(self) -> "GraphExports":
        """Export entities as the reference memory server keeps them."""
        from minutebook.services.maintenance.graph_exports import GraphExports

        return GraphExports(self._store, self.trail, self.clock)

    @service
    def backups(self) -> "Backups":
        """Copy the store and the ledgers."""
        from minutebook.services.maintenance.backups import Backups

        return Backups(data_directory(self._settings), self._store, self.trail, self.clock)

    @service
    def scheduled_backups(self) -> "ScheduledBackups":
        """Copy them by a schedule."""
        from minutebook.services.maintenance.restores import check_restorable
        from minutebook.services.maintenance.scheduled_backups import ScheduledBackups

        return ScheduledBackups(
            self.backups,
            check_restorable,
            schedule_of(self._settings),
            self._settings.home,
            self._locks,
            self.clock,
        )

    @service
    def database(self) -> "Database":
        """Stop and start the engine."""
        from minutebook.services.maintenance.database import Database

        return Database(self._store, self.embeddings, self.embeddings.notify)

    @service
    def doctor(self) -> "Doctor":
        """Check the store, and repair it."""
        from minutebook.services.maintenance.doctor import Doctor

        return Doctor(
            self._store,
            self.trail,
            self.embedding,
            self.mentions,
            self.ledgers,
            self.scheduled_backups,
            self.secret,
        )

    @service
    def overview(self) -> "Overview":
        """Count what is in the store."""
        from minutebook.services.maintenance.overview import Overview

        return Overview(
            self._store,
            self.trail,
            self.supersession,
            lambda: self.projects,
            lambda: self.recalls,
            self.rules,
            self.embeddings,
        )

    @service
    def background(self) -> "BackgroundWork":
        """Work without being asked."""
        from minutebook.services.background import BackgroundWork

        return BackgroundWork(
            self.embedding,
            self.embeddings,
            self.ledgers,
            self.projects,
            self.scheduled_backups,
            self._settings.caller(),
            self._stop,
        )

    def start(self) -> None:
        """Compose every service, load the model and begin the work in the background."""
        for name, each in vars(App).items():
            if isinstance(each, service):
                getattr(self, name)
        self.background.start()

    def close(self) -> None:
        """Have the work in the background end soon, and close the store."""
        self._stop.set()
        self.embeddings.notify()
        with self.composing:
            if "recalls" in vars(self):
                self.recalls.close()
        self.infrastructure.store.close()
        self.infrastructure.presence.close()


def open_app(
    settings: Settings,
    *,
    models: Models | None = None,
    clock: Clock = now,
    randbits: RandomBits = secrets.randbits,
) -> App:
    """Open the store of these settings, made if it is missing, and build the app on it.

    Raises StoreError if the store cannot be opened, InvalidInput if settings do not fit together. A
    failure leaves nothing open. A start by an admin pins the first secret.
    """
    models = models or models_of(settings)
    with ExitStack() as opened:
        presence = opened.enter_context(closing(data_directory(settings).use()))
        store = opened.enter_context(closing(open_store(settings)))
        trail = Trail(store, clock)
        locks = locks_of(settings, store)
        infrastructure = Infrastructure(
            presence=presence,
            locks=locks,
            store=store,
            models=models,
            embeddings=Embeddings(
                store,
                models.embedding,
                settings.embedding_wait,
                locks,
                keeps_states=settings.token_states,
            ),
            trail=trail,
            tokens=Tokens(store, trail, clock, randbits, trusts_issuer=settings.trusts_issuer),
            clock=clock,
            randbits=randbits,
        )
        app = App(settings, infrastructure)
        app.secret.pin(settings.caller())
        opened.pop_all()
    return app
