"""Health on a page: what is kept, how the model is, what is wrong and what helps."""

from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.domain.caller import Caller
from minutebook.domain.records import Entry, Role
from tests.web.conftest import OWNER, Site


def test_counts_are_of_what_the_person_sees(site: Site) -> None:
    site.remember("Tea")
    site.remember("Tea", Caller(name="x", role=Role.HUMAN, organization="other"))
    assert "<dt>Memories</dt><dd>2</dd>" in site.owner().get("/health").text
    page = site.bearer(organization="default").get("/health").text
    assert "<dt>Memories</dt><dd>1</dd>" in page


def test_an_examination_says_what_is_wrong_and_what_helps(site: Site) -> None:
    site.remember("Tea")
    browser = site.owner()
    assert "Everything is in order." in browser.get("/health/examined").text
    store = site.app.infrastructure.store
    entry = store.get(Entry, "default", "1")
    assert entry is not None
    store.put(replace(entry, actor="mallory"))
    page = browser.get("/health/examined").text
    assert "breaks at entry 1" in page
    assert "What helps" in page


@pytest.mark.parametrize(
    ("role", "organization", "status"),
    [(Role.ADMIN, None, 200), (Role.ADMIN, "default", 403), (Role.HUMAN, None, 403)],
)
def test_the_whole_store_is_examined_by_those_who_answer_for_it(
    site: Site, role: Role, organization: str | None, status: int
) -> None:
    browser = site.bearer(role, organization=organization)
    assert browser.get("/health/examined").status_code == status
    assert ("/health/examined" in browser.get("/health").text) == (status == 200)
    assert ("On disk" in browser.get("/health").text) == (status == 200)


def test_the_owner_has_what_is_derived_made_anew(site: Site) -> None:
    memory = site.remember("Tea at four")
    browser = site.owner()
    browser.get("/health")
    page = browser.followed(browser.post("/health/mend")).text
    assert "made anew from the records" in page
    assert "Everything is in order." in page
    assert memory.id in browser.get("/?q=tea").text


def test_nobody_else_has_it_made_anew(site: Site) -> None:
    browser = site.bearer(Role.ADMIN, organization=None)
    assert "/health/mend" not in browser.get("/health").text
    refused = browser.post("/health/mend")
    assert refused.status_code == 403
    assert "doctor --repair" in refused.text


def test_backups_are_told_to_those_who_answer_for_the_store(site: Site, tmp_path: Path) -> None:
    browser = site.owner()
    assert "No backup is known." in browser.get("/health").text
    path = tmp_path / "kept.tar"
    site.app.backups.make(OWNER, path)
    assert str(path) in browser.get("/health").text
    assert str(path) not in site.bearer(Role.ADMIN, organization="default").get("/health").text
