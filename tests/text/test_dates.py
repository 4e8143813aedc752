"""The days that questions name, counted back from Saturday, 28 November 2026."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.text.dates import MONTHS, WEEKDAYS, named_days

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
TODAY = date(2026, 11, 28)

NAMED = {
    "What changed since Tuesday?": ("11-24", 5),
    "what did I do on Wednesday": ("11-25", 1),
    "Anything new since 2026-11-20?": ("11-20", 9),
    "What was decided since last week?": ("11-16", 13),
    "What happened last week?": ("11-16", 7),
    "Which files were touched yesterday?": ("11-27", 1),
    "what did we work on 3 days ago": ("11-25", 1),
    "What have you remembered today?": ("11-28", 1),
    "What was changed since the 12th of October?": ("10-12", 48),
    "What was said on October 3?": ("10-03", 1),
    "What did we do on Saturday?": ("11-21", 1),
    "Was hat sich seit Dienstag geändert?": ("11-24", 5),
    "Woran haben wir vor 3 Tagen gearbeitet?": ("11-25", 1),
    "Was wurde am 24. November beschlossen?": ("11-24", 1),
    "¿Qué decidimos la semana pasada?": ("11-16", 7),
    "Quels fichiers ont été modifiés hier ?": ("11-27", 1),
    "O que mudou desde terça-feira?": ("11-24", 5),
    "Che cosa è cambiato da martedì?": ("11-24", 5),
    "Wat hebben we vorige week besloten?": ("11-16", 7),
    "Что изменилось со вторника?": ("11-24", 5),
    "從星期二以來有什麼變化?": ("11-24", 5),
    "昨日どのファイルが変更されましたか?": ("11-27", 1),
}

UNNAMED = (
    "What changed?",
    "What may have changed?",
    "What was done on 31 February?",
    "What do we do on Tuesdays?",
    "Was hat sich hier in der Datei geändert?",
    "What is planned for 2027-01-05?",
    "The march of progress",
)


@pytest.mark.parametrize("question", NAMED)
def test_a_question_names_days_that_were(question: str) -> None:
    day, length = NAMED[question]
    first = date.fromisoformat(f"2026-{day}")
    assert named_days(question, NOW) == (first, first + timedelta(days=length))


@pytest.mark.parametrize("question", UNNAMED)
def test_what_is_no_day_up_to_now_is_not_read_as_one(question: str) -> None:
    assert named_days(question, NOW) is None


def test_a_day_of_last_year_is_meant_where_this_years_is_to_come() -> None:
    found = named_days("What was decided on 3 December?", NOW)
    assert found == (date(2025, 12, 3), date(2025, 12, 4))


@pytest.mark.parametrize(
    "question",
    [
        "What was said on October 25, 2022?",
        "What was said on 25 October 2022?",
        "¿Qué se dijo el 25 de octubre de 2022?",
    ],
)
def test_a_year_that_is_named_is_meant(question: str) -> None:
    found = named_days(question, NOW)
    assert found == (date(2022, 10, 25), date(2022, 10, 26))


@given(st.text(), st.sampled_from(sorted(WEEKDAYS.keys() | MONTHS.keys())), st.text())
def test_whatever_stands_around_a_name_the_days_have_begun(
    before: str, name: str, behind: str
) -> None:
    found = named_days(f"{before} {name} 12 {behind}", NOW)
    assert found is None or (found[0] <= TODAY and found[0] < found[1])
