"""Time chromadb at adding and querying; runs on an interpreter that has it, not on the project's.

    chroma.py FILLED TASK

FILLED is a folder that keeps a filled collection from run to run; TASK holds what to do: texts.json and
vectors.npy to fill it with, added.json and added.npy to add one by one, asked.npy to query.
Prints one JSON object: for both, each call's wall time in milliseconds and the mean CPU time.
"""

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import chromadb
import numpy as np
from chromadb.config import Settings

LIMIT = 10
WARM = 3


def opened(folder: Path) -> tuple[chromadb.ClientAPI, chromadb.Collection]:
    """Open the collection of a folder, made if need be."""
    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    cosine = {"hnsw": {"space": "cosine"}}
    return client, client.get_or_create_collection(
        "memories", configuration=cosine, embedding_function=None
    )


def fill(folder: Path, task: Path) -> None:
    """Fill a new collection in the largest batches that it takes."""
    shutil.rmtree(folder, ignore_errors=True)
    texts = json.loads((task / "texts.json").read_text(encoding="utf-8"))
    vectors = np.load(task / "vectors.npy")
    client, collection = opened(folder)
    step = client.get_max_batch_size()
    for start in range(0, len(texts), step):
        stop = min(start + step, len(texts))
        collection.add(
            ids=[f"filled-{number}" for number in range(start, stop)],
            documents=texts[start:stop],
            embeddings=vectors[start:stop],
        )
    collection.query(query_embeddings=vectors[:1], n_results=LIMIT)


def timed(work: Callable[[int], object], count: int) -> dict[str, object]:
    """Call `work` for each number; the first few are not counted."""
    for number in range(WARM):
        work(number)
    wall, used = [], time.process_time()
    for number in range(WARM, count):
        started = time.perf_counter()
        work(number)
        wall.append((time.perf_counter() - started) * 1e3)
    return {"wall": wall, "cpu": (time.process_time() - used) * 1e3 / (count - WARM)}


def measure(folder: Path, task: Path) -> dict[str, object]:
    """Measure on a collection that may be changed."""
    texts = json.loads((task / "added.json").read_text(encoding="utf-8"))
    vectors, asked = np.load(task / "added.npy"), np.load(task / "asked.npy")
    _, collection = opened(folder)
    before = collection.count()

    def add(number: int) -> None:
        collection.add(
            ids=[f"added-{number}"],
            documents=[texts[number]],
            embeddings=vectors[number : number + 1],
        )

    def query(number: int) -> None:
        found = collection.query(query_embeddings=asked[number : number + 1], n_results=LIMIT)
        assert len(found["ids"][0]) == LIMIT

    added, queried = timed(add, len(texts)), timed(query, len(asked))
    assert collection.count() == before + len(texts)
    return {"records": before, "add": added, "query": queried}


def main() -> None:
    """Fill once, measure on a copy."""
    filled, task = Path(sys.argv[1]), Path(sys.argv[2])
    whole = filled / "whole"
    if not whole.exists():
        fill(filled, task)
        whole.touch()
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "chroma"
        shutil.copytree(filled, copy)
        print(json.dumps(measure(copy, task)))


if __name__ == "__main__":
    main()
