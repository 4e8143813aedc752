"""Ask chromadb for the nearest in a whole collection and by a filter; runs on an interpreter that has it.

    chroma_filtered.py TASK

TASK holds NAME.npz (ids, owned, vectors) for each collection, asked.npz (queries, added) and task.json.
Prints one JSON object: CPU seconds of filling, CPU milliseconds of a query and of adding one vector, what was
found, and the bytes on the disk. They are those of the whole process.
"""

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

import chromadb
import numpy as np
from chromadb.config import Settings


def fill(client: chromadb.ClientAPI, name: str, path: Path, owner: str) -> chromadb.Collection:
    """Fill a collection in the largest batches that it takes."""
    cosine = {"hnsw": {"space": "cosine"}}
    collection = client.create_collection(name, configuration=cosine, embedding_function=None)
    with np.load(path) as kept:
        ids, owned, vectors = (kept[each] for each in ("ids", "owned", "vectors"))
    step = client.get_max_batch_size()
    for start in range(0, len(ids), step):
        part = slice(start, start + step)
        collection.add(
            ids=[id.decode() for id in ids[part]],
            embeddings=vectors[part].astype(np.float32),
            metadatas=[{"user": owner if is_owned else "nobody"} for is_owned in owned[part]],
        )
    return collection


def measure(task: Path, folder: Path) -> dict[str, object]:
    """Fill, ask, add."""
    told = json.loads((task / "task.json").read_text(encoding="utf-8"))
    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    began = time.process_time()
    # A name of theirs has at least three characters.
    collections = {
        name: fill(client, f"kept-{name}", task / f"{name}.npz", told["owner"])
        for name in ("main", "part", "few")
    }
    filling = time.process_time() - began
    kept = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    with np.load(task / "asked.npz") as asked:
        queries, added = asked["queries"], asked["added"]
    found: dict[str, list[list[str]]] = {}
    cpu: dict[str, float] = {}
    for name, (home, where) in told["questions"].items():

        def ask(query: np.ndarray, limit: int, home: str = home, where: object = where) -> list:
            given = {"query_embeddings": query[None], "n_results": limit, "include": []}
            return list(collections[home].query(**given, where=where)["ids"][0])

        found[name] = [ask(query, told["judged"]) for query in queries]
        began = time.process_time()
        for number in range(told["rounds"]):
            ask(queries[number], told["asked"])
        cpu[name] = (time.process_time() - began) * 1e3 / told["rounds"]
    began = time.process_time()
    for number, vector in enumerate(added):
        collections[told["add_to"]].add(
            ids=[f"added-{number}"], embeddings=vector[None], metadatas=[{"user": "nobody"}]
        )
    add = (time.process_time() - began) * 1e3 / len(added)
    versions = {"version": chromadb.__version__, "bytes": kept}
    return {"filling": filling, "found": found, "cpu": cpu, "add": add, **versions}


def main() -> None:
    """Measure in a folder that is thrown away."""
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as scratch:
        folder = Path(scratch) / "chroma"
        print(json.dumps(measure(Path(sys.argv[1]), folder)))
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
