"""Whether a newer note says the same as one that it is like, says otherwise, or is about something else."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from minutebook.features.tidying.judging.pairs import LONGEST, PairVerdict, compare

PATTERNS = Path(__file__).parents[4] / "benchmarks" / "tidy_patterns.jsonl"


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        ("Tea at four.", "tea  at four.", PairVerdict.SAME),
        ("The retry limit is 3.", "The retry limit is 5.", PairVerdict.OTHERWISE),
        ("Ticket 4411 was fixed.", "Ticket 4502 was fixed.", PairVerdict.APART),
        ("Refunds above 500 euros wait.", "Refunds above 800 euros wait.", PairVerdict.OTHERWISE),
        ("Priya owns the billing service.", "Jonas owns the billing service.", PairVerdict.OTHERWISE),
        ("Priya likes the billing service.", "Jonas likes the billing service.", PairVerdict.APART),
        ("Tests may use the network.", "Tests may not use the network.", PairVerdict.OTHERWISE),
        ("The search is on for all.", "The search is off for all.", PairVerdict.OTHERWISE),
        ("Anna prefers tea.", "Anna likes tea.", PairVerdict.SAME),
        ("Die Sitzung beginnt um 14 Uhr.", "Die Sitzung beginnt um 16 Uhr.", PairVerdict.OTHERWISE),
        ("The key for Stripe is in the vault.", "The key for Mailgun is in the vault.", PairVerdict.APART),
        ("", "Tea", PairVerdict.APART),
        ("x" * (LONGEST + 1), "y" * 9, PairVerdict.APART),
    ],
)  # fmt: skip
def test_what_differs_tells(older: str, newer: str, verdict: PairVerdict) -> None:
    assert compare(older, newer).verdict is verdict


def test_the_words_that_differ_are_told_and_which_text_says_more() -> None:
    found = compare("The limit is 3.", "The limit is 5.")
    assert (found.old, found.new) == ("3", "5")
    longer = "The build needs Node 20, pnpm and a clean checkout."
    assert compare(longer, "The build needs Node 20 and pnpm.").is_older_fuller
    assert not compare("The build needs Node 20 and pnpm.", longer).is_older_fuller


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        # A bare name where the verb asks for no place says where the rest holds.
        ("Run the smoke tests in gallery.", "Run the smoke tests in wishlist.", PairVerdict.APART),
        ("The team works in Lisbon.", "The team works in Porto.", PairVerdict.OTHERWISE),
        ("The keys are kept in Vault.", "The keys are kept in Bitwarden.", PairVerdict.OTHERWISE),
        ("Die Kopien werden in Dublin gebaut.", "Die Kopien werden in Bern gebaut.", PairVerdict.OTHERWISE),
        # The name beside a word for one of several things says which.
        ("Ask the Orion team first.", "Ask the Lyra team first.", PairVerdict.APART),
        ("Hay que reiniciar el servicio pagos.", "Hay que reiniciar el servicio fotos.", PairVerdict.APART),
        # What does something in a later clause is what the text is about.
        ("When it rains, Ana takes a cab.", "When it rains, Ben takes a cab.", PairVerdict.APART),
        ("Das Team wartet auf Suche.", "Das Team wartet auf Kasse.", PairVerdict.OTHERWISE),
    ],
)  # fmt: skip
def test_a_name_that_says_where_which_or_who_is_no_value(
    older: str, newer: str, verdict: PairVerdict
) -> None:
    assert compare(older, newer).verdict is verdict


def labelled() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PATTERNS.read_text(encoding="utf-8").splitlines()]


def test_what_differs_among_notes_of_one_pattern_is_seldom_a_value() -> None:
    """Of 240 pairs 111 were taken for contradictions; what is left a third note of the pattern settles."""
    pairs = [
        pair
        for each in labelled()
        if "pattern" in each
        for pair in combinations([each["pattern"].format(*fill) for fill in each["fills"]], 2)
    ]
    found = [compare(*pair) for pair in pairs]
    assert len(pairs) == 240
    assert all(each.verdict is not PairVerdict.SAME for each in found)
    contradicted = [each for each in found if each.verdict is PairVerdict.OTHERWISE]
    assert len(contradicted) <= 30
    assert all(each.is_exchangeable for each in contradicted)


def test_another_value_in_a_note_of_such_a_pattern_is_found() -> None:
    pairs = [(each["older"], each["newer"]) for each in labelled() if "older" in each]
    found = [compare(*pair).verdict is PairVerdict.OTHERWISE for pair in pairs]
    assert (len(found), sum(found)) == (33, 30)
