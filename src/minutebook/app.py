"""The composition root: gives the services their collaborators."""

import getpass
import secrets
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from minutebook.config import Settings
from minutebook.disk.filelock import FileLock
from minutebook.domain.caller import ANYBODY
from minutebook.domain.filters import default_organization
from minutebook.domain.ids import RandomBits
from minutebook.domain.policy import Policy, Rules, rules_of
from minutebook.domain.roots import Roots
from minutebook.embedding import Embedding
from minutebook.models import Models, models_of
from minutebook.services.access.audit import Trail
from minutebook.services.access.tokens import Tokens
from minutebook.services.access.visibility import Clock
from minutebook.services.background import BackgroundWork
from minutebook.services.code.projects import Projects
from minutebook.services.code.watching import Watching
from minutebook.services.embeddings import Embeddings
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
from minutebook.services.knowledge.writing import MemoryWriter
from minutebook.services.ledger.approval_secret import Secret
from minutebook.services.ledger.decisions import Decisions
from minutebook.services.ledger.places import LedgerPlace
from minutebook.services.ledger.proposals import Proposals
from minutebook.services.ledger.recording import DecisionWriter
from minutebook.services.ledger.repositories import Ledgers
from minutebook.services.maintenance.archive_paths import ArchivePaths
from minutebook.services.maintenance.archives import Archives
from minutebook.services.maintenance.backups import Backups, known_backups
from minutebook.services.maintenance.data_directory import DataDirectory
from minutebook.services.maintenance.database import Database
from minutebook.services.maintenance.doctor import Doctor, Finding, of_damage
from minutebook.services.maintenance.overview import Overview
from minutebook.services.search.code import CodeSearch
from minutebook.services.search.combined import CombinedRecall
from minutebook.services.search.decisions import DecisionSearch
from minutebook.services.search.filtered import FilteredSearch
from minutebook.services.search.governed import GovernedMemories
from minutebook.services.search.recall import Recall
from minutebook.services.search.sessions import JournalSearch
from minutebook.store.named_locks import NamedLocks
from minutebook.store.sqlite import SqliteStore, damage, missing_database


def now() -> datetime:
    """Give the present instant, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """What the services of an app stand on: what is open, who may what, chance and time."""

    presence: FileLock
    locks: NamedLocks
    store: SqliteStore
    models: Models
    embeddings: Embeddings
    trail: Trail
    tokens: Tokens
    clock: Clock
    randbits: RandomBits


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """The services on one open store; `infrastructure` is theirs alone."""

    embedding: Embedding
    embeddings: Embeddings
    trail: Trail
    memories: Memories
    similar: SimilarMemories
    status: StatusChanges
    links: Links
    entities: Entities
    recall: Recall
    combined: CombinedRecall
    filtered_search: FilteredSearch
    governed: GovernedMemories
    overview: Overview
    projects: Projects
    watching: Watching
    code_search: CodeSearch
    browsing: Browsing
    id_lookup: IdLookup
    ledgers: Ledgers
    decisions: Decisions
    proposals: Proposals
    decision_search: DecisionSearch
    secret: Secret
    tokens: Tokens
    database: Database
    archives: Archives
    backups: Backups
    doctor: Doctor
    sessions: Sessions
    summaries: Summaries
    journal_search: JournalSearch
    include_decisions: bool
    rules: Rules
    clock: Clock
    background: BackgroundWork
    infrastructure: Infrastructure

    def start(self) -> None:
        """Load the model and begin the work in the background."""
        self.background.start()

    def close(self) -> None:
        """Stop background work and close the store."""
        self.background.stop()
        self.infrastructure.store.close()
        self.infrastructure.presence.close()


def open_store(settings: Settings) -> SqliteStore:
    """Open the store in the data directory of these settings; make it if it is missing.

    Raises StoreError if the file cannot be opened as a store of this version.
    """
    return SqliteStore(
        settings.database,
        durability=settings.durability,
        writer_wait=settings.writer_wait,
        beside=_beside(settings),
    )


def check_not_lost(settings: Settings) -> None:
    """Raise StoreLost if there is no database, or an empty one, where a store was kept."""
    missing_database.check_not_lost(settings.database, _beside(settings))


def _beside(settings: Settings) -> tuple[Path, ...]:
    """Return what is in a data directory only if there was a store."""
    return settings.ledgers, settings.secret


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
    locks = NamedLocks(settings.claims)
    with ExitStack() as opened:
        presence = opened.enter_context(closing(data_directory(settings).use()))
        store = opened.enter_context(closing(open_store(settings)))
        trail = Trail(store, clock)
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
        app = build(settings, infrastructure)
        app.secret.pin(settings.caller())
        opened.pop_all()
    return app


def build(settings: Settings, infrastructure: Infrastructure) -> App:
    """Give each service the collaborators that it needs; nothing is opened or asked."""
    store, embeddings, locks = infrastructure.store, infrastructure.embeddings, infrastructure.locks
    trail, tokens = infrastructure.trail, infrastructure.tokens
    clock, randbits, stop = infrastructure.clock, infrastructure.randbits, threading.Event()
    models, rules = infrastructure.models, rules_for(settings, tokens)
    mentions, supersession = Mentions(store, clock), Supersession(store, clock)
    writer = MemoryWriter(store, embeddings, trail, mentions)
    links, similar = Links(store, trail, clock, rules), SimilarMemories(store, embeddings, clock)
    memories = Memories(store, writer, trail, supersession, links, clock, randbits, rules, similar)
    filtered_search = FilteredSearch(store, embeddings, clock)
    ledgers = Ledgers(store, trail, embeddings, locks, place_of(settings), clock, randbits)
    decision_writer = DecisionWriter(store, ledgers, embeddings, trail)
    secret = Secret(settings.secret, locks, trail, clock, settings.agent_memory_secret)
    decision_search = DecisionSearch(store, embeddings, ledgers)
    recall = Recall(store, embeddings, clock, decision_search)
    code_search = CodeSearch(store, embeddings)
    home = default_organization(settings.caller())
    roots, window = Roots(settings.index_roots, home), timedelta(seconds=settings.review_window)
    projects = Projects(store, embeddings, trail, locks, roots, clock, randbits)
    paths = ArchivePaths(settings.backups, Roots(settings.archive_roots, home))
    sessions = Sessions(store, embeddings, trail, clock)
    return App(
        embedding=models.embedding,
        embeddings=embeddings,
        trail=trail,
        memories=memories,
        similar=similar,
        status=StatusChanges(store, writer, trail, clock, rules),
        links=links,
        entities=Entities(store, trail, mentions, clock, randbits),
        recall=recall,
        combined=CombinedRecall(recall, code_search),
        filtered_search=filtered_search,
        governed=GovernedMemories(memories, filtered_search, trail),
        browsing=Browsing(store),
        id_lookup=IdLookup(store),
        ledgers=ledgers,
        decisions=Decisions(store, decision_writer, trail, clock, randbits),
        proposals=Proposals(store, decision_writer, trail, secret, clock, randbits, window),
        decision_search=decision_search,
        include_decisions=settings.include_decisions,
        secret=secret,
        tokens=tokens,
        database=Database(store, embeddings, embeddings.notify),
        archives=Archives(store, trail, embeddings, mentions, ledgers, paths, clock, rules),
        backups=Backups(data_directory(settings), store, trail, clock),
        doctor=Doctor(store, trail, models.embedding, mentions, ledgers),
        sessions=sessions,
        summaries=Summaries(store, embeddings, trail, locks, sessions, models.summarizer, clock),
        journal_search=JournalSearch(store, embeddings),
        overview=Overview(store, trail, supersession, projects, rules, embeddings),
        rules=rules,
        projects=projects,
        watching=Watching(projects, locks, stop),
        code_search=code_search,
        clock=clock,
        background=BackgroundWork(models.embedding, embeddings, ledgers, projects, stop),
        infrastructure=infrastructure,
    )


def data_directory(settings: Settings) -> DataDirectory:
    """Return the data directory of these settings, with what in it can be made again."""
    archives = Roots(settings.archive_roots, default_organization(settings.caller())).all()
    passing = (settings.models, *(archives or (settings.backups,)))
    return DataDirectory(settings.database, settings.claims, passing)


def damage_of(settings: Settings) -> list[Finding]:
    """Return what is lost of a damaged or lost database, and which backups bring it back."""
    backups = known_backups(data_directory(settings))
    return of_damage(damage.losses(settings.database), backups)


def rules_for(settings: Settings, tokens: Tokens) -> Rules:
    """Give what tells how strictly the store is kept: asked anew each time, as tokens are made."""

    def rules() -> Policy:
        return rules_of(settings.policy, is_shared=tokens.is_shared())

    return rules


def place_of(settings: Settings) -> LedgerPlace:
    """Tell where the ledgers are that these settings name."""
    home = default_organization(settings.caller())
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # A process of a user whom the system has no name for.
        user = ANYBODY
    return LedgerPlace(settings.ledgers, home, settings.ledger, settings.durability, user)
