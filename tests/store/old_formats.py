"""Databases as earlier versions made them."""

from pathlib import Path

import apsw

from minutebook.store.sqlite import schema


def of_format(path: Path, version: int) -> apsw.Connection:
    """Make a database with the tables of an earlier format, and return an open connection to it."""
    connection = apsw.Connection(str(path))
    connection.create_scalar_function("target_key_of", schema._target_key_of, 1)
    for script in schema.SCRIPTS[:version]:
        for _ in connection.execute(script):
            pass
    connection.pragma("application_id", schema.APPLICATION_ID)
    connection.pragma("user_version", version)
    return connection
