"""Activity as it happens: what is sent to whom, from where on, and until when."""

import queue
import re
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest

from minutebook.features.http.requests import access
from minutebook.features.pages.views import live
from minutebook.features.pages.views.activity import LONGEST_MARK, ends_of, mark_of
from minutebook.features.pages.views.live import MOST_AT_ONCE
from minutebook.record.caller import Caller
from minutebook.record.errors import Forbidden
from minutebook.record.records import Memory, Role
from minutebook.serve import limits
from tests.features.pages.site import AGENT, HOST, OWNER, Browser, Site, site_on
from tests.features.pages.test_hostile_text import HOSTILE, check_inert
from tests.page_scope import page_scope

LIVE = "/activity/live"
PATIENCE = 60.0
"""Seconds that a test waits for what must come."""


class Stream:
    """What a browser hears on a stream of events, as it comes."""

    def __init__(self, browser: Browser, path: str, last: str = "") -> None:
        assert browser.http.portal is not None
        self._sent: queue.Queue[dict[str, Any]] = queue.Queue()
        self._app = browser.http.app
        self._portal = browser.http.portal
        self._gone: anyio.Event = self._portal.call(anyio.Event)
        cookies = "; ".join(f"{name}={value}" for name, value in browser.http.cookies.items())
        headers = {"host": HOST, "cookie": cookies, "last-event-id": last}
        self._scope = page_scope(path, headers)
        self._served: Future[None] = self._portal.start_task_soon(self._serve)
        self.status: int = self._next()["status"]

    async def _serve(self) -> None:
        is_asked = False

        async def receive() -> dict[str, Any]:
            nonlocal is_asked
            if not is_asked:
                is_asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self._gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            self._sent.put(message)

        await self._app(self._scope, receive, send)

    def _next(self) -> dict[str, Any]:
        return self._sent.get(timeout=PATIENCE)

    def next(self) -> str:
        """The next event with an id."""
        while True:
            message = self._next()
            assert message.get("more_body"), "the stream has ended"
            text: str = message["body"].decode()
            if "\nid: " in text:
                return text

    def until_its_end(self) -> str:
        """All that comes until the server ends the stream."""
        told = ""
        while (message := self._next()).get("more_body"):
            told += message["body"].decode()
        self._served.result(PATIENCE)
        return told

    def leave(self) -> None:
        self._portal.call(self._gone.set)
        self._served.result(PATIENCE)


@pytest.fixture(autouse=True)
def _looked_at_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "CHECK_EVERY", 0.1)
    monkeypatch.setattr(access, "CHECK_EVERY", 0.1)


@pytest.fixture
def streams() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def listening(streams: ExitStack, browser: Browser, path: str = LIVE, last: str = "") -> Stream:
    """Open a stream that has begun: what happens from now on is told."""
    one = Stream(browser, path, last)
    assert one.status == 200
    streams.callback(one.leave)
    assert one._next()["body"].startswith(b"retry:")
    return one


def mark_in(event: str) -> str:
    return event.partition("\nid: ")[2].partition("\n")[0]


def test_what_is_done_and_refused_is_told_as_it_happens(site: Site, streams: ExitStack) -> None:
    stream = listening(streams, site.owner())
    memory = site.remember("Tea at four")
    event = stream.next()
    assert "<b>created</b>" in event
    assert f'href="/memories/{memory.id}"' in event
    assert "claude-code" in event
    with pytest.raises(Forbidden):
        site.app.status.verify(AGENT, memory.id)
    event = stream.next()
    assert "<b>verify</b>" in event
    assert "Forbidden" in event
    assert "<b>created</b>" not in event


def test_filters_choose_what_is_told(site: Site, streams: ExitStack) -> None:
    stream = listening(streams, site.owner(), f"{LIVE}?actor=ada&act=update")
    memory = site.remember("Tea at four")
    site.app.memories.update(OWNER, memory.id, {"content": "Tea at five"})
    told = stream.next()
    while "data:" not in told:
        told = stream.next()
    assert "<b>edit</b>" in told
    assert "created" not in told


def test_nothing_of_others_is_told(site: Site, streams: ExitStack) -> None:
    stream = listening(streams, site.bearer(organization="default"))
    elsewhere = Caller(name="somebody", role=Role.HUMAN, organization="other")
    site.remember("Tea", elsewhere)
    memory = site.remember("Coffee")
    event = stream.next()
    assert memory.id in event
    assert "somebody" not in event
    assert "other" not in mark_in(event)


def test_whoever_returns_is_told_what_happened_meanwhile(site: Site, streams: ExitStack) -> None:
    browser = site.owner()
    first = listening(streams, browser)
    site.remember("One")
    mark = mark_in(first.next())
    missed = [site.remember(each) for each in ("Two", "Three")]
    event = listening(streams, browser, last=mark).next()
    assert [each.id in event for each in missed] == [True, True]
    assert event.count("<b>created</b>") == 2
    # The page's own mark counts only until a browser knows a later one.
    older = listening(streams, browser, f"{LIVE}?after=default:0", last=mark).next()
    assert older.count("<b>created</b>") == 2


def test_the_page_leads_to_a_stream_that_begins_where_it_ends(
    site: Site, streams: ExitStack
) -> None:
    memory: Memory = site.remember("One")
    browser = site.owner()
    page = browser.get("/activity?act=created").text
    assert 'data-live="/activity/live?act=created"' in page
    mark = page.partition('data-mark="')[2].partition('"')[0]
    second = site.remember("Two")
    event = listening(streams, browser, f"{LIVE}?after={mark}").next()
    assert second.id in event
    assert memory.id not in event


def test_of_very_many_entries_a_part_is_told_and_that_it_is_one(
    site: Site, streams: ExitStack
) -> None:
    subjects = [str(number) for number in range(MOST_AT_ONCE + 1)]
    memory = site.remember("One")
    site.app.trail.log(OWNER, "default", "read", memory.kind, subjects)
    event = listening(streams, site.owner(), f"{LIVE}?after=default:0").next()
    assert event.startswith("event: cut\n")
    assert event.count("\ndata: ") == MOST_AT_ONCE


@pytest.mark.parametrize("wrong", ["after=x", "after=a:b", "after=:1", "since=x", "after=a:1,"])
def test_addresses_that_cannot_be_read_are_refused(site: Site, wrong: str) -> None:
    assert site.owner().get(f"{LIVE}?{wrong}").status_code == 400


def test_who_may_not_read_the_trail_hears_nothing_of_it(site: Site) -> None:
    assert site.browser().get(LIVE).status_code == 401
    held = site.bearer(repositories=("kettle",))
    assert held.get(LIVE).status_code == 403
    assert "held to a repository" in held.get(LIVE).text


def test_a_stream_ends_with_the_token_of_its_bearer(site: Site) -> None:
    stream = Stream(site.bearer(), LIVE)
    (token,) = site.app.tokens.list(OWNER)
    site.app.tokens.revoke(OWNER, token.id)
    stream.until_its_end()


def test_a_stream_ends_when_its_browser_signs_out(site: Site) -> None:
    browser = site.owner()
    browser.get("/settings")
    stream = Stream(browser, LIVE)
    browser.post("/signout")
    stream.until_its_end()


def test_streams_are_bounded_as_all_of_the_server_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streams: ExitStack
) -> None:
    monkeypatch.setattr(limits, "STREAMS", 4)
    with site_on(tmp_path / "small") as site, streams:
        browser = site.bearer()
        listening(streams, browser)
        # A quarter of them is one person's.
        assert Stream(browser, LIVE).status == 429
        listening(streams, site.bearer())


def test_many_hear_the_same(site: Site, streams: ExitStack) -> None:
    browser = site.owner()
    heard = [listening(streams, browser) for _ in range(8)]
    memory = site.remember("Tea")
    assert [memory.id in each.next() for each in heard] == [True] * 8


def test_hostile_text_is_inert_in_events(site: Site, streams: ExitStack) -> None:
    for text in HOSTILE:
        name = text.replace("\x00", "")
        site.remember("Tea", Caller(name=name, role=Role.HUMAN, organization="default"))
    event = listening(streams, site.owner(), f"{LIVE}?after=default:0").next()
    head, *lines = event.removesuffix("\n\n").split("\ndata: ")
    assert re.fullmatch(r"event: message\nid: default:\d+", head)
    assert len(lines) == len(HOSTILE)
    for line in lines:
        assert "\n" not in line
        check_inert(line)


def test_marks_are_read_as_they_were_written() -> None:
    ends = {"default": 12, "a:b,c": 3, "ü %": 4}
    assert ends_of(mark_of(ends)) == ends
    assert ends_of("") == {}
    assert mark_of({f"organization {number}": 1 for number in range(LONGEST_MARK)}) == ""
