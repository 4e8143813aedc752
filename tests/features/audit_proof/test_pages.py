"""The proof of the trail on a page: that nothing was changed."""

from dataclasses import replace

from minutebook.record.caller import Caller
from minutebook.record.records import Entry, Role
from tests.features.pages.site import Site


def test_the_proof_tells_the_end_of_a_sound_trail_and_where_one_breaks(site: Site) -> None:
    site.remember("Tea at four")
    browser = site.owner()
    head = site.app.trail.head("default")
    assert head is not None
    page = browser.followed_link(browser.get("/activity").text, "/activity/proof")
    assert f"{head.number}:{head.digest}" in page
    store = site.app.infrastructure.store
    entry = store.get(Entry, "default", "1")
    assert entry is not None
    store.put(replace(entry, actor="mallory"))
    assert "Broken at entry 1" in browser.get("/activity/proof").text


def test_the_trail_of_others_is_not_proved_nor_a_whole_one_to_those_held_to_a_part(
    site: Site,
) -> None:
    site.remember("Tea", Caller(name="somebody", role=Role.HUMAN, organization="other"))
    page = site.bearer(organization="default").get("/activity/proof")
    assert page.status_code == 200
    assert "other" not in page.text.replace("another", "")
    assert site.bearer(repositories=("kettle",)).get("/activity/proof").status_code == 403
