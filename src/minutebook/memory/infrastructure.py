"""The common collaborators of services."""

from dataclasses import dataclass

from minutebook.memory.access.audit import Trail
from minutebook.memory.access.visibility import Clock, Records
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.record_screening import Screening
from minutebook.record.ids import RandomBits
from minutebook.record.policy import Rules
from minutebook.store.named_locks import NamedLocks
from minutebook.store.protocol import Tended
from minutebook.store.sql.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class Infrastructure:
    """The common collaborators of every service that writes; it gets other services beside it.

    A service that only reads takes the one or two parts that it needs.
    """

    store: Tended
    locks: NamedLocks
    embeddings: Embeddings
    trail: Trail
    screening: Screening
    rules: Rules
    clock: Clock
    randbits: RandomBits

    @property
    def records(self) -> Records:
        """The store for services, which reads records only for a caller."""
        return Records(self.store)

    @property
    def database(self) -> Database:
        """The database of the store, for the tables that features keep beside the records."""
        return self.store.database
