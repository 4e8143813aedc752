"""Which statements of a talk a later one took back, by what people say and how."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.summarizer.talks import Statement, kinds_of, taken_back


def chances(*turns: tuple[str, str]) -> dict[str, float]:
    """Return the chance of each statement of prompts and responses, by its text."""
    said = [
        Statement(text, turn, by_user)
        for turn, (prompt, response) in enumerate(turns)
        for by_user, text in ((True, prompt), (False, response))
    ]
    found = taken_back(said, range(len(said)))
    return {said[index].text: each.chance for index, each in found.items()}


@pytest.mark.parametrize(
    ("first", "answer", "objection", "other"),
    [
        ("Who runs the shop?", "Ada runs the shop in Kiel.", "Ada left in May.", "Then Bo runs the shop in Kiel."),
        ("Wo liegt die Datei?", "Die Datei liegt in alt/a.txt.", "Da ist sie nicht.", "Die Datei liegt in neu/b.txt."),
        ("Run the tests.", "Three tests fail in test_tax.py.", "Fix them.", "All 90 tests pass."),
        ("How long is the trip?", "I expect two days for the trip.", "There are roadworks.", "The trip takes three days."),
        ("What shall we use?", "I suggest glue for the frame.", "It will stand in the rain.", "Then screws hold better, in steel."),
        ("Warum piept es?", "Vermutlich ist der Akku leer.", "Der Akku ist voll.", "Der Sensor meldet Rauch."),
        ("¿Por qué gotea?", "Quizá la válvula está gastada.", "La válvula la cambiaron en mayo.", "Entonces es la junta."),
        ("Où est le fichier ?", "Le fichier est dans vieux/a.txt.", "Il n'y est plus.", "Le fichier est dans neuf/b.txt."),
    ],
)  # fmt: skip
def test_what_the_last_answer_replaced_is_likely_taken_back(
    first: str, answer: str, objection: str, other: str
) -> None:
    found = chances((first, answer), (objection, other))
    assert found[answer] > 0.4
    assert found[other] == 0.0


@pytest.mark.parametrize(
    ("first", "answer", "following", "other"),
    [
        ("How loud is it?", "Fan A makes 31 decibels.", "What about B?", "Fan B makes 44 decibels."),
        ("Wie weit ist es?", "Mit der Fähre dauert es 40 Minuten.", "Und mit dem Bus?", "Mit dem Bus dauert es 70 Minuten."),
        ("¿Qué cubre?", "El seguro no cubre el garaje.", "¿Y la bici?", "El seguro cubre la bici en casa."),
    ],
)  # fmt: skip
def test_what_is_said_of_another_thing_takes_nothing_back(
    first: str, answer: str, following: str, other: str
) -> None:
    assert chances((first, answer), (following, other))[answer] < 0.35


def test_it_is_said_by_which_later_statement() -> None:
    said = [
        Statement("The p99 is 310 ms on staging.", 0, by_user=False),
        Statement("Really?", 1, by_user=True),
        Statement("Correction: the p99 on staging is 190 ms.", 1, by_user=False),
    ]
    found = taken_back(said, [0])[0]
    assert found.by in (2, None)
    assert found.chance > 0.5


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I think it is the cache.", "guess"),
        ("Ich würde einen Timer nehmen.", "tentative"),
        ("Me equivoqué con la fecha.", "wrong"),
        ("Les tests passent.", "passed"),
    ],
)
def test_kinds_of_words_are_found_in_each_language(text: str, kind: str) -> None:
    assert kind in kinds_of(text)


texts = st.lists(
    st.sampled_from(["the", "limit", "is", "50", "100", "not", "actually", "wrong", "ms", "", "東京", "ocho?"]),
    max_size=8,
).map(" ".join)  # fmt: skip


@given(st.lists(st.tuples(texts, st.booleans()), max_size=6))
def test_chances_are_shares_and_the_last_turn_always_stands(told: list[tuple[str, bool]]) -> None:
    said = [Statement(text, turn, by_user) for turn, (text, by_user) in enumerate(told)]
    found = taken_back(said, range(len(said)))
    assert all(0 <= each.chance <= 1 for each in found.values())
    assert found == taken_back(said, range(len(said)))
    if said:
        assert found[len(said) - 1].chance == 0.0
