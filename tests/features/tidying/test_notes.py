"""Whether a newer note says the same as one that it is like, says otherwise, or is about something else."""

import json
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.tidying.looking.notes import LONGEST_NOTE, Comparison, PairVerdict, compare
from minutebook.text.revisions import DatedText

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
THEN = datetime(2026, 3, 4, tzinfo=UTC)


def compared(older: str, newer: str) -> Comparison:
    """Compare two notes by their words."""
    return compare(DatedText(older, THEN), DatedText(newer, THEN + timedelta(days=1)))


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        ("Tea at four.", "tea  at four.", PairVerdict.SAME),
        ("The retry limit is 3.", "The retry limit is 5.", PairVerdict.OTHERWISE),
        ("Refunds above 500 euros wait.", "Refunds above 800 euros wait.", PairVerdict.OTHERWISE),
        ("Tests may use the network.", "Tests may not use the network.", PairVerdict.OTHERWISE),
        ("The search is on for all.", "The search is off for all.", PairVerdict.OTHERWISE),
        ("Die Sitzung beginnt um 14 Uhr.", "Die Sitzung beginnt um 16 Uhr.", PairVerdict.OTHERWISE),
        ("La clase es los martes.", "La clase es los viernes.", PairVerdict.OTHERWISE),
        ("Ticket 4411 was fixed.", "Ticket 4502 was fixed.", PairVerdict.APART),
        ("The key for Stripe is in the vault.", "The key for Mailgun is in the vault.", PairVerdict.APART),
        ("The left shelf holds 40 boxes.", "The right shelf holds 25 boxes.", PairVerdict.APART),
        ("", "Tea", PairVerdict.APART),
        ("x" * (LONGEST_NOTE + 1), "x y" * 9, PairVerdict.APART),
    ],
)  # fmt: skip
def test_what_differs_tells(older: str, newer: str, verdict: PairVerdict) -> None:
    assert compared(older, newer).verdict is verdict


def test_the_words_that_differ_are_told_and_which_text_says_more() -> None:
    found = compared("The limit is 3.", "The limit is 5.")
    assert (found.old, found.new) == ("3", "5")
    longer = "The build needs Node 20, pnpm and a clean checkout."
    assert compared(longer, "The build needs Node 20 and pnpm.").is_older_fuller
    assert not compared("The build needs Node 20 and pnpm.", longer).is_older_fuller


@pytest.mark.parametrize(
    ("older", "newer", "is_exchangeable"),
    [
        ("We use Redis for sessions.", "We use Memcached for sessions.", True),
        ("Exports broke in release 2.3.", "Exports broke in release 2.4.", True),
        ("The limit is 3 boxes.", "The limit is 5 boxes.", False),
        ("We meet on Mondays.", "We meet on Fridays.", False),
        ("Anna uses Redis for sessions.", "Ben uses Memcached for sessions.", False),
    ],
)
def test_a_name_may_be_what_each_of_many_notes_is_about(
    older: str, newer: str, is_exchangeable: bool
) -> None:
    assert compared(older, newer).is_exchangeable is is_exchangeable


def lines(name: str) -> list[dict[str, Any]]:
    """Read a file of labelled notes."""
    return [
        json.loads(line) for line in (BENCHMARKS / name).read_text(encoding="utf-8").splitlines()
    ]


def test_notes_that_nothing_was_fitted_to_are_told() -> None:
    """By words alone: of 24 that say the same 21, of 24 that say otherwise 19, and one of 24 that stand apart wrongly."""
    fresh = [each for each in lines("tidy.jsonl") if each["part"] == "fresh"]
    told = [(each["label"], str(compared(each["older"], each["newer"]).verdict)) for each in fresh]
    assert len(told) == 72
    assert told.count(("same", "same")) >= 18
    assert told.count(("otherwise", "otherwise")) >= 18
    assert told.count(("apart", "otherwise")) <= 2
    assert not {("otherwise", "same"), ("apart", "same")} & set(told)


def test_what_differs_among_notes_of_one_pattern_is_seldom_a_value() -> None:
    """What is left a third note of the pattern settles."""
    pairs = [
        pair
        for each in lines("tidy_patterns.jsonl")
        if "pattern" in each and each["part"] == "unseen"
        for pair in combinations([each["pattern"].format(*fill) for fill in each["fills"]], 2)
    ]
    found = [compared(*pair) for pair in pairs]
    assert len(pairs) == 120
    assert all(each.verdict is not PairVerdict.SAME for each in found)
    contradicted = [each for each in found if each.verdict is PairVerdict.OTHERWISE]
    assert len(contradicted) <= 12
    assert all(each.is_exchangeable for each in contradicted)
