"""The texts of the pages in the reader's language, by gettext catalogues; the code has the English texts."""

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
"""The suffix of files with texts."""

LOCALES = Path(__file__).parent.parent / "locale"

LONGEST_HEADER = 1_000
"""Characters of `Accept-Language` that are read."""


@dataclass(frozen=True, slots=True)
class PageLanguage:
    """A language of the pages: its tag, its own name, and its formats of numbers and days (`day`, for `strftime`)."""

    code: str
    name: str
    thousands: str
    decimal: str
    percent: str
    day: str


ENGLISH = PageLanguage("en", "English", ",", ".", "%", "%Y-%m-%d")

LANGUAGES: Mapping[str, PageLanguage] = {
    "en": ENGLISH,
    "de": PageLanguage("de", "Deutsch", ".", ",", "\N{NO-BREAK SPACE}%", "%d.%m.%Y"),
}
"""The languages by tag; each but English has a catalogue in `locale/`."""

_SPOKEN: ContextVar[PageLanguage] = ContextVar("language", default=ENGLISH)


class Later:
    """A text of the catalogue in a module's constant: `str` returns it in the reader's language."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __str__(self) -> str:
        return text(self.message)


def text(message: str, /, **values: object) -> str:
    """Return a text in the reader's language, with values in place of its `{names}`."""
    found = _translations(_SPOKEN.get().code).gettext(message)
    return found.format(**values) if values else found


def number_of(one: str, many: str, count: int, /, **values: object) -> str:
    """Return the text for a count, with the count in place of `{count}`: `1 hit`, `1,200 hits`."""
    found = _translations(_SPOKEN.get().code).ngettext(one, many, count)
    return found.format(count=numeral(count), **values)


def later(message: str) -> Later:
    """Return a text that is translated when it is shown, for a module's constant."""
    return Later(message)


def texts_beside(module: str) -> Mapping[str, Any]:
    """Return the texts of the file beside a module, which is given as its `__file__`; each is a `Later`."""
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
    """Return the function from a count to its text, for a module's constant."""
    return partial(number_of, one, many)


def numeral(value: float, decimals: int = 0) -> str:
    """Return a number as the reader's language writes it: `1,200.5`, `1.200,5`."""
    return with_marks(f"{value:,.{decimals}f}")


def with_marks(number: str) -> str:
    """Return an English number with the separators of the reader's language."""
    language = _SPOKEN.get()
    return number.translate(str.maketrans(",.", language.thousands + language.decimal))


def spoken() -> PageLanguage:
    """Return the reader's language."""
    return _SPOKEN.get()


@contextmanager
def speaking(language: PageLanguage) -> Iterator[None]:
    """Make a language the reader's within this block, also in worker threads that it starts."""
    token = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def chosen(cookie: str, accepted: str) -> PageLanguage:
    """Return the language of the cookie with the person's choice, else the best of `Accept-Language`, else English."""
    if cookie in LANGUAGES:
        return LANGUAGES[cookie]
    weighed = [_weighed(part) for part in accepted[:LONGEST_HEADER].split(",")]
    for weight, tag in sorted(weighed, key=lambda each: -each[0]):
        primary = tag.partition("-")[0].lower()
        if weight > 0 and primary in LANGUAGES:
            return LANGUAGES[primary]
    return ENGLISH


def _weighed(part: str) -> tuple[float, str]:
    """Return weight and tag of a part of `Accept-Language`, such as `de-AT;q=0.8`; a malformed one has weight 0."""
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
