"""What questions got, on the pages: by session and client, on a memory, and never of others."""

from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from minutebook.contracts.knowledge import knowledge
from minutebook.domain.caller import Caller
from minutebook.domain.records import Memory, Role
from tests.features.pages.site import AGENT, OWNER, Site, site_on


@pytest.fixture
def telling(tmp_path: Path) -> Iterator[Site]:
    """Pages on a store whose log keeps the text of questions."""
    with site_on(tmp_path / "telling", recall_log="questions") as one:
        yield one


def ask(site: Site, query: str, caller: Caller = AGENT) -> None:
    answer = knowledge().call(site.app, caller, "search_text", {"query": query})
    assert answer.error is None


def with_tea(site: Site) -> Memory:
    tea = site.remember("Tea at five", title="When tea is")
    site.app.sessions.add(AGENT, "talk", "When is tea?", "", "At five.")
    ask(site, "tea <b>now</b>")
    return tea


def test_a_session_shows_what_its_connection_recalled(telling: Site) -> None:
    tea = with_tea(telling)
    browser = telling.owner()
    page = browser.followed_link(browser.get("/session?name=talk").text, "/recalls?session=talk")
    assert f'href="/memories/{tea.id}"' in page
    assert "tea <b>now</b>" in unescape(page)
    assert "<b>now" not in page
    assert "search_text" in page
    assert "claude-code" in page
    # Of another session there is nothing.
    assert f"/memories/{tea.id}" not in browser.get("/recalls?session=other").text


def test_sessions_lead_to_their_questions_and_these_to_what_they_find_now(telling: Site) -> None:
    tea = with_tea(telling)
    browser = telling.owner()
    page = browser.get("/recalls").text
    assert "Choose a session" in page
    assert f'href="/memories/{tea.id}"' in browser.followed_link(page, "/recalls?session=s1")
    assert f'href="/memories/{tea.id}"' in browser.followed_link(
        page, "/recalls?client=claude-code"
    )
    # A question leads to what it would get now.
    assert f'href="/memories/{tea.id}"' in browser.followed_link(page, "/find?q=tea")


def test_a_memory_says_how_often_and_by_whom_it_was_recalled(telling: Site) -> None:
    tea = with_tea(telling)
    ask(telling, "tea", replace(AGENT, name="grace"))
    browser = telling.owner()
    page = browser.get(f"/memories/{tea.id}").text
    assert "2 times since <time" in page
    found = browser.followed_link(page, f"/recalls?memory={tea.id}")
    assert found.count('<li class="hit">') == 2
    other = telling.remember("Bread at six")
    assert "Not once since <time" in browser.get(f"/memories/{other.id}").text


def test_pages_follow_one_another(telling: Site) -> None:
    for number in range(21):
        ask(telling, f"question {number}")
    browser = telling.owner()
    page = browser.get("/recalls").text
    assert page.count('<li class="hit">') == 20
    older = browser.followed_link(page, "/recalls?from=20")
    assert older.count('<li class="hit">') == 1
    assert "question 0" in older
    assert browser.get("/recalls?from=x").status_code == 400
    assert browser.get("/recalls?memory=unknown").status_code == 404


def test_who_may_not_see_a_thing_sees_nothing_of_its_recalls(telling: Site) -> None:
    tea = telling.remember("Tea of Ada", user="ada")
    ask(telling, "a private matter: tea", replace(AGENT, user="ada"))
    bound = telling.bearer(Role.HUMAN, user="grace")
    page = bound.get("/recalls").text
    for text in ("private", "Tea of Ada", tea.id, "claude-code"):
        assert text not in page
    assert bound.get(f"/recalls?memory={tea.id}").status_code == 404
    elsewhere = telling.bearer(Role.ADMIN, name="zoe", organization="zoo")
    assert "private" not in elsewhere.get("/recalls").text
    assert "private" in telling.owner().get("/recalls").text


def test_the_pages_say_what_is_not_kept(site: Site, tmp_path: Path) -> None:
    tea = with_tea(site)
    page = site.owner().get("/recalls").text
    assert "The text of questions is not kept" in page
    assert "now" not in page.split("<main")[1].replace("just now", "")
    assert f'href="/memories/{tea.id}"' in page
    with site_on(tmp_path / "off", recall_log="off") as off:
        memory = with_tea(off)
        browser = off.owner()
        assert "The recall log is off" in browser.get("/recalls").text
        assert "The recall log is off" in browser.get(f"/memories/{memory.id}").text


def test_what_is_removed_leaves_the_pages(telling: Site) -> None:
    tea = with_tea(telling)
    telling.app.memories.delete(OWNER, tea.id)
    page = telling.owner().get("/recalls").text
    assert tea.id not in page
    assert "It got nothing that is still here." in page


def test_german_pages_speak_german(telling: Site) -> None:
    with_tea(telling)
    assert "Was Agenten erfuhren" in telling.owner().get("/recalls", accept_language="de").text
