"""What every part of the conformance tests starts from."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from tempfile import mkdtemp
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings

from minutebook.record.filters import Filter
from minutebook.record.records import Record
from minutebook.store.protocol import Tended
from minutebook.store.values import Candidate
from tests.examples import examples
from tests.store.engine import Engine
from tests.store.samples import SPACES

ACME = Filter(organization="acme")
SPACE, OTHER_SPACE = SPACES
EXAMPLES = settings(
    max_examples=examples(30),
    deadline=None,
    suppress_health_check=[HealthCheck.differing_executors],
)


class Promises:
    """Inherit it and say which engine it is."""

    engine: ClassVar[Engine]

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Tended]:
        with self.engine.fresh(tmp_path / "store") as store:
            yield store

    @contextmanager
    def fresh(self) -> Iterator[Tended]:
        """Return a store for one example of a property."""
        folder = Path(mkdtemp())
        with self.engine.fresh(folder) as store:
            yield store


def check_ranking(found: Sequence[Candidate], expected: Mapping[str, float], limit: int) -> None:
    """Hold a ranking to the scores of everything that may be in it."""
    scores = sorted(expected.values(), reverse=True)[:limit]
    assert [c.score for c in found] == pytest.approx(scores, abs=1e-6)
    for candidate in found:
        assert candidate.score == pytest.approx(expected[candidate.id], abs=1e-6)
    assert list(found) == sorted(found, key=lambda c: (-c.score, c.id))
    assert len({c.id for c in found}) == len(found)


def ids(found: Sequence[Candidate]) -> list[str]:
    return [candidate.id for candidate in found]


def in_a_row(text: list[str], run: list[str]) -> bool:
    return bool(run) and any(text[n : n + len(run)] == run for n in range(len(text)))


def last_text_field(record: Record) -> str:
    texts = [f.name for f in fields(record) if isinstance(getattr(record, f.name), str)]
    return next(n for n in reversed(texts) if n not in ("organization", "id", "kind", "role"))


def in_threads(tasks: Sequence) -> None:
    failed: list[BaseException] = []

    def run(task) -> None:
        try:
            task()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
