import random
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pygit2
import pytest

from minutebook.domain.errors import (
    Conflict,
    Decided,
    Forbidden,
    InvalidInput,
    LedgerBroken,
    LedgerError,
    NotFound,
    StoreError,
    UnderReview,
)
from minutebook.domain.filters import Filter
from minutebook.domain.lineage import Rule, superseding, violations
from minutebook.domain.records import (
    Authorship,
    Decision,
    DecisionStatus,
    Entry,
    Kind,
    Proposal,
    ProposalStatus,
    Role,
)
from minutebook.ledger import markdown
from minutebook.ledger.history import news
from minutebook.ledger.trees import with_files
from minutebook.services.decision_search import Mode
from minutebook.services.following import Following
from tests.ledger.given import git, numbered, own, record
from tests.services.ledgers import HOME, Bench, bench, by, draft
from tests.world import Clock

ROOT = Path(__file__).resolve().parents[2]
HERE = Filter(organization=HOME)
AGENT, HUMAN, ADMIN, VIEWER = map(by, (Role.AGENT, Role.HUMAN, Role.ADMIN, Role.VIEWER))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def here(tmp_path: Path, clock: Clock) -> Iterator[Bench]:
    here = bench(tmp_path, clock)
    yield here
    here.store.close()


def kept(here: Bench) -> dict[str, Decision]:
    found = cast("list[Decision]", here.store.find(Kind.DECISION, HERE))
    return {each.id: each for each in found}


def check_agree(here: Bench) -> None:
    """See that tables and ledger say the same, and that both are sound."""
    told = news(here.ledger, None)
    assert told.violations == ()
    assert {each.id: each for each in told.decisions} == kept(here)
    assert violations(told.decisions) == []
    assert here.trail.first_break(HOME) is None


def acts(here: Bench) -> list[str]:
    found = here.store.find(Kind.ENTRY, HERE, order=["number"])
    return [f"{e.act} {e.outcome}" for e in cast("list[Entry]", found)]


def test_a_decision_is_in_the_tables_and_in_git_with_its_entry(here: Bench) -> None:
    made = here.decisions.record(AGENT, draft(consequences=("One writer.",)))
    assert kept(here) == {made.id: made}
    assert (made.authorship, made.author, made.commit_id) == (
        Authorship.AGENT,
        "ana",
        here.ledger.head(),
    )
    assert git(here.ledger.path, "log", "--format=%an: %s") == "ana: Record: Use SQLite\n"
    assert acts(here) == ["record done"]
    check_agree(here)


def test_a_second_decision_on_a_target_is_refused_with_the_one_that_stands(here: Bench) -> None:
    made = here.decisions.record(AGENT, draft())
    with pytest.raises(Decided) as refused:
        here.decisions.record(HUMAN, draft(title="Use another"))
    assert (refused.value.id, refused.value.target) == (made.id, "store")
    check_agree(here)


def test_a_decision_takes_the_place_of_another(here: Bench, clock: Clock) -> None:
    first = here.decisions.record(AGENT, draft())
    clock.turn()
    second = here.decisions.supersede(HUMAN, [first.id], draft(title="Use PostgreSQL"))
    assert second.supersedes == (first.id,)
    assert kept(here)[first.id].superseded_by == (second.id,)
    with pytest.raises(Conflict, match=second.id):
        here.decisions.supersede(HUMAN, [first.id], draft(title="Use a file"))
    with pytest.raises(Forbidden, match="a person"):
        here.decisions.supersede(AGENT, [second.id], draft(title="Use a file"))
    with pytest.raises(NotFound):
        here.decisions.supersede(HUMAN, ["decision_x"], draft())
    assert "supersede Forbidden" in acts(here)
    check_agree(here)


def test_what_was_withdrawn_makes_room_for_another(here: Bench, clock: Clock) -> None:
    first = here.decisions.record(HUMAN, draft())
    with pytest.raises(Forbidden):
        here.decisions.withdraw(AGENT, first.id)
    assert here.decisions.withdraw(HUMAN, first.id).status is DecisionStatus.WITHDRAWN
    clock.turn()
    here.decisions.record(AGENT, draft(title="Use files"))
    check_agree(here)


def test_a_check_looks_through_ledger_and_tables(here: Bench, clock: Clock) -> None:
    first = here.decisions.record(HUMAN, draft())
    clock.turn()
    second = here.decisions.supersede(HUMAN, [first.id], draft(title="Use files"))
    assert here.following.check(HOME) == []
    here.store.put(replace(second, rationale="Said by the tables alone."))
    here.store.delete(Kind.DECISION, HOME, first.id)
    record(here.ledger, numbered(1, "store", organization=HOME))
    assert [(each.rule, each.ids) for each in here.following.check(HOME)] == [
        (Rule.ONE_ACTIVE, (numbered(1).id, second.id)),
        *((Rule.FOLLOWED, (id,)) for id in (numbered(1).id, first.id, second.id)),
    ]


def test_a_viewer_decides_nothing(here: Bench) -> None:
    with pytest.raises(Forbidden):
        here.decisions.record(VIEWER, draft())
    with pytest.raises(Forbidden):
        here.decisions.propose(VIEWER, draft())
    assert here.ledger.head() is None


def test_a_proposal_becomes_the_truth_after_its_review(here: Bench, clock: Clock) -> None:
    standing = here.decisions.record(HUMAN, draft())
    proposal = here.decisions.propose(AGENT, draft(title="Use PostgreSQL"), [standing.id])
    assert list(kept(here)) == [standing.id]
    clock.turn(3599)
    with pytest.raises(UnderReview):
        here.decisions.accept(ADMIN, proposal.id)
    clock.turn(1)
    with pytest.raises(Forbidden):
        here.decisions.accept(HUMAN, proposal.id)
    made = here.decisions.accept(ADMIN, proposal.id)
    assert (made.title, made.proposal, made.supersedes, made.authorship) == (
        "Use PostgreSQL",
        proposal.id,
        (standing.id,),
        Authorship.HUMAN,
    )
    settled = here.store.get(Kind.PROPOSAL, HOME, proposal.id)
    assert isinstance(settled, Proposal)
    assert (settled.status, settled.decision) == (ProposalStatus.ACCEPTED, made.id)
    with pytest.raises(Conflict, match="accepted already"):
        here.decisions.accept(ADMIN, proposal.id)
    check_agree(here)


def test_a_proposal_means_to_supersede_what_is_on_its_target(here: Bench) -> None:
    other = here.decisions.record(AGENT, draft("wire"))
    with pytest.raises(InvalidInput, match="supersedes"):
        here.decisions.propose(AGENT, draft("store"), [other.id])


def test_half_a_character_is_refused_before_anything_is_written(here: Bench) -> None:
    with pytest.raises(InvalidInput, match="title"):
        here.decisions.record(AGENT, draft(title="\ud800"))
    assert (here.ledger.head(), kept(here)) == (None, {})


class Killed(BaseException):
    """Ends an act between two of its steps."""


def test_what_a_kill_left_in_git_alone_is_followed(
    here: Bench, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing = here.decisions.record(HUMAN, draft())
    proposal = here.decisions.propose(AGENT, draft(title="Use PostgreSQL"))
    clock.turn(3600)

    def cut(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as cutting:
        cutting.setattr(Following, "take", cut)
        with pytest.raises(Killed):
            here.decisions.accept(ADMIN, proposal.id)
    assert list(kept(here)) == [standing.id]
    here.following.start(HOME)
    assert len(kept(here)) == 2
    settled = here.store.get(Kind.PROPOSAL, HOME, proposal.id)
    assert isinstance(settled, Proposal)
    assert settled.status is ProposalStatus.ACCEPTED
    assert acts(here)[-1] == "follow done"
    check_agree(here)


def test_where_git_cannot_be_written_the_tables_stay_as_they_were(here: Bench) -> None:
    here.decisions.record(AGENT, draft())
    (here.ledger.path / "HEAD").write_text(git(here.ledger.path, "rev-parse", "HEAD"))
    before = kept(here), acts(here)
    with pytest.raises(LedgerError, match="detached"):
        here.decisions.record(AGENT, draft("wire"))
    assert (kept(here), acts(here)) == before


def test_where_the_tables_cannot_be_written_the_ledger_is_followed_later(
    here: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    with monkeypatch.context() as cutting:
        cutting.setattr(Following, "note", full)
        with pytest.raises(StoreError):
            here.decisions.record(AGENT, draft())
    assert kept(here) == {}
    with pytest.raises(Decided):
        here.decisions.record(AGENT, draft())
    check_agree(here)


def test_what_another_wrote_to_the_ledger_counts_at_once(here: Bench, tmp_path: Path) -> None:
    here.decisions.record(AGENT, draft("wire"))
    theirs = numbered(1, "store", organization=HOME)
    record(own(tmp_path / "ledger"), theirs)
    with pytest.raises(Decided) as refused:
        here.decisions.record(AGENT, draft("store"))
    assert refused.value.id == theirs.id
    check_agree(here)


def test_a_ledger_that_was_tampered_with_is_refused_until_a_person_rebuilds(
    here: Bench, clock: Clock
) -> None:
    made = here.decisions.record(HUMAN, draft())
    tampered = replace(made, rationale="Because I say so.")
    path = here.ledger.layout.path(made)
    force(here, path, tampered)
    with pytest.raises(LedgerBroken) as broken:
        here.following.start(HOME)
    assert broken.value.ids == (made.id,)
    with pytest.raises(LedgerBroken):
        here.decisions.record(AGENT, draft("wire"))
    assert kept(here)[made.id].rationale == made.rationale
    assert here.search.search(VIEWER, "SQLite", Mode.STRICT, 5)[0].decision == made
    with pytest.raises(Forbidden):
        here.following.rebuild(AGENT, HOME)
    rebuilt = here.following.rebuild(HUMAN, HOME)
    assert (rebuilt.decisions, rebuilt.lost) == (1, ())
    assert [each.ids for each in rebuilt.violations] == [(made.id,)]
    here.decisions.record(AGENT, draft("wire"))
    assert kept(here)[made.id].rationale == tampered.rationale


def force(here: Bench, path: str, decision: Decision) -> None:
    """Commit a changed file behind the ledger's back."""
    opened = here.ledger.open()
    reference = opened.lookup_reference("refs/heads/main")
    tip = opened[reference.target]
    files = {path: opened.create_blob(markdown.written(decision))}
    tree = with_files(opened, tip.peel(pygit2.Tree), files)
    name = pygit2.Signature("x", "x@example.org")
    reference.set_target(opened.create_commit(None, name, name, "x", tree, [tip.id]))


def test_decisions_that_only_the_tables_have_are_named_by_a_rebuild(here: Bench) -> None:
    first = here.decisions.record(HUMAN, draft())
    second = here.decisions.record(HUMAN, draft("wire"))
    git(here.ledger.path, "update-ref", "refs/heads/main", "refs/heads/main^")
    with pytest.raises(LedgerBroken, match="rewritten"):
        here.following.start(HOME)
    rebuilt = here.following.rebuild(HUMAN, HOME)
    assert (rebuilt.decisions, rebuilt.lost) == (1, (second.id,))
    assert list(kept(here)) == [first.id]
    check_agree(here)


def test_two_active_after_a_merge_are_settled_by_a_person(here: Bench, tmp_path: Path) -> None:
    here.decisions.record(AGENT, draft())
    theirs = numbered(1, "store", organization=HOME)
    record(own(tmp_path / "ledger"), theirs)
    here.following.start(HOME)
    both = sorted(kept(here))
    assert len(here.search.search(VIEWER, "choose SQLite", Mode.STRICT, 5)) == 2
    with pytest.raises(Decided):
        here.decisions.record(HUMAN, draft())
    with pytest.raises(Conflict, match="as well"):
        here.decisions.supersede(HUMAN, both[:1], draft())
    with pytest.raises(Forbidden, match="a person chooses"):
        here.decisions.supersede(AGENT, both, draft())
    here.decisions.supersede(HUMAN, both, draft(title="Use SQLite after all"))
    check_agree(here)


def test_old_words_lead_to_the_new_truth(here: Bench, clock: Clock) -> None:
    first = here.decisions.record(AGENT, draft(title="Bake bread on Monday"))
    ids = [first.id]
    for title in ("Bake cake on Tuesday", "Buy pastry on Friday"):
        clock.turn()
        ids.append(here.decisions.supersede(AGENT, ids[-1:], draft(title=title)).id)
    here.decisions.record(AGENT, draft("wire", title="Speak JSON"))
    for mode in (Mode.STRICT, Mode.BALANCED):
        found = here.search.search(VIEWER, "bread Monday", mode, 5)
        assert found[0].decision.id == ids[-1]
        assert found[0].score >= 1.0
        assert len({each.decision.target for each in found}) == len(found)
        assert all(each.decision.status is DecisionStatus.ACTIVE for each in found)
    audited = here.search.search(VIEWER, "bread Monday", Mode.AUDIT, 20)
    assert {each.decision.id for each in audited} >= set(ids)
    assert {each.decision.status for each in audited} == {
        DecisionStatus.ACTIVE,
        DecisionStatus.SUPERSEDED,
    }


def test_a_chain_that_was_withdrawn_is_shown_as_past_and_never_in_strict(here: Bench) -> None:
    made = here.decisions.record(HUMAN, draft())
    here.decisions.withdraw(HUMAN, made.id)
    assert here.search.search(VIEWER, "SQLite", Mode.STRICT, 5) == []
    (found,) = here.search.search(VIEWER, "SQLite", Mode.BALANCED, 5)
    assert found.decision.status is DecisionStatus.WITHDRAWN
    assert found.score <= 0.1


def test_other_organizations_are_not_heard(here: Bench) -> None:
    here.decisions.record(AGENT, draft())
    stranger = replace(VIEWER, organization="zoo")
    assert here.search.search(stranger, "SQLite", Mode.AUDIT, 5) == []


def start(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.services.ledgers", str(folder), name, str(count)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_processes_that_decide_at_once_all_succeed_but_on_the_same_target(
    tmp_path: Path, clock: Clock
) -> None:
    workers = [start(tmp_path, name, 3) for name in "abcd"]
    said: list[tuple[str, str]] = []
    for worker in workers:
        out, err = worker.communicate(timeout=100)
        assert (worker.returncode, err) == (0, "")
        said += [(word, id) for word, id in map(str.split, out.splitlines())]
    here = bench(tmp_path, clock)
    ((_, winner),) = [each for each in said if each[0] == "won"]
    assert [id for word, id in said if word == "lost"] == [winner] * 3
    assert set(kept(here)) == {winner, *(id for word, id in said if word == "made")}
    check_agree(here)
    here.store.close()


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 8))]
)
def test_after_a_kill_at_any_instant_tables_and_ledger_agree(
    tmp_path: Path, clock: Clock, seed: int
) -> None:
    chance = random.Random(seed)
    acknowledged: set[str] = set()
    for life in range(2):
        workers = [start(tmp_path, f"{name}{life}", 5000) for name in "ab"]
        for worker in workers:
            assert worker.stdout is not None
            for _ in range(chance.randrange(2, 9)):
                acknowledged.add(worker.stdout.readline().split()[1])
        for worker in workers:
            worker.kill()
            rest, err = worker.communicate()
            assert worker.returncode < 0, err
            acknowledged |= {line.split()[1] for line in rest.splitlines() if len(line) > 45}
    here = bench(tmp_path, clock)
    here.following.start(HOME)
    assert acknowledged <= set(kept(here))
    check_agree(here)
    here.store.close()


def test_the_tables_follow_a_ledger_of_any_length_in_steps(here: Bench, tmp_path: Path) -> None:
    ledger = own(tmp_path / "ledger")
    first = numbered(0, "store", organization=HOME)
    record(ledger, first)
    assert here.following.follow(HOME) == 1
    for number in range(1, 6):
        taking, replaced = superseding(numbered(number, "store", organization=HOME), [first])
        record(ledger, taking, *replaced.values())
        first = taking
    assert here.following.follow(HOME) == 6
    assert here.following.follow(HOME) == 0
    check_agree(here)
