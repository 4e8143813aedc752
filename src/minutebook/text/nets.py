"""Small neural networks over named signs, fitted by `benchmarks/fit_revisions.py` and `benchmarks/fit_talks.py`."""

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
    """The average of k networks over n signs, each one hidden layer of h units plus a logistic regression.

    Signs are standardised by their `mean` and `spread` in the data of the fit, (n,). `into`, (k, n, h), and `into_bias`,
    (k, h), lead from signs to hidden units; `out`, (k, h), and `out_bias`, (k, 1), from these to log odds. `straight`,
    (k, n), has the weights of the logistic regression. `scale`, (2,), is the factor and the constant that calibrate the
    averaged log odds; `cut`, (1,), the chance from which on the answer is yes.
    """

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

    def chances(self, signs: Sequence[Mapping[str, float]]) -> Floats:
        """Return the chance in [0, 1] by each mapping from signs to values, (mappings,); a sign that is missing counts 0."""
        rows = np.array([[each.get(name, 0.0) for name in self.names] for each in signs])
        rows = (rows - self.mean) / self.spread
        hidden = np.tanh(rows @ self.into + self.into_bias[:, None])
        odds = (hidden @ self.out[:, :, None])[:, :, 0] + self.out_bias
        odds = (odds + self.straight @ rows.T).mean(axis=0)
        likely: Floats = 1 / (1 + np.exp(-(odds * self.scale[0] + self.scale[1])))
        return likely


def nets(path: Path) -> dict[str, Net]:
    """Read networks, by name, from a .npz file with arrays named `net.attribute`."""
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
