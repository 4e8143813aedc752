"""Pages of an encrypted database and of its write-ahead log, decrypted one by one in the order of the file.

The engine reads only the pages in use. A search for remains must also read free pages, and frames of
the log that were copied to the database already. A page ends with a nonce of 16 bytes and a tag of 16; the last four
bytes of the nonce, exclusive-or the number of the page, are the first block counter of ChaCha20. Its
first block is the key of the tag (Poly1305, over all before it) and the key of the page.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from minutebook.record.errors import StoreError
from minutebook.store.disk.encryption import Key

_NONCE_BYTES = _TAG_BYTES = 16
_PLAIN_BYTES = 24
"""The bytes at the beginning of the first page that are not encrypted: the name of the key, and the size of a page."""

_LOG_HEAD_BYTES, _FRAME_HEAD_BYTES = 32, 24
_LARGEST_PAGE = 1 << 16
_PAGE_SIZES = {1 << power for power in range(9, 17)}
_COUNTERS = 1 << 32
_ATTEMPTS = 5
"""The times that a page is read until its tag fits."""


class PagesUnreadable(StoreError):
    """Pages of an encrypted database are not whole, or changed each time that they were read."""


def pages(file: BinaryIO, called: str, key: Key) -> Iterator[bytes]:
    """Yield the content of each page of a database. Raises PagesUnreadable at a page that is not whole."""
    file.seek(0)
    size = int.from_bytes(file.read(_PLAIN_BYTES)[16:18], "big")
    # A page of 64 KiB is written as 1.
    size = _LARGEST_PAGE if size == 1 else size
    yield from _read(file, called, key, size, 0, lambda place: (place // size + 1, 0))


def log_pages(file: BinaryIO, called: str, key: Key) -> Iterator[bytes]:
    """Yield the content of each page in a write-ahead log, also of pages from before its last restart.

    Raises PagesUnreadable at a page that is not whole.
    """
    file.seek(0)
    head = file.read(_LOG_HEAD_BYTES)
    if len(head) < _LOG_HEAD_BYTES:
        return
    size = int.from_bytes(head[8:12], "big")

    def number_at(place: int) -> tuple[int, int]:
        file.seek(place)
        return int.from_bytes(file.read(4), "big"), _FRAME_HEAD_BYTES

    yield from _read(file, called, key, size, _LOG_HEAD_BYTES, number_at)


def _read(
    file: BinaryIO,
    called: str,
    key: Key,
    size: int,
    place: int,
    number_at: Callable[[int], tuple[int, int]],
) -> Iterator[bytes]:
    """Yield the content of each page from `place` on, of `size` bytes.

    `number_at` returns the number of the page at a place in the file, and the bytes of the head before the page.
    """
    if size not in _PAGE_SIZES:
        raise PagesUnreadable("{called}: its pages cannot be told apart", called=called)
    while True:
        for _ in range(_ATTEMPTS):
            # Another process may be writing this very page.
            number, before = number_at(place)
            file.seek(place + before)
            page = file.read(size)
            if len(page) < size:
                return
            content = _decrypted(page, number, key)
            if content is not None:
                break
        else:
            reason = "{called}: page {number:,} is not whole, or is being written"
            raise PagesUnreadable(reason, called=called, number=number)
        yield content
        place += before + size


def _decrypted(page: bytes, number: int, key: Key) -> bytes | None:
    """Return the plain content of a page by its number; None if its tag does not fit."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.poly1305 import Poly1305

    end = len(page) - _NONCE_BYTES - _TAG_BYTES
    nonce, tag = page[end:-_TAG_BYTES], page[-_TAG_BYTES:]
    counter = int.from_bytes(nonce[-4:], "little") ^ number
    keys = _chacha20(key.secret, counter, nonce, bytes(64))
    try:
        Poly1305.verify_tag(keys[:32], page[:-_TAG_BYTES], tag)
    except InvalidSignature:
        return None
    plain = _PLAIN_BYTES if number == 1 else 0
    return page[:plain] + _chacha20(keys[32:], counter + 1, nonce, page[plain:end])


def _chacha20(secret: bytes, counter: int, nonce: bytes, data: bytes) -> bytes:
    """Encrypt or decrypt data, from the first block counter on."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

    start = (counter % _COUNTERS).to_bytes(4, "little") + nonce[:12]
    return Cipher(algorithms.ChaCha20(secret, start), None).encryptor().update(data)


def database_of_log(path: Path) -> Path:
    """Return the path of the database of a write-ahead log, by its name; of another file its own path."""
    return path.with_name(path.name.removesuffix("-wal"))
