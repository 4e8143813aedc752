"""The composition root: gives the services their collaborators.

A command composes the services that it uses and imports no others, because imports take most of the time of a short
one; a server composes all of them before its first call (`App.start`). The services of the core
stand in App, those of a feature in a class of its own, which `App.get` makes.
"""

import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from minutebook.config import Settings
from minutebook.config.models import Models, models_of
from minutebook.config.places import data_directory, machine_name
from minutebook.config.stores import locks_of, open_store
from minutebook.feature import Event, entries_of, features, listeners
from minutebook.memory.access.audit import Trail
from minutebook.memory.access.tokens import Tokens
from minutebook.memory.access.visibility import Clock
from minutebook.memory.embeddings import EMBEDDING_WAIT, Embeddings
from minutebook.memory.infrastructure import Infrastructure
from minutebook.memory.record_screening import Screening
from minutebook.record.caller import Caller
from minutebook.record.filters import default_organization
from minutebook.record.ids import RandomBits
from minutebook.record.policy import rules_of
from minutebook.record.records import Memory, Record, TextRecord
from minutebook.store.disk.filelock import FileLock

if TYPE_CHECKING:
    from minutebook.memory.access.doors import Doors
    from minutebook.memory.background import BackgroundWork
    from minutebook.memory.jobs import JobRuns
    from minutebook.memory.journal.sessions import Sessions
    from minutebook.memory.journal.summaries import Summaries
    from minutebook.memory.knowledge.browsing import Browsing
    from minutebook.memory.knowledge.entities import Entities
    from minutebook.memory.knowledge.id_lookup import IdLookup
    from minutebook.memory.knowledge.links import Links
    from minutebook.memory.knowledge.memories import Memories
    from minutebook.memory.knowledge.mentions import Mentions
    from minutebook.memory.knowledge.similar import SimilarMemories
    from minutebook.memory.knowledge.status import StatusChanges
    from minutebook.memory.knowledge.supersession import Supersession
    from minutebook.memory.knowledge.surroundings import Surroundings
    from minutebook.memory.knowledge.writing import MemoryWriter
    from minutebook.memory.maintenance.database import EngineControl
    from minutebook.memory.maintenance.doctor import Doctor
    from minutebook.memory.maintenance.overview import Overview
    from minutebook.memory.search.combined import CombinedRecall
    from minutebook.memory.search.filtered import FilteredSearch
    from minutebook.memory.search.hit_notes import HitNotes
    from minutebook.memory.search.recall import Recall
    from minutebook.memory.search.sessions import JournalSearch


P = TypeVar("P")
T = TypeVar("T")


def now() -> datetime:
    """Return the present instant, in UTC."""
    return datetime.now(UTC)


class service(Generic[T]):  # noqa: N801
    """A service of an app, composed when it is first asked for, once for all threads."""

    def __init__(self, compose: Callable[[Any], T]) -> None:
        self._compose = compose
        self._name = compose.__name__

    def __get__(self, app: Any, owner: type[object]) -> T:
        """Return the one service of this name."""
        kept = vars(app)
        with app.composing:
            if self._name not in kept:
                # From now on Python finds it in the object's dictionary, before this descriptor.
                kept[self._name] = self._compose(app)
        made: T = kept[self._name]
        return made


def service_names(owner: type) -> Iterator[str]:
    """Yield the name of each service of a class."""
    yield from (name for name, value in vars(owner).items() if isinstance(value, service))


def compose_all(composer: object) -> None:
    """Compose every service of an object's class."""
    for name in service_names(type(composer)):
        getattr(composer, name)


class App:
    """The services of the core on one open store, and those of the features.

    `infrastructure` is for services alone.
    """

    def __init__(
        self,
        settings: Settings,
        infrastructure: Infrastructure,
        models: Models,
        tokens: Tokens,
        presence: FileLock,
    ) -> None:
        self.infrastructure = infrastructure
        self.embedding, self.embeddings = models.embedding, infrastructure.embeddings
        self.trail, self.tokens = infrastructure.trail, tokens
        self.screening = infrastructure.screening
        self.clock, self.rules = infrastructure.clock, infrastructure.rules
        self.recall_sources = settings.recall_sources
        self.recall_tokens = settings.recall_tokens
        self.settings = settings
        self.home = default_organization(settings.caller())
        self.composing = threading.RLock()
        self.stopping = threading.Event()
        self._store, self._summarizer = infrastructure.store, models.summarizer
        self._records = infrastructure.records
        self._presence = presence
        self._parts: dict[Callable[[App], Any], Any] = {}

    def get(self, part: "Callable[[App], P]") -> P:
        """Return the one object of a feature's class, which takes an App; it is made when it is first asked for."""
        with self.composing:
            if part not in self._parts:
                self._parts[part] = part(self)
        made: P = self._parts[part]
        return made

    def note_answer(
        self, caller: Caller, act: str, question: str, hits: Iterable[tuple[Record, float]]
    ) -> None:
        """Tell features which records, with their scores, a tool answered to a question, best first."""
        self.tell(Event.ANSWER, caller, act, question, list(hits))

    def tell(self, event: Event, *arguments: Any) -> "list[Any]":
        """Tell features of an event on this store; return their answers."""
        return [listener(self, *arguments) for listener in listeners(event)]

    def _made(self, register: str) -> "list[Any]":
        """Call each feature's entry in a register with this app; return the results."""
        return [make(self) for make in entries_of(register)]

    @service
    def background(self) -> "BackgroundWork":
        """Work without being asked."""
        from minutebook.memory.background import BackgroundWork

        jobs = list(chain(*self._made("jobs")))
        return BackgroundWork(
            *(self.embedding, self.embeddings, self.settings.caller(), self.stopping),
            *(jobs, self.job_runs),
        )

    @service
    def job_runs(self) -> "JobRuns":
        """Tell how jobs went."""
        from minutebook.memory.jobs import JobRuns
        from minutebook.store.sql.change_feed import ProgramMarks

        return JobRuns(ProgramMarks(self._store.database), machine_name(), self.clock)

    @service
    def doors(self) -> "Doors":
        """Tell through which door a record is told."""
        from minutebook.memory.access.doors import Doors

        return Doors(self._store, self.clock)

    @service
    def mentions(self) -> "Mentions":
        """Find the entities that a text names."""
        from minutebook.memory.knowledge.mentions import Mentions

        return Mentions(self._store, self.clock)

    @service
    def supersession(self) -> "Supersession":
        """Settle which memory follows which."""
        from minutebook.memory.knowledge.supersession import Supersession

        return Supersession(self._store, self.clock)

    @service
    def writer(self) -> "MemoryWriter":
        """Write the changes of memories."""
        from minutebook.memory.knowledge.writing import MemoryWriter

        return MemoryWriter(self.infrastructure, self.mentions)

    @service
    def links(self) -> "Links":
        """Link memories."""
        from minutebook.memory.knowledge.links import Links

        return Links(self.infrastructure)

    @service
    def similar(self) -> "SimilarMemories":
        """Find memories that say the same."""
        from minutebook.memory.knowledge.similar import SimilarMemories

        return SimilarMemories(self._records, self.embeddings, self.clock)

    @service
    def memories(self) -> "Memories":
        """Write, change and read memories."""
        from minutebook.memory.knowledge.memories import Memories

        return Memories(
            self.infrastructure, self.writer, self.supersession, self.links, self.note_written
        )

    def note_written(self, caller: Caller, record: TextRecord) -> None:
        """Add notes on a record that was just written to the caller's call: similar memories, and the notes of features."""
        if isinstance(record, Memory):
            self.similar.note(caller, record)
        self.tell(Event.WRITE, caller, record)

    @service
    def status(self) -> "StatusChanges":
        """Lock, verify and deprecate memories."""
        from minutebook.memory.knowledge.status import StatusChanges

        return StatusChanges(self.infrastructure, self.writer)

    @service
    def entities(self) -> "Entities":
        """Keep entities and their relations."""
        from minutebook.memory.knowledge.entities import Entities

        return Entities(self.infrastructure, self.mentions)

    @service
    def browsing(self) -> "Browsing":
        """Read the parts that belong to a memory."""
        from minutebook.memory.knowledge.browsing import Browsing

        return Browsing(self._records)

    @service
    def id_lookup(self) -> "IdLookup":
        """Find records by a part of their id."""
        from minutebook.memory.knowledge.id_lookup import IdLookup

        return IdLookup(self._records)

    @service
    def surroundings(self) -> "Surroundings":
        """Read the surroundings of a memory."""
        from minutebook.memory.knowledge.surroundings import Surroundings

        return Surroundings(self._records)

    @service
    def sessions(self) -> "Sessions":
        """Keep the turns of sessions."""
        from minutebook.memory.journal.sessions import Sessions

        return Sessions(self.infrastructure)

    @service
    def summaries(self) -> "Summaries":
        """Summarize sessions."""
        from minutebook.memory.journal.summaries import Summaries

        return Summaries(self.infrastructure, self.sessions, self._summarizer)

    @service
    def recall(self) -> "Recall":
        """Search memories and decisions."""
        from minutebook.memory.search.recall import Recall

        texts = [self.get(of) for of in entries_of("answers.texts")]
        return Recall(self._records, self.embeddings, self.clock, texts)

    @service
    def combined(self) -> "CombinedRecall":
        """Search memories, decisions, sessions and code together."""
        from minutebook.memory.search.combined import CombinedRecall
        from minutebook.memory.search.newest_first import NewestFirst
        from minutebook.memory.search.passages import Passages

        newest = NewestFirst(self.embeddings, self.infrastructure.records)
        passages = Passages(self._records, self.embeddings)
        lists = [self.get(of) for of in entries_of("answers.lists")]
        return CombinedRecall(self._records, self.recall, newest, passages, self.hit_notes, lists)

    @service
    def hit_notes(self) -> "HitNotes":
        """Ask features for notes on hits."""
        from minutebook.memory.search.hit_notes import HitNotes

        noters = {
            name: each.load(of)(self)
            for each in features()
            for name, of in each.answers.notes.items()
        }
        return HitNotes(noters)

    @service
    def filtered_search(self) -> "FilteredSearch":
        """Search memories that meet conditions."""
        from minutebook.memory.search.filtered import FilteredSearch

        return FilteredSearch(self._records, self.embeddings, self.clock)

    @service
    def journal_search(self) -> "JournalSearch":
        """Search sessions."""
        from minutebook.memory.search.sessions import JournalSearch

        return JournalSearch(self._records, self.embeddings)

    @service
    def database(self) -> "EngineControl":
        """Stop and start the engine."""
        from minutebook.memory.maintenance.database import EngineControl

        return EngineControl(self._store, self.embeddings, self.embeddings.notify)

    @service
    def doctor(self) -> "Doctor":
        """Check the store, and repair it."""
        from minutebook.memory.maintenance.doctor import Doctor

        checks = list(chain(*self._made("checks")))
        return Doctor(
            *(self._store, self.trail, self.embedding, self.mentions, checks),
            repair_features=partial(self.tell, Event.REPAIR),
            home=self.settings.home,
            failing=self.job_runs.failing,
        )

    @service
    def overview(self) -> "Overview":
        """Count the records in the store."""
        from minutebook.memory.maintenance.overview import Overview

        reset = partial(self.tell, Event.RESET)
        return Overview(self.infrastructure, self.supersession, reset)

    def start(self) -> None:
        """Compose every service, load the model and begin the work in the background."""
        compose_all(self)
        self._store.upkeep.warm_up()
        self.background.start()

    def close(self) -> None:
        """Stop the work in the background, and close the store."""
        self.stopping.set()
        self.embeddings.notify()
        with self.composing:
            for part in self._parts.values():
                if close := getattr(part, "close", None):
                    close()
        self._store.close()
        self._presence.close()


def open_app(
    settings: Settings,
    *,
    models: Models | None = None,
    clock: Clock = now,
    randbits: RandomBits = secrets.randbits,
    embedding_wait: float = EMBEDDING_WAIT,
    or_reads: bool = False,
) -> App:
    """Open the store of these settings, creating a missing one, and return the app on it.

    A call waits up to `embedding_wait` seconds for a model that is loading. With `or_reads`
    a store that cannot be written is opened for reading. Raises StoreError if the store cannot be opened,
    InvalidInput if settings do not fit together; a failure leaves nothing open.
    """
    models = models or models_of(settings)
    with ExitStack() as opened:
        presence = opened.enter_context(closing(data_directory(settings).use()))
        store = opened.enter_context(closing(open_store(settings, or_reads=or_reads)))
        trail = Trail(store, clock)
        tokens = Tokens(store, trail, clock, randbits)
        locks = locks_of(settings, store)
        infrastructure = Infrastructure(
            store=store,
            locks=locks,
            embeddings=Embeddings(store, models.embedding, embedding_wait, locks),
            trail=trail,
            screening=Screening(settings.redact),
            # How strict the store is changes with its tokens.
            rules=lambda: rules_of(settings.policy, is_shared=tokens.is_shared()),
            clock=clock,
            randbits=randbits,
        )
        app = App(settings, infrastructure, models, tokens, presence)
        app.tell(Event.OPEN)
        opened.pop_all()
    return app
