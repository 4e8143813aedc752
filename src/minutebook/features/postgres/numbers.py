"""The permanent numbers of organizations and vector spaces, which rows have in place of their names.

They are drawn from a row of `numbers`, which only one transaction at a time can lock, on any node of a
cluster. Tables that are on every node get values, not expressions, which each node could evaluate differently.
"""

from collections.abc import Sequence

from psycopg import Connection, errors

_DRAW = "UPDATE numbers SET latest = latest + 1 WHERE what = %s RETURNING latest"


def register(connection: Connection, organization: str) -> None:
    """Write an organization with the next number and a feed, unless it is there."""
    while not connection.execute(
        "SELECT 1 FROM organizations WHERE name = %s", (organization,)
    ).fetchone():
        try:
            with connection.transaction():
                number = _drawn(connection, "organizations")
                connection.execute(
                    "INSERT INTO organizations (number, name) VALUES (%s, %s)",
                    (number, organization),
                )
                connection.execute("INSERT INTO feeds VALUES (%s, 0)", (number,))
        except errors.UniqueViolation:
            # Another process was first, and has committed by now.
            continue


def register_space(connection: Connection, space: Sequence[object]) -> None:
    """Write a space (name, digest, dimensions) with the next number, unless it is there."""
    while not connection.execute(
        "SELECT 1 FROM spaces WHERE name = %s AND digest = %s AND dimensions = %s", space
    ).fetchone():
        try:
            with connection.transaction():
                connection.execute(
                    "INSERT INTO spaces (number, name, digest, dimensions) VALUES (%s, %s, %s, %s)",
                    (_drawn(connection, "spaces"), *space),
                )
        except errors.UniqueViolation:
            continue


def _drawn(connection: Connection, what: str) -> int:
    """Draw the next number of `organizations` or `spaces`."""
    ((number,),) = connection.execute(_DRAW, (what,)).fetchall()
    return int(number)
