"""The benchmark of reasons, on a case of each kind of step."""

import tomllib

import pytest

from benchmarks.reasons import CASES, WANTED, places_of

_BY_NAME = {each["name"]: each for each in tomllib.loads(CASES.read_text("utf-8"))["case"]}


@pytest.mark.parametrize("name", ["merged-fix", "chat-turn-names-file", "memory-limit"])
def test_a_reason_is_among_the_first_of_why_and_of_recall(name: str) -> None:
    assert all(1 <= place <= WANTED for place in places_of(_BY_NAME[name]))
