"""The pages in the languages that they speak: who gets which, and that no text is left behind."""

import calendar
import gettext
import re
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.pages.frame import catalogue
from minutebook.features.pages.frame.catalogue import (
    LANGUAGES,
    chosen,
    number_of,
    numeral,
    speaking,
    text,
)
from minutebook.features.pages.frame.markup import age
from minutebook.features.pages.frame.words import WORDS, word
from minutebook.record.records import Kind, MemoryType, Role, ScopeLevel, Status
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.features.pages.site import AGENT, Browser, Site, site_on
from tests.features.pages.test_isolation import addresses
from tools.messages import source_of, too_early, unmarked, untranslated

GERMAN = LANGUAGES["de"]


@pytest.mark.parametrize(
    ("cookie", "accepted", "code"),
    [
        ("", "", "en"),
        ("", "de", "de"),
        ("", "DE-at", "de"),
        ("", "fr, de;q=0.5, en;q=0.9", "en"),
        ("", "en;q=0.2,de;q=0.3", "de"),
        ("", "de;q=0, en", "en"),
        ("", "de;q=x", "en"),
        ("", "*", "en"),
        ("", ";;,=;q=;" * 500, "en"),
        ("en", "de", "en"),
        ("de", "en", "de"),
        ("../../de", "de", "de"),
    ],
)
def test_the_choice_comes_before_the_browsers_wish_and_english_last(
    cookie: str, accepted: str, code: str
) -> None:
    assert chosen(cookie, accepted).code == code


def test_numbers_and_counts_are_written_as_the_language_does() -> None:
    assert numeral(1234.5, 1) == "1,234.5"
    with speaking(GERMAN):
        assert numeral(1234.5, 1) == "1.234,5"
        assert number_of("{count} result", "{count} results", 1200) == "1.200 Treffer"
        assert number_of("{count} text", "{count} texts", 1) == "1 Text"
    assert text("Find") == "Find"


@pytest.mark.parametrize(
    ("passed", "english", "german"),
    [
        (timedelta(seconds=20), "just now", "gerade eben"),
        (timedelta(minutes=1, seconds=9), "1 minute ago", "vor 1 Minute"),
        (timedelta(hours=5), "5 hours ago", "vor 5 Stunden"),
        (timedelta(days=3, hours=20), "3 days ago", "vor 3 Tagen"),
    ],
)
def test_an_age_is_counted_in_its_largest_unit(
    passed: timedelta, english: str, german: str
) -> None:
    instant = datetime.now(UTC) - passed
    assert f">{english}<" in age(instant)
    assert f'datetime="{instant.isoformat()}"' in age(instant)
    with speaking(GERMAN):
        assert f">{german}<" in age(instant)


def test_of_what_is_a_month_old_or_still_to_come_the_day_is_shown() -> None:
    for instant in (datetime(2026, 1, 31, tzinfo=UTC), datetime(2126, 1, 31, tzinfo=UTC)):
        assert f">{instant:%Y-%m-%d}<" in age(instant)
    with speaking(GERMAN):
        assert ">31.01.2026<" in age(datetime(2026, 1, 31, tzinfo=UTC))


def test_a_word_of_code_reads_as_words() -> None:
    assert word("business_rule") == "business rule"
    assert word("GuessedTooOften") == "Guessed too often"
    assert word("an_agents_own") == "an_agents_own"
    with speaking(GERMAN):
        assert word("business_rule") == "Geschäftsregel"


def test_a_person_reads_german_as_the_browser_asks_and_chooses_otherwise(site: Site) -> None:
    browser = site.owner()
    page = browser.get("/settings", accept_language="de-DE,de;q=0.9,en;q=0.8")
    assert '<html lang="de">' in page.text
    assert "Einstellungen" in page.text
    assert {"Accept-Language", "Cookie"} <= set(page.headers["vary"].split(", "))
    chose = browser.post("/settings/language", language="en")
    assert "Max-Age=31536000" in chose.headers["set-cookie"]
    assert '<html lang="en">' in browser.get("/find", accept_language="de").text
    browser.post("/settings/language", language="de")
    assert "Seite gibt es nicht" in browser.get("/nothing/here").text
    browser.post("/settings/language", language="")
    assert '<html lang="en">' in browser.get("/find").text
    assert browser.post("/settings/language", language="xx").status_code == 400


def test_what_a_module_keeps_is_read_in_the_readers_language(site: Site) -> None:
    memory = site.remember("Tea at five")
    browser = site.owner()
    german = browser.get(f"/memories/{memory.id}/forget", accept_language="de").text
    assert "Entfernen" in german
    assert "Remove it" in browser.get(f"/memories/{memory.id}/forget").text


def test_a_records_words_and_days_are_said_in_the_readers_language(site: Site) -> None:
    memory = site.remember("Tea at five")
    browser = site.owner()
    page = browser.get(f"/memories/{memory.id}", accept_language="de").text
    assert "Tatsache" in page
    assert (
        '<option value="active">aktiv</option>' in browser.get("/find", accept_language="de").text
    )
    # What a form sends is the record's own word.
    assert (
        '<option value="fact">Tatsache</option>' in browser.get("/find", accept_language="de").text
    )
    day = browser.get("/today?date=2026-01-31", accept_language="de").text
    assert "31.01.2026" in day
    known = {str(each) for kind in (MemoryType, Status, ScopeLevel, Role) for each in kind}
    assert known <= set(WORDS)


class _Bracketed(gettext.NullTranslations):
    """Puts each text of the catalogue into brackets: what stands outside was never marked."""

    def gettext(self, message: str) -> str:
        return f"⟦{message}⟧"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"⟦{msgid2}⟧"


class _Seen(HTMLParser):
    """What a person sees or hears of a page, in order, without what is typed as it stands."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._verbatim = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._verbatim += tag in ("code", "script", "time", "bdi")
        shown = ("placeholder", "aria-label", "alt")
        self.texts += [value for name, value in attrs if name in shown and value]

    def handle_endtag(self, tag: str) -> None:
        self._verbatim -= tag in ("code", "script", "time", "bdi")

    def handle_data(self, data: str) -> None:
        if not self._verbatim:
            self.texts.append(data)


DATA = {
    *(
        word
        for kind in (Kind, MemoryType, Role, ScopeLevel, Status)
        for each in kind
        for word in each.split("_")
    ),
    *["Minutebook", "UTC", "UUID", "MB", "English", "Deutsch"],
    # The headline of Today, in English as it stands.
    *calendar.day_name,
    *calendar.month_name,
    # Acts of the trail, types of links, states.
    *["add", "create", "created", "invalidate", "propose", "record", "remove", "update"],
    *["off", "open", "pending", "related", "supersedes"],
    # Why there is no model, and the question of the walk.
    *re.findall(
        r"\w+", "embedding is switched off in the settings choose another embedder none hush"
    ),
}
"""Names, words of records and errors of the domain, which pages show as they are."""


@pytest.mark.thorough
def test_every_text_that_a_page_shows_is_in_the_catalogue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "_translations", lambda code: _Bracketed())
    with site_on(tmp_path / "site") as site:
        ids = _filled(site)
        browser = site.owner()
        left = {path: _left(browser, path) for path in addresses(ids) if "/tokens/" not in path}
    assert {path: words for path, words in left.items() if words} == {}


def _left(browser: Browser, path: str) -> set[str]:
    seen = " ".join(_Seen(browser.get(path).text).texts)
    rest, removed = seen, 1
    while removed:
        # A text may hold another.
        rest, removed = re.subn("⟦[^⟦⟧]*⟧", " ", rest)
    return {word for word in re.findall(r"[A-Za-z]{2,}", rest) if word not in DATA}


def _filled(site: Site) -> list[str]:
    """Keep records whose texts have no Latin letter; return ids as the walk over pages wants them."""
    app = site.app
    app.entities.create_entity(AGENT, "Τσάι", "είδος", None, None)
    held = site.remember("Το τσάι είναι στις πέντε", title="Τσάι")
    app.memories.update(AGENT, held.id, {"content": "Το τσάι είναι στις έξι"})
    old = site.remember("Το τσάι ήταν στις τρεις")
    app.memories.invalidate(AGENT, old.id, "λάθος", held.id)
    app.links.link(AGENT, held.id, site.remember("Το τσάι είναι πράσινο").id)
    removed = site.remember("Το τσάι τελείωσε")
    app.memories.remove(AGENT, removed.id)
    draft = DecisionDraft("Τσάι", "τσάι", "Επειδή το τσάι αρέσει σε όλους εδώ.")
    decision, proposal = (
        app.get(DecisionActs).record(AGENT, draft),
        app.get(Proposals).propose(AGENT, draft),
    )
    app.sessions.add(AGENT, "τσάι", "Πότε;", "Σκέψη", "Στις πέντε.")
    return [held.id, removed.id, decision.id, proposal.id]


def test_a_text_that_nobody_marked_is_found() -> None:
    page = "<p title='Seen'>{{ _('Marked') }} Hello {{ name }}<code>ls -l</code> UTC {# no #}</p>"
    assert unmarked(page) == ["Seen", "Hello"]
    assert unmarked("{% if x %}<b>{{ _('Yes') }}</b>{% else %}No way{% endif %}") == ["No way"]


def test_a_text_that_is_translated_when_its_module_is_imported_is_found(tmp_path: Path) -> None:
    module = tmp_path / "page.py"
    module.write_text("A = {1: _('Early')}\nB = later('Late')\ndef c():\n    return _('In time')\n")
    assert [each.split(":")[:2] for each in too_early(module)] == [["page.py", "1"]]


def test_a_translation_that_is_missing_doubtful_or_names_something_else_is_found() -> None:
    with source_of("de").open("rb") as file:
        known = read_po(file, locale="de")
    assert list(untranslated(known)) == []
    message = {each.id: each for each in known}
    message["Find"].string = ""
    message["There is nothing at {path}."].string = "Unter {ort} ist nichts."
    message["Memories"].flags.add("fuzzy")
    message["{count} text", "{count} texts"].string = ("{count} Text", "")
    found = " ".join(untranslated(known))
    for part in ("'Find' is not", "path}.' has other", "'Memories' is marked", "text' is not"):
        assert part in found
