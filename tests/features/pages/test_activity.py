"""The trail on a page: who did what, and what was refused."""

import pytest

from minutebook.record.caller import Caller
from minutebook.record.errors import Forbidden
from minutebook.record.records import Role
from tests.features.pages.site import AGENT, OWNER, Site


def test_acts_and_refusals_are_shown_newest_first_and_lead_to_their_records(site: Site) -> None:
    memory = site.remember("Tea at four")
    with pytest.raises(Forbidden):
        site.app.status.verify(AGENT, memory.id)
    page = site.owner().get("/activity").text
    assert page.index("<b>verify</b>") < page.index("<b>created</b>")
    assert ">Forbidden<" in page
    assert f'href="/memories/{memory.id}"' in page


@pytest.mark.parametrize(
    ("filters", "shown"),
    [
        ("actor=ada", "edit"),
        ("actor=claude-code", "created"),
        ("act=created", "created"),
        ("outcome=done&act=update", "edit"),
        ("client=claude-code", "created"),
        ("since=2999-01-01", ""),
        ("subject=none", ""),
    ],
)
def test_filters_choose_among_entries(site: Site, filters: str, shown: str) -> None:
    memory = site.remember("Tea at four")
    site.app.memories.update(OWNER, memory.id, {"content": "Tea at five"})
    page = site.owner().get(f"/activity?{filters}").text
    for act in ("created", "edit"):
        assert (f"<b>{act}</b>" in page) == (act == shown)


def test_more_entries_come_when_asked_for(site: Site) -> None:
    for number in range(60):
        site.remember(f"Note {number}")
    browser = site.owner()
    first = browser.get("/activity").text
    assert first.count("<b>created</b>") == 50
    more = browser.followed_link(first, "/activity?show=")
    assert more.count("<b>created</b>") == 60
    for wrong in ("0", "-1", "x", "1001", "9" * 30):
        assert browser.get(f"/activity?show={wrong}").status_code == 400


def test_the_trail_of_others_does_not_show_nor_a_whole_one_to_those_held_to_a_part(
    site: Site,
) -> None:
    site.remember("Tea", Caller(name="somebody", role=Role.HUMAN, organization="other"))
    browser = site.bearer(organization="default")
    page = browser.get("/activity")
    assert page.status_code == 200
    assert "somebody" not in page.text
    assert "other" not in page.text.replace("another", "")
    assert site.bearer(repositories=("kettle",)).get("/activity").status_code == 403


def test_an_entry_says_what_its_record_says(site: Site) -> None:
    site.remember("Tea at four")
    gone = site.remember("Coffee at six")
    site.app.memories.delete(OWNER, gone.id)
    page = site.owner().get("/activity").text
    assert "Tea at four</bdi></a>" in page
    assert f"<bdi>{gone.id}</bdi>" in page
    assert "Coffee" not in page
