"""Decisions on pages: what holds, how it came about, and proposals settled by those who may."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.proposals import Proposals
from minutebook.record.caller import Caller
from minutebook.record.errors import NotFound
from minutebook.record.records import ProposalStatus, Role
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.features.pages.site import AGENT, OWNER, Site, site_on

WHY = "It takes many writers at once."
SECRET = "correct horse battery staple"
ADMIN = replace(OWNER, role=Role.ADMIN)


def draft(title: str, target: str = "database", why: str = WHY) -> DecisionDraft:
    return DecisionDraft(title, target, why, ("Backups change",))


def test_what_holds_is_listed_by_target_with_its_chain_and_what_changed(site: Site) -> None:
    old = site.app.get(DecisionActs).record(
        OWNER, draft("Use SQLite", why="It takes one writer at once.")
    )
    new = site.app.get(DecisionActs).supersede(OWNER, [old.id], draft("Use Postgres"))
    browser = site.owner()
    page = browser.get("/decisions").text
    assert "Use Postgres" in page
    assert "Use SQLite" not in page
    page = browser.get(f"/decisions/{new.id}").text
    assert "Backups change" in page
    assert "<ins>many</ins>" in page
    assert "Use SQLite" in page
    assert new.commit_id is not None
    assert new.commit_id in page
    assert "superseded" in browser.get(f"/decisions/{old.id}").text


def test_a_ledger_that_is_empty_says_how_to_begin(site: Site) -> None:
    assert "minutebook decide" in site.owner().get("/decisions").text


def test_an_admin_accepts_a_proposal_with_the_secret(tmp_path: Path) -> None:
    with site_on(tmp_path / "accepting", review_window=0.0) as site:
        site.app.get(ApprovalSecret).set(ADMIN, SECRET)
        site.app.get(DecisionActs).record(
            OWNER, draft("Use SQLite", why="It takes one writer at once.")
        )
        proposal = site.app.get(Proposals).propose(AGENT, draft("Use Postgres"))
        admin = site.bearer(Role.ADMIN)
        page = admin.get(f"/decisions/{proposal.id}").text
        assert "Compared with what holds" in page
        assert "<del>one</del>" in page
        path = f"/decisions/{proposal.id}/accept"
        wrong = admin.post(path, secret="guess")
        assert wrong.status_code == 403
        assert "guess" not in wrong.text
        human = site.bearer()
        human.get(f"/decisions/{proposal.id}")
        assert human.post(path, secret=SECRET).status_code == 403
        assert [each.title for each in site.app.get(DecisionActs).active_by_target(OWNER)] == [
            "Use SQLite"
        ]


def test_an_accepted_proposal_holds(tmp_path: Path) -> None:
    with site_on(tmp_path / "accepted", review_window=0.0) as site:
        site.app.get(ApprovalSecret).set(ADMIN, SECRET)
        proposal = site.app.get(Proposals).propose(AGENT, draft("Use Postgres"))
        admin = site.bearer(Role.ADMIN)
        admin.get(f"/decisions/{proposal.id}")
        answer = admin.post(f"/decisions/{proposal.id}/accept", secret=SECRET)
        assert "Accepted: this holds now." in admin.followed(answer).text
        (made,) = site.app.get(DecisionActs).active_by_target(OWNER)
        assert (made.title, made.author) == ("Use Postgres", "grace")
        settled = admin.get(f"/decisions/{proposal.id}").text
        assert made.id in settled
        assert "/accept" not in settled


def test_a_proposal_under_review_says_from_when_it_can_be_accepted(site: Site) -> None:
    site.app.get(ApprovalSecret).set(ADMIN, SECRET)
    proposal = site.app.get(Proposals).propose(AGENT, draft("Use Postgres"))
    admin = site.bearer(Role.ADMIN)
    assert "Under review" in admin.get(f"/decisions/{proposal.id}").text
    answer = admin.post(f"/decisions/{proposal.id}/accept", secret=SECRET)
    assert answer.status_code == 409
    opens = site.app.get(Proposals).opens(proposal)
    assert opens - proposal.created_at >= timedelta(seconds=1)
    assert f"{opens:%Y-%m-%d %H:%M:%S}" in answer.text


@pytest.mark.parametrize(("role", "status"), [(Role.ADMIN, 303), (Role.HUMAN, 403)])
def test_declining_is_an_admins(site: Site, role: Role, status: int) -> None:
    proposal = site.app.get(Proposals).propose(AGENT, draft("Use Postgres"))
    browser = site.bearer(role)
    browser.get(f"/decisions/{proposal.id}")
    path = f"/decisions/{proposal.id}/decline"
    assert browser.post(path, reason="Too early").status_code == status
    (entry,) = site.app.trail.entries(OWNER, act="decline")
    assert entry.reason == "Too early"
    kept = site.app.get(DecisionActs).read(OWNER, proposal.id)
    assert (kept.status is ProposalStatus.DECLINED) == (status == 303)


def test_decisions_of_others_do_not_show(site: Site) -> None:
    other = Caller(name="x", role=Role.HUMAN, organization="other")
    decision = site.app.get(DecisionActs).record(other, draft("Use the secret database"))
    proposal = site.app.get(Proposals).propose(other, draft("Use another secret database"))
    browser = site.bearer(organization="default")
    for path in ("/decisions", "/find?q=database", "/find?q=database&in=decisions"):
        assert "secret database" not in browser.get(path).text
    for id in (decision.id, proposal.id, "decision_x", "x"):
        assert browser.get(f"/decisions/{id}").status_code == 404
    assert browser.post(f"/decisions/{proposal.id}/decline").status_code == 404
    with pytest.raises(NotFound):
        site.app.get(DecisionActs).read(AGENT, decision.id)
