"""The readers of public data sets, for the benchmarks."""

import json
from pathlib import Path

import pytest

from benchmarks.finding import runs
from benchmarks.finding.datasets import Document, Query
from benchmarks.public_sets import read
from minutebook.config import load
from minutebook.model import Embedding
from tests.finding.test_datasets import written
from tests.finding.test_runs import Measured, reported


def measured(path: Path) -> Measured:
    done = runs.run(read(path), load({}), lambda part, what: None)
    return done, reported(done)


LOCOMO = [
    {
        "sample_id": "small",
        "conversation": {
            "speaker_a": "Ada",
            "session_1_date_time": "1:56 pm on 8 May, 2023",
            "session_1": [
                {"speaker": "Ada", "dia_id": "D1:1", "text": "My sister plays the cello."},
                {
                    "speaker": "Ben",
                    "dia_id": "D1:2",
                    "text": "Look at this one!",
                    "blip_caption": "a lighthouse",
                },
            ],
            "session_2": [
                {"speaker": "Ada", "dia_id": "D2:1", "text": "I sold the car last week."},
                {"speaker": "Ben", "dia_id": "D2:2", "text": "The train is cheaper anyway."},
            ],
        },
        "qa": [
            {"question": "Who plays the cello?", "evidence": ["D1:1"], "category": 4},
            {
                "question": "Which lighthouse did Ben show?",
                "evidence": ["D1:2; D9:9", "D2:2,D1:2"],
                "category": 5,
            },
            {"question": "What was never said?", "evidence": ["D:7"], "category": 4},
            {"question": "Nothing?", "evidence": [], "category": 3},
        ],
    }
]

LONGMEMEVAL = [
    {
        "question_id": "q1",
        "question_type": "multi-session",
        "question": "What do I drink?",
        "haystack_session_ids": ["s1", "s2"],
        "haystack_sessions": [
            [
                {"role": "user", "content": "I drink tea.", "has_answer": True},
                {"role": "assistant", "content": "Noted."},
            ],
            [{"role": "user", "content": "Good night."}],
        ],
        "answer_session_ids": ["s1"],
    },
    {
        "question_id": "q2_abs",
        "question_type": "multi-session",
        "question": "What do I eat?",
        "haystack_session_ids": ["s3"],
        "haystack_sessions": [[{"role": "user", "content": "I drink tea."}]],
        "answer_session_ids": ["s3"],
    },
]

XQUAD = [
    {
        "text": "The bridge is long.",
        "translations": {"de": "Die Brücke ist lang."},
        "questions": [{"en": "How long?", "de": "Wie lang?", "tr": "Ne kadar uzun?"}],
    }
]

SQUAD = {
    "data": [
        {
            "paragraphs": [
                {
                    "context": "The bridge is long.",
                    "qas": [
                        {"id": "a", "question": "How long?", "answers": []},
                        {"id": "b", "question": "Who?", "is_impossible": True},
                    ],
                }
            ]
        }
    ]
}

COSQA = [
    {"query": "add two numbers", "code": "def add(a, b): return a + b", "id": "one"},
    {"query": "sum of two", "code": "def add(a, b): return a + b", "id": "two"},
]


def test_a_conversation_is_read_with_captions_and_sessions(tmp_path: Path) -> None:
    dataset = read(written(tmp_path, LOCOMO))
    (small,) = dataset.collections
    assert dataset.form == "locomo"
    assert small.documents[1] == Document(
        id="D1:2", text="Ben: Look at this one! [shares: a lighthouse]", session="session_1"
    )
    assert small.session_of["D2:1"] == "session_2"


def test_evidence_is_split_and_what_names_no_turn_is_counted(tmp_path: Path) -> None:
    dataset = read(written(tmp_path, LOCOMO))
    cello, lighthouse = dataset.collections[0].queries
    assert cello.groups == ("1–4", "4 single-hop")
    assert (cello.relevant, cello.sessions) == ({"D1:1": 1}, frozenset())
    assert lighthouse.relevant == {"D1:2": 1, "D2:2": 1}
    assert lighthouse.groups == ("5 adversarial",)
    assert dataset.left_out == {"questions without evidence": 2, "evidence that names no turn": 2}


def test_each_question_of_longmemeval_has_its_own_store(tmp_path: Path) -> None:
    first, second = read(written(tmp_path, LONGMEMEVAL)).collections
    assert [each.text for each in first.documents] == [
        "user: I drink tea.",
        "assistant: Noted.",
        "user: Good night.",
    ]
    assert first.queries[0] == Query(
        id="q1",
        text="What do I drink?",
        relevant={"s1 0": 1},
        groups=("multi-session",),
        sessions=frozenset({"s1"}),
    )
    assert (second.queries[0].relevant, second.queries[0].groups) == ({}, ("abstention",))


def test_questions_of_all_languages_are_asked_of_english_and_some_within_their_own(
    tmp_path: Path,
) -> None:
    english, german = read(written(tmp_path, XQUAD)).collections
    assert [(each.text, each.groups) for each in english.queries] == [
        ("How long?", ("of English paragraphs", "en → en")),
        ("Wie lang?", ("of English paragraphs", "de → en")),
        ("Ne kadar uzun?", ("of English paragraphs", "tr → en")),
    ]
    assert [(each.text, each.groups) for each in german.queries] == [
        ("Wie lang?", ("within one language", "de → de"))
    ]
    assert german.documents[0].text == "Die Brücke ist lang."


def test_a_question_of_squad_without_an_answer_is_kept(tmp_path: Path) -> None:
    (whole,) = read(written(tmp_path, SQUAD)).collections
    assert [each.relevant for each in whole.queries] == [{"p0": 1}, {}]


def test_a_function_that_answers_two_questions_is_one_document(tmp_path: Path) -> None:
    (whole,) = read(written(tmp_path, COSQA)).collections
    assert len(whole.documents) == 1
    assert whole.is_code
    assert [each.relevant for each in whole.queries] == [{"f0": 1}, {"f0": 1}]


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
