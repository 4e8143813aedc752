"""Whether a newer note says the same as one that it is like, says otherwise, or is about something else."""

import pytest

from minutebook.tidying.pairs import LONGEST, Verdict, compare


@pytest.mark.parametrize(
    ("older", "newer", "verdict"),
    [
        ("Tea at four.", "tea  at four.", Verdict.SAME),
        ("The retry limit is 3.", "The retry limit is 5.", Verdict.OTHERWISE),
        ("Ticket 4411 was fixed.", "Ticket 4502 was fixed.", Verdict.APART),
        ("Refunds above 500 euros wait.", "Refunds above 800 euros wait.", Verdict.OTHERWISE),
        ("Priya owns the billing service.", "Jonas owns the billing service.", Verdict.OTHERWISE),
        ("Priya likes the billing service.", "Jonas likes the billing service.", Verdict.APART),
        ("Tests may use the network.", "Tests may not use the network.", Verdict.OTHERWISE),
        ("The search is on for all.", "The search is off for all.", Verdict.OTHERWISE),
        ("Anna prefers tea.", "Anna likes tea.", Verdict.SAME),
        ("Die Sitzung beginnt um 14 Uhr.", "Die Sitzung beginnt um 16 Uhr.", Verdict.OTHERWISE),
        ("The key for Stripe is in the vault.", "The key for Mailgun is in the vault.", Verdict.APART),
        ("", "Tea", Verdict.APART),
        ("x" * (LONGEST + 1), "y" * 9, Verdict.APART),
    ],
)  # fmt: skip
def test_what_differs_tells(older: str, newer: str, verdict: Verdict) -> None:
    assert compare(older, newer).verdict is verdict


def test_the_words_that_differ_are_told_and_which_text_says_more() -> None:
    found = compare("The limit is 3.", "The limit is 5.")
    assert (found.old, found.new) == ("3", "5")
    longer = "The build needs Node 20, pnpm and a clean checkout."
    assert compare(longer, "The build needs Node 20 and pnpm.").is_older_fuller
    assert not compare("The build needs Node 20 and pnpm.", longer).is_older_fuller
