import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from minutebook.cli import main
from minutebook.config import load, settings_with
from minutebook.embedding import Embedding
from minutebook.features.bench import datasets, report, runs
from tests.features.bench.test_datasets import CHANGED, COSQA, LINES, LOCOMO, SQUAD, written

Measured = tuple[runs.Run, dict[str, Any]]


def measured(path: Path) -> Measured:
    done = runs.run(datasets.read(path), load({}), lambda part, what: None)
    return done, reported(done)


def reported(done: runs.Run) -> dict[str, Any]:
    told: dict[str, Any]
    (told,) = report.report([done])["sets"]
    return told


@pytest.fixture(scope="module")
def conversations(tmp_path_factory: pytest.TempPathFactory, built_in: Embedding) -> Measured:
    return measured(written(tmp_path_factory.mktemp("set"), LOCOMO))


def test_questions_go_to_the_real_tools_and_are_summed_up(conversations: Measured) -> None:
    done, told = conversations
    assert done.systems == ("words", "vectors", "recall")
    turns = told["levels"]["document"]
    assert list(turns) == ["all", "1–4", "4 single-hop", "5 adversarial"]
    assert turns["all"]["questions"] == 2
    assert turns["1–4"]["systems"]["recall"]["any@1"] == (1.0, 1.0, 1.0)
    assert list(turns["all"]["gain"]) == ["words", "vectors"]
    cost = told["cost"]["recall"]
    assert 0 < cost["median_ms"] <= cost["p95_ms"]
    assert cost["tokens"] > 50
    assert told["storing"]["cpu_ms"] > 0


def test_sessions_are_ranked_by_their_best_turn(conversations: Measured) -> None:
    _, told = conversations
    sessions = told["levels"]["session"]["all"]["systems"]["recall"]
    # Evidence of the second question lies in both sessions, and there are no more.
    assert sessions["share@5"] == (1.0, 1.0, 1.0)
    assert sessions["any@1"] == (1.0, 1.0, 1.0)


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
def test_a_question_is_asked_again_once_its_paragraph_is_removed(
    tmp_path: Path, built_in: Embedding
) -> None:
    answerable = json.loads(json.dumps(SQUAD))
    (article,) = answerable["data"]
    article["paragraphs"][0]["qas"].pop()
    article["paragraphs"].append(
        {"context": "Ada sings.", "qas": [{"id": "c", "question": "Who sings?"}]}
    )
    done, _ = measured(written(tmp_path, answerable))
    assert done.negatives == runs.REMOVED
    with_answer = [each for each in done.apart if each.answerable]
    without = [each for each in done.apart if not each.answerable]
    assert [each.query.id for each in with_answer] == [each.query.id for each in without]
    for before, after in zip(with_answer, without, strict=True):
        assert not before.outcomes["vectors"].is_doubted
        assert not before.query.relevant.keys() & set(after.outcomes["vectors"].ranked)


@pytest.mark.thorough
def test_code_is_indexed_and_found_by_what_it_does(tmp_path: Path, built_in: Embedding) -> None:
    functions = [*COSQA, {"query": "greet a person", "code": 'def greet(name): print("hi", name)'}]
    done, told = measured(written(tmp_path, functions))
    assert done.main == "search_code"
    assert told["levels"]["document"]["all"]["systems"]["search_code"]["any@1"][0] == 1.0
    assert told["separation"] is None


@pytest.mark.thorough
def test_the_command_writes_figures_and_a_picture_and_leaves_the_store_alone(
    tmp_path: Path, built_in: Embedding
) -> None:
    home = tmp_path / "home"
    paths = {name: tmp_path / name for name in ("all.json", "all.svg")}
    arguments = ["bench", str(written(tmp_path, LINES, lines=True)), "--home", str(home)]
    arguments += ["--json", str(paths["all.json"]), "--svg", str(paths["all.svg"])]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    assert "95 % of NDCG@10" in done.output
    assert not home.exists()
    told = json.loads(paths["all.json"].read_text(encoding="utf-8"))
    assert told["sets"][0]["queries"] == 2
    drawn = ET.fromstring(paths["all.svg"].read_text(encoding="utf-8"))
    texts = {each.text for each in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"set", "words", "vectors", "recall without graph", "recall"} <= texts


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["none.json"], "cannot be read"),
        (["set.json", "--form", "locomo"], "not in the form locomo"),
        (["set.json", "--split", "other"], "no question of the split other"),
    ],
)
def test_the_command_says_what_is_wrong_with_a_set(
    tmp_path: Path, options: list[str], reason: str
) -> None:
    name = str(written(tmp_path, LINES, lines=True).with_name(options[0]))
    done = CliRunner().invoke(main, ["bench", name, *options[1:]])
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
