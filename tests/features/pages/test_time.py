"""Time: what was known and true on a day, and what changed between two."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from minutebook.domain.records import Memory, Role
from tests.features.pages.site import OWNER, Site


def kept_long_ago(site: Site, text: str, days: int) -> Memory:
    """Keep a memory as if it had been kept so many days ago."""
    memory, ago = site.remember(text), timedelta(days=days)
    earlier = replace(
        memory,
        ingestion_time=memory.ingestion_time - ago,
        valid_from=memory.valid_from - ago,
        updated_at=memory.updated_at - ago,
    )
    site.app.infrastructure.store.put(earlier)
    return earlier


def day_of(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).date().isoformat()


def test_a_day_shows_what_was_known_and_what_was_true(site: Site) -> None:
    early = kept_long_ago(site, "Tea at four", 40)
    site.remember("Cake at five", OWNER, valid_from=early.valid_from)
    site.app.memories.update(OWNER, early.id, {"content": "Tea at six"})
    browser = site.owner()
    on = day_of(20)
    known = browser.get(f"/time?on={on}").text
    assert "Cake" not in known
    assert 'type="range"' in known
    assert f'value="{on}"' in known
    true = browser.get(f"/time?on={on}&see=true").text
    assert "Tea at six" in true
    assert "Cake at five" in true
    assert "learned later" in true
    assert "Nothing was known then." in browser.get(f"/time?on={day_of(60)}").text
    today = browser.get("/time").text
    assert "Tea at six" in today
    assert "Cake at five" in today


def test_the_slider_leads_to_a_day_without_script(site: Site) -> None:
    kept_long_ago(site, "Tea at four", 40)
    browser = site.owner()
    answer = browser.get(f"/time?first={day_of(40)}&step=10&see=true")
    assert answer.headers["location"] == f"/time?on={day_of(30)}&see=true"
    assert "Tea at four" in browser.followed(answer).text


def test_changes_between_two_days_are_told_linked_and_compared(site: Site) -> None:
    old, edited = site.remember("Tea at four"), site.remember("Cake at five")
    new = site.remember("Tea at six")
    site.app.memories.invalidate(OWNER, old.id, "The clock <moved>", new.id)
    site.app.memories.update(OWNER, edited.id, {"content": "Cake at seven"})
    page = site.owner().get(f"/time/changes?since={day_of(1)}&until={day_of(0)}").text
    for memory in (old, edited, new):
        assert f'href="/memories/{memory.id}"' in page
    assert "replaced <b>1</b>" in page
    assert "The clock &lt;moved&gt;" in page
    assert "<ins>seven</ins>" in page
    assert "In its place:" in page
    empty = site.owner().get("/time/changes?since=2020-01-01&until=2020-01-02").text
    assert "Nothing changed." in empty


@pytest.mark.parametrize(
    "query",
    [
        "/time?on=yesterday",
        "/time?on=9999-12-31",
        "/time?see=all",
        "/time?from=-1",
        "/time?step=x",
        "/time?step=999999&first=9990-01-01",
        "/time/changes?since=2026-01-02&until=2026-01-01",
        "/time/changes?show=0",
    ],
)
def test_what_is_no_day_is_refused_in_words(site: Site, query: str) -> None:
    answer = site.owner().get(query)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


@pytest.mark.parametrize("on", ["0001-01-01", "9999-12-30", "2026-01-31T12:30:00"])
def test_the_ends_of_time_have_pages(site: Site, on: str) -> None:
    site.remember("Tea at four")
    assert site.owner().get(f"/time?on={on}").status_code == 200
    assert site.owner().get(f"/time?on={on}&see=true").status_code == 200


def test_a_viewer_of_a_part_may_look_back_too(site: Site) -> None:
    site.remember("Tea at four", replace(OWNER, organization="default", user="ana"))
    browser = site.bearer(Role.VIEWER, user="ben")
    for path in ("/time", "/time?see=true", "/time/changes"):
        page = browser.get(path)
        assert page.status_code == 200
        assert "Tea" not in page.text
