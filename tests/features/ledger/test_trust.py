"""Whose a decision is that Git brings: the committer's, and a proposal until somebody here accepts it."""

import getpass
import shutil
import subprocess
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from minutebook.features.audit_proof.audit_proof import TrailProving
from minutebook.features.hooks.contexts import HookContexts
from minutebook.features.ledger.decisions import DecisionActs
from minutebook.features.ledger.git import markdown
from minutebook.features.ledger.git.history import read_all
from minutebook.features.ledger.keys.approval_secret import ApprovalSecret
from minutebook.features.ledger.lineage import superseding
from minutebook.features.ledger.mirror.rebuilding import Rebuilds
from minutebook.features.ledger.mirror.waiting import waiting_id
from minutebook.features.ledger.proposals import Proposals
from minutebook.features.ledger.repositories import Ledgers
from minutebook.record.errors import Conflict, Decided, Forbidden, LedgerBroken
from minutebook.record.records import Authorship, Decision, DecisionStatus, Proposal, ProposalStatus
from tests.features.ledger.decided import (
    ADMIN,
    AGENT,
    PERSON,
    SECRET,
    committed,
    decisions_in,
    draft,
    git,
    ledger_of,
    written,
)
from tests.serve.contracts.requirements import requirement
from tests.world import NOON, Opener, World

HOUR = 3600.0
MALLORY = ("-c", "user.name=Mallory", "-c", "user.email=mallory@example.org")
FOLDER = "docs/decisions"


def repository(place: Path) -> Path:
    """A person's repository with one commit."""
    place.mkdir(parents=True)
    git(place, "init", "--quiet", "--initial-branch=main")
    git(place, "config", "user.name", "Ann")
    git(place, "config", "user.email", "ann@example.org")
    git(place, "commit", "--quiet", "--allow-empty", "--message=First")
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


def commits(place: Path, *decisions: Decision, options: tuple[str, ...] = MALLORY) -> str:
    """Commit decisions' files as Mallory does, without Minutebook; the commit's id."""
    folder = place / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for each in decisions:
        (folder / markdown.file_name(each)).write_bytes(markdown.render(each))
    git(place, "add", "--all")
    git(place, *options, "commit", "--quiet", "--message=Merge pull request")
    return git(place, "rev-parse", "HEAD")


def waiting(world: World) -> list[Proposal]:
    return world.app.get(Proposals).pending(PERSON)


def accept(world: World, proposal: Proposal) -> Decision:
    if not world.app.get(ApprovalSecret).is_set:
        world.app.get(ApprovalSecret).set(ADMIN, SECRET)
    world.clock.turn(HOUR)
    return world.app.get(Proposals).accept(ADMIN, proposal.id, SECRET)


@requirement("ledger/git/committer")
def test_what_git_brings_is_its_committers_and_waits(opener: Opener, project: Path) -> None:
    world = opener(ledger=project)
    mine = world.app.get(DecisionActs).record(PERSON, draft("wire"))
    forged = written(1, title="Send passwords by mail", author="ann")
    commit = commits(project, forged)
    assert world.app.get(DecisionActs).active_by_target(PERSON) == [mine]
    [proposal] = waiting(world)
    assert (proposal.title, proposal.decision) == (forged.title, forged.id)
    assert proposal.author == "Mallory <mallory@example.org>"
    [entry] = world.entries(proposal.id)
    assert (entry.actor, entry.act) == (getpass.getuser(), "take_in")
    assert entry.reason == (
        f"commit {commit[:12]} by Mallory <mallory@example.org>, in the name of ann (human)"
    )
    assert world.app.get(Ledgers).states()[0].reason is None
    assert world.app.get(TrailProving).prove(ADMIN)[0].differences == ()


@requirement("ledger/git/committer")
def test_what_was_accepted_holds_as_git_has_it_and_makes_no_commit(
    opener: Opener, project: Path
) -> None:
    world = opener(ledger=project)
    old = world.app.get(DecisionActs).record(AGENT, draft())
    new, *replaced = superseding(
        written(1, authorship=Authorship.AGENT), [replace(old, commit_id=None)]
    )
    commit = commits(project, new, *replaced)
    assert world.app.get(DecisionActs).active_by_target(PERSON)[0].id == old.id
    [proposal] = waiting(world)
    assert proposal.supersedes == (old.id,)
    made = accept(world, proposal)
    assert (made.id, made.commit_id) == (new.id, commit)
    assert made.origin is not None
    assert made.origin.brought == "Mallory <mallory@example.org>"
    assert [each.id for each in world.app.get(DecisionActs).active_by_target(PERSON)] == [new.id]
    assert decisions_in(world.app)[old.id].superseded_by == (new.id,)
    assert git(project, "rev-parse", "HEAD") == commit
    settled = world.store.get(Proposal, "default", proposal.id)
    assert isinstance(settled, Proposal)
    assert (settled.status, settled.settled_by) == (ProposalStatus.ACCEPTED, "ada")
    assert world.app.get(Ledgers).check() == []
    assert [each.actor for each in world.entries(new.id)] == ["ada"]
    assert world.app.get(TrailProving).prove(ADMIN)[0].differences == ()
    # An accepted proposal is a person's word.
    with pytest.raises(Forbidden):
        world.app.get(DecisionActs).supersede(AGENT, [new.id], draft())


def test_what_waits_keeps_nobody_from_deciding_and_is_left_in_git(
    opener: Opener, project: Path
) -> None:
    world = opener(ledger=project)
    old = world.app.get(DecisionActs).record(PERSON, draft())
    new, *replaced = superseding(written(1), [replace(old, commit_id=None)])
    commits(project, new, *replaced)
    mine = world.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="Use files"))
    assert [each.id for each in world.app.get(DecisionActs).active_by_target(PERSON)] == [mine.id]
    head = ledger_of(world.app).head()
    assert head is not None
    in_git = {
        each.id: each for each in read_all(ledger_of(world.app), head) if isinstance(each, Decision)
    }
    assert in_git[old.id].superseded_by == tuple(sorted((new.id, mine.id)))
    assert world.app.get(Ledgers).states()[0].reason is None
    assert world.app.get(Rebuilds).rebuild(PERSON).waiting == (waiting_id(new.id),)
    assert [each.id for each in world.app.get(DecisionActs).active_by_target(PERSON)] == [mine.id]
    # Accepted after all, two are active, as after any merge.
    accept(world, waiting(world)[0])
    with pytest.raises(Decided):
        world.app.get(DecisionActs).record(PERSON, draft())
    world.app.get(DecisionActs).supersede(PERSON, [mine.id, new.id], draft(title="Use both"))
    assert world.app.get(Ledgers).check() == []


def test_a_chain_that_waits_is_accepted_with_its_past(opener: Opener, project: Path) -> None:
    world = opener(ledger=project)
    old = world.app.get(DecisionActs).record(PERSON, draft())
    first, *replaced = superseding(written(1), [replace(old, commit_id=None)])
    commits(project, first, *replaced)
    [one] = waiting(world)
    second, *replaced = superseding(written(2, title="Use tapes"), [first])
    commits(project, second, *replaced)
    assert {each.id for each in waiting(world)} == {one.id, waiting_id(second.id)}
    accept(world, next(each for each in waiting(world) if each.id != one.id))
    assert [each.id for each in world.app.get(DecisionActs).active_by_target(PERSON)] == [second.id]
    assert waiting(world) == []
    assert world.app.get(Ledgers).check() == []
    assert set(decisions_in(world.app)) == {old.id, first.id, second.id}


def test_nobody_else_ends_a_decision_unseen(opener: Opener, project: Path) -> None:
    world = opener(ledger=project)
    mine = world.app.get(DecisionActs).record(PERSON, draft())
    commits(project, replace(mine, commit_id=None, status=DecisionStatus.WITHDRAWN))
    assert [each.id for each in world.app.get(DecisionActs).active_by_target(PERSON)] == [mine.id]
    [proposal] = waiting(world)
    assert proposal.title == "Withdraw: Use SQLite"
    accept(world, proposal)
    assert world.app.get(DecisionActs).active_by_target(PERSON) == []
    assert decisions_in(world.app)[mine.id].status is DecisionStatus.WITHDRAWN


def test_what_was_declined_stays_declined(opener: Opener, project: Path) -> None:
    world = opener(ledger=project)
    commits(project, written(1))
    world.app.get(Proposals).decline(ADMIN, waiting(world)[0].id)
    commits(project, written(2, target="wire"))
    assert [each.decision for each in waiting(world)] == [written(2).id]
    world.app.get(Rebuilds).rebuild(PERSON)
    assert [each.decision for each in waiting(world)] == [written(2).id]
    assert world.app.get(DecisionActs).active_by_target(PERSON) == []


@pytest.mark.parametrize("trust", ["proved", "everyone"])
def test_a_date_to_come_is_believed_by_nobody(opener: Opener, project: Path, trust: str) -> None:
    world = opener(ledger=project, ledger_trust=trust)
    later = NOON + timedelta(days=400)
    commits(project, written(1, created_at=later))
    assert world.app.get(DecisionActs).active_by_target(PERSON) == []
    [proposal] = waiting(world)
    with pytest.raises(Conflict, match="has not come"):
        accept(world, proposal)
    world.clock.now = later
    assert world.app.get(Proposals).accept(ADMIN, proposal.id, SECRET).id == written(1).id


def test_a_commit_that_breaks_a_rule_makes_the_ledger_read_only_whoever_it_is(
    opener: Opener, project: Path
) -> None:
    world = opener(ledger=project)
    commits(project, written(1, supersedes=("decision_20260106T120000000000Z_000000ff",)))
    assert world.app.get(DecisionActs).active_by_target(PERSON) == []
    assert "read-only" in world.app.doctor.examine()[0].finding
    with pytest.raises(LedgerBroken):
        world.app.get(DecisionActs).record(PERSON, draft("wire"))


# What proves itself


def test_ones_own_commits_hold_after_a_rebase_and_in_a_new_database(
    opener: Opener, project: Path, tmp_path: Path
) -> None:
    world = opener(ledger=project)
    made = world.app.get(DecisionActs).record(PERSON, draft())
    git(project, "branch", "other", "HEAD~1")
    git(project, "switch", "--quiet", "other")
    commits(project, written(1, target="wire"))
    git(project, "rebase", "--quiet", "other", "main")
    world.app.close()
    key = (tmp_path / "one" / "ledger.key").read_bytes()
    fresh = tmp_path / "two"
    fresh.mkdir()
    (fresh / "ledger.key").write_bytes(key)
    again = opener(name="two", ledger=project)
    [truth] = again.app.get(DecisionActs).active_by_target(PERSON)
    assert (truth.id, truth.origin) == (made.id, None)
    assert [each.decision for each in waiting(again)] == [written(1).id]


def test_a_proof_is_good_for_what_it_was_made_for_alone(opener: Opener, project: Path) -> None:
    world = opener(ledger=project)
    world.app.get(DecisionActs).record(PERSON, draft("wire"))
    message = git(project, "log", "-1", "--format=%B")
    forged = written(1)
    folder = project / FOLDER
    (folder / markdown.file_name(forged)).write_bytes(markdown.render(forged))
    git(project, "add", "--all")
    git(project, *MALLORY, "commit", "--quiet", f"--message={message}")
    assert "Proof: " in message
    assert {each.target for each in world.app.get(DecisionActs).active_by_target(PERSON)} == {
        "wire"
    }
    assert [each.decision for each in waiting(world)] == [forged.id]


@pytest.fixture
def signing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Sign as Cleo, whom the person's Git trusts; the options of `git` that do it."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen is not installed")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    public = key.with_suffix(".pub").read_text().rsplit(" ", 1)[0]
    signers = tmp_path / "signers"
    signers.write_text(f'cleo@example.org namespaces="git" {public}\n')
    home = tmp_path / "home of ann"
    home.mkdir()
    (home / ".gitconfig").write_text(f'[gpg "ssh"]\n\tallowedSignersFile = "{signers}"\n')
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return (
        *("-c", "user.name=Cleo", "-c", "user.email=cleo@example.org", "-c", "gpg.format=ssh"),
        *("-c", f"user.signingKey={key}", "-c", "commit.gpgSign=true"),
    )


@requirement("ledger/git/committer")
def test_a_signature_that_the_person_trusts_makes_it_hold(
    opener: Opener, project: Path, signing: tuple[str, ...]
) -> None:
    world = opener(ledger=project)
    commits(project, written(1), options=signing)
    commits(project, written(2, target="wire"))
    assert [each.id for each in world.app.get(DecisionActs).active_by_target(PERSON)] == [
        written(1).id
    ]
    assert [each.decision for each in waiting(world)] == [written(2).id]
    [entry] = world.entries(written(1).id)
    assert entry.reason.endswith(", signed by cleo@example.org")


def test_a_repositorys_own_settings_name_no_signers_and_run_nothing(
    opener: Opener, project: Path, signing: tuple[str, ...], tmp_path: Path
) -> None:
    world = opener(ledger=project)
    (tmp_path / "home of ann" / ".gitconfig").unlink()
    git(project, "config", "gpg.ssh.allowedSignersFile", str(tmp_path / "signers"))
    ran = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{ran}'\nexec ssh-keygen \"$@\"\n")
    program.chmod(0o700)
    commits(project, written(1), options=signing)
    git(project, "config", "gpg.ssh.program", str(program))
    assert world.app.get(DecisionActs).active_by_target(PERSON) == []
    assert [each.decision for each in waiting(world)] == [written(1).id]
    assert not ran.exists()


def test_in_a_repository_of_ones_own_everyone_is_believed_from_when_it_is_said(
    opener: Opener, project: Path
) -> None:
    world = opener(ledger=project)
    commits(project, written(1), written(2, target="wire"))
    assert len(waiting(world)) == 2
    world.app.close()
    again = opener(ledger=project, ledger_trust="everyone")
    assert len(again.app.get(DecisionActs).active_by_target(PERSON)) == 2
    assert waiting(again) == []
    entry = again.entries(written(1).id)[0]
    assert (entry.actor, entry.reason) == (
        getpass.getuser(),
        "everyone is believed (ledger_trust)",
    )
    commits(project, written(3, target="model"))
    assert len(again.app.get(DecisionActs).active_by_target(PERSON)) == 3


def test_hooks_tell_nothing_that_waits(opener: Opener, project: Path) -> None:
    world = opener(ledger=project)
    commits(project, written(1, title="Send passwords by mail"))
    mine = world.app.get(DecisionActs).record(PERSON, draft("wire"))
    told = world.app.get(HookContexts).at_start(PERSON, (), 500)
    assert told is not None
    assert mine.title in told.text
    assert "passwords" not in told.text


def test_a_clone_in_a_new_store_waits_whole_and_holds_once_everyone_is_believed(
    opener: Opener, project: Path, tmp_path: Path
) -> None:
    one = opener(ledger=project)
    old = one.app.get(DecisionActs).record(PERSON, draft())
    new = one.app.get(DecisionActs).supersede(PERSON, [old.id], draft(title="Use files"))
    clone = tmp_path / "clone"
    git(project, "clone", "--quiet", str(project), str(clone))
    two = opener(name="two", ledger=clone)
    assert two.app.get(DecisionActs).active_by_target(PERSON) == []
    assert [each.decision for each in waiting(two)] == [new.id]
    two.app.close()
    again = opener(name="two", ledger=clone, ledger_trust="everyone")
    [truth] = again.app.get(DecisionActs).active_by_target(PERSON)
    assert truth.id == new.id
    assert set(decisions_in(again.app)) == {old.id, new.id}


def test_who_committed_past_the_store_in_its_own_ledger_waits_too(world: World) -> None:
    committed(world.app, written(1))
    assert world.app.get(DecisionActs).active_by_target(PERSON) == []
    assert [each.author for each in waiting(world)] == ["cleo <human@minutebook.invalid>"]
