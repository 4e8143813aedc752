"""Today: the first page, and the same as `minutebook today` says."""

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from tests.features.ledger.decided import draft
from tests.features.pages.site import AGENT, Site


def test_today_is_the_first_page(site: Site) -> None:
    browser = site.owner()
    assert browser.get("/").headers["location"] == "/today"
    menu = browser.get("/today").text.partition("<nav")[2]
    assert menu.index("/today") < menu.index("/find")
    assert 'href="/today" aria-current="page"' in menu


def test_an_empty_day_says_how_to_begin(site: Site) -> None:
    page = site.owner().get("/today").text
    assert "Nothing is kept here yet" in page
    assert "<code>minutebook setup</code>" in page
    site.remember("Deploys are on Tuesdays")
    earlier = site.owner().get("/today?date=2001-02-03").text
    assert "Nothing was kept on this day." in earlier
    assert "The latest memory is of" in earlier


@pytest.mark.needs("ledger", "recall_log")
def test_memories_decisions_and_sessions_stand_by_project_and_client(site: Site) -> None:
    memory = site.remember("Deploys are on Tuesdays", repository="shop")
    site.app.get(DecisionActs).record(AGENT, draft("database", "Orders in PostgreSQL"))
    site.app.sessions.add(AGENT, "s1", "Why is the checkout slow?", "", "An index was missing.")
    site.app.note_answer(AGENT, "recall", "when do we deploy", [(memory, 0.9)])
    page = site.owner().get("/today").text
    for expected in (
        *("1 memory", "1 decision", "1 session", "shop", "claude-code", "no project"),
        *("Deploys are on Tuesdays", "Decided: Orders in PostgreSQL", "Why is the checkout slow?"),
    ):
        assert expected in page, expected
    assert f'href="/memories/{memory.id}"' in page


@pytest.mark.parametrize("day", ["x", "2026-13-01", "0001-01-01", "9999-12-31", "2026-11-24T12"])
def test_a_day_that_is_none_is_refused_in_words(site: Site, day: str) -> None:
    answer = site.owner().get(f"/today?date={day}")
    assert answer.status_code == 400
    assert "must be a day that has begun" in answer.text
