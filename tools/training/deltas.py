"""What LoRA adds to matrices, W + s·UA, kept as half floats: `NAME.a` (rank, columns) and `NAME.u` (rows, rank)."""

from collections.abc import Mapping
from pathlib import Path
from unittest import mock

import numpy as np

from minutebook.features.models.built_in import builtin, quantize
from minutebook.features.models.built_in.weights import Floats, Weights


def deltas(path: Path, scale: float = 1.0) -> dict[str, Floats]:
    """Read what is added to each matrix, by its name; a scale below 1 stays nearer to the plain model."""
    kept = {name: each.astype(np.float32) for name, each in np.load(path).items()}
    names = [name.removesuffix(".a") for name in kept if name.endswith(".a")]
    return {f"{name}.w": scale * (kept[f"{name}.u"] @ kept[f"{name}.a"]) for name in names}


class Changed(Weights):
    """The weights with something added to some matrices."""

    def __init__(self, path: Path, deltas: Mapping[str, Floats]) -> None:
        super().__init__(path)
        self._deltas = deltas

    def matrix(self, name: str, columns: int) -> Floats:
        """Return a matrix with what is added to it."""
        plain = super().matrix(name, columns)
        added = self._deltas.get(name)
        return plain if added is None else plain + added


def merged(added: Mapping[str, Floats], models: Path) -> Path:
    """Derive the model's files from changed weights into a folder of models of its own, and return theirs."""
    with mock.patch.object(quantize, "Weights", lambda path: Changed(path, added)):
        return builtin.prepare(models)
