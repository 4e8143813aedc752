"""The end of a text's validity by its own words: "until Friday", "next week", counted from the day of writing.

Only words that name a day, a week, a month or a date count, and only if that is after the day of writing.
"We used Jenkins until 2024" is history, "from next week on" is a beginning, "every week until Friday" recurs.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta

from minutebook.text.dates import MONTHS, WEEKDAYS

_A_DAY = "|".join(sorted(WEEKDAYS, key=len, reverse=True))
_A_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))

_UNTIL = r"(?:until|till|through|by|up to|valid to|bis(?: zum| einschließlich)?|spätestens(?: am)?|hasta|jusqu['’]?(?:à|au|en)|d['’]ici)"
_ENDS = r"(?:ends?|close[sd]?|expires?|stops?|is over|endet|enden|schließt|läuft ab|termina|acaba|finit|se termine) (?:at |on |am |el |le )?(?=the end|\b)"
_THE = r"(?:the|next|this|coming|zum|dem|den|kommenden|nächsten|diesen|el|la|este|próximo|le|la|ce|fin)"
_WHEN = (
    rf"(?P<iso>\d{{4}}-\d{{2}}-\d{{2}})"
    rf"|(?P<dotted>\d{{1,2}}\.\s?\d{{1,2}}\.\d{{4}})"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|º)?(?: of| de)? (?P<month>{_A_MONTH})(?:,?(?: de)? (?P<year>\d{{4}}))?"
    rf"|(?P<month2>{_A_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:)(?:,? (?P<year2>\d{{4}}))?"
    rf"|(?P<weekday>{_A_DAY})"
    rf"|(?P<tomorrow>tomorrow|morgen|mañana|demain)"
    rf"|(?P<endof>(?:the )?end of|(?:the )?end|ende|finales de|fin de|la fin d[eu]|final de)"
    rf"(?: (?:the|this|der|des|dieses|dieser|este|esta|de la|del|la|le|cette|ce))? "
    rf"(?:(?P<unit>week|month|year|woche|monats|jahres|semana|mes|año|semaine|mois|année)|(?P<endmonth>{_A_MONTH}))(?: (?:of |de )?(?P<endyear>\d{{4}}))?"
    rf"|(?P<endofyear>(?:the )?end of|ende|finales de|fin) (?P<bareyear>\d{{4}})"
    rf"|(?P<nextweek>next week|nächste[rn]? woche|la semana que viene|la próxima semana|la semaine prochaine)"
    rf"|(?P<wholemonth>{_A_MONTH})(?: (?P<wholeyear>\d{{4}}))?"
)
_DEADLINE = re.compile(
    rf"\b(?P<lead>{_UNTIL}|{_ENDS})\s*(?:{_THE}\s+)?(?:{_WHEN})(?![\w-])"
    r"(?!\s+(?:they|it|he|she|we|you|that|which|in which|when|of|in (?:dem|der)|die|das|in dem|en que|où)\b)",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"\b(?:(?P<next>next week|nächste woche|la semana que viene|la próxima semana|la semaine prochaine)"
    r"|(?P<this>this week|diese woche|esta semana|cette semaine)"
    r"|(?P<nextmonth>next month|nächsten monat|el mes que viene|el próximo mes|le mois prochain)"
    r"|(?P<thismonth>this month|diesen monat|este mes|ce mois-ci)"
    r"|(?P<today>today|heute|hoy|aujourd'hui)|(?P<tomorrow>tomorrow|morgen(?! \w+ (?:früh|abend)s)|mañana|demain))(?!\w)",
    re.IGNORECASE,
)
_BEGINS = re.compile(
    r"(?:\b(?:from|since|as of|starting|beginning|after|before|not before|ab|seit|nach|vor|desde|a partir de|después de|antes de|dès|depuis|à partir de|après|avant|of|for|per|pro)\s+(?:the\s+|la\s+|le\s+)?|\bp\.)$",
    re.IGNORECASE,
)
_RECURS = re.compile(
    r"\b(?:every|each|daily|weekly|monthly|yearly|always|usually|never|jede[rsnm]?|täglich|wöchentlich|monatlich|immer|nie|stets|cada|todos los|siempre|nunca|chaque|tous les|toujours|jamais|"
    r"mondays|tuesdays|wednesdays|thursdays|fridays|saturdays|sundays)\b",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")
_LONGEST = 600
"""Characters; in a longer text one sentence with a day does not say how long the whole holds."""


@dataclass(frozen=True, slots=True)
class End:
    """The first day on which a text's statement is past, the words that say so, and the certainty in [0, 1]."""

    past_from: date
    words: str
    certainty: float


def end_of(text: str, written: date) -> End | None:
    """Return when a text's statement is past by its own words, the last day if it names several; None if it names none.

    `written` is the day on which the text was written.
    """
    if len(text) > _LONGEST:
        return None
    sentences = [each for each in _SENTENCE_END.split(text) if each.strip()]
    ends = (_end_of_sentence(each, written) for each in sentences if not _RECURS.search(each))
    found = [each for each in ends if each is not None]
    if not found:
        return None
    last = max(found, key=lambda each: each.past_from)
    # Its other sentences may state something that still holds.
    certainty = last.certainty * (1.0 if len(found) == len(sentences) else 0.8)
    return End(last.past_from, last.words, certainty)


def _end_of_sentence(sentence: str, written: date) -> End | None:
    """Return when a sentence's statement is past by a deadline or a period in it; None if it names neither."""
    deadline = _DEADLINE.search(sentence)
    if deadline is not None:
        past = _day_after(deadline, written)
        if past is None or past <= written:
            return None
        is_limit = not deadline["lead"].lower().startswith("by")
        return End(past, deadline[0].strip(), 0.9 if is_limit else 0.85)
    period = _PERIOD.search(sentence)
    if period is None or _BEGINS.search(sentence[: period.start()]):
        return None
    return End(_day_after_period(period, written), period[0], 0.8)


def _day_after(found: re.Match[str], written: date) -> date | None:
    """Return the day after the day that a match of _DEADLINE names; None if there is no such day."""
    named = found.groupdict()
    match named:
        case {"iso": str(text)}:
            return _next(_date(*map(int, text.split("-"))))
        case {"dotted": str(text)}:
            day, month, year = (int(part) for part in text.replace(" ", "").split("."))
            return _next(_date(year, month, day))
        case {"day": str(day), "month": str(month), "year": year}:
            return _next(_dated(day, month, year, written))
        case {"day2": str(day), "month2": str(month), "year2": year}:
            return _next(_dated(day, month, year, written))
        case {"weekday": str(name)}:
            ahead = (WEEKDAYS[name.lower()] - written.weekday() - 1) % 7 + 1
            return written + timedelta(days=ahead + 1)
        case {"tomorrow": str()}:
            return written + timedelta(days=2)
        case {"unit": str(unit), "endyear": year}:
            return None if year else _end_of_unit(unit.lower(), written)
        case {"endmonth": str(month), "endyear": year}:
            return _after_month(month, year, written)
        case {"bareyear": str(year)}:
            return date(int(year) + 1, 1, 1)
        case {"nextweek": str()}:
            return _monday(written) + timedelta(days=14)
        case {"wholemonth": str(month), "wholeyear": year}:
            return _after_month(month, year, written)
        case _:
            return None


def _day_after_period(found: re.Match[str], written: date) -> date:
    """Return the first day after a period such as "next week", by the group that _PERIOD found, counted from `written`."""
    match found.lastgroup:
        case "next":
            return _monday(written) + timedelta(days=14)
        case "this":
            return _monday(written) + timedelta(days=7)
        case "today":
            return written + timedelta(days=1)
        case "tomorrow":
            return written + timedelta(days=2)
        case "nextmonth":
            return _first_of_next(_first_of_next(written))
        case _:
            return _first_of_next(written)


def _end_of_unit(unit: str, written: date) -> date:
    """Return the first day after the present week, month or year, as seen from the day `written`."""
    if unit in ("week", "woche", "semana", "semaine"):
        return _monday(written) + timedelta(days=7)
    if unit in ("month", "monats", "mes", "mois"):
        return _first_of_next(written)
    return date(written.year + 1, 1, 1)


def _dated(day: str, month: str, year: str | None, written: date) -> date | None:
    """Return the date of a day and a month; without a year the next one from `written` on. None if there is no such day."""
    number = MONTHS[month.lower()]
    if year is not None:
        return _date(int(year), number, int(day))
    here = _date(written.year, number, int(day))
    return here if here is None or here >= written else _date(written.year + 1, number, int(day))


def _after_month(month: str, year: str | None, written: date) -> date:
    """Return the first day after a month; without a year after the next such month, which may be that of `written`."""
    number = MONTHS[month.lower()]
    if year:
        return _first_of_next(date(int(year), number, 1))
    is_over = number < written.month
    return _first_of_next(date(written.year + is_over, number, 1))


def _first_of_next(day: date) -> date:
    return date(day.year, day.month, monthrange(day.year, day.month)[1]) + timedelta(days=1)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


def _date(year: int, month: int, day: int) -> date | None:
    """Return a date; None if the month has no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _next(day: date | None) -> date | None:
    return None if day is None or day.year > 9000 else day + timedelta(days=1)
