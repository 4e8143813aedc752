"""Turns that settle something sound like it, and reports tell of something."""

import pytest

from minutebook.text.settling import reports, settling


@pytest.mark.parametrize(
    ("prompt", "response"),
    [
        ("Let's round half up, always.", "Done, everywhere."),
        ("What is our rule?", "Agreed: no personal data in logs, from now on."),
        ("Ab jetzt immer mit Sie", "Festgehalten."),
        ("Pongamos una regla.", "Una rama vive tres días como mucho."),
        ("Désormais on prend le coffre", "Aucun secret dans les fichiers."),
    ],
)
def test_what_settles_sounds_so_more_than_a_finding(prompt: str, response: str) -> None:
    found = settling("The report shows an odd hour.", "The job adds local hours.")
    assert settling(prompt, response) >= 0.6 > found


def test_what_a_person_only_asks_settles_nothing() -> None:
    assert settling("Should we always do that?", "The job adds hours.") == 0.0


@pytest.mark.parametrize(
    ("question", "does"),
    [
        ("A refund of 19.99 arrives as 19.98. How do we represent prices?", True),
        ("The deploy button is grey and I have one approval", True),
        ("When did Ana move to Kiel?", False),
        ("deploy rollback jenkins", False),
        ("Hello. Where do we keep tokens?", False),
        ("", False),
    ],
)
def test_a_report_tells_and_a_question_does_not(question: str, does: bool) -> None:
    assert reports(question) is does
