"""The possible faults of a file, in sentences."""

from collections.abc import Iterator

import apsw


def pages(connection: apsw.Connection) -> Iterator[str]:
    """Check every page, index and text index by SQLite's own means."""
    try:
        for (finding,) in connection.execute("PRAGMA integrity_check"):
            if finding != "ok":
                yield f"the database is damaged: {finding}"
    except apsw.CorruptError as error:
        yield f"the database is damaged: {error}"
