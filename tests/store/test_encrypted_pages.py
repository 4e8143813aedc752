"""What stands in an encrypted database and its log is read page by page, whether it counts or not."""

from contextlib import closing
from pathlib import Path

import pytest

from minutebook.features.erasure.encrypted_pages import PagesUnreadable, log_pages, pages
from minutebook.store.disk.encryption import Key
from minutebook.store.sqlite.encryption import connect

PAGE = 4096


def read(path: Path, key: Key) -> tuple[bytes, bytes]:
    """Everything that the file holds, and everything that its log holds."""
    with path.open("rb") as file, path.with_name(f"{path.name}-wal").open("rb") as log:
        return b"".join(pages(file, "the file", key)), b"".join(log_pages(log, "the log", key))


def test_every_page_is_read_free_ones_and_those_of_the_log_too(tmp_path: Path) -> None:
    path, key = tmp_path / "a.db", Key.generate()
    with closing(connect(path, key)) as connection:
        connection.pragma("journal_mode", "wal")
        connection.pragma("secure_delete", "off")
        connection.execute("CREATE TABLE one (text)")
        connection.execute("INSERT INTO one VALUES ('apple' || hex(zeroblob(9000)))")
        connection.execute("CREATE TABLE two (text)")
        connection.execute("INSERT INTO two VALUES ('cherry')")
        connection.wal_checkpoint(mode=3)
        connection.execute("DROP TABLE one")
        connection.execute("UPDATE two SET text = 'damson'")
        connection.execute("UPDATE two SET text = 'fig'")
        content, log = read(path, key)
        # The file's pages without the 32 bytes of nonce and tag.
        assert len(content) == path.stat().st_size // PAGE * (PAGE - 32)
        assert b"apple" in content
        assert b"cherry" in content
        assert all(word in log for word in (b"damson", b"fig"))
        assert not any(word in path.read_bytes() for word in (b"apple", b"cherry"))
        with pytest.raises(PagesUnreadable, match="page 1 "):
            read(path, Key.generate())
    content = path.read_bytes()
    path.write_bytes(content[:PAGE] + bytes([content[PAGE] ^ 1]) + content[PAGE + 1 :])
    with path.open("rb") as file, pytest.raises(PagesUnreadable, match="page 2 "):
        list(pages(file, "the file", key))
