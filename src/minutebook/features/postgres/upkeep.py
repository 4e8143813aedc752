"""The upkeep of a server's tables, as far as it is ours, and of this machine's indices."""

from collections.abc import Callable
from pathlib import Path

from minutebook.features.postgres import remains
from minutebook.features.postgres.connections import PostgresConnections
from minutebook.features.postgres.text_analysis import TextAnalysis
from minutebook.store.sql import change_feed, entity_names
from minutebook.store.sql.embeddings import forget_damaged
from minutebook.store.sql.indices import Indices
from minutebook.store.sql.upkeep import Upkeep
from minutebook.text.words import ANALYSIS


class PostgresUpkeep(Upkeep):
    """`Upkeep` of a database on a server."""

    def __init__(self, folder: Path, connections: PostgresConnections, *, receives: bool) -> None:
        super().__init__(connections, receives=receives)
        self._folder = folder
        self._connections = connections
        self._is_to_warm_up = False

    def warm_up(self) -> None:
        """Read this machine's large indices in the background."""
        self._is_to_warm_up = True
        self._housekeeper.want()

    def _prepare(self, want: Callable[[], None]) -> None:
        self._list_names()
        self._analysis = TextAnalysis(self._connections)
        folder = self._folder / self._connections.identity
        self.indices = Indices(folder, self._connections, self.spaces, want)

    def _list_names(self) -> None:
        """Write the words of all entities' names anew if they are of another version of the analysis."""
        with self._connections.committed() as connection:
            if connection.row("SELECT analysis FROM identity") == (ANALYSIS,):
                return
            names = change_feed.organizations(connection)
        for organization in names:
            with self._connections.writing(organization) as (connection, number):
                entity_names.list_all_names(connection, number)
        # If the process ends before this, the next one that opens the store does it again.
        with self._connections.writing_shared() as connection:
            connection.run("UPDATE identity SET analysis = ?", (ANALYSIS,))

    def rebuild(self) -> None:
        """Rebuild the terms of texts and this machine's indices; remove damaged vectors and token states, to be computed again."""
        with self._connections.committed() as connection:
            forget_damaged(connection)
        self._analysis.renew()
        self.indices.rebuild()

    def scrub(self) -> list[str]:
        """Rebuild the indices of this machine; return the steps left to the server's administrator."""
        self.indices.rebuild()
        return [
            "the server keeps removed rows until VACUUM FULL has written its tables anew, which locks each meanwhile: "
            "`minutebook erase --deleted --rewrite-tables` does that when nobody needs the store",
            *self._not_ours(),
        ]

    def rewrite_tables(self) -> list[str]:
        """Do the same, and have the server write its tables anew; return the steps left.

        Raises StoreBusy if somebody uses a table for longer than a write waits.
        """
        self.indices.rebuild()
        with self._connections.committed() as connection:
            return [*remains.rewrite_tables(connection.raw), *self._not_ours()]

    def _not_ours(self) -> list[str]:
        return [
            "the server's log (WAL), its replicas, base backups and dumps keep what they held: let those "
            "of before now run out, or remove them; nothing here can prove that they did"
        ]

    def to_analyse(self) -> int:
        """Count the texts that have no terms of the present version; a search that needs them analyses the text."""
        return self._analysis.remaining()

    def _keep_house(self) -> None:
        if not self.is_open:
            return
        if self._is_to_warm_up:
            self._is_to_warm_up = False
            self.indices.warm()
        self.indices.save()
        if self._analysis.advance():
            self._housekeeper.want()
