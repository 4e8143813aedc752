"""The sets that tell whether strangers gain, as pools: no training sees them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks import public_sets
from benchmarks.finding import datasets
from benchmarks.finding.datasets import Collection, Query
from benchmarks.quality import OURS, PUBLIC
from tools.training.sources import Pool

ASKED = 40
"""Questions of each language of XQuAD."""
STORES = 5
"""Of each set: ten of BEAM's would take longer than all others together."""


def _pools(path: Path, group: str = "", most: int = 10_000) -> Iterator[Pool]:
    """Yield the stores of a data set with the questions of a group that have an answer there."""
    for each in datasets.sampled(public_sets.read(path), most).collections:
        queries = [query for query in each.queries if not group or group in query.groups]
        if queries:
            yield _pool(each, queries)


def _pool(of: Collection, queries: list[Query]) -> Pool:
    place = {each.id: at for at, each in enumerate(of.documents)}
    asked = [
        (each.text, [place[id] for id in each.relevant if id in place])
        for each in queries
        if each.relevant
    ]
    texts = [f"{each.text}\n{each.response}".strip() for each in of.documents]
    return Pool(texts, [(text, held) for text, held in asked if held])


def measured() -> Mapping[str, list[Pool]]:
    """Read all sets that are there, by name."""
    sets = (
        ("notes", OURS / "notes.jsonl", "", 1000),
        ("relations", OURS / "relations.jsonl", "", 1000),
        ("locomo", PUBLIC / "locomo-dev.json", "1–4", 1000),
        ("cosqa", PUBLIC / "cosqa-dev.json", "", 1000),
        ("across", PUBLIC / "xquad-dev.json", "of English paragraphs", ASKED),
        ("arabic", PUBLIC / "xquad-dev.json", "ar → en", 5 * ASKED),
        ("within", PUBLIC / "xquad-dev.json", "within one language", ASKED),
        ("beam", PUBLIC / "beam-dev.jsonl", "", 1000),
    )
    return {
        name: list(_pools(path, group, most))[:STORES]
        for name, path, group, most in sets
        if path.exists()
    }
