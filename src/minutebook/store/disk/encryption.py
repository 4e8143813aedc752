"""Encrypted files: AES-256-GCM in chunks, each file under a key of its own.

A file begins with 40 bytes: a mark, the id of the key, a random salt. The key of the file is derived from
key and salt by HKDF-SHA256, so no nonce is ever used twice. Chunks of 256 KiB follow, each with its tag;
the nonce is the number of the chunk and whether it is the last, so that a file whose chunks were cut
off, exchanged or repeated is refused (the STREAM construction).
"""

import hashlib
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from minutebook.record.errors import EncryptionKeyMissing, StoreError
from minutebook.record.reason import os_error_reason

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

SECRET_BYTES = 32

KEYRING, KEY_FILE = "keyring", "file:"
"""The setting `key` is KEYRING for the system's keyring, or KEY_FILE and a path for a file."""

_MARK = b"minutebook aead1"
_ID_BYTES, _SALT_BYTES, _TAG_BYTES = 8, 16, 16
_HEAD_BYTES = len(_MARK) + _ID_BYTES + _SALT_BYTES
_CHUNK = 256 << 10
_PURPOSE = b"minutebook file"


@dataclass(frozen=True, slots=True)
class Key:
    """A secret of 32 random bytes. Raises ValueError if it has another length."""

    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.secret) != SECRET_BYTES:
            raise ValueError(len(self.secret))

    @classmethod
    def generate(cls) -> "Key":
        """Return a new random key."""
        return cls(os.urandom(SECRET_BYTES))

    @property
    def id(self) -> str:
        """The id of the key, 16 hexadecimal digits, from which the secret cannot be guessed."""
        digest = hashlib.sha256(b"minutebook key id" + self.secret).digest()
        return digest[:_ID_BYTES].hex()


class Keys(Protocol):
    """A collection of keys, found by their ids."""

    def find(self, id: str, for_what: str) -> Key:
        """Return a key. Raises EncryptionKeyMissing, which names its purpose, if it cannot be had."""


class FileDamaged(StoreError):
    """An encrypted file is not as it was written."""


def key_id_of(path: Path) -> str | None:
    """Return the id of the key that a file was encrypted with, None if it is plain. Raises OSError if it cannot be read."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return _id_in(head)


@contextmanager
def encrypting(file: BinaryIO, key: Key | None) -> Iterator[BinaryIO]:
    """Yield a file that writes its content encrypted into another; without a key, that other file.

    The encrypted file is complete when the block ends without an error.
    """
    if key is None:
        yield file
        return
    writer = _Writer(file, key)
    yield writer  # type: ignore[misc]
    writer.finish()


@contextmanager
def decrypting(file: BinaryIO, called: str, keys: Keys | None) -> Iterator[BinaryIO]:
    """Yield a seekable file with the content of another, which may be encrypted or plain.

    `called` is its path as error messages show it. Raises StoreError if its head cannot be read, EncryptionKeyMissing if
    its key cannot be found, FileDamaged at the first damaged chunk.
    """
    try:
        file.seek(0)
        head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise StoreError(os_error_reason(called, error)) from error
    id = _id_in(head)
    if id is None:
        file.seek(0)
        yield file
        return
    if keys is None:
        raise key_place_missing(called, id)
    with io.BufferedReader(
        _DecryptingReader(file, called, head, keys.find(id, called)), _CHUNK
    ) as reader:
        yield reader


def key_place_missing(called: str, id: str) -> EncryptionKeyMissing:
    """Return the error for an encrypted file when no place of keys is set."""
    reason = "{called} is encrypted with the key {id}, and no place of keys is named"
    return EncryptionKeyMissing(reason, called=called, id=id)


def encrypted(content: bytes, key: Key | None) -> bytes:
    """Return the bytes of an encrypted file with this content; without a key, the content itself."""
    if key is None:
        return content
    file = io.BytesIO()
    with encrypting(file, key) as inside:
        inside.write(content)
    return file.getvalue()


def read_into(file: BinaryIO, called: str, key: Key, memory: memoryview) -> None:
    """Decrypt a whole file into memory of `content_size` bytes. Raises FileDamaged if it is not as it was written."""
    file.seek(0)
    reader = _DecryptingReader(file, called, file.read(_HEAD_BYTES), key)
    if len(memory) != reader.size:
        raise FileDamaged("{called}: it grew or shrank while it was read", called=called)
    for number in range(reader.chunks):
        start = number * _CHUNK
        part = reader.chunk(number)
        memory[start : start + len(part)] = part


def content_size(file: BinaryIO, called: str, key: Key) -> int:
    """Return the size in bytes of an encrypted file's content. Raises FileDamaged if it has another key."""
    file.seek(0)
    return _DecryptingReader(file, called, file.read(_HEAD_BYTES), key).size


def _id_in(head: bytes) -> str | None:
    if len(head) < _HEAD_BYTES or not head.startswith(_MARK):
        return None
    return head[len(_MARK) : len(_MARK) + _ID_BYTES].hex()


def _cipher(key: Key, head: bytes) -> "AESGCM":
    # The import costs 0.05 s of processor time: only those who encrypt pay it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derivation = HKDF(SHA256(), SECRET_BYTES, salt=head[-_SALT_BYTES:], info=_PURPOSE)
    return AESGCM(derivation.derive(key.secret))


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


class _Writer:
    """Encrypts what is written, chunk by chunk; the last chunk is written by `finish`, because it is marked as the last."""

    def __init__(self, file: BinaryIO, key: Key) -> None:
        self._file = file
        self._head = _MARK + bytes.fromhex(key.id) + os.urandom(_SALT_BYTES)
        self._cipher = _cipher(key, self._head)
        self._buffer = bytearray()
        self._number = self._written = 0
        file.write(self._head)

    def write(self, data: Any) -> int:
        """Write some bytes."""
        view = memoryview(data).cast("B")
        self._written += len(view)
        self._buffer += view
        start = 0
        while len(self._buffer) - start > _CHUNK:
            self._put(memoryview(self._buffer)[start : start + _CHUNK].tobytes(), is_last=False)
            start += _CHUNK
        del self._buffer[:start]
        return len(view)

    def tell(self) -> int:
        """Return the number of bytes written."""
        return self._written

    def flush(self) -> None:
        """Do nothing: the rest is written by `finish`."""

    def finish(self) -> None:
        """Write the last chunk."""
        self._put(bytes(self._buffer), is_last=True)

    def _put(self, chunk: bytes, *, is_last: bool) -> None:
        nonce = _nonce(self._number, is_last=is_last)
        self._file.write(self._cipher.encrypt(nonce, chunk, self._head))
        self._number += 1


class _DecryptingReader(io.RawIOBase):
    """Reads from any position of an encrypted file."""

    def __init__(self, file: BinaryIO, called: str, head: bytes, key: Key) -> None:
        super().__init__()
        self._file = file
        self._called = called
        self._head = head
        if _id_in(head) != key.id:
            raise FileDamaged(
                "{called}: it is not encrypted with the key {id}", called=called, id=key.id
            )
        self._cipher = _cipher(key, head)
        body = file.seek(0, io.SEEK_END) - _HEAD_BYTES
        self.chunks = -(-body // (_CHUNK + _TAG_BYTES))
        self.size = body - self.chunks * _TAG_BYTES
        if self.size < 0 or not self.chunks:
            raise FileDamaged("{called}: it was cut short", called=called)
        self._position = 0
        self._cached: tuple[int, bytes] = (-1, b"")

    def chunk(self, number: int) -> bytes:
        """Return the content of a chunk. Raises FileDamaged if it was changed or cut short."""
        if self._cached[0] != number:
            from cryptography.exceptions import InvalidTag

            self._file.seek(_HEAD_BYTES + number * (_CHUNK + _TAG_BYTES))
            data = self._file.read(_CHUNK + _TAG_BYTES)
            nonce = _nonce(number, is_last=number == self.chunks - 1)
            try:
                content = self._cipher.decrypt(nonce, data, self._head)
            except InvalidTag as error:
                raise FileDamaged(
                    "{called}: it was changed or cut short", called=self._called
                ) from error
            self._cached = (number, content)
        return self._cached[1]

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes at the current position."""
        if self._position >= self.size:
            return 0
        number, start = divmod(self._position, _CHUNK)
        part = self.chunk(number)[start : start + len(buffer)]
        buffer[: len(part)] = part
        self._position += len(part)
        return len(part)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position."""
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        self._position = origin + offset
        return self._position

    def tell(self) -> int:
        """Return the current position."""
        return self._position
