"""The texts of the pages: one gettext catalogue; the texts in the code are the English ones."""

import gettext
from pathlib import Path

DOMAIN = "minutebook"
LOCALES = Path(__file__).parent / "locale"

TRANSLATIONS = gettext.translation(DOMAIN, LOCALES, languages=["en"], fallback=True)
"""The catalogue in use; without a file for the language it gives each text back as it is."""


def text(message: str, /, **values: object) -> str:
    """Return a text of the catalogue, with values in place of its `{names}`."""
    found = TRANSLATIONS.gettext(message)
    return found.format(**values) if values else found


def number_of(one: str, many: str, count: int) -> str:
    """Return the text for a count, written in place of `{count}`: `1 hit`, `1,200 hits`."""
    return TRANSLATIONS.ngettext(one, many, count).format(count=f"{count:,}")
