"""The search of files for pieces of texts, in every form that Minutebook and Git write them in."""

import gzip
import json
import os
import tarfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, cast

import numpy as np

from minutebook.features.erasure.encrypted_pages import (
    PagesUnreadable,
    database_of_log,
    log_pages,
    pages,
)
from minutebook.record.errors import EncryptionKeyMissing
from minutebook.store.disk.encryption import FileDamaged, Keys, decrypting, key_place_missing
from minutebook.store.sqlite.encryption import HEAD_BYTES, key_id_in, key_of

LENGTH = 24
"""The characters of a piece; a shorter text is one piece."""

STEP = 8
"""The characters from the beginning of a piece to the next: any 31 characters of a text hold a piece."""

SHORTEST = 6
"""The least bytes of a piece; a shorter one would be found everywhere by chance, and is not searched for."""

_BLOCK_BYTES = 8 << 20
_PAGES_AT_ONCE = 512

_WINDOW = 8
"""The first bytes of a form, by which it is found; a shorter form is searched for by itself."""

_HASH_BITS = 20
_HASH_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""The odd number next to 2 ** 64 divided by the golden ratio, which spreads the windows over the hash table."""


@dataclass(frozen=True, slots=True)
class Trace:
    """A file that still holds pieces of the texts."""

    path: Path
    pieces: int
    """The number of pieces that it holds."""
    member: str = ""
    """The file in a backup, or the object in a Git pack, that holds them; "" if it is the file itself."""


@dataclass(frozen=True, slots=True)
class Unread:
    """An encrypted file that could not be read, and the reason."""

    path: Path
    reason: str


def pieces_of(texts: Iterable[str]) -> set[str]:
    """Return the overlapping pieces of texts, without blanks around them."""
    pieces: set[str] = set()
    for text in texts:
        stripped = text.strip()
        last = max(len(stripped) - LENGTH, 0)
        starts = {*range(0, last + 1, STEP), last}
        pieces.update(stripped[start : start + LENGTH] for start in starts)
    return {each for each in pieces if len(each.encode("utf-8", "surrogatepass")) >= SHORTEST}


class Finder:
    """Searches bytes for pieces of texts as UTF-8, UTF-16 (both file) and in JSON, with escapes and without.

    A hash table tells at which bytes a form of a piece may begin; only there the forms are compared.
    """

    def __init__(self, pieces: Collection[str]) -> None:
        # The piece of each form.
        self._pieces_of: dict[bytes, str] = {}
        for piece in pieces:
            for form in _forms(piece):
                self._pieces_of.setdefault(form, piece)
        self._short = [each for each in self._pieces_of if len(each) < _WINDOW]
        # The longer forms by their first bytes, and a table that is true at the hashes of these.
        self._by_start: dict[bytes, list[bytes]] = {}
        for form in self._pieces_of:
            if len(form) >= _WINDOW:
                self._by_start.setdefault(form[:_WINDOW], []).append(form)
        starts = np.frombuffer(b"".join(self._by_start), np.uint64)
        self._table = np.zeros(1 << _HASH_BITS, np.bool_)
        self._table[_slots(starts)] = True
        self.longest = max(map(len, self._pieces_of), default=0)

    def found_in(self, data: bytes) -> set[str]:
        """Return the pieces that some bytes hold."""
        found = {self._pieces_of[form] for form in self._short if form in data}
        count = len(data) - _WINDOW + 1
        if count > 0 and self._by_start:
            # The eight bytes at each place as one number, without a copy of the data.
            windows = np.ndarray((count,), np.uint64, data, strides=(1,))
            for place in np.flatnonzero(self._table[_slots(windows)]).tolist():
                for form in self._by_start.get(data[place : place + _WINDOW], ()):
                    if data.startswith(form, place):
                        found.add(self._pieces_of[form])
        return found

    def found_in_blocks(self, blocks: Iterable[bytes]) -> set[str]:
        """Return the pieces that a sequence of blocks holds, also across the border of two blocks."""
        found: set[str] = set()
        before = b""
        for block in blocks:
            data = before + block
            found |= self.found_in(data)
            before = data[-self.longest :] if self.longest else b""
        return found


def search(
    finder: Finder, roots: Sequence[Path], keys: Keys | None
) -> tuple[list[Trace], list[Unread]]:
    """Search some files and all files below some folders, decrypted, and their parts compressed by Git, gzip and tar.

    Returns the files with pieces, and the encrypted files that could not be read, as their keys are missing or they are
    damaged. Raises OSError if another file cannot be read; it leaves out files that vanish meanwhile.
    """
    traces, unread = [], []
    for path in _files(roots):
        try:
            with path.open("rb") as file:
                if not S_ISREG(os.fstat(file.fileno()).st_mode):
                    continue
                for member, blocks in _contents(path, file, keys):
                    if found := finder.found_in_blocks(blocks):
                        traces.append(Trace(path, len(found), member))
        except FileNotFoundError:
            continue
        except (EncryptionKeyMissing, FileDamaged, PagesUnreadable) as error:
            unread.append(Unread(path, str(error)))
    return traces, unread


def _files(roots: Sequence[Path]) -> Iterator[Path]:
    """Yield the plain files that are, or are below, the roots, each once; it does not follow links."""
    seen: set[Path] = set()
    for root in roots:
        if root.is_file():
            seen.add(root)
            yield root
        for folder, folders, names in os.walk(root):
            here = Path(folder)
            folders.sort()
            for name in sorted(names):
                path = here / name
                if path not in seen and not path.is_symlink():
                    seen.add(path)
                    yield path


def _contents(
    path: Path, file: BinaryIO, keys: Keys | None
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the content of a file, decrypted, in blocks, under the name "", then its compressed parts by their names."""
    log_key, key = key_of(database_of_log(path), keys), key_of(path, keys)
    if key is not None:
        yield "", _join(pages(file, str(path), key))
    elif log_key is not None:
        yield "", _join(log_pages(file, str(path), log_key))
    else:
        with decrypting(file, str(path), keys) as inside:
            yield "", _blocks(inside)
            inside.seek(0)
            yield from _unpack(path, inside, keys)


def _unpack(path: Path, file: BinaryIO, keys: Keys | None) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the decompressed parts of a Git object, a Git pack, a gzip file or a backup with Git objects, by their names."""
    parts = path.parts
    if len(parts) > 2 and "objects" in parts[-3:-1]:
        if path.suffix == ".pack":
            from minutebook.features.ledger.git.objects import packed

            for name, data in packed(path):
                yield name, [data]
        elif len(parts[-2]) == 2:
            yield from _inflate("", file.read())
    elif path.suffix == ".gz":
        try:
            yield "", [gzip.decompress(file.read())]
        except (OSError, EOFError, zlib.error):
            return
    elif path.suffix == ".tar":
        yield from _members(path, file, keys)


def _members(
    path: Path, file: BinaryIO, keys: Keys | None
) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the encrypted databases and the Git objects in a backup, decrypted and decompressed, by their names."""
    try:
        with tarfile.open(fileobj=file, mode="r:") as tar:
            for member in tar:
                if not member.isreg():
                    continue
                content = cast("BinaryIO", tar.extractfile(member) or BytesIO())
                if "/objects/" in member.name:
                    yield from _inflate(member.name, content.read())
                elif (id := key_id_in(content.read(HEAD_BYTES))) is not None:
                    called = f"{path}, in it {member.name},"
                    if keys is None:
                        raise key_place_missing(called, id)
                    yield member.name, _join(pages(content, called, keys.find(id, called)))
    except tarfile.TarError:
        # It is no tar, and was searched as a plain file before.
        return


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK_BYTES):
        yield block


def _join(contents: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the contents of pages, many in one."""
    while several := list(islice(contents, _PAGES_AT_ONCE)):
        yield b"".join(several)


def _inflate(name: str, data: bytes) -> Iterator[tuple[str, Iterable[bytes]]]:
    """Yield the decompressed content of a Git object under a name; nothing of another file."""
    try:
        yield name, [zlib.decompress(data)]
    except zlib.error:
        # It is no Git object, and was searched as a plain file before.
        return


def _forms(piece: str) -> Iterator[bytes]:
    """Yield the forms in which a piece may be written."""
    yield piece.encode("utf-8", "surrogatepass")
    yield json.dumps(piece)[1:-1].encode()
    yield json.dumps(piece, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    yield piece.encode("utf-16-le", "surrogatepass")
    yield piece.encode("utf-16-be", "surrogatepass")


def _slots(
    starts: "np.ndarray[tuple[int], np.dtype[np.uint64]]",
) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """Return the place in the hash table of each window of eight bytes; both have the shape (windows,)."""
    with np.errstate(over="ignore"):
        return (starts * _HASH_FACTOR) >> np.uint64(64 - _HASH_BITS)
