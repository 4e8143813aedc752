"""Others that find vectors, beside the engines: pgvector's HNSW in the same PostgreSQL, and chromadb.

They get the same vectors and the same questions: the nearest in an organization, in a small one, and of a user inside
the large one. pgvector is asked as its page advises for filters (`hnsw.iterative_scan`), with one index for all
organizations, and its planner may choose another way; chromadb has a collection for each organization, so that only
the user is a filter. Neither has texts to rank by words, versions or a trail.
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import psycopg
from numpy.typing import NDArray

from benchmarks import peers
from benchmarks.engine_stores import OWNER, Data, cpu_of, home_of, user_of
from benchmarks.measure import Cell, NotThere, Table, stopwatch, timed
from benchmarks.store import FEW, MAIN, PART, SPACE, Records, vector_queries
from minutebook.store.values import Vectors
from tests.features.postgres.server import StartedServer

ASKED, JUDGED = 50, 10
WRITTEN = 400
_QUESTIONS = {
    "whole organization": (MAIN, None),
    "organization of 1 %": (PART, None),
    "user of 1 % in the large one": (MAIN, OWNER),
}
_SEARCH_AS_PGVECTOR_ADVISES = "SET hnsw.iterative_scan = relaxed_order; SET hnsw.ef_search = 100"

Ids: TypeAlias = NDArray[np.bytes_]


@dataclass(frozen=True, slots=True)
class Best:
    """Questions, and the ten nearest of each by a scan over every vector of a selection."""

    queries: Vectors
    ids: dict[str, list[set[str]]]

    def share(self, name: str, found: Sequence[Sequence[str]]) -> float:
        """Return how many of the nearest in a selection were found."""
        same = sum(len(best & set(ids)) for best, ids in zip(self.ids[name], found, strict=True))
        return same / sum(map(len, self.ids[name]))


@dataclass(frozen=True, slots=True)
class _Found:
    """What was measured of one: of each selection CPU milliseconds and recall, then of what it keeps."""

    name: str
    searches: dict[str, tuple[float, float]]
    write: float
    bytes: float
    indexing: float


def best_of(data: Data, folder: Path, asking: int) -> Best:
    """Scan all vectors, batch by batch; what was found is kept in the folder."""
    queries, path = vector_queries(asking, 5), folder / f"best-{asking}.json"
    if not path.exists():
        found = {name: _scan(data, queries, *where) for name, where in _QUESTIONS.items()}
        path.write_text(json.dumps(found), encoding="utf-8")
    told = json.loads(path.read_text(encoding="utf-8"))
    return Best(queries, {name: [set(ids) for ids in sets] for name, sets in told.items()})


def _scan(data: Data, queries: Vectors, home: str, user: str | None) -> list[list[str]]:
    scores, ids = np.empty((len(queries), 0), np.float32), np.empty((len(queries), 0), "S64")
    for part, vectors in _selected(data, home, user):
        rows = vectors.astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        scores = np.concatenate([scores, queries @ rows.T], axis=1)
        ids = np.concatenate([ids, np.broadcast_to(part, (len(queries), len(part)))], axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")[:, :JUDGED]
        scores, ids = (np.take_along_axis(each, order, axis=1) for each in (scores, ids))
    return [[id.decode() for id in row] for row in ids.tolist()]


def _selected(data: Data, home: str, user: str | None) -> Iterator[tuple[Ids, NDArray[np.float16]]]:
    for batch in data.batches():
        numbers = range(batch.start, batch.start + len(batch.ids))
        chosen = [
            place
            for place, number in enumerate(numbers)
            if home_of(number) == home and user in (None, user_of(number))
        ]
        yield batch.ids[chosen], batch.vectors[chosen]


def beside(
    data: Data,
    folder: Path,
    server: StartedServer,
    best: Best,
    rounds: int,
    *,
    chroma: bool,
) -> list[Table]:
    """Measure each that can be had, Chroma if asked for."""
    searched: list[tuple[Cell, ...]] = []
    kept: list[tuple[Cell, ...]] = []
    others = [lambda: _pgvector(data, server, best, rounds)]
    if chroma:
        others.append(lambda: _chroma(data, folder, best, rounds))
    for measured in others:
        try:
            found = measured()
        except NotThere as error:
            print(f"left out: {error}")
            continue
        searched += [(found.name, name, *cells) for name, cells in found.searches.items()]
        kept.append((found.name, found.write, found.bytes, found.indexing))
    if not kept:
        return []
    return [
        Table(
            "Vectors by others, best 50",
            ("by", "of", "CPU ms", "recall@10"),
            searched,
            "CPU of client and server together",
        ),
        Table(
            "Vectors kept by others",
            ("by", "a vector more, CPU ms", "bytes a vector", "indexing all, CPU s"),
            kept,
            "vectors, ids and the user alone: no texts, versions or trail",
        ),
    ]


def _pgvector(data: Data, server: StartedServer, best: Best, rounds: int) -> _Found:
    database = f"pgvector_{data.size}"
    server.drop(database)
    server.make_empty(database)
    with closing(psycopg.connect(server.url(database), autocommit=True)) as connection:
        try:
            connection.execute("CREATE EXTENSION vector")
        except psycopg.Error as error:
            raise NotThere(f"pgvector: {error}") from error
        ((version,),) = connection.execute(
            "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        ).fetchall()
        connection.execute(
            "CREATE TABLE kept (organization text, id text, owner text,"
            f" vectors halfvec({SPACE.dimensions}), PRIMARY KEY (organization, id))"
        )
        _copy(connection, data)
        before = cpu_of(server.pids())
        connection.execute("SET maintenance_work_mem = '1GB'")
        connection.execute("CREATE INDEX ON kept USING hnsw (vectors halfvec_cosine_ops)")
        connection.execute("CREATE INDEX ON kept (organization, owner)")
        connection.execute("ANALYZE kept")
        indexing = cpu_of(server.pids()) - before
        ((size,),) = connection.execute("SELECT pg_total_relation_size('kept')").fetchall()
        connection.execute(_SEARCH_AS_PGVECTOR_ADVISES)
        searches = {
            name: _asked_of_pgvector(connection, server, best, name, rounds) for name in _QUESTIONS
        }
        write = _written(connection, server)
    return _Found(f"pgvector {version}", searches, write, size / data.size, indexing)


def _copy(connection: psycopg.Connection[Any], data: Data) -> None:
    with connection.cursor() as cursor, cursor.copy("COPY kept FROM STDIN") as copying:
        for batch in data.batches():
            for place, (id, vector) in enumerate(zip(batch.ids, batch.vectors, strict=True)):
                number = batch.start + place
                row = (home_of(number), id.decode(), user_of(number), str(vector.tolist()))
                copying.write_row(row)


def _asked_of_pgvector(
    connection: psycopg.Connection[Any],
    server: StartedServer,
    best: Best,
    name: str,
    rounds: int,
) -> tuple[float, float]:
    """Return CPU in milliseconds and recall of a question."""
    home, user = _QUESTIONS[name]
    query = (
        "SELECT id FROM kept WHERE organization = %s AND (%s::text IS NULL OR owner = %s)"
        if user is None
        else "SELECT id FROM kept WHERE organization = %s AND %s::text = owner AND owner = %s"
    )
    query += " ORDER BY vectors <=> %s::halfvec LIMIT %s"

    def ask(vector: NDArray[np.float32], limit: int) -> list[str]:
        values = (home, user, user, str(vector.tolist()), limit)
        return [str(id) for (id,) in connection.execute(query, values, prepare=False)]

    found = [ask(vector, JUDGED) for vector in best.queries]
    before = cpu_of(server.pids())
    took = timed(lambda number: ask(best.queries[number], ASKED), rounds, warm=0)
    spent = (cpu_of(server.pids()) - before) * 1e3 / rounds
    return took.cpu + spent, best.share(name, found)


def _written(connection: psycopg.Connection[Any], server: StartedServer) -> float:
    """Return the CPU of adding one vector, in milliseconds, each a commit of its own."""
    vectors = Records(9).vectors(WRITTEN)
    before = cpu_of(server.pids())
    with stopwatch() as watch:
        for number, vector in enumerate(vectors):
            connection.execute(
                "INSERT INTO kept VALUES (%s, %s, NULL, %s)",
                (MAIN, f"added-{number}", str(vector.tolist())),
            )
    return (watch.cpu + cpu_of(server.pids()) - before) * 1e3 / WRITTEN


def _chroma(data: Data, folder: Path, best: Best, rounds: int) -> _Found:
    python = peers.chroma(install=True)
    task = folder / "chroma-task"
    task.mkdir(exist_ok=True)
    for home in (MAIN, PART, FEW):
        parts = list(_selected(data, home, None))
        owned = {id for ids, _ in _selected(data, home, OWNER) for id in ids.tolist()}
        ids = np.concatenate([part for part, _ in parts])
        np.savez(
            task / f"{home}.npz",
            ids=ids,
            owned=np.array([id in owned for id in ids.tolist()]),
            vectors=np.concatenate([rows for _, rows in parts]),
        )
    np.savez(task / "asked.npz", queries=best.queries, added=Records(9).vectors(WRITTEN))
    questions = {
        name: [home, None if user is None else {"user": user}]
        for name, (home, user) in _QUESTIONS.items()
    }
    told = {"questions": questions, "owner": OWNER, "rounds": rounds, "add_to": MAIN}
    (task / "task.json").write_text(json.dumps(told | {"asked": ASKED, "judged": JUDGED}))
    script = Path(peers.__file__).with_name("chroma_filtered.py")
    run = subprocess.run([python, script, task], check=True, stdout=subprocess.PIPE)
    found = json.loads(run.stdout)
    searches = {
        name: (found["cpu"][name], best.share(name, found["found"][name])) for name in _QUESTIONS
    }
    size = found["bytes"] / data.size
    return _Found(f"chromadb {found['version']}", searches, found["add"], size, found["filling"])
