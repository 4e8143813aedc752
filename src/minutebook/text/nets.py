"""Small networks that weigh signs, as `benchmarks/fit_revisions.py` and `benchmarks/fit_talks.py` fit them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Net:
    """Networks of one hidden layer of h beside a logistic model, over n signs; k of them are averaged."""

    names: list[str]
    mean: Floats
    spread: Floats
    into: Floats
    into_bias: Floats
    out: Floats
    out_bias: Floats
    straight: Floats
    scale: Floats
    cut: Floats

    def chances(self, found: Sequence[Mapping[str, float]]) -> Floats:
        """Return the chance of each row, by its signs, (rows,)."""
        rows = np.array([[each.get(name, 0.0) for name in self.names] for each in found])
        rows = (rows - self.mean) / self.spread
        hidden = np.tanh(rows @ self.into + self.into_bias[:, None])
        odds = (hidden @ self.out[:, :, None])[:, :, 0] + self.out_bias
        odds = (odds + self.straight @ rows.T).mean(axis=0)
        likely: Floats = 1 / (1 + np.exp(-(odds * self.scale[0] + self.scale[1])))
        return likely


def nets(path: Path) -> dict[str, Net]:
    """Read the networks of a file, by name."""
    with np.load(path) as kept:
        parts: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        for key in kept.files:
            name, part = key.split(".")
            parts[name][part] = kept[key]
    return {
        name: Net(
            names=each["names"].tolist(),
            **{key: value for key, value in each.items() if key != "names"},
        )
        for name, each in parts.items()
    }
