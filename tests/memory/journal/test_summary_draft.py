"""A model's answer becomes an account, or is refused by the first field that does not fit."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.memory.journal.summary_draft import SummaryDraft, read_summary
from minutebook.record.errors import InvalidInput
from minutebook.record.records import Category

GOOD: dict[str, Any] = {
    "title": "Fix the login crash",
    "summary": "It read a cookie without a default.",
    "category": "new-app",
    "quality": 100,
    "productivity": 0,
    "impact": 50,
    "complexity": 7.0,
    "technologies": [" Python ", "python", "", "pytest"],
}


def test_an_answer_that_fits_is_read_whole() -> None:
    assert read_summary(json.dumps(GOOD)) == SummaryDraft(
        title="Fix the login crash",
        summary="It read a cookie without a default.",
        category=Category.NEW_APP,
        quality=100,
        productivity=0,
        impact=50,
        complexity=7,
        technologies=("python", "pytest"),
        reasons=dict.fromkeys(
            ("category", "quality", "productivity", "impact", "complexity"), "judged by the model"
        ),
    )


def test_a_title_of_exactly_the_most_words_is_taken() -> None:
    title = "one two three four five six seven eight nine ten"
    assert read_summary(json.dumps(GOOD | {"title": title})).title == title


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "Here you are: {} I hope it helps."])
def test_what_stands_around_the_object_does_not_matter(around: str) -> None:
    assert read_summary(around.replace("{}", json.dumps(GOOD))).quality == 100


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", " "),
        ("title", "one two three four five six seven eight nine ten eleven"),
        ("title", "x" * 101),
        ("title", 7),
        ("title", "\ud800"),
        ("summary", ""),
        ("summary", None),
        ("summary", "x" * 8001),
        ("category", "misc"),
        ("category", None),
        ("category", ["bugfix"]),
        ("quality", 101),
        ("productivity", -1),
        ("impact", "50"),
        ("complexity", True),
        ("complexity", 1.5),
        ("technologies", "python"),
        ("technologies", [1]),
        ("technologies", None),
    ],
)
def test_what_does_not_fit_is_named(field: str, value: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_summary(json.dumps({**GOOD, field: value}))
    assert refused.value.argument == field


@pytest.mark.parametrize("field", sorted(GOOD))
def test_what_is_missing_is_named(field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_summary(json.dumps({name: value for name, value in GOOD.items() if name != field}))
    assert refused.value.argument == field


@given(st.text() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps))
def test_no_answer_does_worse_than_to_be_refused(answer: str) -> None:
    with pytest.raises(InvalidInput):
        read_summary(answer)


def test_an_answer_nested_without_end_is_refused() -> None:
    with pytest.raises(InvalidInput):
        read_summary('{"a":' * 100_000 + "}" * 100_000)
