"""The numbers that stand for vector spaces, for good."""

from minutebook.store.sql.database import Connection, Database
from minutebook.store.sql.tables import value_text
from minutebook.store.values import VectorSpace


class Spaces:
    """The vector spaces of a database, by number; committed ones are asked for once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: dict[VectorSpace, int] = {}

    def number_of(self, space: VectorSpace) -> int | None:
        """Return the number that stands for a space, None if nothing was kept in it."""
        number = self._numbers.get(space)
        return self._all().get(space) if number is None else number

    def registered(self, space: VectorSpace) -> int:
        """Return the number of a space, which is given one if it has none."""
        number = self.number_of(space)
        if number is not None:
            return number
        with self._database.registering() as connection:
            connection.put_space((space.name, space.digest, space.dimensions))
        return self._all()[space]

    def of(self, number: int) -> VectorSpace:
        """Return the space that a number stands for."""
        known = {number: space for space, number in self._numbers.items()}
        return known.get(number) or {number: space for space, number in self._all().items()}[number]

    def _all(self) -> dict[VectorSpace, int]:
        with self._database.reading() as connection:
            numbers = _read(connection)
        if not self._database.is_writing:
            # It stays so; what this thread wrote may still be undone.
            self._numbers = numbers
        return numbers


def _read(connection: Connection) -> dict[VectorSpace, int]:
    return {
        VectorSpace(value_text(name), value_text(digest), dimensions): number
        for number, name, digest, dimensions in connection.rows(
            "SELECT number, name, digest, dimensions FROM spaces"
        )
    }
