"""What makes a ledger sound, over histories drawn act by act."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minutebook.features.ledger.lineage import (
    Rule,
    TargetKey,
    active_successors,
    check_is_pending,
    check_may_record,
    check_may_supersede,
    check_review_is_over,
    scoped_target,
    superseding,
    violations,
    violations_between,
    violations_near,
)
from minutebook.record.caller import Caller
from minutebook.record.errors import Conflict, Decided, Forbidden, UnderReview
from minutebook.record.policy import check_not_viewer
from minutebook.record.records import Authorship, Decision, DecisionStatus, ProposalStatus, Role
from minutebook.record.writing.decision_drafts import (
    IMMUTABLE_FIELDS,
    authorship_of,
    check_may_accept,
)
from tests.store.samples import START, decision, proposal

ACTIVE, SUPERSEDED, WITHDRAWN = DecisionStatus
HOUR = timedelta(hours=1)
Ledger = dict[str, Decision]


def by(role: Role) -> Caller:
    return Caller(name="ana", role=role)


AGENT, HUMAN, ADMIN = by(Role.AGENT), by(Role.HUMAN), by(Role.ADMIN)


def active_on(ledger: Ledger, seat: TargetKey) -> list[Decision]:
    return [
        each for each in ledger.values() if each.status is ACTIVE and scoped_target(each) == seat
    ]


def found_near(ledger: Ledger, touched: set[str]) -> list[Any]:
    return violations_near(touched, ledger.get, lambda seat: active_on(ledger, seat))


@st.composite
def histories(draw: st.DrawFn, least: int = 0) -> list[tuple[Ledger, set[str]]]:
    """Draw a sound life of a ledger: it after each act, and what the act touched."""
    ledger: Ledger = {}
    states = []
    for number in range(draw(st.integers(least, 8))):
        id = f"d{number}"
        new = decision(
            id,
            target=draw(st.sampled_from(["store", "Store", "a wire", "a-wire"])),
            repository=draw(st.sampled_from([None, "r"])),
            authorship=draw(st.sampled_from(Authorship)),
        )
        old = active_on(ledger, scoped_target(new))
        if old and draw(st.integers(0, 4)) == 0:
            changed = {old[0].id: replace(old[0], status=WITHDRAWN)}
        else:
            new, *replaced = superseding(new, old)
            changed = {each.id: each for each in (new, *replaced)}
        ledger = {**ledger, **changed}
        states.append((ledger, set(changed)))
    return states


@given(histories())
def test_every_ledger_that_grew_act_by_act_is_sound(states: list[tuple[Ledger, set[str]]]) -> None:
    before: Ledger = {}
    for ledger, touched in states:
        assert violations(ledger.values()) == []
        assert found_near(ledger, touched) == []
        for id in {*before, *ledger}:
            assert violations_between(before.get(id), ledger.get(id)) == []
        before = ledger


@given(histories(1))
def test_truth_is_the_same_from_every_member_of_a_chain(
    states: list[tuple[Ledger, set[str]]],
) -> None:
    ledger = states[-1][0]
    for each in ledger.values():
        ends = active_successors(each, ledger.get)
        assert len(ends) <= 1
        for id in (*each.supersedes, *each.superseded_by):
            assert active_successors(ledger[id], ledger.get) == ends
        if each.status is ACTIVE:
            assert ends == (each,)
        for end in ends:
            assert active_on(ledger, scoped_target(each)) == [end]


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from("abcde"), max_size=3)))
def test_truth_is_found_or_not_but_always_ends(arrows: dict[str, list[str]]) -> None:
    ledger = {id: decision(id, superseded_by=tuple(to)) for id, to in arrows.items()}
    for each in ledger.values():
        assert each in active_successors(each, ledger.get)


@st.composite
def mutations(draw: st.DrawFn) -> tuple[Ledger, Ledger, str]:
    """Draw a sound ledger, it with one field of one decision changed, and the decision's id."""
    ledger = draw(histories(1))[-1][0]
    id = draw(st.sampled_from(sorted(ledger)))
    names = st.sampled_from([*sorted(ledger), "nobody"])
    changes: dict[str, st.SearchStrategy[Any]] = {
        "target": st.sampled_from(["store", "wire", "else"]),
        "repository": st.sampled_from([None, "r", "s"]),
        "status": st.sampled_from(DecisionStatus),
        "supersedes": st.lists(names, max_size=2).map(tuple),
        "superseded_by": st.lists(names, max_size=2).map(tuple),
        "title": st.just("another"),
        "rationale": st.just("another reason"),
        "consequences": st.just(("another",)),
        "author": st.just("bo"),
        "authorship": st.sampled_from(Authorship),
        "created_at": st.just(START + HOUR),
        "proposal": st.just("p"),
        "user": st.just("u"),
    }
    field = draw(st.sampled_from(sorted(changes)))
    value = draw(changes[field])
    assume(getattr(ledger[id], field) != value)
    return ledger, {**ledger, id: replace(ledger[id], **{field: value})}, id


@given(mutations())
def test_every_single_change_of_a_sound_ledger_is_found(case: tuple[Ledger, Ledger, str]) -> None:
    ledger, mutated, id = case
    across = violations_between(ledger[id], mutated[id])
    near = found_near(mutated, {id})
    withdrawn = ledger[id].status is ACTIVE and mutated[id].status is WITHDRAWN
    assert bool(across or near) is not withdrawn
    if not across:
        # What cannot be told from the act shows in the ledger, however it is looked at.
        assert bool(near) == bool(violations(mutated.values()))


@given(histories(1), st.data())
def test_a_removed_decision_is_found(
    states: list[tuple[Ledger, set[str]]], data: st.DataObject
) -> None:
    ledger = states[-1][0]
    gone = ledger[data.draw(st.sampled_from(sorted(ledger)))]
    assert [v.rule for v in violations_between(gone, None)] == [Rule.KEPT]
    rest = {id: each for id, each in ledger.items() if id != gone.id}
    joined = bool(gone.supersedes or gone.superseded_by)
    assert any(gone.id in v.ids for v in violations(rest.values())) is joined


@given(mutations())
def test_a_look_at_what_was_touched_finds_no_more_than_a_look_at_all(
    case: tuple[Ledger, Ledger, str],
) -> None:
    _, mutated, id = case
    assert set(found_near(mutated, {id})) <= set(violations(mutated.values()))


def chain(*arrows: str, **statuses: DecisionStatus) -> Ledger:
    """Make decisions of arrows such as `a>b`: b supersedes a."""
    pairs = [tuple(arrow.split(">")) for arrow in arrows]
    return {
        id: decision(
            id,
            supersedes=tuple(old for old, new in pairs if new == id),
            superseded_by=tuple(new for old, new in pairs if old == id),
            status=statuses.get(id, SUPERSEDED if any(id == o for o, _ in pairs) else ACTIVE),
        )
        for id in sorted({id for pair in pairs for id in pair})
    }


def rules(ledger: Ledger) -> list[tuple[Rule, tuple[str, ...]]]:
    return [(each.rule, each.ids) for each in violations(ledger.values())]


def test_a_cycle_is_named_once_with_its_members() -> None:
    assert rules(chain("a>b", "b>c", "c>b")) == [(Rule.NO_CYCLE, ("b", "c"))]


@pytest.mark.thorough
def test_a_chain_is_followed_beyond_the_depth_of_calls() -> None:
    length = sys.getrecursionlimit() + 100
    ledger = chain(*(f"{n:05}>{n + 1:05}" for n in range(length)))
    assert violations(ledger.values()) == []
    assert [each.id for each in active_successors(ledger["00000"], ledger.get)] == [f"{length:05}"]


def test_two_that_superseded_the_same_on_two_branches_are_a_conflict_until_one_supersedes_both() -> (
    None
):
    forked = chain("a>b", "a>c")
    assert rules(forked) == [(Rule.ONE_ACTIVE, ("b", "c"))]
    assert [each.id for each in active_successors(forked["a"], forked.get)] == ["b", "c"]
    joined = chain("a>b", "a>c", "b>d", "c>d")
    assert rules(joined) == []
    assert [each.id for each in active_successors(joined["a"], joined.get)] == ["d"]


def test_a_chain_that_was_withdrawn_has_no_truth() -> None:
    ledger = chain("a>b", b=WITHDRAWN)
    assert rules(ledger) == []
    assert active_successors(ledger["a"], ledger.get) == ()


def test_other_scopes_are_other_seats() -> None:
    several = [decision(id, repository=id, user="u") for id in "ab"]
    assert violations([*several, decision("c")]) == []


@pytest.mark.parametrize("field", IMMUTABLE_FIELDS)
def test_what_was_decided_does_not_change(field: str) -> None:
    before = decision("a")
    values: dict[str, Any] = {"consequences": ("x",), "supersedes": ("x",)}
    values |= {"created_at": START + HOUR, "authorship": Authorship.HUMAN}
    after = replace(before, **{field: values.get(field, "x")})
    assert [(v.rule, v.reason) for v in violations_between(before, after)] == [
        (Rule.FIXED, f"its {field} was changed")
    ]


def old(**fields: Any) -> Decision:
    return decision(**{"id": "a", **fields})


def seat(*decisions: Decision) -> tuple[TargetKey, Sequence[Decision], Sequence[Decision]]:
    return scoped_target(old()), decisions, decisions


def test_a_target_that_was_decided_is_refused_with_the_decision_that_stands() -> None:
    with pytest.raises(Decided) as refused:
        check_may_record(HUMAN, [old()])
    assert (refused.value.id, refused.value.target) == ("a", "store")
    check_may_record(AGENT, [])


def test_an_agent_supersedes_an_agent_and_a_person_supersedes_both() -> None:
    theirs, ours = old(authorship=Authorship.AGENT), old(authorship=Authorship.HUMAN)
    check_may_supersede(AGENT, *seat(theirs))
    check_may_supersede(HUMAN, *seat(theirs))
    check_may_supersede(HUMAN, *seat(ours))
    with pytest.raises(Forbidden, match="decided by a person"):
        check_may_supersede(AGENT, *seat(ours))


def test_where_a_merge_left_two_a_person_chooses() -> None:
    two = [old(), old(id="b")]
    check_may_supersede(HUMAN, *seat(*two))
    with pytest.raises(Forbidden, match="a person chooses"):
        check_may_supersede(AGENT, *seat(*two))


@pytest.mark.parametrize(
    ("named", "active", "reason"),
    [
        ([], [old()], "name the decision"),
        ([old(target="wire")], [old()], "another target"),
        ([old(status=SUPERSEDED, superseded_by=("b",))], [], "superseded by b"),
        ([old(status=WITHDRAWN)], [], "it is withdrawn"),
        ([old()], [old(), old(id="b")], "active on this target as well"),
    ],
)
def test_all_that_is_active_on_the_target_is_superseded_and_nothing_else(
    named: list[Decision], active: list[Decision], reason: str
) -> None:
    with pytest.raises(Conflict, match=reason):
        check_may_supersede(ADMIN, scoped_target(old()), named, active)


@pytest.mark.parametrize("role", Role)
def test_who_decides_is_known_by_the_role(role: Role) -> None:
    is_agent = role in (Role.VIEWER, Role.AGENT)
    assert authorship_of(by(role)) is (Authorship.AGENT if is_agent else Authorship.HUMAN)


def test_a_viewer_only_reads() -> None:
    viewer = by(Role.VIEWER)
    for ask in (
        lambda: check_may_record(viewer, []),
        lambda: check_not_viewer(viewer, "propose"),
        lambda: check_may_supersede(viewer, *seat(old())),
        lambda: check_may_accept(viewer),
    ):
        with pytest.raises(Forbidden):
            ask()


def test_only_an_admin_accepts() -> None:
    for role in Role:
        if role is not Role.ADMIN:
            with pytest.raises(Forbidden):
                check_may_accept(by(role))
    check_may_accept(ADMIN)


def test_a_proposal_is_accepted_from_the_end_of_its_review_on() -> None:
    pending = proposal()
    with pytest.raises(UnderReview) as refused:
        check_review_is_over(pending, START + HOUR - timedelta(microseconds=1), HOUR)
    assert (refused.value.id, refused.value.opens) == ("a", START + HOUR)
    check_review_is_over(pending, START + HOUR, HOUR)


def test_a_proposal_is_settled_once() -> None:
    check_is_pending(proposal())
    with pytest.raises(Conflict, match="accepted already as d"):
        check_is_pending(proposal(status=ProposalStatus.ACCEPTED, decision="d"))
    with pytest.raises(Conflict, match="declined already"):
        check_is_pending(proposal(status=ProposalStatus.DECLINED))
