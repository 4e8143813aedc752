"""The texts of the pages: gettext catalogues by language; the texts in the code are the English ones."""

import gettext
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

DOMAIN = "minutebook"
SUFFIX = ".texts.toml"
"""The end of the names of files with texts."""

LOCALES = Path(__file__).parent.parent / "locale"

LONGEST_HEADER = 1_000
"""Characters of `Accept-Language` that are looked at."""


@dataclass(frozen=True, slots=True)
class PageLanguage:
    """A language of the pages: its tag, its name in itself, and how it writes numbers and times."""

    code: str
    name: str
    thousands: str
    decimal: str
    percent: str
    day: str
    """The day of an instant, for `strftime`."""


ENGLISH = PageLanguage("en", "English", ",", ".", "%", "%Y-%m-%d")

LANGUAGES: Mapping[str, PageLanguage] = {
    "en": ENGLISH,
    "de": PageLanguage("de", "Deutsch", ".", ",", "\N{NO-BREAK SPACE}%", "%d.%m.%Y"),
}
"""The languages by tag; each but English has a catalogue in `locale/`."""

_SPOKEN: ContextVar[PageLanguage] = ContextVar("language", default=ENGLISH)


class Later:
    """A text of the catalogue that a module keeps: `str` gives it in the language of the reader."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __str__(self) -> str:
        return text(self.message)


def text(message: str, /, **values: object) -> str:
    """Return a text in the language in use, with values in place of its `{names}`."""
    found = _translations(_SPOKEN.get().code).gettext(message)
    return found.format(**values) if values else found


def number_of(one: str, many: str, count: int, /, **values: object) -> str:
    """Return the text for a count, written in place of `{count}`: `1 hit`, `1,200 hits`."""
    found = _translations(_SPOKEN.get().code).ngettext(one, many, count)
    return found.format(count=numeral(count), **values)


def later(message: str) -> Later:
    """Mark a text that is read before its reader is known, such as a module's constant."""
    return Later(message)


def texts_beside(module: str) -> Mapping[str, Any]:
    """Return the texts of the file beside a module, given as its `__file__`, by name; each reads as `later` has it."""
    return {
        name: _marked(value)
        for name, value in tomllib.loads(
            Path(module).with_suffix(SUFFIX).read_text("utf-8")
        ).items()
    }


def _marked(value: Any) -> Any:
    match value:
        case dict():
            return {name: _marked(each) for name, each in value.items()}
        case list():
            return [_marked(each) for each in value]
        case _:
            return Later(value)


def later_number_of(one: str, many: str) -> Callable[[int], str]:
    """Mark a text for a count that is read before its reader is known."""
    return partial(number_of, one, many)


def numeral(value: float, decimals: int = 0) -> str:
    """Write a number as the language in use does: `1,200.5`, `1.200,5`."""
    return with_marks(f"{value:,.{decimals}f}")


def with_marks(number: str) -> str:
    """Return a number that was written as English does with the marks of the language in use."""
    language = _SPOKEN.get()
    return number.translate(str.maketrans(",.", language.thousands + language.decimal))


def spoken() -> PageLanguage:
    """Return the language in use."""
    return _SPOKEN.get()


@contextmanager
def speaking(language: PageLanguage) -> Iterator[None]:
    """Use a language for the work inside, in threads that are begun inside, too."""
    token = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def chosen(cookie: str, accepted: str) -> PageLanguage:
    """Return the language that a person chose, else the first that their browser asks for, else English."""
    if cookie in LANGUAGES:
        return LANGUAGES[cookie]
    weighed = [_weighed(part) for part in accepted[:LONGEST_HEADER].split(",")]
    for weight, tag in sorted(weighed, key=lambda each: -each[0]):
        primary = tag.partition("-")[0].lower()
        if weight > 0 and primary in LANGUAGES:
            return LANGUAGES[primary]
    return ENGLISH


def _weighed(part: str) -> tuple[float, str]:
    """Read one part of `Accept-Language`, such as `de-AT;q=0.8`; an unreadable one weighs nothing."""
    tag, _, parameter = part.partition(";")
    name, _, value = parameter.strip().partition("=")
    if not name:
        return 1.0, tag.strip()
    digits = value.strip()
    if name.strip() != "q" or not digits.replace(".", "", 1).isdecimal() or len(digits) > 5:
        return 0.0, tag.strip()
    return float(digits), tag.strip()


@cache
def _translations(code: str) -> gettext.NullTranslations:
    if code == ENGLISH.code:
        return gettext.NullTranslations()
    return gettext.translation(DOMAIN, LOCALES, languages=[code])
