"""Databases that SQLite3 Multiple Ciphers encrypts, every page and the log.

The cipher is ChaCha20-Poly1305: each page has its own nonce and tag. The first 16 bytes of the file are
plain, for the cipher's salt; a key of 32 random bytes needs no salt, so they hold the id of the key instead.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

from minutebook.record.errors import StoreBusy, StoreError
from minutebook.record.reason import Reason
from minutebook.store.disk.encryption import Key, Keys, key_place_missing
from minutebook.store.sqlite.errors import damaged, translate_errors

_CIPHER = "chacha20"
_MARK = b"minutebk"
HEAD_BYTES = 16
"""The bytes at the beginning of a database with the id of its key."""
_READ_AND_MAKE = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
IN_USE = Reason("it is in use; first end the clients and servers that have it open")

_NEEDS = Reason(
    "what is installed as the module `apsw` cannot decrypt: `pip uninstall apsw`, then "
    "`pip install --force-reinstall apsw-sqlite3mc`"
)


def key_id_of(path: Path) -> str | None:
    """Return the id of the key that a database is encrypted with; None if it is plain, or not there."""
    try:
        with path.open("rb") as file:
            return key_id_in(file.read(HEAD_BYTES))
    except OSError:
        # The error comes when the database is opened.
        return None


def key_id_in(content: bytes) -> str | None:
    """Return the id of the key of a database that begins with these bytes; None if it is plain."""
    beginning = content[:HEAD_BYTES]
    is_ours = len(beginning) == HEAD_BYTES and beginning.startswith(_MARK)
    return beginning[len(_MARK) :].hex() if is_ours else None


def key_of(path: Path, keys: Keys | None) -> Key | None:
    """Return the key of a database, None if it is plain. Raises EncryptionKeyMissing if `keys` do not have it."""
    id = key_id_of(path)
    if id is None:
        return None
    if keys is None:
        raise key_place_missing(str(path), id)
    return keys.find(id, str(path))


def connect(
    path: Path | str, key: Key | None, flags: int = _READ_AND_MAKE, *, statements: int = 100
) -> apsw.Connection:
    """Open a connection to a database, encrypted if there is a key.

    Raises apsw.Error, and StoreError if this build of SQLite has no ciphers.
    """
    connection = apsw.Connection(str(path), flags, statementcachesize=statements)
    if key is not None:
        try:
            _check_can_encrypt()
            connection.pragma("cipher", _CIPHER)
            connection.pragma("key", _text_of(key))
        except BaseException:
            connection.close()
            raise
    return connection


@contextmanager
def copied_with_key(path: Path, key: Key | None, copy: Path, new: Key | None) -> Iterator[None]:
    """Write a database to a new file under another key, or plain if `new` is None; lock the database inside the block.

    The copy is checked and flushed to the disk; no plain data is written for an encrypted one. The
    database stays as it was, with its log copied into it. Raises StoreBusy if another process has it open, else StoreError.
    """
    _check_can_encrypt()
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI
    with translate_errors(path), closing(connect(path, key, flags)) as source:
        source.pragma("temp_store", "memory")
        _take_alone(source, path)
        secret = "key=" if new is None else f"cipher={_CIPHER}&key={_text_of(new)}"
        copy.touch(mode=0o600, exist_ok=False)
        source.execute("VACUUM INTO ?", (f"file:{quote(str(copy))}?{secret}",))
        _check_whole(copy, new, path, _counts(source))
        yield


def _take_alone(connection: apsw.Connection, path: Path) -> None:
    """Lock a database for as long as the connection is open, and copy its log into it."""
    try:
        connection.pragma("locking_mode", "exclusive")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute("COMMIT")
        if connection.pragma("journal_mode") == "wal":
            # A log left by a killed process would be taken for that of the file that replaces this one.
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreBusy("{path}: {cause}", path=path, cause=IN_USE) from error


def _check_whole(copy: Path, key: Key | None, path: Path, counted: list[tuple[str, int]]) -> None:
    with translate_errors(copy), closing(connect(copy, key)) as written:
        if _counts(written) != counted or written.pragma("integrity_check") != "ok":
            raise damaged("{path}: it could not be copied whole", path=path)
        written.pragma("synchronous", "full")
        written.pragma("journal_mode", "wal")


def _check_can_encrypt() -> None:
    if not hasattr(apsw, "mc_version"):
        raise StoreError(_NEEDS)


def _text_of(key: Key) -> str:
    """Return the key, and the first bytes of the file, in the form that the cipher takes."""
    return f"raw:{key.secret.hex()}{_MARK.hex()}{key.id}"


def _counts(connection: apsw.Connection) -> list[tuple[str, int]]:
    """Return the name and number of rows of each table, with the shadow tables of text indices."""
    names = [
        str(name)
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
            " ORDER BY name"
        )
    ]
    return [
        (name, connection.execute(f'SELECT count(*) FROM "{name}"').get)  # noqa: S608 - our tables
        for name in names
    ]
