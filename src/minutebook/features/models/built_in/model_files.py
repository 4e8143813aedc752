"""The files of the built-in models, which `tools/models` derives when a wheel is built.

`manifest.json` holds the size and SHA-256 of each. Measurements and reasons are in
docs/decisions/0003-built-in-model.md.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from minutebook.record.errors import ModelUnavailable
from minutebook.record.reason import Reason, cause_of

Blocks = NDArray[np.uint8]
"""Packed rows, shape (rows, columns / 32, 18)."""
Floats = NDArray[np.float32]

WIDTH = 384
"""Dimensions of the states and vectors of either model."""
BLOCK, BLOCK_BYTES = 32, 18
"""The number of weights of a block, and of its bytes: a float16 scale, then bytes of two 4-bit weights each."""


@dataclass(frozen=True, slots=True)
class PublishedModel:
    """A model that others published: its name, its licence, and the hash of the weights that ours are derived from."""

    name: str
    licence: str
    sha256: str


E5 = PublishedModel(
    "multilingual-e5-small",
    "MIT",
    "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
)
MINILM = PublishedModel(
    "all-MiniLM-L6-v2",
    "Apache-2.0",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)
PUBLISHED = (E5, MINILM)

FILES = Path(__file__).with_name("files")
MANIFEST = "manifest.json"
TOKENIZER = "multilingual-tokenizer.model"
VOCABULARY = Path(__file__).with_name("english-vocabulary.txt")
"""The word pieces of the English model in the order of their ids: the published file, kept in the repository."""


def body_of(language: str) -> Path:
    """Return the ONNX graph of the `multilingual` or the `english` model."""
    return FILES / f"{language}-body.onnx"


def words_of(language: str) -> Path:
    """Return the word vectors of a model, packed in blocks of four bits."""
    return FILES / f"{language}-words.q4"


REINSTALL = Reason("reinstall minutebook")


def require_files() -> None:
    """Raise ModelUnavailable if this installation was built without the files of the models."""
    if not (FILES / MANIFEST).is_file():
        raise ModelUnavailable(
            "this installation of minutebook was built without its models",
            "install a wheel that was built on Linux, or on a Mac with an Apple processor",
        )


def unreadable(error: Exception) -> ModelUnavailable:
    """Return the error of files that cannot be opened."""
    return ModelUnavailable("the model cannot be opened: {error}", REINSTALL, error=error)


def damage() -> Reason | None:
    """Read all files and return their damage; None if there is none, or if there are no files."""
    try:
        require_files()
        manifest = json.loads((FILES / MANIFEST).read_text(encoding="utf-8"))
        for name, entry in manifest["files"].items():
            path = FILES / name
            if path.stat().st_size != entry["bytes"]:
                return Reason("{path} is of the wrong size", path=path)
            if sha256_of(path) != entry["sha256"]:
                return Reason("{path} is damaged", path=path)
    except ModelUnavailable:
        return None
    except FileNotFoundError as error:
        return Reason("{path} is missing", path=error.filename)
    except OSError as error:
        return Reason("{path} cannot be read: {cause}", path=FILES, cause=cause_of(error))
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return Reason("{path} is damaged", path=FILES / MANIFEST)
    return None


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class WordTable:
    """The word vectors of a model, memory-mapped; only the rows in use are unpacked."""

    def __init__(self, path: Path) -> None:
        blocks = np.memmap(path, dtype=np.uint8, mode="r")
        self._blocks = blocks.reshape(-1, WIDTH // BLOCK, BLOCK_BYTES)

    def rows(self, ids: list[int]) -> Floats:
        """Return the vectors of pieces, shape (ids, WIDTH)."""
        return dequantise(self._blocks[ids])


def dequantise(blocks: Blocks) -> Floats:
    """Unpack 4-bit rows (rows, n, 18) to float32 (rows, 32 n).

    The low nibbles of a block are its weights 0-15, the high ones 16-31, each (nibble - 8) x scale.
    """
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    nibbles = blocks[..., 2:]
    levels = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
    levels *= scales
    return levels.reshape(len(blocks), -1)
