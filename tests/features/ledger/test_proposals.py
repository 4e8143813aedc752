from dataclasses import replace
from datetime import timedelta

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.repositories import Ledgers
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, Forbidden, NotFound, UnderReview, WrongSecret
from minutebook.record.ids import decision_id
from minutebook.record.records import Authorship, DecisionStatus, Proposal, ProposalStatus, Role
from minutebook.record.writing.decision_drafts import build_accepted, close_proposal
from tests.features.ledger.decided import ADMIN, AGENT, PERSON, SECRET, committed, draft, ledger_of
from tests.world import Opener, World

HOUR = 3600.0


@pytest.fixture
def sealed(opener: Opener) -> World:
    """A world in which the secret is set."""
    world = opener()
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    return world


def kept(world: World, id: str) -> Proposal:
    found = world.store.get(Proposal, "default", id)
    assert isinstance(found, Proposal)
    return found


def test_a_proposal_changes_nothing_that_holds(sealed: World) -> None:
    old = sealed.app.get(DecisionActs).record(PERSON, draft())
    head = ledger_of(sealed.app).head()
    made = sealed.app.get(Proposals).propose(AGENT, draft(title="Use files"), [old.id])
    assert sealed.app.get(DecisionActs).active_by_target(AGENT) == [old]
    assert ledger_of(sealed.app).head() == head
    assert sealed.app.get(Proposals).pending(AGENT) == [made]
    assert sealed.app.get(DecisionActs).read(AGENT, made.id) == made
    assert [each.act for each in sealed.entries(made.id)] == ["propose"]


def test_an_accepted_proposal_is_the_word_of_the_admin_in_place_of_what_stood(
    sealed: World,
) -> None:
    old = sealed.app.get(DecisionActs).record(PERSON, draft())
    made = sealed.app.get(Proposals).propose(AGENT, draft(title="Use files"))
    sealed.clock.turn(HOUR)
    new = sealed.app.get(Proposals).accept(ADMIN, made.id, SECRET)
    assert sealed.app.get(DecisionActs).active_by_target(AGENT) == [new]
    assert (new.title, new.supersedes, new.proposal) == ("Use files", (old.id,), made.id)
    assert (new.authorship, new.author) == (Authorship.HUMAN, "ada")
    assert kept(sealed, made.id) == close_proposal(made, new)
    assert sealed.app.get(Proposals).pending(AGENT) == []
    with pytest.raises(Conflict, match=new.id):
        sealed.app.get(Proposals).accept(ADMIN, made.id, SECRET)
    with pytest.raises(Forbidden):
        sealed.app.get(DecisionActs).supersede(AGENT, [new.id], draft())


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.ADMIN])
def test_only_an_admin_accepts(sealed: World, role: Role) -> None:
    made = sealed.app.get(Proposals).propose(AGENT, draft())
    sealed.clock.turn(HOUR)
    with pytest.raises(Forbidden):
        sealed.app.get(Proposals).accept(Caller(name="x", role=role), made.id, SECRET)
    assert kept(sealed, made.id).status is ProposalStatus.PENDING
    assert [each.outcome for each in sealed.entries(made.id)] == ["done", "Forbidden"]


def test_a_declined_proposal_is_settled_and_what_held_still_does(sealed: World) -> None:
    old = sealed.app.get(DecisionActs).record(PERSON, draft())
    made = sealed.app.get(Proposals).propose(AGENT, draft(title="Use files"))
    for role in (role for role in Role if role is not Role.ADMIN):
        with pytest.raises(Forbidden):
            sealed.app.get(Proposals).decline(Caller(name="x", role=role), made.id)
    at = sealed.clock.turn(HOUR)
    after = sealed.app.get(Proposals).decline(ADMIN, made.id)
    assert kept(sealed, made.id) == after
    assert (after.status, after.settled_by, after.settled_at) == (
        ProposalStatus.DECLINED,
        ADMIN.name,
        at,
    )
    assert sealed.app.get(DecisionActs).active_by_target(AGENT) == [old]
    assert sealed.app.get(Proposals).pending(AGENT) == []
    assert sealed.entries(made.id)[-1].act == "decline"
    with pytest.raises(Conflict, match="declined already"):
        sealed.app.get(Proposals).decline(ADMIN, made.id)
    with pytest.raises(Conflict, match="declined already"):
        sealed.app.get(Proposals).accept(ADMIN, made.id, SECRET)


def test_a_proposal_is_under_review_for_the_length_that_is_set(opener: Opener) -> None:
    world = opener(review_window=90.0)
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    made = world.app.get(Proposals).propose(AGENT, draft())
    # Who lacks the secret does not learn of the window.
    with pytest.raises(Forbidden):
        world.app.get(Proposals).accept(ADMIN, made.id, None)
    with pytest.raises(WrongSecret):
        world.app.get(Proposals).accept(ADMIN, made.id, SECRET.upper())
    world.clock.turn(89.999)
    with pytest.raises(UnderReview) as refusal:
        world.app.get(Proposals).accept(ADMIN, made.id, SECRET)
    assert refusal.value.opens == made.created_at + timedelta(seconds=90)
    assert world.app.get(Proposals).opens(made) == refusal.value.opens
    world.clock.turn(0.001)
    assert world.app.get(Proposals).accept(ADMIN, made.id, SECRET).proposal == made.id


def test_without_the_secret_nothing_is_accepted_and_each_guess_is_entered(sealed: World) -> None:
    made = sealed.app.get(Proposals).propose(AGENT, draft())
    sealed.clock.turn(HOUR)
    with pytest.raises(Forbidden):
        sealed.app.get(Proposals).accept(ADMIN, made.id, None)
    with pytest.raises(WrongSecret):
        sealed.app.get(Proposals).accept(ADMIN, made.id, SECRET.upper())
    assert sealed.app.get(DecisionActs).active_by_target(AGENT) == []
    outcomes = [each.outcome for each in sealed.entries(made.id)]
    assert outcomes == ["done", "Forbidden", "WrongSecret"]
    assert ledger_of(sealed.app).head() is None


def test_where_no_secret_is_set_nobody_accepts(world: World) -> None:
    made = world.app.get(Proposals).propose(AGENT, draft())
    world.clock.turn(HOUR)
    with pytest.raises(Forbidden, match="minutebook ledger secret"):
        world.app.get(Proposals).accept(ADMIN, made.id, "")


def test_a_proposal_names_only_decisions_on_its_target(sealed: World) -> None:
    other = sealed.app.get(DecisionActs).record(PERSON, draft("wire"))
    unseen = sealed.app.get(DecisionActs).record(replace(PERSON, user="ben"), draft("wire"))
    before = sealed.contents()
    with pytest.raises(Conflict, match="another target"):
        sealed.app.get(Proposals).propose(AGENT, draft(), [other.id])
    with pytest.raises(NotFound):
        sealed.app.get(Proposals).propose(replace(AGENT, user="ana"), draft("wire"), [unseen.id])
    assert sealed.contents() == before
    beside = sealed.app.get(Proposals).propose(AGENT, draft("wire"), [unseen.id])
    assert beside.user == "ben"


def test_an_acceptance_that_a_kill_cut_short_after_its_commit_is_brought_to_its_end(
    sealed: World,
) -> None:
    made = sealed.app.get(Proposals).propose(AGENT, draft())
    now = sealed.clock.turn(HOUR)
    id = decision_id(now, lambda _: 7)
    key = sealed.app.get(Ledgers).trust.ensure_key()
    committed(sealed.app, build_accepted(ADMIN, made, id, now), key=key)
    sealed.app.get(Ledgers).recover()
    [truth] = sealed.app.get(DecisionActs).active_by_target(AGENT)
    assert (truth.id, truth.status) == (id, DecisionStatus.ACTIVE)
    assert kept(sealed, made.id) == close_proposal(made, truth)
