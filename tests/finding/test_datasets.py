import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.finding.datasets import read, sampled
from minutebook.record.errors import InvalidInput
from minutebook.record.records import MemoryType

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

LINES = [
    {"document": "tea", "text": "Ada drinks tea.", "type": "preference", "store": "home"},
    {"document": "car", "text": "The car is red.", "session": "s1", "store": "home"},
    {"entity": "ada", "name": "Ada", "type": "person", "store": "home"},
    {"entity": "bea", "name": "Bea", "store": "home"},
    {"relation": "knows", "from": "ada", "to": "bea", "store": "home"},
    {
        "query": "q1",
        "text": "What does she drink?",
        "relevant": {"tea": 2.0},
        "category": "easy",
        "language": "en",
        "split": "dev",
        "store": "home",
    },
    {"query": "q2", "text": "Who flew?", "relevant": [], "split": "test", "store": "home"},
]


def written(folder: Path, told: Any, *, lines: bool = False) -> Path:
    path = folder / "set.json"
    text = "\n".join(map(json.dumps, told)) if lines else json.dumps(told)
    path.write_text(text, encoding="utf-8")
    return path


def test_lines_name_documents_questions_entities_and_relations(tmp_path: Path) -> None:
    (home,) = read(written(tmp_path, LINES, lines=True)).collections
    assert home.name == "home"
    assert [each.type for each in home.documents] == [MemoryType.PREFERENCE, MemoryType.SEMANTIC]
    assert home.session_of == {"car": "s1"}
    assert home.entities == {"ada": ("Ada", "person"), "bea": ("Bea", "unknown")}
    assert home.relations == [("ada", "knows", "bea")]
    assert home.queries[0].relevant == {"tea": 2.0}
    assert home.queries[0].groups == ("easy", "en")


def test_a_split_keeps_its_questions_and_all_documents(tmp_path: Path) -> None:
    (home,) = read(written(tmp_path, LINES, lines=True), split="dev").collections
    assert [each.id for each in home.queries] == ["q1"]
    assert len(home.documents) == 2


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ([{"nothing": 1}], "holds no question"),
        ([], "holds no question"),
        (LINES[:2], "holds no question"),
        ([*LINES, {"query": "q3", "text": "?", "relevant": ["car", "gone"]}], "unknown documents"),
        ([LINES[0], LINES[0]], "two documents"),
        ([*LINES[:4], {"relation": "knows", "from": "ada", "to": "x"}], "unknown entities"),
        (
            [{"query": "q", "text": "?"}],
            "as docs/measuring-search.md describes it: KeyError 'relevant'",
        ),
        ([{"document": "a", "text": "b", "type": "novel"}], "novel"),
    ],
)
def test_a_set_that_is_not_in_order_is_refused_with_the_reason(
    tmp_path: Path, told: list[Any], reason: str
) -> None:
    with pytest.raises(InvalidInput, match=reason) as refused:
        read(written(tmp_path, told, lines=True))
    assert "set.json" in str(refused.value)


def test_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_text(f"{json.dumps(LINES[0])}\n{{\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 2 is not JSON"):
        read(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"cannot be read: No such file or directory$"):
        read(tmp_path / "none.json")


def test_a_sample_is_spread_over_the_questions_of_each_group(tmp_path: Path) -> None:
    told = [LINES[0]] + [
        {"query": n, "text": str(n), "relevant": ["tea"], "category": c, "store": "home"}
        for c in ("a", "b")
        for n in range(20)
    ]
    dataset = read(written(tmp_path, told, lines=True))
    (kept,) = sampled(dataset, 4).collections
    assert [each.text for each in kept.queries] == ["0", "5", "10", "15"] * 2
    assert sampled(dataset, 50).collections == dataset.collections


@pytest.mark.parametrize(
    ("name", "documents", "asked", "unanswerable"),
    [("notes", 210, 158, 36), ("relations", 105, 96, 0)],
)
def test_our_own_sets_are_in_order(
    name: str, documents: int, asked: int, unanswerable: int
) -> None:
    collections = read(BENCHMARKS / f"{name}.jsonl").collections
    queries = [query for each in collections for query in each.queries]
    assert sum(len(each.documents) for each in collections) == documents
    assert sum(bool(each.relevant) for each in queries) == asked
    assert sum(not each.relevant for each in queries) == unanswerable
    halves = [read(BENCHMARKS / f"{name}.jsonl", split=split) for split in ("dev", "test")]
    assert sum(len(each.queries) for half in halves for each in half.collections) == len(queries)


CHANGED = [
    {"document": "was", "text": "We deploy with Jenkins.", "at": "2026-01-03"},
    {
        "document": "is",
        "text": "Deploys run on GitHub Actions now, no longer on Jenkins.",
        "at": "2026-02-03T10:00:00",
    },
    {"document": "dull", "text": "The invoice for Vienna is due on the fifteenth."},
    {"document": "said", "text": "Where is it?", "response": "In the vault.", "session": "friday"},
    {"query": "since", "text": "What do deploys run on?", "old": ["was"], "new": "is"},
    {
        "query": "then",
        "text": "What do deploys run on?",
        "relevant": ["was"],
        "at": "2026-01-31",
        "session": ["monday", "friday"],
    },
    {"query": "never", "text": "Who paints the bicycles of the museum?", "relevant": []},
]
"""What was said when, what changed, and a turn."""


def test_lines_say_when_what_changed_and_in_which_session(tmp_path: Path) -> None:
    (here,) = read(written(tmp_path, CHANGED, lines=True)).collections
    documents = {each.id: each for each in here.documents}
    assert documents["was"].at == datetime(2026, 1, 3, tzinfo=UTC)
    assert documents["dull"].at is None
    assert [each.id for each in here.documents if each.is_turn] == ["said"]
    since, then, _ = here.queries
    # What is new answers, where nothing else is named.
    assert (since.old, since.new) == (frozenset({"was"}), frozenset({"is"}))
    assert since.relevant == {"is": 1.0}
    assert then.at == datetime(2026, 2, 1, tzinfo=UTC)
    assert then.sessions == frozenset({"monday", "friday"})


def test_what_changed_names_documents_that_are_there(tmp_path: Path) -> None:
    told = [*CHANGED, {"query": "q", "text": "?", "old": ["gone"], "new": ["is"]}]
    with pytest.raises(InvalidInput, match="query q names unknown documents: gone"):
        read(written(tmp_path, told, lines=True))
