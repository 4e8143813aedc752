"""Opening and closing a store, and the upkeep of its database and indices: everything but operations on records."""

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator

from minutebook.record.errors import StoreError
from minutebook.record.records import TEXT_CLASSES, TextRecord
from minutebook.store.housekeeper import Housekeeper
from minutebook.store.sql import embeddings
from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.embeddings import Spaces
from minutebook.store.sql.indices import Indices
from minutebook.store.sql.tables import ALL_TABLES, table_of
from minutebook.store.sql.transfer import check_whole

log = logging.getLogger(__name__)


class Upkeep(ABC):
    """Opens, keeps up and closes a store; one that `receives` may open while records are being moved into it."""

    indices: Indices
    spaces: Spaces
    _housekeeper: Housekeeper

    def __init__(self, database: Database, *, receives: bool) -> None:
        self.database = database
        self.is_open = False
        self._receives = receives
        self._guard = threading.Lock()

    def open(self) -> None:
        """Open the store, unless it is open. Raises StoreTooNew if a later version wrote it, else StoreError."""
        with self._guard:
            if self.is_open:
                return
            self._housekeeper = Housekeeper(self._keep_house)
            self.database.open(self._housekeeper.want)
            try:
                check_whole(self.database, receives=self._receives)
                self.spaces = Spaces(self.database)
                self._prepare(self._housekeeper.want)
                is_behind = bool(self.to_analyse())
            except BaseException:
                self.database.close()
                raise
            self.is_open = True
            if is_behind:
                self._housekeeper.want()

    def close(self) -> None:
        """Close the store; later calls raise StoreClosed until it is opened again."""
        with self._guard:
            if not self.is_open:
                return
            self.is_open = False
            self.indices.stopping.set()
            self._housekeeper.stop()
            try:
                self.indices.save()
            except StoreError as error:
                # The next process that opens the store reads the changes again.
                log.warning("the indices are not saved: %s", error)
            finally:
                self.database.close()

    def warm_up(self) -> None:  # noqa: B027
        """Read the indices of a server's records in the background; a store in a file needs none of this."""

    @abstractmethod
    def _prepare(self, want: Callable[[], None]) -> None:
        """Prepare an open database and open its indices; `want` asks for a run of the housekeeping."""

    @abstractmethod
    def _keep_house(self) -> None:
        """Do the upkeep that writers should not wait for."""

    @abstractmethod
    def to_analyse(self) -> int:
        """Return the number of texts still to be analysed anew, because another version analysed them."""

    def check(self) -> list[str]:
        """Return the faults of the store, a sentence each; nothing if all is sound. Reads everything."""
        with self.database.stream() as connection:
            wrong = list(contradictions(connection))
        return wrong or list(self.indices.gaps())

    @abstractmethod
    def rebuild(self) -> None:
        """Make all derived data anew from the records. Raises StoreDamaged if they cannot be read."""

    @abstractmethod
    def scrub(self) -> list[str]:
        """Remove every byte of removed records from the store's files; return the steps left to a person, a sentence each.

        Other writers wait meanwhile. It can be repeated after a kill. Raises StoreBusy if a process reads an
        old state for too long, StoreError if a file cannot be written.
        """

    def rewrite_tables(self) -> list[str]:
        """Do `scrub`, and let a server rewrite its tables, each locked meanwhile. Raises as `scrub` does."""
        return self.scrub()

    def size(self) -> int:
        """Return the size of the store in bytes, its indices included."""
        files = (path for path in self.indices.folder.glob("*/*") if path.is_file())
        return self.database.size() + sum(path.stat().st_size for path in files)

    def states_size(self, of: type[TextRecord], organization: str) -> int:
        """Return the bytes of all token states of an organization's records of a kind."""
        number = self.database.number_of(organization)
        with self.database.reading() as connection:
            return embeddings.states_size(connection, number, of)


def contradictions(connection: Connection) -> Iterator[str]:
    """Yield a sentence for each kind of contradiction in the rows of all organizations; the connection sees one moment."""
    for sentence, counting in _contradictions(connection):
        ((count,),) = connection.rows(counting)
        if count:
            yield sentence.format(count)
    for of in TEXT_CLASSES.values():
        if cut := len(embeddings.cut_short(connection, of)):
            yield f"{cut} {table_of(of).name} have vectors that are cut short"
        if damaged := sum(1 for _ in embeddings.damaged_states(connection, of)):
            yield f"{damaged} {table_of(of).name} have damaged token states"


def _contradictions(connection: Connection) -> Iterator[tuple[str, str]]:
    """Yield sentences, each with `{}` for a number, and the query that returns the number."""
    feeds, key = connection.feeds
    for table in ALL_TABLES:
        if table.has_text:
            for sentence, counting in connection.contradictions.items():
                yield sentence.format("{}", table.name), counting.format(table.name)
            yield (
                f"{{}} {table.name} have vectors of no known model",
                f"SELECT count(*) FROM {table.name} AS r WHERE r.space IS NOT NULL"  # noqa: S608
                " AND r.space NOT IN (SELECT number FROM spaces)",
            )
    yield (
        "{} names belong to no entity",
        "SELECT count(*) FROM names AS r WHERE NOT EXISTS (SELECT 1 FROM entities AS e"
        " WHERE e.organization = r.organization AND e.id = r.entity)",
    )
    yield (
        "{} organizations have records and no name",
        f"SELECT count(*) FROM {feeds} AS r LEFT JOIN organizations AS o ON o.number = r.{key}"  # noqa: S608
        " WHERE o.number IS NULL",
    )
    for name in ("deletions", *(table.name for table in ALL_TABLES)):
        yield (
            f"{{}} {name} changed later than their organization",
            f"SELECT count(*) FROM {name} AS r LEFT JOIN {feeds} AS f ON f.{key} = r.organization"  # noqa: S608
            " WHERE r.sequence > coalesce(f.sequence, 0)",
        )
