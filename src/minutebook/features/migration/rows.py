"""Read and write records that are moved from one database into another, of any engine."""

from collections.abc import Collection, Sequence
from itertools import islice

from minutebook.record.errors import StoreError
from minutebook.record.records import Entity, TextRecord
from minutebook.store.sql import embeddings, entity_names, rows
from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.embeddings import Spaces
from minutebook.store.sql.side_tables import SideTable, all_tables
from minutebook.store.sql.tables import value_text
from minutebook.store.sql.transfer import Move, move_of
from minutebook.store.token_uses import TokenUses
from minutebook.store.values import Carried, RemovedRecord, TextVectors

_BATCH = 500


class Transfer:
    """A transfer of records out of a database, or into it from another.

    The target's database notes the source, and how far each organization has come; until the move has
    ended nobody else can open it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spaces = Spaces(database)

    def embeddings(
        self, of: type[TextRecord], organization: str, ids: Collection[str]
    ) -> dict[str, TextVectors]:
        """Return, by id, the vectors and token states of those records that have vectors."""
        number = self._database.number_of(organization)
        with self._database.reading() as connection:
            return embeddings.with_states(connection, number, of, ids, self._spaces)

    def begin(self, source: str) -> None:
        """Begin or continue a move of the records of another database, named by its identity, to here.

        Raises StoreError if records of no such move are here, or were written after an earlier one had ended.
        """
        with self._database.writing_shared() as connection:
            move, written = move_of(connection), _written(connection)
            _check_may_receive(self._database.place, source, move, written)
            if move is None:
                connection.run("INSERT INTO migration VALUES (?, FALSE)", (source,))
            connection.run("UPDATE migration SET ended = FALSE")

    def has_all_of(self, source: str) -> bool:
        """Tell whether a move from another database has ended and nobody wrote here since."""
        with self._database.committed() as connection:
            return move_of(connection) == Move(source, has_ended=True) and not _written(connection)

    def received(self, organization: str) -> int:
        """Return the sequence of the source up to which an organization's changes were transferred."""
        number = self._database.number_of(organization)
        with self._database.reading() as connection:
            row = connection.row(
                "SELECT source_sequence FROM migrated WHERE organization = ?", (number,)
            )
        return 0 if row is None else int(row[0])

    def receive(
        self,
        organization: str,
        carried: Sequence[Carried],
        gone: Sequence[RemovedRecord],
        up_to: int,
    ) -> None:
        """Write and remove records of an organization and note the source's sequence `up_to` which they are, in one transaction."""
        spaces = {each.embedding.space for each in carried if each.embedding is not None}
        with (
            self._database.transaction(organization),
            self._database.writing(organization) as (connection, number),
        ):
            numbers = {each: self._spaces.number_for_writing(each) for each in spaces}
            for of, id in gone:
                rows.delete(connection, number, of, id)
            connection.put_carried(number, carried, numbers)
            for each in carried:
                if isinstance(each.record, Entity):
                    entity_names.list_names(connection, number, each.record)
            note_received(connection, number, up_to)

    def copy_side_tables(self, organizations: Sequence[str], source: Database) -> None:
        """Replace the side tables of organizations, and the times of tokens' last uses, by those of another database.

        They are copied anew each time, since their rows are removed without a change in the feed.
        """
        for table in all_tables():
            if table.is_by_organization:
                for name in organizations:
                    self._copy(table, name, source)
        for token, at in TokenUses(source).latest().items():
            TokenUses(self._database).note(token, at)

    def end(self) -> None:
        """Note that all is here, so that the database can be opened, and each organization's sequence, which shows later writes."""
        with self._database.writing_shared() as connection:
            table, key = connection.feeds
            connection.run(
                f"UPDATE migrated AS m SET sequence = f.sequence FROM {table} AS f"  # noqa: S608
                f" WHERE f.{key} = m.organization"
            )
            connection.run("UPDATE migration SET ended = TRUE")

    def _copy(self, table: SideTable, organization: str, source: Database) -> None:
        types = table.types
        columns, marks = ", ".join(types), ", ".join("?" * len(types))
        are_texts = [each.startswith(("name", "words", "images")) for each in types.values()][1:]
        with source.stream() as reading, self._database.writing_outside_feed() as writing:
            number = self._database.number_for_writing(organization)
            writing.run(f"DELETE FROM {table.name} WHERE organization = ?", (number,))  # noqa: S608
            found = reading.stream(
                f"SELECT {columns} FROM {table.name} WHERE organization = ?",  # noqa: S608
                (source.number_of(organization),),
            )
            while batch := list(islice(found, _BATCH)):
                carried = (
                    [
                        value_text(value) if is_text else value
                        for value, is_text in zip(row[1:], are_texts, strict=True)
                    ]
                    for row in batch
                )
                writing.run_many(
                    f"INSERT INTO {table.name} ({columns}) VALUES ({marks})",  # noqa: S608
                    [(number, *row) for row in carried],
                )


def note_received(connection: Connection, number: int, up_to: int) -> None:
    """Note the sequence of the source up to which an organization's changes are here."""
    connection.run(
        "INSERT INTO migrated VALUES (?, ?, NULL) ON CONFLICT (organization)"
        " DO UPDATE SET source_sequence = EXCLUDED.source_sequence, sequence = NULL",
        (number, up_to),
    )


def _check_may_receive(place: str, source: str, move: Move | None, written: Sequence[str]) -> None:
    """Raise StoreError unless a store may receive the records of another.

    `move` is an earlier move to here; `written` are the organizations with records that no move brought.
    """
    if move is None:
        if written:
            reason = (
                "{place} holds records already; name an empty database or another data directory"
            )
            raise StoreError(reason, place=place)
        return
    if move.source != source:
        reason = "{place} has records that were moved from another store; name an empty database or another data directory"
        raise StoreError(reason, place=place)
    if move.has_ended and written:
        raise StoreError(
            "{place} has all records that were moved here and was written to since ({names}); nothing was "
            "changed. What the other store was given meanwhile is brought in with `minutebook export` and "
            "`minutebook import`",
            place=place,
            names=", ".join(sorted(written)[:3]),
        )


def _written(connection: Connection) -> list[str]:
    """Return the organizations with records that no move brought."""
    table, key = connection.feeds
    rows = connection.rows(
        f"SELECT o.name FROM organizations AS o JOIN {table} AS f ON f.{key} = o.number"  # noqa: S608
        f" LEFT JOIN migrated AS m ON m.organization = f.{key}"
        " WHERE f.sequence > 0 AND coalesce(m.sequence, -1) <> f.sequence"
    )
    return [value_text(name) for (name,) in rows]
