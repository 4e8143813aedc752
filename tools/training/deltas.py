"""What LoRA adds to matrices, W + s·UA, kept as half floats: `NAME.a` (rank, columns) and `NAME.u` (rows, rank)."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from minutebook.features.models.built_in import model_files
from minutebook.features.models.built_in.model_files import Floats
from tools.models.derive import MULTILINGUAL
from tools.models.e5 import E5Weights
from tools.models.graph import Quantised, transformer
from tools.models.observe import steps


def deltas(path: Path, scale: float = 1.0) -> dict[str, Floats]:
    """Read what is added to each matrix, by its name; a scale below 1 stays nearer to the plain model."""
    kept = {name: each.astype(np.float32) for name, each in np.load(path).items()}
    names = [name.removesuffix(".a") for name in kept if name.endswith(".a")]
    return {f"{name}.w": scale * (kept[f"{name}.u"] @ kept[f"{name}.a"]) for name in names}


class Changed(E5Weights):
    """The weights with something added to some matrices."""

    def __init__(self, path: Path, deltas: Mapping[str, Floats]) -> None:
        super().__init__(path)
        self._deltas = deltas

    def matrix(self, name: str, columns: int) -> Floats:
        """Return a matrix with what is added to it."""
        plain = super().matrix(name, columns)
        added = self._deltas.get(name)
        return plain if added is None else plain + added


def merged(added: Mapping[str, Floats], folder: Path) -> Path:
    """Derive the models' files from changed weights of multilingual-e5-small into a folder, and return it."""
    shutil.copytree(model_files.FILES, folder, dirs_exist_ok=True)
    source = replace(MULTILINGUAL, reader=lambda path: Changed(path, added))
    body = transformer(source.open(), Quantised(steps(source)))
    (folder / model_files.body_of(source.language).name).write_bytes(body)
    return folder
