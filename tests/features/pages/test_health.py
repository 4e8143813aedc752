"""Health on a page: what is kept, how the model is, what is wrong and what helps."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.secret_samples import filled
from minutebook.features.archives.copies.backups import store_backups
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.pages.views.health import STALE_AFTER
from minutebook.record.caller import Caller
from minutebook.record.records import Entry, Role, Status
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.features.pages.site import OWNER, Site


def test_counts_are_of_what_the_person_sees(site: Site) -> None:
    site.remember("Tea")
    site.remember("Tea", Caller(name="x", role=Role.HUMAN, organization="other"))
    assert "<dt>Memories</dt><dd>2</dd>" in site.owner().get("/health").text
    page = site.bearer(organization="default").get("/health").text
    assert "<dt>Memories</dt><dd>1</dd>" in page


@pytest.mark.needs("audit_proof")
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
    assert memory.id in browser.get("/find?q=tea").text


def test_nobody_else_has_it_made_anew(site: Site) -> None:
    browser = site.bearer(Role.ADMIN, organization=None)
    assert "/health/mend" not in browser.get("/health").text
    refused = browser.post("/health/mend")
    assert refused.status_code == 403
    assert "doctor --repair" in refused.text


def test_backups_are_told_to_those_who_answer_for_the_store(site: Site, tmp_path: Path) -> None:
    browser = site.owner()
    assert "none is known" in browser.get("/health").text
    path = tmp_path / "kept.tar"
    site.app.get(store_backups).make(OWNER, path)
    assert str(path) in browser.get("/health").text
    assert str(path) not in site.bearer(Role.ADMIN, organization="default").get("/health").text


def test_rebuilding_is_on_the_trail(site: Site) -> None:
    browser = site.owner()
    browser.get("/health")
    browser.post("/health/mend")
    assert "<b>rebuild</b>" in browser.get("/activity?act=rebuild").text


def test_a_backup_is_made_by_a_button_and_named(site: Site) -> None:
    site.remember("Tea at four")
    browser = site.owner()
    page = browser.get("/health").text
    assert "none is known" in page
    assert "backup_every" in page
    page = browser.followed(browser.post("/health/backup")).text
    assert "A backup was made, and restored for a test." in page
    (path, _), *others = site.app.get(store_backups).known()
    assert not others
    assert str(path) in page
    assert "<b>backup</b>" in browser.get("/activity?act=backup").text


@pytest.mark.parametrize(
    ("role", "organization"), [(Role.ADMIN, "default"), (Role.HUMAN, None), (Role.MANAGER, None)]
)
def test_nobody_makes_a_backup_who_does_not_answer_for_all(
    site: Site, role: Role, organization: str | None
) -> None:
    browser = site.bearer(role, organization=organization)
    assert "/health/backup" not in browser.get("/health").text
    assert browser.post("/health/backup").status_code == 403
    assert site.app.get(store_backups).known() == []


@pytest.mark.needs("tidying")
def test_what_a_person_should_look_at_is_counted_and_leads_there(site: Site) -> None:
    for number in range(2):
        site.remember(f"Guess {number}", initial=Status.UNVERIFIED)
    store = site.app.infrastructure.store
    old = site.remember("Tea at three")
    store.put(replace(old, ingestion_time=old.ingestion_time - 2 * STALE_AFTER))
    for title in ("Tea at four", "Tea at five"):
        draft = DecisionDraft(title, "tea", "Because everybody said so at the meeting.")
        decision = site.app.get(DecisionActs).record(OWNER, replace(draft, target=title))
        store.put(replace(decision, target="tea"))
    browser = site.owner()
    page = browser.get("/health").text
    assert "2 memories of agents" in page
    assert "1 memory kept more than 180 days ago" in page
    assert "1 target with several decisions" in page
    listed = browser.followed_link(page, "/find?status=active").replace("Tea at four", "")
    assert "Tea at three" in listed
    assert "Guess" not in listed


@pytest.mark.needs("screening")
def test_secrets_that_are_kept_are_counted_with_what_helps(site: Site) -> None:
    text, (secret,) = filled("The key is {{npm token}}", Random(1))
    site.remember(text)
    page = site.owner().get("/health/examined").text
    assert "1 secret is kept" in page
    assert "minutebook scan --mask" in page
    assert "Everything is in order." not in page
    assert secret not in page
