"""Read the days that a question names ("since Tuesday", "last week"), relative to the day on which it is asked."""

import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache

from minutebook.text.languages import LATIN, likely_languages
from minutebook.text.word_lists import word_lists
from minutebook.text.words import words

_TABLES = word_lists("dates.toml")
_LETTER = "[a-z\u00df-\u052f]"
"""A letter of a script that puts spaces between words."""
_OLDEST = date(1970, 1, 1)
_NUMBER = re.compile(r"\d+")
_DAY, _WEEK = timedelta(days=1), timedelta(days=7)


def _numbers(names: str, first: int) -> Mapping[str, int]:
    """Return the numbers of the names in the list `names` of each language, counted from `first`."""
    lists = (enumerate(table.get(names, "").split(), first) for table in _TABLES.values())
    return {name: number for each in lists for number, same in each for name in same.split("|")}


WEEKDAYS, MONTHS = _numbers("weekdays", 0), _numbers("months", 1)
"""Numbers of the days of the week by name, Monday being 0, and of the months, January being 1."""


def named_days(question: str, now: datetime) -> tuple[date, date] | None:
    """Return the days that a question names: the first, and the one after the last; None if it names none until today.

    Today is the local day of `now`. A weekday is the latest one before today. Days "since" another end with today.
    """
    today = now.astimezone().date()
    likely = likely_languages(words(question), question)
    for language in _TABLES:
        if language in LATIN and language not in likely:
            continue
        for found in _pattern(language).finditer(question.lower()):
            with suppress(ValueError):
                first, length = _read(found[found.lastgroup or ""], found.lastgroup, today)
                if _OLDEST <= first <= today:
                    return first, today + _DAY if found["since"] else first + length
    return None


@cache
def _pattern(language: str) -> re.Pattern[str]:
    """Compile the expression for days in a language; the last group that matches is the kind that `_read` takes."""
    table = {"since": "(?!)", "months": "(?!)", **_TABLES[language]}
    since = table.pop("since")
    weekday, month = (table.pop(each).replace(" ", "|") for each in ("weekdays", "months"))
    table |= {
        "iso": r"\d{4}-\d\d-\d\d",
        "weekday": weekday,
        "dated": rf"(?:\d{{1,2}}(?:st|nd|rd|th|\.|º)?\s(?:of |de )?(?:{month})|(?:{month})\s\d{{1,2}}(?!\d))(?:,? (?:de )?\d{{4}})?",
    }
    kinds = "|".join(f"(?P<{kind}>{expression})" for kind, expression in table.items())
    return re.compile(
        rf"(?<!{_LETTER})(?:(?P<since>{since})\s*(?:[^\W\d]+\s+)?)?(?<!{_LETTER})(?:{kinds})(?!{_LETTER})"
    )


def _read(text: str, kind: str | None, today: date) -> tuple[date, timedelta]:
    """Return the first day that a text of a kind names, and how long the span is. Raises ValueError if there is no such day."""
    monday = today - today.weekday() * _DAY
    match kind:
        case "iso":
            return date.fromisoformat(text), _DAY
        case "dated":
            month = next(MONTHS[each] for each in re.findall(r"[^\W\d]+", text) if each in MONTHS)
            day, *years = map(int, _NUMBER.findall(text))
            named = date(years[0] if years else today.year, month, day)
            return named if years or named <= today else named.replace(year=today.year - 1), _DAY
        case "weekday":
            return today - ((today.weekday() - WEEKDAYS[text] - 1) % 7 + 1) * _DAY, _DAY
        case "this_week":
            return monday, _WEEK
        case "last_week":
            return monday - _WEEK, _WEEK
        case "ago":
            return today - int(_NUMBER.findall(text)[0]) * _DAY, _DAY
        case _:
            return today - (kind == "yesterday") * _DAY, _DAY
