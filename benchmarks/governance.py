"""What governing costs: a write with version and trail, proving a trail, searching without a limit.

`python -m benchmarks.governance [--quick]`. Writes go through the service, without a model: policy,
record, version 1, mentions, text index, audit entry and head in one transaction; an update writes a
version more. Texts are 60 words, as in `benchmarks.store`, whose data set of 100,000 memories is what
is searched; the model is made of that data set's questions, so that the figures hold search and
reading, not embedding. A search is read to its end, as the catalog contract answers it. Wall times
in milliseconds; CPU is that of all threads of the process.
"""

import resource
import statistics
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal

from benchmarks import store as data
from benchmarks.measure import DATA, Table, asked, machine, publish, stopwatch, timed
from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.memory.access.audit import Trail
from minutebook.memory.access.visibility import Records
from minutebook.memory.embeddings import Embeddings
from minutebook.memory.search.filtered import FilteredSearch
from minutebook.model import Embedded, Embedding, Model, Vector
from minutebook.record.caller import Call, Caller
from minutebook.record.filters import MemoryQuery
from minutebook.record.records import Kind, MemoryType, Role
from minutebook.record.writing.drafts import Draft
from minutebook.store.file_locks import FileLocks
from minutebook.store.sqlite import SqliteStore

Written = tuple[str, str, float, float, float]
Durability = Literal["full", "normal"]
CALLER = Caller(name="agent", role=Role.HUMAN, organization=data.MAIN, call=Call(request="r"))


class Asked:
    """An embedder that knows a few questions, each near some records of the data set."""

    model = Model(
        data.SPACE.name, data.SPACE.digest, data.SPACE.dimensions, unrelated=data.UNRELATED
    )

    def __init__(self, queries: Sequence[str]) -> None:
        vectors = data.vector_queries(len(queries), 3)
        self._known: dict[str, Vector] = dict(zip(queries, vectors, strict=True))

    def embed_query(self, text: str) -> Embedded:
        """Return the vector of a question."""
        return Embedded(self._known[text][None])

    def embed_passages(self, texts: Sequence[str]) -> list[Embedded]:
        """Nothing is kept here."""
        raise NotImplementedError


def writes(durability: Durability, rounds: int) -> list[Written]:
    """Measure a new memory and a new version of one."""
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        app = open_app(settings_with(home=Path(folder), durability=durability, embedder="none"))
        drawn = data.Records(2)
        texts = [" ".join(drawn.words(data.WORDS)) for _ in range(rounds + 3)]
        ids: list[str] = []

        def write(number: int) -> None:
            draft = Draft(content=texts[number], type=MemoryType.FACT)
            ids.append(app.memories.store(CALLER, draft).id)

        def update(number: int) -> None:
            app.memories.update(CALLER, ids[number], {"content": texts[-1 - number]})

        figures: list[Written] = []
        for name, work in (("write", write), ("update", update)):
            took = timed(work, rounds)
            figures.append((name, durability, took.p50, took.p99, took.cpu))
        app.close()
    return figures


def proof(entries: int) -> tuple[int, float, float, float]:
    """Measure proving a trail: wall and CPU seconds, and by how much the process grew."""
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        store = SqliteStore(Path(folder) / "store.db", durability="normal")
        trail = Trail(store, lambda: datetime.now(UTC))
        ids = [f"{number:020}" for number in range(entries)]
        for start in range(0, entries, 1000):
            trail.log(CALLER, data.MAIN, "read", Kind.MEMORY, ids[start : start + 1000])
        before = peak_mb()
        with stopwatch() as watch:
            assert trail.verify(data.MAIN) is None
        grown = peak_mb() - before
        store.close()
    return entries, watch.wall, watch.cpu, grown


def searches(size: int, rounds: int) -> list[tuple[str, float, float, float, float]]:
    """Measure searches without a limit over an organization of so many memories."""
    path, _ = data.build(size)
    store, queries = SqliteStore(path, durability="normal"), data.text_queries(rounds + 1, 4)
    embedder = Asked(queries)
    embedding = Embedding(lambda: embedder, embedder.model)
    embedding.start()
    embedding.wait(10)
    matching = FilteredSearch(
        Records(store),
        Embeddings(store, embedding, 0.0, FileLocks(path.parent / "turns")),
        lambda: data.NOW,
    )
    nothing = [None] * len(queries)
    figures = []
    for name, questions, narrowing in (
        ("a question of four words", queries, MemoryQuery()),
        ("no question", nothing, MemoryQuery()),
        ("no question, of a type not there", nothing, MemoryQuery(type=MemoryType.RISK)),
    ):
        seen: list[tuple[int, float]] = []
        took = timed(partial(_search, matching, questions, narrowing, seen), rounds, warm=1)
        found, first = (statistics.median(each) for each in zip(*seen, strict=True))
        figures.append((name, round(found), first, took.p50, took.cpu))
    store.close()
    return figures


def peak_mb() -> float:
    """Return the most memory that the process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure, print, keep."""
    quick = asked("Measure what governing costs.").parse_args().quick
    rounds, entries, size = (200, 5_000, 5_000) if quick else (2_000, 100_000, 100_000)
    DATA.mkdir(parents=True, exist_ok=True)
    method = {
        **machine(),
        "fsync alone": f"{data.fsync_alone():.2f} ms (the median, 48 KiB appended)",
        "writes": rounds,
        "entries": entries,
        "memories": size,
    }
    durabilities: tuple[Durability, ...] = ("full", "normal")
    tables = [
        Table(
            "Writes without a model, ms",
            ("act", "durability", "p50", "p99", "CPU"),
            [row for each in durabilities for row in writes(each, rounds)],
        ),
        Table(
            "Proving a trail",
            ("entries", "seconds", "CPU seconds", "MB more at the peak"),
            [proof(entries)],
        ),
        Table(
            f"Search without a limit over {size} memories, ms",
            ("question", "found", "first result", "all p50", "CPU"),
            searches(size, 5 if quick else 20),
            "a hundredth of the memories belongs to a user and shows to this caller too",
        ),
    ]
    publish("governance", method, tables, quick=quick)


def _search(
    matching: FilteredSearch,
    questions: Sequence[str | None],
    narrowing: MemoryQuery,
    seen: list[tuple[int, float]],
    number: int,
) -> None:
    """Search and read all; note how many came, and how many milliseconds the first took."""
    with stopwatch() as first:
        found = matching.rank_all(CALLER, questions[number], narrowing)
        any_at_all = next(found, None) is not None
    seen.append((any_at_all + sum(1 for _ in found), first.wall * 1e3))


if __name__ == "__main__":
    main()
