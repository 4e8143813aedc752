from dataclasses import replace

import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.repositories import Ledgers
from minutebook.record.caller import Caller
from minutebook.record.errors import (
    Conflict,
    Decided,
    Forbidden,
    InvalidInput,
    MinutebookError,
    NotFound,
)
from minutebook.record.records import Authorship, Decision, DecisionStatus, Role
from minutebook.record.writing.decision_drafts import DecisionDraft
from tests.features.ledger.decided import (
    ADMIN,
    AGENT,
    PERSON,
    SECRET,
    VIEWER,
    committed,
    draft,
    git,
    ledger_of,
    written,
)
from tests.serve.contracts.requirements import requirement
from tests.world import Opener, World, failed


def test_a_decision_is_in_git_in_the_tables_and_in_the_trail(world: World) -> None:
    made = world.app.get(DecisionActs).record(PERSON, draft())
    assert world.app.get(DecisionActs).read(PERSON, made.id) == made
    assert (made.status, made.authorship, made.author) == ("active", "human", "ann")
    ledger = ledger_of(world.app)
    assert made.commit_id == ledger.head()
    assert git(ledger.path, "log", "--format=%an|%s") == "ann|Record store: Use SQLite"
    assert git(ledger.path, "fsck", "--strict") == ""
    [entry] = world.entries(made.id)
    assert (entry.actor, entry.act, entry.outcome) == ("ann", "record", "done")
    assert world.store.vectors(Decision, "default", made.id) is not None


def test_a_target_that_is_decided_is_not_decided_again(world: World) -> None:
    first = world.app.get(DecisionActs).record(AGENT, draft())
    head, kept = ledger_of(world.app).head(), world.kept()
    with pytest.raises(Decided) as refusal:
        world.app.get(DecisionActs).record(PERSON, draft(title="Use files"))
    assert (refusal.value.id, refusal.value.target) == (first.id, "store")
    assert (ledger_of(world.app).head(), world.kept()) == (head, kept)


def test_a_decision_takes_the_place_of_another(world: World) -> None:
    old = world.app.get(DecisionActs).record(AGENT, draft())
    world.clock.turn()
    new = world.app.get(DecisionActs).supersede(AGENT, [old.id], draft(title="Use PostgreSQL"))
    assert new.supersedes == (old.id,)
    then, now = world.app.get(DecisionActs).history(PERSON, "store")
    assert now == new
    assert then == replace(
        old,
        status=DecisionStatus.SUPERSEDED,
        superseded_by=(new.id,),
        commit_id=new.commit_id,
    )
    assert world.app.get(DecisionActs).active_by_target(PERSON) == [new]
    assert git(ledger_of(world.app).path, "rev-list", "--count", "HEAD") == "2"
    assert world.app.get(Ledgers).check() == []


@pytest.mark.parametrize("person", [PERSON, replace(ADMIN, role=Role.MANAGER), ADMIN])
def test_an_agent_does_not_overrule_a_person_and_a_person_does(
    world: World, person: Caller
) -> None:
    old = world.app.get(DecisionActs).record(person, draft())
    kept = world.kept()
    with pytest.raises(Forbidden):
        world.app.get(DecisionActs).supersede(AGENT, [old.id], draft(title="Use PostgreSQL"))
    assert world.kept() == kept
    assert [(each.actor, each.outcome) for each in world.trail()][-1] == ("robot", "Forbidden")
    new = world.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="Use PostgreSQL"))
    assert new.authorship is Authorship.HUMAN


def test_only_what_is_active_on_the_target_can_be_superseded(world: World) -> None:
    decide = world.app.get(DecisionActs)
    old, other = decide.record(AGENT, draft()), decide.record(AGENT, draft("wire"))
    new = decide.supersede(AGENT, [old.id], draft())
    kept = world.kept()
    for ids, reason in (
        ([old.id], f"superseded by {new.id}"),
        ([other.id], "on another target"),
        ([new.id, other.id], "on another target"),
        ([new.id, old.id], f"superseded by {new.id}"),
    ):
        with pytest.raises(Conflict) as refusal:
            decide.supersede(AGENT, ids, draft())
        assert reason in refusal.value.reason
    with pytest.raises(NotFound):
        decide.supersede(AGENT, ["decision_20260101T000000000000Z_00000000"], draft())
    assert world.kept() == kept


@pytest.mark.parametrize(
    ("said", "argument"),
    [
        (draft(title=""), "title"),
        (draft(target="  "), "target"),
        (draft(rationale="Because so"[:9]), "rationale"),
    ],
)
def test_a_draft_that_lacks_something_is_refused_with_its_name(
    world: World, said: DecisionDraft, argument: str
) -> None:
    kept = world.contents()
    with pytest.raises(InvalidInput) as refusal:
        world.app.get(DecisionActs).record(PERSON, said)
    assert refusal.value.argument == argument
    assert world.contents() == kept
    assert not ledger_of(world.app).path.exists()


def test_it_takes_more_to_supersede_than_to_record(world: World) -> None:
    old = world.app.get(DecisionActs).record(AGENT, draft(rationale="ten signs!"))
    with pytest.raises(InvalidInput, match="15"):
        world.app.get(DecisionActs).supersede(AGENT, [old.id], draft(rationale="fourteen signs"))
    world.app.get(DecisionActs).supersede(AGENT, [old.id], draft(rationale="fifteen signs!!"))
    with pytest.raises(InvalidInput, match="old_decision_ids"):
        world.app.get(DecisionActs).supersede(AGENT, [], draft())


def test_a_viewer_only_reads(world: World) -> None:
    made = world.app.get(DecisionActs).record(PERSON, draft())
    kept = world.kept()
    for act in (
        lambda: world.app.get(DecisionActs).record(VIEWER, draft("wire")),
        lambda: world.app.get(DecisionActs).supersede(VIEWER, [made.id], draft()),
        lambda: world.app.get(Proposals).propose(VIEWER, draft("wire")),
    ):
        with pytest.raises(Forbidden):
            act()
    assert world.kept() == kept
    assert world.app.get(DecisionActs).read(VIEWER, made.id) == made


def test_what_concerns_others_is_neither_seen_nor_touched(world: World) -> None:
    decide = world.app.get(DecisionActs)
    ana, ben = (replace(AGENT, organization="default", user=name) for name in ("ana", "ben"))
    one, two = decide.record(ana, draft()), decide.record(ben, draft(title="Use files"))
    abroad = decide.record(replace(AGENT, organization="acme"), draft())
    assert decide.active_by_target(ana) == [one]
    assert decide.active_by_target(replace(AGENT, organization="acme")) == [abroad]
    assert {each.id for each in decide.active_by_target(AGENT)} == {one.id, two.id, abroad.id}
    for id in (two.id, abroad.id):
        with pytest.raises(NotFound):
            decide.read(ana, id)
        with pytest.raises(MinutebookError):
            decide.supersede(ana, [id], draft())
    assert world.app.get(Ledgers).check() == []


def test_a_successor_concerns_whom_the_decision_before_it_did(world: World) -> None:
    old = world.app.get(DecisionActs).record(
        replace(AGENT, repositories=frozenset({"one"})), draft()
    )
    new = world.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="Use files"))
    assert (old.repository, new.repository) == ("one", "one")
    assert world.app.get(Ledgers).check() == []


def test_without_a_model_a_decision_is_kept_and_its_meaning_follows(opener: Opener) -> None:
    without = opener(failed())
    made = without.app.get(DecisionActs).record(PERSON, draft())
    assert without.app.infrastructure.store.vectors(Decision, "default", made.id) is None
    without.app.close()
    world = opener()
    assert world.app.embeddings.backfill_batch() == 1
    assert world.store.vectors(Decision, "default", made.id) is not None


def test_everything_is_told_by_age_and_the_truth_by_target(world: World) -> None:
    made: list[Decision] = []
    for target in ("wire", "store", "model"):
        made.append(world.app.get(DecisionActs).record(AGENT, draft(target)))
        world.clock.turn()
    assert world.app.get(DecisionActs).everything(VIEWER) == made
    assert [each.target for each in world.app.get(DecisionActs).active_by_target(VIEWER)] == [
        "model",
        "store",
        "wire",
    ]


# Spellings of a target


@requirement("ledger/invariants/spelling")
def test_a_target_is_one_however_it_is_spelled_and_shown_as_it_was_first(world: World) -> None:
    first = world.app.get(DecisionActs).record(AGENT, draft("API Auth"))
    for spelling in ("api auth", "api-auth", "API  Auth", "ＡＰＩ_auth"):
        with pytest.raises(Decided) as refusal:
            world.app.get(DecisionActs).record(AGENT, draft(spelling))
        assert (refusal.value.id, refusal.value.target) == (first.id, "API Auth")
    world.clock.turn()
    new = world.app.get(DecisionActs).supersede(AGENT, [first.id], draft("api-auth"))
    assert new.target == "API Auth"
    assert world.app.get(DecisionActs).history(AGENT, "API_AUTH") == [
        world.app.get(DecisionActs).read(AGENT, first.id),
        new,
    ]
    proposed = world.app.get(Proposals).propose(AGENT, draft("api_auth"), [new.id])
    world.clock.turn(3600)
    world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    accepted = world.app.get(Proposals).accept(ADMIN, proposed.id, SECRET)
    assert (accepted.target, accepted.supersedes) == ("API Auth", (new.id,))
    assert world.app.get(Ledgers).check() == []


def test_spellings_that_were_decided_apart_are_shown_and_settled_by_a_person(
    opener: Opener,
) -> None:
    world = opener(ledger_trust="everyone")
    targets = ("API Auth", "api auth", "api-auth")
    old = [written(number, target=target) for number, target in enumerate(targets, 1)]
    committed(world.app, *old)
    app = world.app
    assert {each.id for each in app.get(DecisionActs).active_by_target(AGENT)} == {
        each.id for each in old
    }
    [finding] = app.doctor.examine()
    assert "'API Auth', 'api auth', 'api-auth'" in finding.finding
    assert all(each.id in finding.finding for each in old)
    assert "a person supersedes all of them" in finding.remedy
    with pytest.raises(Decided) as refusal:
        app.get(DecisionActs).record(PERSON, draft("API auth"))
    assert all(each.id in refusal.value.reason + refusal.value.id for each in old)
    assert "a person supersedes all" in refusal.value.reason
    with pytest.raises(Conflict, match="active on this target as well"):
        app.get(DecisionActs).supersede(PERSON, [old[0].id], draft("API Auth"))
    every = [each.id for each in old]
    with pytest.raises(Forbidden):
        app.get(DecisionActs).supersede(AGENT, every, draft("API Auth"))
    new = app.get(DecisionActs).supersede(PERSON, every, draft("api_auth"))
    assert new.target == "API Auth"
    assert app.get(DecisionActs).active_by_target(AGENT) == [new]
    assert app.doctor.examine() == []
