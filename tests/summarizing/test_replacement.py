"""How likely a later turn replaced what a sentence says."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.domain.records import DEFAULT_ORGANIZATION, Turn
from minutebook.domain.turns import turn_id
from minutebook.summarizing.extractive import sayings, texts_of
from minutebook.summarizing.replacement import replacement_odds

Talk = list[tuple[str, str]]


def turns_of(talk: Talk) -> list[Turn]:
    start = datetime(2026, 3, 2, 9, tzinfo=UTC)
    instants = [start + timedelta(minutes=n) for n in range(len(talk))]
    return [
        Turn(
            organization=DEFAULT_ORGANIZATION,
            id=turn_id(at),
            session="s",
            at=at,
            prompt=prompt,
            thought="",
            response=response,
            author="agent",
        )
        for at, (prompt, response) in zip(instants, talk, strict=True)
    ]


def odds_of(talk: Talk) -> dict[str, float]:
    found = sayings(turns_of(talk), len(talk))
    odds = replacement_odds(texts_of(found))
    return {each.text: chance for each, chance in zip(found, odds, strict=True)}


@pytest.mark.parametrize(
    ("ask", "answer", "states", "only_asks"),
    [
        ("Where is the leak?", "Perhaps the valve in the cellar is worn.", "The plumber replaced the valve in May.", "Which valve is it?"),
        ("How do we travel?", "I suggest the night train to Vienna.", "The night train is sold out till June.", "How long does that take?"),
        ("Warum ist es kalt?", "Vermutlich klemmt das Ventil im Keller.", "Das Ventil hat der Klempner getauscht.", "Wo ist das genau?"),
        ("Wer hält die Rede?", "Ich schlage Frau Brandt für die Rede vor.", "Frau Brandt ist im Juni in Chile.", "Wie lange spricht sie?"),
        ("¿Por qué gotea?", "Quizá la válvula del sótano está gastada.", "La válvula la cambiaron en mayo.", "¿Cuál es?"),
        ("Pourquoi fait-il froid ?", "La vanne de la cave est peut-être usée.", "La vanne a été changée en mai.", "Laquelle est-ce ?"),
    ],
)  # fmt: skip
def test_what_the_user_states_against_it_makes_a_replacement_likelier_than_a_question(
    ask: str, answer: str, states: str, only_asks: str
) -> None:
    then = "A ladder stands ready in the yard."
    against = odds_of([(ask, answer), (states, then)])[answer]
    assert against > 0.5
    assert odds_of([(ask, answer), (only_asks, then)])[answer] < against - 0.2


def test_what_is_said_many_turns_before_is_doubted_when_the_user_comes_back_to_it() -> None:
    asked = [("Which paint dries fastest?", "The blue tin dries within an hour.")] * 3
    talk = [
        ("Plan the fair.", "The fair opens on Tuesday."),
        *asked,
        ("The hall for the fair is taken on Tuesday.", "Wednesday it is."),
    ]
    without = [*talk[:-1], ("How much is a tin?", "A tin costs nine euros.")]
    text = "The fair opens on Tuesday."
    assert odds_of(talk)[text] > odds_of(without)[text] + 0.2


words = st.lists(
    st.sampled_from(["the", "limit", "is", "50", "ms", "perhaps", "not", "why?", "東京", ""])
)


@given(st.lists(st.tuples(words.map(" ".join), words.map(" ".join)), min_size=1, max_size=6))
def test_odds_are_probabilities_and_nothing_replaces_the_last_turn(talk: Talk) -> None:
    found = sayings(turns_of(talk), len(talk))
    odds = replacement_odds(texts_of(found))
    assert len(odds) == len(found)
    assert all(0 <= each < 1 for each in odds)
    last = max((each.turn for each in found), default=0)
    assert all(o == 0 for o, each in zip(odds, found, strict=True) if each.turn == last)
