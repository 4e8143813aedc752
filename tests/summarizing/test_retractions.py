"""What a later statement of a session takes back, and what it leaves."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.domain.records import DEFAULT_ORGANIZATION, Turn
from minutebook.domain.turns import turn_id
from minutebook.summarizing.extractive import sayings, standing
from minutebook.summarizing.retractions import retracted
from minutebook.summarizing.statements import Statement, clauses
from minutebook.summarizing.taking_back import takes_back


def said(text: str, turn: int, *, by_user: bool = False) -> Statement:
    return Statement(text, turn, by_user)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("The p99 is 310 ms.", "Correction: the p99 is 190 ms."),
        ("The export runs at 2 in the night.", "Actually, the export runs at 4 in the night."),
        ("The disk is full.", "I was wrong about the disk, it has 40 GB left."),
        ("Deliveries are retried eight times.", "Deliveries are retried five times now."),
        ("I estimate three weeks.", "I overlooked the rules: five weeks rather than three."),
        ("We keep the sessions in Redis.", "Actually, we don't want Redis."),
        ("Die Datei ist in UTF-8 kodiert.", "Das war falsch, die Datei ist in Latin-1 kodiert."),
        ("Die Aufbewahrung beträgt 14 Tage.", "Stimmt, die Aufbewahrung sind nicht 14 Tage."),
        ("Der Termin ist um 14 Uhr.", "Der Termin ist doch erst um 9 Uhr."),
        ("El límite es de 100 peticiones.", "En realidad el límite es de 50 peticiones."),
        ("El fallo está en la cola.", "Me equivoqué: la cola funciona bien."),
        ("Vienen ocho amigos a cenar.", "Al final vienen diez amigos, no ocho."),
    ],
)
def test_a_correction_takes_back_what_it_corrects(earlier: str, later: str) -> None:
    assert takes_back(said(later, 1), said(earlier, 0))


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("DuckDB needs 0.9 s for the sum.", "With an index SQLite needs 6.1 s."),
        ("The p99 is 310 ms.", "The p50 is 20 ms."),
        ("I fixed the login page.", "Correction: the export has 40 columns."),
        ("The cart asks the tax service once per item.", "The tax service is run by another team."),
        ("Ich habe drei Tests geschrieben.", "Alle 27 Tests sind grün."),
        ("La cola tiene dos consumidores.", "La tabla tiene cuatro índices."),
        ("Added the report 3 to f3.py.", "Added the chart 4 to g4.py."),
    ],
)
def test_another_statement_takes_nothing_back(earlier: str, later: str) -> None:
    assert not takes_back(said(later, 1), said(earlier, 0))


@pytest.mark.parametrize(
    ("proposed", "objection"),
    [
        ("I replaced it with Luxon.", "Not Luxon, the team agreed on date-fns."),
        ("The site is at Netlify.", "We don't want Netlify."),
        ("Die Seite liegt bei Netlify.", "Netlify möchten wir nicht."),
        ("Guardo todo en MongoDB.", "No queremos MongoDB, usa lo que ya tenemos."),
    ],
)
def test_what_the_user_turns_down_is_taken_back(proposed: str, objection: str) -> None:
    assert takes_back(said(objection, 1, by_user=True), said(proposed, 0))
    assert not takes_back(said(f"{objection[:-1]}?", 1, by_user=True), said(proposed, 0))


def test_an_agent_that_owns_a_fault_gives_up_what_the_talk_is_of() -> None:
    listed = [
        said("The fault is the driver.", 0),
        said("I built the labels in labels.svg.", 0),
        said("The driver is a year old.", 1, by_user=True),
        said("You are right, the template is wrong.", 1),
    ]
    assert retracted(listed, listed) == {0}
    again = [*listed, said("The fault is the driver.", 2)]
    assert retracted(again, again) == set()


def test_only_a_later_turn_takes_back() -> None:
    first, second = "The p99 is 310 ms.", "Correction: the p99 is 190 ms."
    assert not takes_back(said(second, 0), said(first, 0))
    assert not takes_back(said(second, 0), said(first, 1))


def test_an_agent_does_not_take_back_what_the_user_said() -> None:
    wish = said("The limit shall be 100 requests.", 0, by_user=True)
    assert not takes_back(said("Actually the limit is 50 requests.", 1), wish)
    assert takes_back(said("Actually the limit is 50 requests.", 1, by_user=True), wish)


def test_what_repeats_a_statement_before_it_was_taken_back_goes_with_it() -> None:
    listed = [
        said("The dentist is on Tuesday at 14 o'clock.", 0, by_user=True),
        said("I noted the dentist, Tuesday at 14 o'clock.", 1),
        said("Actually, the dentist is on Thursday at 9 o'clock.", 2, by_user=True),
    ]
    assert retracted(listed, listed) == {0, 1}


def test_a_statement_can_be_taken_back_without_the_other_of_its_sentence() -> None:
    assert clauses("I built the payment in shop.py; the fee is 2.9 %.") == [
        "I built the payment in shop.py;",
        "the fee is 2.9 %.",
    ]
    assert clauses("Salt and pepper.") == ["Salt and pepper."]


texts = st.lists(
    st.sampled_from(["the", "limit", "is", "50", "100", "not", "actually", "wrong", "ms", "", "東京", "ocho"]),
    max_size=8,
).map(" ".join)  # fmt: skip


@given(st.lists(st.tuples(texts, st.booleans()), max_size=6))
def test_the_last_statement_always_stands(told: list[tuple[str, bool]]) -> None:
    listed = [said(text, turn, by_user=user) for turn, (text, user) in enumerate(told)]
    gone = retracted(listed, listed)
    assert len(listed) - 1 not in gone
    assert gone == retracted(listed, listed)


def left(*turns: tuple[str, str]) -> str:
    """Return the statements that still hold at the end of a session of prompts and responses."""
    instants = [
        datetime(2026, 3, 2, 9, tzinfo=UTC) + timedelta(minutes=n) for n in range(len(turns))
    ]
    found = sayings(
        [
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
            for at, (prompt, response) in zip(instants, turns, strict=True)
        ],
        len(turns),
    )
    return " ".join(standing(found, range(len(found))).values())


@pytest.mark.parametrize(
    ("first", "answer", "objection", "other", "gone"),
    [
        ("Who runs the shop?", "Ada runs the shop in Kiel.", "Ada left in May.", "Then Bo runs the shop in Kiel.", "Ada runs"),
        ("Wo liegt die Datei?", "Die Datei liegt in alt/a.txt.", "Da ist sie nicht.", "Die Datei liegt in neu/b.txt.", "alt/a.txt"),
        ("Is the report ready?", "The report is not printed yet.", "Look again.", "The report is printed.", "not printed"),
        ("Schalte die Pumpe ein.", "Die Pumpe ist eingeschaltet.", "Sie tropft.", "Die Pumpe ist ausgeschaltet.", "ist eingeschaltet"),
        ("Abre la tienda.", "La tienda está abierta.", "Hoy es fiesta.", "La tienda está cerrada.", "está abierta"),
        ("Run the tests.", "Three tests fail in test_tax.py.", "Fix them.", "All 90 tests pass.", "Three tests fail"),
        ("Où est le fichier ?", "Le fichier est dans vieux/a.txt.", "Il n'y est plus.", "Le fichier est dans neuf/b.txt.", "vieux/a.txt"),
        ("Pourquoi ce retard ?", "Je soupçonne la purge du soir.", "Vérifie.", "La purge du soir finit à minuit, ce n'est pas elle.", "soupçonne la purge"),
        ("Move them.", "Two of the nine machines run Debian.", "And now?", "All nine machines run Debian.", "Two of the nine"),
        ("Paint the door red.", "The door is red now.", "Forget it, red fades.", "The door has its old colour again.", "The door is red"),
        ("Who brings the cake?", "Nina brings the cake on Sunday.", "Nina is ill.", "Her sister will come by and bring the cake.", "Nina brings"),
        ("How long is the trip?", "I expect two days for the trip.", "There are roadworks.", "The trip takes three days.", "two days"),
        ("What shall we use?", "I suggest glue for the frame.", "It will stand in the rain.", "Then screws hold better, in steel.", "suggest glue"),
        ("Why is it cold?", "The boiler valve is stuck.", "I replaced the valve today.", "Then a window is open upstairs.", "valve is stuck"),
        ("Warum piept es?", "Vermutlich ist der Akku leer.", "Der Akku ist voll.", "Der Sensor meldet Rauch.", "Akku leer"),
        ("Write the letter in French.", "The letter is written in French.", "Better in Dutch.", "The letter is written in Dutch.", "in French"),
        ("Nimm für das Dach Schiefer.", "Für das Dach ist Schiefer bestellt.", "Lieber Ziegel.", "Für das Dach sind Ziegel bestellt.", "Schiefer"),
    ],
)  # fmt: skip
def test_what_holds_is_what_the_last_answer_says_of_it(
    first: str, answer: str, objection: str, other: str, gone: str
) -> None:
    assert gone in left((first, answer))
    standing_text = left((first, answer), (objection, other))
    assert gone not in standing_text
    assert other in standing_text


@pytest.mark.parametrize(
    ("first", "answer", "following", "other"),
    [
        ("How loud is it?", "Fan A makes 31 decibels.", "What about B?", "Fan B makes 44 decibels."),
        ("Wie weit ist es?", "Mit der Fähre dauert es 40 Minuten.", "Und mit dem Bus?", "Mit dem Bus dauert es 70 Minuten."),
        ("Pourquoi ce bruit ?", "La courroie est sans doute usée.", "Vérifie.", "Confirmé, la courroie est usée."),
        ("How tall are they?", "The oak measures 20 metres.", "And the elm?", "The elm measures 14 metres."),
        ("Add Ada.", "The user ada is created.", "We need one more for Bo.", "The user bo is created."),
        ("Wann öffnen die Bäder?", "Das Bad Nord öffnet um 8 Uhr.", "Was kostet es?", "Das Bad Nord kostet 5 Euro."),
        ("¿Qué cubre?", "El seguro no cubre el garaje.", "¿Y la bici?", "El seguro cubre la bici en casa."),
        ("Where do they stand?", "The plotter stands in Kiel.", "We bought a scanner.", "The scanner stands in Bonn."),
    ],
)  # fmt: skip
def test_what_is_said_of_another_thing_takes_nothing_back(
    first: str, answer: str, following: str, other: str
) -> None:
    standing_text = left((first, answer), (following, other))
    assert answer in standing_text
    assert other in standing_text


def test_a_reason_goes_with_the_statement_that_it_is_for() -> None:
    text = left(
        ("Is the gate open?", "The gate is closed, because the guard is ill. The lamp is on."),
        ("He is back.", "The gate is open."),
    )
    assert "guard" not in text
    assert "The lamp is on." in text
