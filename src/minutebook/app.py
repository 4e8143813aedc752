"""The composition root: gives the services their collaborators."""

import getpass
import secrets
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from minutebook.config import Settings
from minutebook.disk.filelock import FileLock
from minutebook.domain.caller import ANYBODY
from minutebook.domain.filters import default_organization
from minutebook.domain.ids import RandomBits
from minutebook.domain.policy import Policy, Rules, rules_of
from minutebook.domain.roots import Roots
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
from minutebook.services.knowledge.surroundings import Surroundings
from minutebook.services.knowledge.writing import MemoryWriter
from minutebook.services.ledger.approval_secret import Secret
from minutebook.services.ledger.decisions import Decisions
from minutebook.services.ledger.locator import LedgerFolders
from minutebook.services.ledger.proposals import Proposals
from minutebook.services.ledger.rebuilding import Rebuilds
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
from minutebook.services.search.explained import ExplainedRecall
from minutebook.services.search.filtered import FilteredSearch
from minutebook.services.search.governed import GovernedMemories
from minutebook.services.search.recall import Recall
from minutebook.services.search.sessions import JournalSearch
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Tended
from minutebook.store.sqlite import damage
from minutebook.stores import locks_of, open_store


def now() -> datetime:
    """Return the present instant, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """What the services of an app stand on: what is open, who may what, chance and time."""

    presence: FileLock
    locks: NamedLocks
    store: Tended
    models: Models
    embeddings: Embeddings
    trail: Trail
    tokens: Tokens
    clock: Clock
    randbits: RandomBits


class App:
    """The services on one open store, each given the collaborators that it needs.

    `infrastructure` is theirs alone. Nothing is opened or asked to make one.
    """

    def __init__(self, settings: Settings, infrastructure: Infrastructure) -> None:
        self.infrastructure = infrastructure
        store, embeddings = infrastructure.store, infrastructure.embeddings
        trail, locks, models = infrastructure.trail, infrastructure.locks, infrastructure.models
        clock, randbits, stop = infrastructure.clock, infrastructure.randbits, threading.Event()
        home = default_organization(settings.caller())
        self.embedding = models.embedding
        self.embeddings, self.trail, self.clock = embeddings, trail, clock
        self.tokens, self.include_decisions = infrastructure.tokens, settings.include_decisions
        self.rules = rules = rules_for(settings, self.tokens)

        mentions, supersession = Mentions(store, clock), Supersession(store, clock)
        writer = MemoryWriter(store, embeddings, trail, mentions)
        self.links = Links(store, trail, clock, rules)
        self.similar = SimilarMemories(store, embeddings, clock)
        self.memories = Memories(
            store, writer, trail, supersession, self.links, clock, randbits, rules, self.similar
        )
        self.status = StatusChanges(store, writer, trail, clock, rules)
        self.entities = Entities(store, trail, mentions, clock, randbits)
        self.browsing, self.id_lookup = Browsing(store), IdLookup(store)
        self.surroundings = Surroundings(store)

        self.ledgers = Ledgers(store, trail, embeddings, locks, repos_of(settings), clock, randbits)
        self.rebuilds = Rebuilds(self.ledgers, trail, embeddings)
        decision_writer = DecisionWriter(store, self.ledgers, embeddings, trail)
        self.secret = Secret(settings.secret, locks, trail, clock, settings.agent_memory_secret)
        self.decisions = Decisions(store, decision_writer, trail, clock, randbits)
        secret, window = self.secret, timedelta(seconds=settings.review_window)
        self.proposals = Proposals(store, decision_writer, trail, secret, clock, randbits, window)

        roots = Roots(settings.index_roots, home)
        self.projects = Projects(store, embeddings, trail, locks, roots, clock, randbits)
        self.watching = Watching(self.projects, locks, stop)
        self.sessions = Sessions(store, embeddings, trail, clock)
        self.summaries = Summaries(
            store, embeddings, trail, locks, self.sessions, models.summarizer, clock
        )

        self.decision_search = DecisionSearch(store, embeddings, self.ledgers)
        self.recall = Recall(store, embeddings, clock, self.decision_search)
        self.explained = ExplainedRecall(store, self.recall)
        self.code_search = CodeSearch(store, embeddings)
        self.combined = CombinedRecall(self.recall, self.code_search)
        self.filtered_search = FilteredSearch(store, embeddings, clock)
        self.governed = GovernedMemories(self.memories, self.filtered_search, trail)
        self.journal_search = JournalSearch(store, embeddings)

        paths = ArchivePaths(settings.backups, Roots(settings.archive_roots, home))
        self.archives = Archives(
            store, trail, embeddings, mentions, self.rebuilds, paths, clock, rules
        )
        self.backups = Backups(data_directory(settings), store, trail, clock)
        self.database = Database(store, embeddings, embeddings.notify)
        self.doctor = Doctor(store, trail, models.embedding, mentions, self.ledgers)
        self.overview = Overview(store, trail, supersession, self.projects, rules, embeddings)
        self.background = BackgroundWork(
            models.embedding, embeddings, self.ledgers, self.projects, stop
        )

    def start(self) -> None:
        """Load the model and begin the work in the background."""
        self.background.start()

    def close(self) -> None:
        """Stop background work and close the store."""
        self.background.stop()
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


def data_directory(settings: Settings) -> DataDirectory:
    """Return the data directory of these settings, with what in it can be made again."""
    archives = Roots(settings.archive_roots, default_organization(settings.caller())).all()
    derived = (settings.models, *(archives or (settings.backups,)))
    return DataDirectory(
        settings.database,
        settings.claims,
        (settings.server_index, *derived),
        is_on_server=settings.store is not None,
    )


def damage_of(settings: Settings) -> list[Finding]:
    """Return what is lost of a damaged or lost file of a store, and which backups bring it back."""
    if settings.store is not None:
        return []
    backups = known_backups(data_directory(settings))
    return of_damage(damage.losses(settings.database), backups)


def rules_for(settings: Settings, tokens: Tokens) -> Rules:
    """Return a function that tells how strict the store is now, which changes with its tokens."""

    def rules() -> Policy:
        return rules_of(settings.policy, is_shared=tokens.is_shared())

    return rules


def repos_of(settings: Settings) -> LedgerFolders:
    """Tell where the ledgers are that these settings name."""
    home = default_organization(settings.caller())
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        # A process of a user whom the system has no name for.
        user = ANYBODY
    return LedgerFolders(settings.ledgers, home, settings.ledger, settings.durability, user)
