"""The terms of each text, kept beside it, so that a server without indices need not analyse it."""

import threading

from minutebook.features.postgres.connections import PostgresConnections
from minutebook.features.postgres.tables import packed_terms
from minutebook.record.records import TEXT_CLASSES
from minutebook.store.sql.tables import table_of
from minutebook.text.words import ANALYSIS

_BATCH = 200
"""Texts that are analysed at a time, in some 60 ms."""

_TABLES = [(of, table_of(of)) for of in TEXT_CLASSES.values()]


class TextAnalysis:
    """Brings the terms of all texts to the present version of the analysis, a batch at a time.

    Several servers may do so at once: all compute the same terms.
    """

    def __init__(self, connections: PostgresConnections) -> None:
        self._connections = connections
        self._turn = threading.Lock()
        self._place = 0
        self._last = (0, "")

    def is_current(self) -> bool:
        """Tell whether all terms are of the present version; an empty store is marked so."""
        with self._connections.committed() as connection:
            found = connection.raw.execute("SELECT texts FROM identity").fetchone()
            if found is not None and found[0] == ANALYSIS:
                return True
            if connection.raw.execute("SELECT 1 FROM organizations LIMIT 1").fetchone() is not None:
                return False
            connection.raw.execute("UPDATE identity SET texts = %s", (ANALYSIS,))
            return True

    def remaining(self) -> int:
        """Count the texts that have no terms, or terms of another version."""
        if self.is_current():
            return 0
        parts = [
            f"SELECT count(*) AS count FROM {table.name} WHERE analysis IS DISTINCT FROM {ANALYSIS}"  # noqa: S608
            for _, table in _TABLES
        ]
        with self._connections.committed() as connection:
            found = connection.raw.execute(
                f"SELECT sum(count)::bigint FROM ({' UNION ALL '.join(parts)}) AS counts".encode()  # noqa: S608
            ).fetchone()
        return int(found[0]) if found else 0

    def advance(self) -> bool:
        """Analyse a batch of texts; return whether there may be more."""
        with self._turn:
            return not self.is_current() and self._advance()

    def renew(self) -> None:
        """Analyse every text anew, also those with current terms."""
        with self._connections.writing_shared() as connection:
            connection.raw.execute("UPDATE identity SET texts = 0")
            for _, table in _TABLES:
                connection.raw.execute(f"UPDATE {table.name} SET analysis = NULL".encode())  # noqa: S608
        with self._turn:
            self._place, self._last = 0, (0, "")
        while self.advance():
            pass

    def _advance(self) -> bool:
        """Analyse the next batch of the current table, or go to the next table; return False at the end."""
        of, table = _TABLES[self._place]
        with self._connections.committed() as connection:
            rows = connection.raw.execute(
                f"SELECT r.organization, r.id, r.text_digest, {table.fields} FROM {table.name} AS r"  # noqa: S608
                f" WHERE (r.organization, r.id) > (%s, %s) AND r.analysis IS DISTINCT FROM {ANALYSIS}"
                " ORDER BY r.organization, r.id LIMIT %s",
                (*self._last, _BATCH),
            ).fetchall()
            with connection.raw.cursor() as cursor:
                # By digest: a text that changed meanwhile has its terms already. The record does not count as changed.
                cursor.executemany(
                    f"UPDATE {table.name} SET terms = %s, analysis = {ANALYSIS}"  # noqa: S608
                    " WHERE organization = %s AND id = %s AND text_digest = %s",
                    [
                        (packed_terms(table.record_of(of, "", fields)), number, id, digest)
                        for number, id, digest, *fields in rows
                    ],
                )
            if rows:
                self._last = rows[-1][:2]
                return True
            self._place, self._last = self._place + 1, (0, "")
            if self._place < len(_TABLES):
                return True
            self._place = 0
            connection.raw.execute("UPDATE identity SET texts = %s", (ANALYSIS,))
        return False
