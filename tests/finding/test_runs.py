import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from benchmarks.finding import datasets, report, runs
from benchmarks.finding.__main__ import finding
from minutebook.config import load, settings_with
from minutebook.model import Embedding
from tests.finding.test_datasets import CHANGED, LINES, written

Measured = tuple[runs.Run, dict[str, Any]]


def measured(path: Path) -> Measured:
    done = runs.run(datasets.read(path), load({}), lambda part, what: None)
    return done, reported(done)


def reported(done: runs.Run) -> dict[str, Any]:
    told: dict[str, Any]
    (told,) = report.report([done])["sets"]
    return told


@pytest.mark.thorough
def test_questions_without_an_answer_are_held_against_the_others(
    tmp_path: Path, built_in: Embedding
) -> None:
    # The settings of the user's own store do not count.
    settings = settings_with(home=tmp_path / "home", organization="acme", repository="web")
    heard: list[float] = []
    dataset = datasets.read(written(tmp_path, LINES, lines=True))
    done = runs.run(dataset, settings, lambda part, what: heard.append(part))
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    assert not settings.home.exists()
    assert done.negatives == runs.GIVEN
    assert [each.query.id for each in done.results] == ["q1"]
    everything = reported(done)["separation"]["groups"]["all"]
    assert (everything["answerable"], everything["unanswerable"]) == (1, 1)
    assert everything["systems"]["recall"]["kept"][0] == 1.0
    # Where entities are related, recall is measured without the graph, too.
    assert done.systems == ("words", "vectors", "recall without graph", "recall")


@pytest.mark.thorough
def test_the_command_writes_figures_and_leaves_the_store_alone(
    tmp_path: Path, built_in: Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("MINUTEBOOK_HOME", str(home))
    figures = tmp_path / "all.json"
    arguments = [str(written(tmp_path, LINES, lines=True)), "--json", str(figures)]
    done = CliRunner().invoke(finding, arguments)
    assert done.exit_code == 0, done.output
    assert "95 % of NDCG@10" in done.output
    assert not home.exists()
    told = json.loads(figures.read_text(encoding="utf-8"))
    assert told["sets"][0]["queries"] == 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["none.json"], "cannot be read"),
        (["set.json", "--split", "other"], "no question of the split other"),
    ],
)
def test_the_command_says_what_is_wrong_with_a_set(
    tmp_path: Path, options: list[str], reason: str
) -> None:
    name = str(written(tmp_path, LINES, lines=True).with_name(options[0]))
    done = CliRunner().invoke(finding, [name, *options[1:]])
    assert done.exit_code == 1
    assert reason in done.output


def test_what_is_new_stands_before_what_is_old_and_a_question_is_asked_as_of_its_time(
    tmp_path: Path, built_in: Embedding
) -> None:
    done, told = measured(written(tmp_path, CHANGED, lines=True))
    updates = told["updates"]
    assert updates["questions"] == 1
    assert {name: figure[0] for name, figure in updates["systems"]["recall"].items()} == {
        "new before old": 1.0,
        "new first": 1.0,
        "old marked or absent": 1.0,
    }
    ranked = {each.query.id: each.outcomes["recall"].ranked for each in done.results}
    assert "is" not in ranked["then"]
    assert ranked["then"][0] == "was"
    # A line a hit: what is relevant fits into the smallest budget.
    assert told["within"]["all"]["500"][0] == 1.0
    separated = told["separation"]["groups"]["all"]["systems"]["recall"]
    assert (separated["doubted"][0], separated["doubted_without"][0]) == (0.0, 1.0)
    table = "\n".join(report.table({"sets": [told]}))
    assert "without one doubted 100.0 %" in table
    assert "new before old" in table


def test_turns_of_sessions_are_found_beside_memories(tmp_path: Path, built_in: Embedding) -> None:
    asked = {"query": "turn", "text": "What is in the vault?", "relevant": ["said"]}
    done, _ = measured(written(tmp_path, [*CHANGED, asked], lines=True))
    outcomes = next(each.outcomes for each in done.results if each.query.id == "turn")
    assert "said" in outcomes["recall"].ranked
    # The searches of memories alone know no turns.
    assert "said" not in outcomes["words"].ranked
