"""The composition root: gives the services their collaborators."""

import getpass
import logging
import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from minutebook.config import Settings
from minutebook.domain.errors import (
    EmbeddingError,
    InvalidInput,
    ModelUnavailable,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
)
from minutebook.domain.filters import default_organization
from minutebook.domain.ids import RandomBits
from minutebook.domain.policy import ANYBODY, Policy, Rules, rules_of
from minutebook.domain.roots import Roots
from minutebook.embedding import Embedder, Embedding, Model, builtin
from minutebook.embedding.completion import Completion
from minutebook.embedding.endpoint import Endpoint, open_endpoint
from minutebook.embedding.local_model import FolderEmbedder
from minutebook.services.access.audit import Trail
from minutebook.services.access.tokens import Tokens
from minutebook.services.access.visibility import Clock
from minutebook.services.code.projects import Projects, stopping
from minutebook.services.code.watching import Watching
from minutebook.services.embeddings import Embeddings
from minutebook.services.journal.sessions import Sessions
from minutebook.services.journal.summaries import Summaries
from minutebook.services.journal.summarizers import Summarizer
from minutebook.services.knowledge.browsing import Browsing
from minutebook.services.knowledge.entities import Graph
from minutebook.services.knowledge.id_lookup import IdLookup
from minutebook.services.knowledge.links import Links
from minutebook.services.knowledge.memories import Memories
from minutebook.services.knowledge.mentions import Mentions
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
from minutebook.services.maintenance.backups import known_backups
from minutebook.services.maintenance.data_directory import ASIDE, DataDirectory
from minutebook.services.maintenance.database import Database
from minutebook.services.maintenance.doctor import Finding, of_damage
from minutebook.services.maintenance.model_preparation import BuiltInModel
from minutebook.services.maintenance.overview import Overview
from minutebook.services.maintenance.restores import Restores
from minutebook.services.search.code import CodeSearch
from minutebook.services.search.decisions import DecisionSearch
from minutebook.services.search.filtered import FilteredSearch
from minutebook.services.search.recall import Recall
from minutebook.services.search.sessions import JournalSearch
from minutebook.store.filelock import FileLock
from minutebook.store.named_locks import NamedLocks
from minutebook.store.sqlite import SqliteStore, damage, missing_database
from minutebook.store.sqlite.exclusive import IN_USE, alone_with

log = logging.getLogger(__name__)

PRESENCE = "the data directory"
"""What all claim together who have an app there, its store open or stopped, and a restore alone."""

KEEP_UP_EVERY = 60.0
"""Seconds between two looks for memories without vectors."""


def now() -> datetime:
    """Give the present instant, in UTC."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """One open store with everything that can be done with it."""

    store: SqliteStore
    embedding: Embedding
    embedded: Embeddings
    trail: Trail
    mentions: Mentions
    memories: Memories
    standing: StatusChanges
    links: Links
    graph: Graph
    retrieval: Recall
    matching: FilteredSearch
    overview: Overview
    projects: Projects
    watching: Watching
    code: CodeSearch
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
    sessions: Sessions
    summaries: Summaries
    journal_search: JournalSearch
    include_decisions: bool
    rules: Rules
    clock: Clock
    stopping: threading.Event
    presence: FileLock

    def start(self) -> None:
        """Load the model in the background; make there the vectors and readings still to come."""
        self.embedding.start()
        threading.Thread(target=self._keep_up, name="vectors", daemon=True).start()
        threading.Thread(target=self._resume, name="resume", daemon=True).start()

    def close(self) -> None:
        """Stop background work and close the store."""
        self.stopping.set()
        self.embedded.want()
        self.store.close()
        self.presence.close()

    def _keep_up(self) -> None:
        """Catch up with what was stored without vectors; try a model that failed again."""
        said = ""
        while not self.stopping.is_set():
            try:
                self.embedding.wait(timeout=None)
                if done := self.embedded.catch_up(self.stopping):
                    log.info("embedded %d texts that had no vectors of this model", done)
                self.projects.settle()
            except EmbeddingError as error:
                # Whoever chose to have no model need not be told, and no load is to be tried again.
                if not self.embedding.is_off:
                    if str(error) != said:
                        said = str(error)
                        log.warning("searching by meaning is off: %s", said)
                    self.embedding.start()
            except StoreClosed:
                log.debug("the database is stopped; vectors wait until it is started")
            except StoreError as error:
                log.warning("cannot catch up with vectors now: %s", error)
            self.embedded.await_wish(KEEP_UP_EVERY)

    def _resume(self) -> None:
        """Go on with what a process that ended left half done."""
        while not self.stopping.is_set():
            try:
                self.ledgers.catch_up()
                self.projects.resume(stopping(self.stopping))
            except StoreClosed:
                # Stopped, perhaps for long; what is half done waits for the start.
                self.stopping.wait(KEEP_UP_EVERY)
                continue
            except StoreError as error:
                log.warning("cannot go on with what was left half done: %s", error)
            return


def open_store(settings: Settings) -> SqliteStore:
    """Open the store in the data directory of these settings, made if need be; StoreError."""
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


@dataclass(frozen=True, slots=True)
class Models:
    """The models that settings name: for meaning, and for summaries where there is one."""

    embedding: Embedding
    summarizer: Summarizer | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """What the services of an app stand on: what is open, who may what, chance and time."""

    presence: FileLock
    claims: NamedLocks
    store: SqliteStore
    models: Models
    embedded: Embeddings
    trail: Trail
    tokens: Tokens
    clock: Clock
    randbits: RandomBits


def open_app(
    settings: Settings,
    *,
    models: Models | None = None,
    clock: Clock = now,
    randbits: RandomBits = secrets.randbits,
) -> App:
    """Open the store of these settings, made if it is not there yet; StoreError, InvalidInput.

    A failure leaves nothing open. An admin's start pins the first secret.
    """
    models = models or models_of(settings)
    claims = NamedLocks(settings.claims)
    with ExitStack() as opened:
        presence = opened.enter_context(closing(lock_directory(settings.home, claims)))
        store = opened.enter_context(closing(open_store(settings)))
        trail = Trail(store, clock)
        ground = Infrastructure(
            presence=presence,
            claims=claims,
            store=store,
            models=models,
            embedded=Embeddings(store, models.embedding, settings.embedding_wait, claims),
            trail=trail,
            tokens=Tokens(store, trail, clock, randbits, trusts_issuer=settings.trusts_issuer),
            clock=clock,
            randbits=randbits,
        )
        app = composed(settings, ground)
        app.secret.pin(settings.caller())
        opened.pop_all()
    return app


def composed(settings: Settings, ground: Infrastructure) -> App:
    """Give each service the collaborators that it needs; nothing is opened or asked."""
    store, embedded, trail, claims = ground.store, ground.embedded, ground.trail, ground.claims
    clock, randbits, stop = ground.clock, ground.randbits, threading.Event()
    rules = rules_for(settings, ground.tokens)
    mentions, supersession = Mentions(store, clock), Supersession(store, clock)
    keeping = MemoryWriter(store, embedded, trail, mentions)
    links = Links(store, trail, clock, rules)
    ledgers = Ledgers(store, trail, embedded, claims, place_of(settings), clock, randbits)
    enacting = DecisionWriter(store, ledgers, embedded, trail)
    secret = Secret(settings.secret, claims, trail, clock, settings.agent_memory_secret)
    window = timedelta(seconds=settings.review_window)
    decided = DecisionSearch(store, embedded, ledgers)
    home = default_organization(settings.caller())
    roots = Roots(settings.index_roots, home)
    projects = Projects(store, embedded, trail, claims, roots, clock, randbits)
    paths = ArchivePaths(settings.backups, Roots(settings.archive_roots, home))
    sessions = Sessions(store, embedded, trail, clock)
    summarizer = ground.models.summarizer
    return App(
        store=store,
        embedding=ground.models.embedding,
        embedded=embedded,
        trail=trail,
        mentions=mentions,
        memories=Memories(store, keeping, trail, supersession, links, clock, randbits, rules),
        standing=StatusChanges(store, keeping, trail, clock, rules),
        links=links,
        graph=Graph(store, trail, mentions, clock, randbits),
        retrieval=Recall(store, embedded, clock, decided),
        matching=FilteredSearch(store, embedded, clock),
        browsing=Browsing(store),
        id_lookup=IdLookup(store),
        ledgers=ledgers,
        decisions=Decisions(store, enacting, trail, clock, randbits),
        proposals=Proposals(store, enacting, trail, secret, clock, randbits, window),
        decision_search=decided,
        include_decisions=settings.include_decisions,
        secret=secret,
        tokens=ground.tokens,
        database=Database(store, embedded, embedded.want),
        archives=Archives(store, trail, embedded, mentions, ledgers, paths, clock, rules),
        sessions=sessions,
        summaries=Summaries(store, embedded, trail, claims, sessions, summarizer, clock),
        journal_search=JournalSearch(store, embedded),
        overview=Overview(store, trail, supersession, projects, rules),
        rules=rules,
        projects=projects,
        watching=Watching(projects, claims, stop),
        code=CodeSearch(store, embedded),
        clock=clock,
        stopping=stop,
        presence=ground.presence,
    )


def data_directory(settings: Settings) -> DataDirectory:
    """Tell what of the data directory can be made again."""
    archives = Roots(settings.archive_roots, default_organization(settings.caller())).all()
    passing = (settings.claims, settings.models, *(archives or (settings.backups,)))
    return DataDirectory(settings.database, passing)


def restoring(settings: Settings) -> Restores:
    """Give what brings back a data directory that is not open."""

    def examine(database: Path) -> None:
        SqliteStore(database).close()

    return Restores(data_directory(settings), partial(alone_in, settings), examine)


@contextmanager
def alone_in(settings: Settings) -> Iterator[None]:
    """Keep all others from the data directory of these settings; StoreBusy where another is there."""
    database = settings.database
    with NamedLocks(settings.claims).taken(PRESENCE) as mine:
        if not mine:
            # Who has stopped their database has no file open, and would go on in another.
            raise StoreBusy(f"{database}: {IN_USE}")
        with ExitStack() as stack:
            if database.exists() and database.stat().st_size:
                # One that cannot be read has no lock of its own; all who use it share the claim.
                with suppress(StoreDamaged):
                    stack.enter_context(alone_with(database))
            yield


def damage_of(settings: Settings) -> list[Finding]:
    """Return what is lost of a damaged or lost database, and which backups bring it back."""
    backups = known_backups(data_directory(settings))
    return of_damage(damage.losses(settings.database), backups)


def start_anew(settings: Settings, at: datetime) -> Path:
    """Put aside what is left of a database and begin an empty store; return the folder with the rest.

    Ledgers, settings and secret stay. Raises StoreBusy if others use the data directory.
    """
    with alone_in(settings):
        aside = settings.home / f"{ASIDE}{at:%Y%m%dT%H%M%S%f}"
        aside.mkdir(mode=0o700)
        missing_database.put_aside(settings.database, aside)
    SqliteStore(settings.database).close()
    return aside


def make_home(home: Path) -> None:
    """Make the data directory, its owner's alone, unless it is there; StoreError."""
    try:
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(
            f"{home}: {error.strerror}; choose another data directory with --home"
        ) from error


def lock_directory(home: Path, claims: NamedLocks) -> FileLock:
    """Be among those who use a data directory, made if need be, until the lock is closed; StoreError."""
    make_home(home)
    return claims.shared(PRESENCE)


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


def models_of(settings: Settings) -> Models:
    """Choose the models that the settings name; nothing is loaded or asked yet. InvalidInput."""
    return Models(open_embedding(settings), open_summarizer(settings))


def unloaded_model(settings: Settings) -> tuple[str, str]:
    """Tell the state of a model that nobody has loaded yet, and what a person may do about it."""
    match settings.embedder:
        case "none":
            return "off", "`embedder` is none, so search is by words and graph"
        case "built-in" if not builtin.is_prepared(settings.models):
            return "not prepared", f"its first use does that, or {builtin.PREPARE}"
        case "built-in":
            return "prepared", ""
        case _:
            return "not loaded", ""


def open_summarizer(settings: Settings) -> Summarizer | None:
    """Choose the chat service that the settings name, None where they name none; InvalidInput."""
    if settings.summary_url is None:
        return None
    if settings.summary_model is None:
        raise InvalidInput("summary_url", "needs summary_model as well")
    service = Completion(settings.summary_url, settings.summary_model, settings.summary_key)
    return Summarizer(service.model, service.ask)


def open_embedding(settings: Settings) -> Embedding:
    """Choose the embedder that the settings name; nothing is loaded yet."""
    built_in = None
    match settings.embedder:
        case "built-in":
            built_in = BuiltInModel(settings.models, settings.embedding_threads)
            opener: Callable[[], Embedder] = built_in.open
            expected = builtin.MODEL
        case "endpoint":
            opener, expected = _endpoint_opener(settings), _unknown(settings.endpoint_model)
        case "none":
            opener, expected = _switched_off, _unknown(None)
        case path:
            opener = partial(FolderEmbedder, Path(path), settings.embedding_threads)
            expected = _unknown(Path(path).name)
    is_off = settings.embedder == "none"
    return Embedding(
        opener, expected, settings.embedding_cache, is_off=is_off, preparation=built_in
    )


def _endpoint_opener(settings: Settings) -> Callable[[], Embedder]:
    if settings.endpoint_url is None or settings.endpoint_model is None:
        raise InvalidInput("embedder", "= endpoint needs endpoint_url and endpoint_model as well")
    endpoint = Endpoint(
        base_url=settings.endpoint_url,
        model=settings.endpoint_model,
        key=settings.endpoint_key,
        query_prefix=settings.endpoint_query_prefix,
        passage_prefix=settings.endpoint_passage_prefix,
    )
    return partial(open_endpoint, endpoint)


def _unknown(name: str | None) -> Model:
    return Model(name or "none", digest="", dimensions=0)


def _switched_off() -> Embedder:
    raise ModelUnavailable("embedding is switched off", "choose another embedder in the settings")
