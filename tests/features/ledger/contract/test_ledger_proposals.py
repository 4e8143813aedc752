"""Proposals: kept beside what holds, accepted by an admin with the secret, after a review."""

from datetime import timedelta

import pytest

from minutebook.record.records import DecisionStatus, ProposalStatus, Role
from tests.features.ledger.contract.ledgered import SECRET, UNKNOWN, WHY, WINDOW, Client
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World

pytestmark = pytest.mark.on_server


@pytest.fixture
def keeper(opener: Opener) -> World:
    """A world that an admin started with the secret."""
    return opener(role=Role.ADMIN, agent="vera", agent_memory_secret=SECRET)


@pytest.fixture
def admin(keeper: World) -> Client:
    return Client(keeper)


@pytest.fixture
def agent(admin: Client) -> Client:
    return admin.of(Role.AGENT, "claude")


def reviewed(client: Client) -> None:
    client.world.clock.turn(WINDOW)


@requirement("ledger/propose_decision/proposes", "ledger/propose_decision/beside")
def test_a_proposal_is_kept_beside_what_holds(agent: Client) -> None:
    id = agent.record("database", "Use SQLite")
    proposal = agent.propose("database", "Use DuckDB", consequences=["faster"], supersedes=[id])
    kept = agent.proposal(proposal)
    assert (kept.target, kept.title, kept.rationale) == ("database", "Use DuckDB", WHY)
    assert (kept.consequences, kept.supersedes) == (("faster",), (id,))
    assert (kept.status, kept.author) == (ProposalStatus.PENDING, "claude")
    assert agent.decision(id).status is DecisionStatus.ACTIVE
    assert agent.ids("duckdb") == [] or agent.ids("duckdb") == [id]
    assert agent.ids("database", "strict") == [id]


@requirement(
    "ledger/accept_proposal/promotes",
    "ledger/accept_proposal/admin",
    "ledger/accept_proposal/supersedes",
    "ledger/results/accepted",
    "policy/accept-proposal",
)
def test_an_admin_with_the_secret_makes_a_proposal_the_truth(admin: Client, agent: Client) -> None:
    person = admin.of(Role.HUMAN, "ana")
    old = person.record("database", "Use SQLite")
    proposal = agent.propose("database", "Use DuckDB", supersedes=[old])
    reviewed(admin)
    for role in set(Role) - {Role.ADMIN}:
        refusal = admin.of(role, "x").refused("accept_proposal", proposal_id=proposal)
        assert (refusal[0], refusal[2]) == (403, [proposal])
    assert agent.decision(old).status is DecisionStatus.ACTIVE
    message = admin.call("accept_proposal", proposal_id=f"{proposal}.md")["message"]
    (found,) = agent.search("duckdb", "strict")
    assert found["id"] in message
    assert old in message
    new = agent.decision(found["id"])
    assert (new.title, new.supersedes, new.proposal) == ("Use DuckDB", (old,), proposal)
    assert agent.decision(old).superseded_by == (new.id,)
    kept = agent.proposal(proposal)
    assert (kept.status, kept.decision) == (ProposalStatus.ACCEPTED, new.id)
    assert kept.settled_by == "vera"


def test_a_proposal_on_a_target_without_a_decision_becomes_the_first(
    admin: Client, agent: Client
) -> None:
    proposal = agent.propose("database")
    reviewed(admin)
    admin.call("accept_proposal", proposal_id=proposal)
    (found,) = agent.search("duckdb", "strict")
    assert agent.decision(found["id"]).supersedes == ()


@requirement("ledger/accept_proposal/window")
def test_a_proposal_is_not_accepted_within_its_first_hour(admin: Client, agent: Client) -> None:
    proposal = agent.propose("database")
    opens = admin.world.clock.now + timedelta(seconds=WINDOW)
    admin.world.clock.turn(WINDOW - 0.001)
    before = admin.world.kept()
    code, reason, ids = admin.refused("accept_proposal", proposal_id=proposal)
    assert (code, ids) == (-32000, [proposal])
    assert opens.strftime("%Y-%m-%dT%H:%M:%S.%fZ") in reason
    assert admin.world.kept() == before
    admin.world.clock.now = opens - timedelta(seconds=1)
    admin.call("accept_proposal", proposal_id=proposal)


@requirement("ledger/accept_proposal/review_window")
def test_the_window_can_be_set_to_another_length(opener: Opener) -> None:
    options = {"role": Role.ADMIN, "agent_memory_secret": SECRET}
    admin = Client(opener(review_window=60.0, **options))
    proposal = admin.of(Role.AGENT, "claude").propose("database")
    admin.world.clock.turn(59.0)
    assert admin.refused("accept_proposal", proposal_id=proposal)[0] == -32000
    admin.call("accept_proposal", proposal_id=proposal)


@requirement("ledger/accept_proposal/once")
def test_a_proposal_is_accepted_once(admin: Client, agent: Client) -> None:
    proposal = agent.propose("database")
    reviewed(admin)
    admin.call("accept_proposal", proposal_id=proposal)
    before = admin.world.kept()
    code, reason, ids = admin.refused("accept_proposal", proposal_id=proposal)
    assert (code, ids) == (-32000, [proposal])
    assert "accepted already" in reason
    assert admin.world.kept() == before


def test_what_is_no_proposal_is_not_accepted(admin: Client, agent: Client) -> None:
    decision = agent.record("database")
    for id in (UNKNOWN, decision, "nonsense"):
        assert admin.refused("accept_proposal", proposal_id=id)[0] == -32000


@requirement("ledger/accept_proposal/pinned", "ledger/accept_proposal/guesses")
def test_another_secret_than_the_pinned_one_is_refused_entered_and_slowed(
    opener: Opener, admin: Client, agent: Client
) -> None:
    proposal = agent.propose("database")
    reviewed(admin)
    options = {"role": Role.ADMIN, "agent": "mallory"}
    thief = Client(opener(agent_memory_secret="open barley, please", **options))
    bare = Client(opener(**options))
    assert bare.refused("accept_proposal", proposal_id=proposal)[0] == 403
    code, reason, _ = thief.refused("accept_proposal", proposal_id=proposal)
    assert code == 403
    assert "barley" not in reason
    assert [each.actor for each in admin.world.trail() if each.outcome == "WrongSecret"] == [
        "mallory"
    ]
    code, reason, _ = admin.refused("accept_proposal", proposal_id=proposal)
    assert (code, "wrong secrets were given before" in reason) == (403, True)
    admin.world.clock.turn(5)
    admin.call("accept_proposal", proposal_id=proposal)
