"""Recording and superseding: what becomes a decision, what is refused, and with which words."""

import subprocess

import pytest

from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.features.ledger.repositories import Ledgers
from minutebook.features.ledger.search import DecisionMode, DecisionSearch
from minutebook.record.records import Authorship, DecisionStatus, Role
from minutebook.serve.contracts.announced import for_lines
from minutebook.text.fusion import Signal
from tests.features.ledger.contract.ledgered import CONTRACT, UNKNOWN, WHY, Client
from tests.serve.contracts.requirements import requirement
from tests.world import World

pytestmark = pytest.mark.on_server


@pytest.fixture
def agent(world: World) -> Client:
    return Client(world).of(Role.AGENT, "claude")


@pytest.fixture
def human(agent: Client) -> Client:
    return agent.of(Role.HUMAN, "ana")


def history(client: Client) -> list[str]:
    """The subjects of a ledger's commits, newest first."""
    app, caller = client.world.app, client.world.caller
    (path,) = {str(each.path) for each in app.get(Ledgers).states(caller)}
    told = subprocess.run(
        ["git", "-C", path, "log", "--format=%s"],
        check=True,
        capture_output=True,
        text=True,
    )
    return told.stdout.splitlines()


@requirement(
    "ledger/record_decision/records",
    "ledger/results/written",
    "ledger/published/ids",
    "common/ids-ledger",
    "common/results/output-schema",
)
def test_a_decision_is_recorded_as_it_was_given(agent: Client) -> None:
    id = agent.record("database", "Use SQLite", consequences=["one file", "no server"])
    kept = agent.decision(id)
    assert (kept.target, kept.title, kept.rationale) == ("database", "Use SQLite", WHY)
    assert kept.consequences == ("one file", "no server")
    assert (kept.status, kept.created_at) == (DecisionStatus.ACTIVE, agent.world.clock.now)
    stamp = agent.world.clock.now.strftime("%Y%m%dT%H%M%S%fZ")
    assert id.startswith(f"decision_{stamp}_")
    assert len(id) == len(UNKNOWN)


@requirement("ledger/record_decision/commit", "ledger/git/one-commit")
def test_each_act_is_one_commit_and_a_refused_one_none(agent: Client) -> None:
    old = agent.record("database", "Use SQLite")
    assert len(before := history(agent)) >= 1
    agent.supersede("database", old, title="Use PostgreSQL")
    assert history(agent)[1:] == before
    assert "Use PostgreSQL" in history(agent)[0]
    agent.refused("record_decision", target="database", title="x", rationale=WHY)
    assert history(agent)[1:] == before


@requirement("ledger/record_decision/indexed")
def test_a_decision_is_found_by_vectors_at_once(agent: Client) -> None:
    id = agent.record("database", "Use SQLite")
    (found,) = agent.world.app.get(DecisionSearch).search(
        agent.world.caller, "sqlite", DecisionMode.BALANCED, 5
    )
    assert found.record.id == id
    assert {share.signal: share.rank for share in found.hit.shares}[Signal.VECTOR] == 1


@requirement("ledger/record_decision/taken", "ledger/errors/-32000", "ledger/errors/data")
def test_a_target_that_is_decided_is_refused_and_names_what_is_active(agent: Client) -> None:
    id = agent.record("database")
    before = agent.world.kept()
    code, reason, ids = agent.refused(
        "record_decision", target="database", title="Use MySQL", rationale=WHY
    )
    assert (code, ids) == (-32000, [id])
    assert id in reason
    assert "supersede" in reason
    assert agent.world.kept() == before


def test_what_an_agent_is_served_by_default_replaces_a_decision_of_an_agent(agent: Client) -> None:
    old = agent.record("database")
    told = {"target": "database", "title": "Use MySQL", "rationale": f"{WHY} We changed our mind."}
    new = agent.call("record_decision", **told, supersedes=[old])["decision_id"]
    assert agent.refused("record_decision", **told)[2] == [new]
    (shown,) = (
        each for each in for_lines(CONTRACT.promise)["tools"] if each["name"] == "record_decision"
    )
    assert "supersedes" in shown["inputSchema"]["properties"]
    assert "supersedes" in shown["description"]


@requirement("ledger/record_decision/rationale", "ledger/supersede_decision/rationale")
def test_a_rationale_has_a_least_length(agent: Client) -> None:
    told = {"target": "database", "title": "Use SQLite"}
    refusal = agent.refused("record_decision", rationale="123456789", **told)
    assert refusal[0] == -32602
    assert refusal[1].startswith("`rationale` must have at least 10 characters")
    old = agent.record("database", why="1234567890")
    short = agent.refused(
        "supersede_decision", rationale="12345678901234", old_decision_ids=[old], **told
    )
    assert short[1].startswith("`rationale` must have at least 15 characters")
    agent.supersede("database", old, why="123456789012345")


@requirement("ledger/errors/-32602", "ledger/errors/form")
def test_a_wrong_argument_is_named_in_a_json_rpc_error(agent: Client) -> None:
    failure = agent.world.speaking(CONTRACT).failure("record_decision", title="x")
    assert failure.code == -32602
    assert failure.structured == {
        "reason": "`target` is required",
        "ids": [],
        "argument": "target",
    }
    for blank in ("", " ", "\n\t"):
        told = {"target": blank, "title": "x", "rationale": WHY}
        assert agent.refused("record_decision", **told)[:1] == (-32602,)


ODD = [
    "\x00",
    "\r\n",
    "\u2028",
    "---\ntarget: x\n---\n",
    "null",
    "# h\n## Rationale\n",
    "\ufeff",
    "../x",
]


@pytest.mark.parametrize("odd", ODD)
def test_any_text_is_kept_as_it_was_given(agent: Client, odd: str) -> None:
    text = f"tea {odd} "
    told = {"title": text, "target": text, "rationale": f"{text} because of it"}
    id = agent.call("record_decision", **told, consequences=[text, odd])["decision_id"]
    kept = agent.decision(id)
    assert (kept.title, kept.target, kept.consequences) == (text, text, (text, odd))
    assert kept.rationale == told["rationale"]
    assert agent.ids(text) == [id]
    person = agent.of(Role.HUMAN).world
    rebuilt = person.app.get(Rebuilds).rebuild(person.caller)
    assert (rebuilt.to_tables, rebuilt.to_git, rebuilt.notes) == ((), (), ())


def test_half_a_character_is_refused_by_the_argument_that_has_it(agent: Client) -> None:
    half = "tea and more \ud800"
    told: dict[str, object] = {"title": "t", "target": "t", "rationale": WHY, "consequences": []}
    for name in told:
        arguments = told | {name: [half] if name == "consequences" else half}
        for tool in ("record_decision", "propose_decision"):
            code, reason, _ = agent.refused(tool, **arguments)
            assert (code, reason.startswith(f"`{name}` must be whole")) == (-32602, True)
    assert agent.search(half) == []
    assert agent.refused("accept_proposal", proposal_id=half)[0] == 403
    unknown = {**told, "old_decision_ids": [half]}
    assert agent.refused("supersede_decision", **unknown)[0] == -32000


@requirement("ledger/supersede_decision/replaces", "ledger/supersede_decision/agents")
def test_an_agent_replaces_its_own_decision_and_another_agents(agent: Client) -> None:
    first = agent.record("database", "Use SQLite")
    second = agent.supersede("database", f"{first}.md", title="Use PostgreSQL")
    third = agent.of(Role.AGENT, "codex").supersede("database", second, title="Use DuckDB")
    kept = {id: agent.decision(id) for id in (first, second, third)}
    assert [kept[id].status for id in kept] == ["superseded", "superseded", "active"]
    assert kept[first].superseded_by == (second,)
    assert kept[third].supersedes == (second,)
    assert kept[first].title == "Use SQLite"


@requirement("ledger/supersede_decision/isolation", "policy/supersede-human", "ledger/errors/403")
def test_an_agent_does_not_replace_what_a_person_decided(agent: Client, human: Client) -> None:
    id = human.record("database")
    before = agent.world.kept()
    told = {"target": "database", "title": "Use MySQL", "rationale": WHY}
    code, reason, ids = agent.refused("supersede_decision", old_decision_ids=[id], **told)
    assert (code, ids) == (403, [id])
    assert id in reason
    assert agent.world.kept() == before
    assert human.decision(human.supersede("database", id)).supersedes == (id,)


@requirement("ledger/supersede_decision/existing", "ledger/supersede_decision/active")
def test_what_is_replaced_must_be_there_active_and_on_the_target(agent: Client) -> None:
    old = agent.record("database")
    elsewhere = agent.record("cache", "Use Redis")
    new = agent.supersede("database", old)
    before = agent.world.kept()

    def refused(*ids: str) -> tuple[int, list[str]]:
        told = {"target": "database", "title": "Use MySQL", "rationale": WHY}
        code, _, concerned = agent.refused("supersede_decision", old_decision_ids=[*ids], **told)
        return code, concerned

    assert refused()[0] == -32602
    assert refused(UNKNOWN) == (-32000, [UNKNOWN])
    assert refused("nonsense") == (-32000, ["nonsense"])
    assert refused(old) == (-32000, [old])
    assert refused(new, old) == (-32000, [old])
    assert refused(elsewhere) == (-32000, [elsewhere])
    assert refused(new, UNKNOWN) == (-32000, [UNKNOWN])
    assert agent.world.kept() == before


@requirement("ledger/authors/caller")
def test_the_author_is_the_caller_whatever_the_text_says(agent: Client, human: Client) -> None:
    text = "author: human\nauthorship: human\nDecided by Ana herself."
    ours = agent.decision(agent.record("tone", "author: human", text))
    assert (ours.authorship, ours.author) == (Authorship.AGENT, "claude")
    theirs = human.decision(human.record("colour", "Blue"))
    assert (theirs.authorship, theirs.author) == (Authorship.HUMAN, "ana")


@requirement("ledger/authors/viewer")
def test_a_viewer_searches_and_does_nothing_else(agent: Client) -> None:
    id = agent.record("database")
    proposal = agent.propose("database")
    viewer = agent.of(Role.VIEWER, "vic")
    assert viewer.ids("sqlite") == [id]
    before = agent.world.kept()
    told = {"target": "cache", "title": "Use MySQL", "rationale": WHY}
    assert viewer.refused("record_decision", **told)[0] == 403
    assert viewer.refused("propose_decision", **told)[0] == 403
    old = {**told, "target": "database", "old_decision_ids": [id]}
    assert viewer.refused("supersede_decision", **old)[0] == 403
    assert viewer.refused("accept_proposal", proposal_id=proposal)[0] == 403
    assert agent.world.kept() == before


def test_the_same_target_is_decided_once_for_each_whom_it_concerns(agent: Client) -> None:
    one = agent.by(repositories=frozenset({"one"})).record("database")
    two = agent.by(repositories=frozenset({"two"})).record("database")
    acme = agent.by(organization="acme").record("database")
    assert len({one, two, acme}) == 3
