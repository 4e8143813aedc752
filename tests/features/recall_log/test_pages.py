"""What questions got, on the pages: by session and client, on a memory, and never of others."""

from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from minutebook.record.caller import Call, Caller
from minutebook.record.origin import Origin
from minutebook.record.records import Memory, Role
from minutebook.serve.contracts.knowledge import knowledge
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
    telling.app.sessions.add(replace(AGENT, call=Call(session="s2")), "other", "Hi", "", "Hello.")
    browser = telling.owner()
    page = browser.get("/session?name=talk").text
    assert f'href="/memories/{tea.id}"' in page
    assert "tea <b>now</b>" in unescape(page)
    assert "<b>now" not in page
    # Of another session there is nothing.
    assert f"/memories/{tea.id}" not in browser.get("/session?name=other").text


def test_a_day_shows_questions_by_session_with_what_each_got(telling: Site) -> None:
    tea = with_tea(telling)
    ask(telling, "no turn is kept", replace(AGENT, call=Call(origin=Origin(client="cursor"))))
    page = telling.owner().get("/today").text.partition('id="told"')[2]
    assert '<h3><a href="/session?name=talk"><bdi>When is tea?</bdi></a></h3>' in page
    assert "<h3><bdi>cursor</bdi></h3>" in page
    assert f'href="/memories/{tea.id}"' in page
    assert page.index("no turn is kept") < page.index("tea &lt;b&gt;now&lt;/b&gt;")


def test_a_memory_says_how_often_by_whom_and_by_which_questions_it_was_recalled(
    telling: Site,
) -> None:
    tea = with_tea(telling)
    ask(telling, "tea", replace(AGENT, name="grace"))
    browser = telling.owner()
    page = browser.get(f"/memories/{tea.id}").text
    assert "2 times since <time" in page
    assert page.count('<span class="asked">') == 2
    other = telling.remember("Bread at six")
    assert "Not once since <time" in browser.get(f"/memories/{other.id}").text


def test_who_may_not_see_a_thing_sees_nothing_of_its_recalls(telling: Site) -> None:
    tea = telling.remember("Tea of Ada", user="ada")
    ask(telling, "a private matter: tea", replace(AGENT, user="ada"))
    page = telling.bearer(Role.HUMAN, user="grace").get("/today").text
    for text in ("private", "Tea of Ada", tea.id, 'class="asked"'):
        assert text not in page
    elsewhere = telling.bearer(Role.ADMIN, name="zoe", organization="zoo")
    assert "private" not in elsewhere.get("/today").text
    assert "private" in telling.owner().get("/today").text


def test_the_pages_say_what_is_not_kept(site: Site, tmp_path: Path) -> None:
    tea = with_tea(site)
    page = site.owner().get("/today").text.partition('id="told"')[2]
    assert "A question" in page
    assert "now" not in page
    assert f'href="/memories/{tea.id}"' in page
    with site_on(tmp_path / "off", recall_log="off") as off:
        memory = with_tea(off)
        browser = off.owner()
        assert "The recall log is off" in browser.get("/today").text
        assert "The recall log is off" in browser.get(f"/memories/{memory.id}").text


def test_what_is_removed_leaves_the_pages(telling: Site) -> None:
    tea = with_tea(telling)
    telling.app.memories.delete(OWNER, tea.id)
    page = telling.owner().get("/today").text.partition('id="told"')[2]
    assert tea.id not in page.partition('id="sessions"')[0]
    assert '<span class="got">nothing</span>' in page


def test_german_pages_speak_german(telling: Site) -> None:
    with_tea(telling)
    assert "Agenten gesagt" in telling.owner().get("/today", accept_language="de").text
