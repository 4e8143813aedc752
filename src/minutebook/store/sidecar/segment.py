"""A block as a file that is written once and then read through the memory map."""

import json
import math
import mmap
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from minutebook.disk.atomic_file import synced_file
from minutebook.store.sidecar.block import Block, Extent, Facet, P

_MAGIC = b"minutebook index 2\n"
_ALIGNED = 64
_COLUMNS = ("ids", "valid_from", "valid_until", "hidden")


class Damaged(Exception):
    """A file of the index is not what was written; the index is to be made anew."""


def write(path: Path, block: Block[P]) -> None:
    """Write a block to a new file and wait until it is on the disk."""
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
    with synced_file(path) as file:
        file.write(_MAGIC + len(head).to_bytes(8, "little") + head)
        _pad(file.tell(), file)
        for column in columns.values():
            file.write(np.ascontiguousarray(column).data)
            _pad(column.nbytes, file)


def read(path: Path, payload: type[P]) -> Block[P]:
    """Map a file that holds such a payload. Raises FileNotFoundError, and Damaged if it does not."""
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise Damaged(f"{path}: not a segment")
        length = int.from_bytes(file.read(8), "little")
        start = -(-(len(_MAGIC) + 8 + length) // _ALIGNED) * _ALIGNED
        size = os.fstat(file.fileno()).st_size
        if start > size:
            raise Damaged(f"{path}: cut short")
        try:
            head = json.loads(file.read(length))
            if start + head["size"] != size:
                raise Damaged(f"{path}: {size} bytes, not {start + head['size']}")
            memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return _mapped(memory, start, head, payload)
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise Damaged(f"{path}: {error}") from error


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
