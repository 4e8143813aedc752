"""Ask the whole search with a changed model, and with the one that there is: the sets of `benchmarks.quality`.

The change is put into this process alone: what the product opens is the model that it ships.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks import public_sets
from benchmarks.finding import datasets, runs
from benchmarks.finding.metrics import interval, score
from benchmarks.quality import OURS, PUBLIC
from minutebook.config import Settings
from minutebook.features.models.built_in import builtin, model_files
from minutebook.features.models.built_in.builtin import BuiltInEmbedder
from minutebook.features.models.built_in.model_files import Floats
from minutebook.model.protocol import Embedded
from minutebook.text.late_interaction import Signs, signs_of
from tools.training.residual import Residual

SETS: Mapping[Path, tuple[str, int]] = {
    OURS / "notes.jsonl": ("", 1000),
    OURS / "relations.jsonl": ("", 1000),
    PUBLIC / "locomo-dev.json": ("1–4", 12),
    PUBLIC / "xquad-dev.json": ("", 6),
    PUBLIC / "beam-dev.jsonl": ("", 1),
    PUBLIC / "cosqa-dev.json": ("", 200),
}
"""The sets, the group of questions that is asked (empty: all), and how many of each category."""


@contextmanager
def changed(residual: Residual, *, of_texts: bool) -> Iterator[None]:
    """Change the states of questions, and of texts if wanted."""
    plain = BuiltInEmbedder.embed_query

    def embed_query(self: BuiltInEmbedder, text: str) -> Embedded:
        made = plain(self, text)
        assert made.tokens is not None
        return replace(
            made,
            tokens=replace(made.tokens, states=residual(made.tokens.states).astype(np.float32)),
        )

    def signs(states: Floats) -> Signs:
        return signs_of(residual(states).astype(np.float32) if of_texts else states)

    with (
        mock.patch.object(BuiltInEmbedder, "embed_query", embed_query),
        mock.patch.object(builtin, "signs_of", signs),
    ):
        yield


@contextmanager
def of_files(folder: Path) -> Iterator[None]:
    """Have the models of another folder opened meanwhile."""
    with mock.patch.object(model_files, "FILES", folder):
        yield


def asked(path: Path, settings: Settings) -> list[float]:
    """Return NDCG@10 of each question of a set through `recall`, or the tool that asks of code."""
    group, most = SETS[path]
    found = runs.run(datasets.sampled(public_sets.read(path), most), settings, _unheard)
    return [
        score(each.outcomes[found.main].ranked, each.query.relevant)["NDCG@10"]
        for each in found.results
        if not group or group in each.query.groups
    ]


def _unheard(part: float, what: str) -> None:
    """Make nothing of how much is done."""


def gain(name: str, before: Sequence[float], after: Sequence[float]) -> str:
    """Say in a line what a change gains, in points of NDCG@10 with the 95 % interval over questions."""
    gained = [100 * (new - old) for old, new in zip(before, after, strict=True)]
    mean, low, high = interval(gained)
    plain = 100 * sum(before) / len(before)
    return f"{name:<14}{len(gained):>6}  NDCG {plain:5.1f}{mean:+6.2f} [{low:+.1f}, {high:+.1f}]"
