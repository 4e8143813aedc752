"""The files of one index: segments, which never change, and a manifest, which is replaced as a whole."""

import json
import logging
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from minutebook.record.errors import StoreError
from minutebook.record.reason import os_error_reason
from minutebook.store.disk.atomic_file import replace_file, synced_file
from minutebook.store.disk.encryption import Key, encrypted
from minutebook.store.disk.filelock import FileLock
from minutebook.store.sidecar import segment, sizes
from minutebook.store.sidecar.block import Block, P, cut, merged
from minutebook.store.sidecar.segment import Damaged
from minutebook.store.sidecar.view import IndexView, Layer

log = logging.getLogger(__name__)

Identity: TypeAlias = Mapping[str, object]
"""The records and the kind of index that files are made of; files of another identity are not read."""

_MANIFEST = "manifest.json"
_LOCK = "lock"
FORMAT = 1
"""The format of the files. An index of another format is made anew from the records."""

_ATTEMPTS = 5
_MERGED_UP_TO = 2


def load(
    folder: Path, identity: Identity, payload: type[P], key: Key | None = None
) -> IndexView[P] | None:
    """Return the view of the files that the manifest names, memory-mapped or decrypted into memory.

    Returns None if there are none, or they are damaged, of another identity or format, or encrypted with another key.
    """
    for _ in range(_ATTEMPTS):
        try:
            manifest = json.loads(_content(folder / _MANIFEST, key))
            if manifest["format"] != FORMAT:
                raise Damaged(_other_format(manifest["format"]))
            if manifest["identity"] != identity:
                return None
            witness = manifest["witness"]
            return IndexView(
                int(manifest["sequence"]),
                None if witness is None else (str(witness[0]), int(witness[1])),
                tuple(_layer(folder, payload, key, **named) for named in manifest["segments"]),
            )
        except FileNotFoundError:
            # Either there is no manifest, or it was replaced since we read it.
            if not (folder / _MANIFEST).exists():
                return None
        except (
            OSError,
            ValueError,
            RecursionError,
            KeyError,
            TypeError,
            StoreError,
            Damaged,
        ) as error:
            log.warning("the index in %s is made anew: %s", folder, error)
            return None
    return None


def _other_format(found: int) -> str:
    if found > FORMAT:
        return (
            f"a later version of Minutebook wrote it in format {found}, and this one reads up to {FORMAT}; "
            "upgrade Minutebook, so that it stays"
        )
    return f"it has format {found}, which no release wrote"


def save(
    folder: Path, identity: Identity, view: IndexView[P], key: Key | None = None
) -> IndexView[P]:
    """Write the layers in memory, merged with the smaller of the last segments; return the saved view. Needs the lock.

    If the disk is full or cannot be written, the view stays in memory and is returned as it was.
    """
    separate, joined = _divided(view.layers)
    try:
        fresh = [_written(folder, block, key) for block in _blocks(joined)]
        return _replaced(folder, identity, replace(view, layers=(*separate, *fresh)), key)
    except OSError as error:
        log.warning("the index in %s stays in memory: %s", folder, error)
        return view


def scrub(
    folder: Path, identity: Identity, view: IndexView[P], key: Key | None = None
) -> IndexView[P]:
    """Rewrite each segment with dead records without them, and write the layers in memory; return the view. Needs the lock.

    No trace of a dead record is left in the files. Raises OSError if one cannot be written.
    """
    layers: list[Layer[P]] = []
    for layer in view.layers:
        if layer.file is not None and layer.dead is None:
            layers.append(layer)
        else:
            layers += [_written(folder, block, key) for block in _blocks([layer])]
    return _replaced(folder, identity, replace(view, layers=tuple(layers)), key)


def _replaced(
    folder: Path, identity: Identity, view: IndexView[P], key: Key | None
) -> IndexView[P]:
    """Write the manifest of a view whose layers are all in files, and remove the files that it does not name."""
    segments = [_named(folder, layer, key) for layer in view.layers]
    manifest = {
        "format": FORMAT,
        "identity": identity,
        "sequence": view.sequence,
        "witness": view.witness,
        "segments": segments,
    }
    replace_file(folder / _MANIFEST, encrypted(json.dumps(manifest).encode(), key))
    _remove_all_but(folder, {name for named in segments for name in named.values()})
    return replace(view, pending=0)


def remove_all(folder: Path) -> None:
    """Remove the files. Needs the lock. Raises StoreError if the manifest cannot be removed."""
    try:
        (folder / _MANIFEST).unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(os_error_reason(folder / _MANIFEST, error)) from error
    _remove_all_but(folder, ())


def try_lock(folder: Path) -> FileLock | None:
    """Take the lock for writing the files, which the caller closes; None if another has it or the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = FileLock(folder / _LOCK)
        if lock.try_acquire():
            return lock
        lock.close()
    except (OSError, StoreError) as error:
        log.warning("the index in %s stays in memory: %s", folder, error)
    return None


@contextmanager
def locked(folder: Path, wait: float) -> Iterator[None]:
    """Hold the lock for writing the files, waiting at most `wait` seconds for it.

    Raises StoreBusy if another process holds it longer, StoreError if the folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError(os_error_reason(folder, error)) from error
    lock = FileLock(folder / _LOCK)
    try:
        lock.acquire(wait)
        yield
    finally:
        lock.close()


def _divided(layers: tuple[Layer[P], ...]) -> tuple[list[Layer[P]], list[Layer[P]]]:
    """Divide layers into those that stay as they are, and those to be merged and written.

    The latter are those in memory, those of which half is dead, and segments at the end that are not much larger than
    all after them, so that each record is rewritten a logarithmic number of times.
    """
    separate = [a for a in layers if a.file is not None and 2 * a.alive > len(a.block)]
    joined = [a for a in layers if not any(a is b for b in separate)]
    size = sum(layer.alive for layer in joined)
    while separate and separate[-1].alive <= min(_MERGED_UP_TO * size, sizes.LARGEST - size):
        joined.append(separate.pop())
        size += joined[-1].alive
    return separate, joined


def _blocks(layers: list[Layer[P]]) -> list[Block[P]]:
    alive = [(layer.block, layer.dead) for layer in layers if layer.alive]
    return cut(merged(alive), sizes.LARGEST) if alive else []


def _written(folder: Path, block: Block[P], key: Key | None) -> Layer[P]:
    name = f"{secrets.token_hex(8)}.segment"
    segment.write(folder / name, block, key)
    return Layer(segment.read(folder / name, type(block.payload), key), None, name)


def _named(folder: Path, layer: Layer[P], key: Key | None) -> dict[str, str | None]:
    if layer.dead is None:
        return {"file": layer.file, "dead": None}
    name = f"{secrets.token_hex(8)}.dead"
    with synced_file(folder / name) as file:
        file.write(encrypted(np.packbits(layer.dead).tobytes(), key))
    return {"file": layer.file, "dead": name}


def _layer(
    folder: Path, payload: type[P], key: Key | None, file: str, dead: str | None
) -> Layer[P]:
    layer = Layer(segment.read(folder / file, payload, key), None, file)
    if dead is None:
        return layer
    bits = np.frombuffer(_content(folder / dead, key), np.uint8)
    return replace(layer, dead=np.unpackbits(bits, count=len(layer.block)).astype(np.bool_))


def _content(path: Path, key: Key | None) -> bytes:
    """Return the content of a small file. Raises Damaged if it is not encrypted with the key."""
    if key is None:
        return path.read_bytes()
    with path.open("rb") as file:
        return bytes(segment.decrypted(file, path, key))


def _remove_all_but(folder: Path, named: Collection[str | None]) -> None:
    for path in folder.iterdir():
        if path.name not in (_MANIFEST, _LOCK) and path.name not in named:
            try:
                path.unlink()
            except OSError as error:
                # If a mapped file cannot be removed, the next save tries again.
                log.debug("%s is left for now: %s", path, error)
