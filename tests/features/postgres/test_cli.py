"""`minutebook store`, as a person types it; what it does on a cluster `benchmarks/cluster.py` shows."""

import json
from collections.abc import Iterator

import pytest

from tests.features.postgres.server import server
from tests.terminal import Run, remembered

NAME = "store_that_is_distributed"


@pytest.fixture
def url() -> Iterator[str]:
    server().make_store(NAME)
    yield server().url(NAME)
    server().drop(NAME)


@pytest.mark.parametrize("also", [[], ["--dry-run"]])
def test_what_cannot_be_distributed_says_why(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch, also: list[str]
) -> None:
    remembered(run, "tea at five")
    result = run("store", "distribute", *also)
    assert result.exit_code == 1
    assert "store must name a database on a Citus cluster" in result.stderr
    assert "minutebook migrate --to" in result.stderr
    monkeypatch.setenv("MINUTEBOOK_STORE", url)
    result = run("store", "distribute", *also)
    assert result.exit_code == 1
    assert "Citus is not in this database" in result.stderr
    assert "CREATE EXTENSION citus" in result.stderr


def test_status_says_on_how_many_nodes_the_records_are(
    run: Run, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remembered(run, "tea at five")
    assert "placement" not in json.loads(run("status", "--json").output)
    monkeypatch.setenv("MINUTEBOOK_STORE", url)
    assert json.loads(run("status", "--json").output)["placement"] == {"nodes": 1, "shards": 0}
    assert "nodes 1" in run("status").output
