"""Segments: files of one block each, written once and then memory-mapped.

An encrypted one is decrypted into memory instead, at 1.5 GB a second.
"""

import json
import math
import mmap
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from minutebook.store.disk.atomic_file import synced_file
from minutebook.store.disk.encryption import FileDamaged, Key, content_size, encrypting, read_into
from minutebook.store.sidecar.block import Block, Extent, Facet, P

_MAGIC = b"minutebook index 1\n"
_ALIGNED = 64
_COLUMNS = ("ids", "valid_from", "valid_until", "kept", "hidden")


class Damaged(Exception):
    """A file of the index is not as it was written; the index must be made anew."""


def write(path: Path, block: Block[P], key: Key | None = None) -> None:
    """Write a block to a new file, encrypted if there is a key, and flush it to the disk."""
    columns: dict[str, NDArray[Any]] = {name: getattr(block, name) for name in _COLUMNS}
    columns |= {f"payload.{name}": column for name, column in block.payload.columns().items()}
    columns |= {f"facet.{name}": facet.places for name, facet in block.facets.items()}
    offset, layout = 0, {}
    for name, column in columns.items():
        layout[name] = {"type": column.dtype.str, "shape": column.shape, "place": offset}
        offset += -(-column.nbytes // _ALIGNED) * _ALIGNED
    facets = {name: facet.values for name, facet in block.facets.items()}
    head = json.dumps(
        {"columns": layout, "facets": facets, "extent": asdict(block.extent), "size": offset}
    ).encode()
    with synced_file(path) as plain, encrypting(plain, key) as file:
        file.write(_MAGIC + len(head).to_bytes(8, "little") + head)
        _pad(file.tell(), file)
        for column in columns.values():
            file.write(np.ascontiguousarray(column).data)
            _pad(column.nbytes, file)


def read(path: Path, payload: type[P], key: Key | None = None) -> Block[P]:
    """Return the block in a file, memory-mapped or decrypted.

    Raises FileNotFoundError if there is no such file, Damaged if it holds no such block or is not encrypted with the key.
    """
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            raise Damaged(f"{path}: empty")
        if key is None:
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        else:
            memory = decrypted(file, path, key)
    if memory[: len(_MAGIC)] != _MAGIC:
        raise Damaged(f"{path}: not a segment")
    before = len(_MAGIC) + 8
    length = int.from_bytes(memory[len(_MAGIC) : before], "little")
    start = -(-(before + length) // _ALIGNED) * _ALIGNED
    if start > len(memory):
        raise Damaged(f"{path}: cut short")
    try:
        head = json.loads(memory[before : before + length])
        if start + head["size"] != len(memory):
            raise Damaged(f"{path}: {len(memory)} bytes, not {start + head['size']}")
        return _mapped(memory, start, head, payload)
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise Damaged(f"{path}: {error}") from error


def decrypted(file: BinaryIO, path: Path, key: Key) -> mmap.mmap:
    """Return the content of an encrypted file, decrypted in memory. Raises Damaged if it is not as it was written."""
    try:
        memory = mmap.mmap(-1, max(content_size(file, str(path), key), 1))
        read_into(file, str(path), key, memoryview(memory))
    except FileDamaged as error:
        raise Damaged(str(error)) from error
    return memory


def _mapped(memory: mmap.mmap, start: int, head: dict[str, Any], payload: type[P]) -> Block[P]:
    columns: dict[str, Any] = {
        name: np.frombuffer(
            memory,
            np.dtype(layout["type"]),
            math.prod(layout["shape"]),
            start + layout["place"],
        ).reshape(layout["shape"])
        for name, layout in head["columns"].items()
    }
    facets = {
        name: Facet(tuple(values), columns.pop(f"facet.{name}"))
        for name, values in head["facets"].items()
    }
    extent = Extent(**head["extent"])
    own = {
        name.removeprefix("payload."): columns.pop(name)
        for name in list(columns)
        if name.startswith("payload.")
    }
    return Block(**columns, facets=facets, extent=extent, payload=payload.of_columns(own))


def _pad(written: int, file: Any) -> None:
    file.write(bytes(-written % _ALIGNED))
