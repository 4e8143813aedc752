"""Does it find what was asked for? The public sets and ours, as `python -m benchmarks.finding` measures them.

`python -m benchmarks.quality [--quick] [--keep]`. Ours are `benchmarks/notes.jsonl` (short unrelated
notes, questions with little word overlap), `benchmarks/paraphrases.jsonl` (none; nothing is fitted to it) and `benchmarks/relations.jsonl` (answers reached through
entities and relations); LoCoMo, XQuAD and CoSQA are no part of this project and are left out where
they are not there. `--keep` writes the figures to `docs/quality.json`, from which `make docs` makes
`docs/quality.md`. The method is in docs/measuring-search.md.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import public_sets
from benchmarks.finding import datasets, metrics, report, runs
from benchmarks.finding.datasets import Collection, Dataset, Query
from benchmarks.finding.metrics import METRICS
from benchmarks.measure import RESULTS, ROOT, asked
from minutebook.config import load

PUBLIC = ROOT.parent / "shared" / "data"
OURS = ROOT / "benchmarks"
KEPT = ROOT / "docs" / "quality.json"

SETS = {
    OURS / "notes.jsonl": None,
    OURS / "paraphrases.jsonl": None,
    OURS / "relations.jsonl": None,
    PUBLIC / "locomo-dev.json": None,
    PUBLIC / "xquad-dev.json": 60,
    PUBLIC / "beam-dev.jsonl": None,
    PUBLIC / "cosqa-dev.json": None,
}
"""The sets, and how many questions of each category are asked; None: all."""

QUICK = dict.fromkeys((OURS / "notes.jsonl", OURS / "relations.jsonl"), 1)
FEW_RESAMPLES = 100, 10
"""How often the short form resamples for the intervals of a mean and of an area."""
THINNED = 20
"""Of so many documents that answer none of its questions the short form stores one."""


def measured(sets: dict[Path, int | None], *, is_small: bool) -> report.Report:
    """Run the sets that are there, and say which are not."""
    done = []
    for path, sample in sets.items():
        if not path.exists():
            print(f"left out: there is no {path}")
            continue
        whole = public_sets.read(path)
        changes = path.with_name(f"{path.stem}-updates.json")
        if changes.exists():
            whole = with_changes(whole, json.loads(changes.read_text(encoding="utf-8")))
        chosen = whole if sample is None else datasets.sampled(whole, sample)
        if is_small:
            chosen = replace(chosen, collections=[thinned(each) for each in chosen.collections])
        done.append(runs.run(chosen, load({}), lambda part, what: None))
    return report.report(done)


def with_changes(dataset: Dataset, changes: Iterable[Mapping[str, Any]]) -> Dataset:
    """Tell of some questions what said it before it changed, and what since."""
    told = {each["query"]: each for each in changes}

    def told_of(query: Query) -> Query:
        if (change := told.get(query.id)) is None:
            return query
        return replace(query, old=frozenset(change["old"]), new=frozenset(change["new"]))

    collections = [
        replace(each, queries=[told_of(query) for query in each.queries])
        for each in dataset.collections
    ]
    return replace(dataset, collections=collections)


def thinned(collection: Collection) -> Collection:
    """Keep the documents that answer a question, and of the others one of THINNED."""
    wanted = {id for query in collection.queries for id in query.relevant}
    documents = [
        document
        for number, document in enumerate(collection.documents)
        if document.id in wanted or number % THINNED == 0
    ]
    names = {document.id for document in documents} | collection.entities.keys()
    relations = [each for each in collection.relations if names.issuperset((each[0], each[2]))]
    return replace(collection, documents=documents, relations=relations)


def short(told: Any) -> Any:
    """Keep what the page shows, to four digits."""
    match told:
        case dict():
            left_out = {"gain", *METRICS} - {*report.SHOWN}
            return {name: short(each) for name, each in told.items() if name not in left_out}
        case list() | tuple():
            return [short(each) for each in told]
        case float():
            return round(told, 4)
    return told


def main() -> None:
    """Measure, print the tables and write the figures."""
    parser = asked("Measure how well questions find what answers them.")
    parser.add_argument("--keep", action="store_true", help="write docs/quality.json")
    given = parser.parse_args()
    if given.quick:
        metrics.RESAMPLES, metrics.AREA_RESAMPLES = FEW_RESAMPLES
    told = measured({**QUICK} if given.quick else SETS, is_small=given.quick)
    print(*report.table(told), sep="\n")
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"quality{'-quick' if given.quick else ''}.json"
    path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if given.keep:
        KEPT.write_text(json.dumps(short(told), ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
