"""Chains of decisions as they are drawn."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.ledger import graphs as decision_graphs
from minutebook.record.records import Authorship, Decision, DecisionStatus
from tests.world import NOON


def decided(number: int, *supersedes: int, by: tuple[int, ...] = (), **changes: str) -> Decision:
    told = {"target": "database", "title": f"title {number}"} | changes
    return Decision(
        organization="default",
        id=f"d{number}",
        target=told["target"],
        title=told["title"],
        rationale="because of this",
        status=DecisionStatus.SUPERSEDED if by else DecisionStatus.ACTIVE,
        authorship=Authorship.HUMAN,
        author="ana",
        created_at=NOON + timedelta(days=number),
        supersedes=tuple(f"d{each}" for each in supersedes),
        superseded_by=tuple(f"d{each}" for each in by),
    )


def drawn(*decisions: Decision) -> list[str]:
    return list(decision_graphs.tree(decisions, lambda each: each.id))


def test_a_chain_keeps_its_column_with_the_truth_on_top() -> None:
    told = drawn(decided(1, by=(2,)), decided(3, 2), decided(2, 1, by=(3,)))
    assert told == ["● d3", "○ d2", "○ d1"]


def test_what_replaced_several_branches_and_what_they_share_is_drawn_once() -> None:
    told = drawn(
        decided(1, by=(2, 3)),
        decided(2, 1, by=(5,)),
        decided(3, 1, by=(5,)),
        decided(4, by=(5,)),
        decided(5, 2, 3, 4),
    )
    assert told == ["● d5", "├─○ d4", "├─○ d3", "│ ○ d1", "└─○ d2", "  ○ d1 (see above)"]


def test_chains_that_have_nothing_in_common_follow_one_another_newest_first() -> None:
    assert drawn(decided(1), decided(2)) == ["● d2", "● d1"]


numbers = st.integers(0, 8)


@given(st.dictionaries(numbers, st.sets(numbers, max_size=3), max_size=9))
def test_every_decision_is_drawn_once_whatever_replaced_what(named: dict[int, set[int]]) -> None:
    found = [decided(number, *sorted(old)) for number, old in named.items()]
    told = drawn(*found)
    whole = [line.split()[-1] for line in told if not line.endswith("(see above)")]
    assert sorted(whole) == sorted(each.id for each in found)


def test_a_chain_of_many_thousands_is_drawn() -> None:
    many = [decided(number, number - 1) for number in range(1, 5000)]
    assert len(drawn(decided(0), *many)) == 5000


def test_mermaid_leads_from_old_to_new_and_is_not_broken_out_of() -> None:
    hostile = 'say "no"]; <b>#1</b>\n`x`'
    told = list(decision_graphs.mermaid([decided(2, 1), decided(1, by=(2,), title=hostile)]))
    assert told[0] == "flowchart LR"
    assert "  d0 --> d1" in told
    assert told[1].startswith('  d0["database<br/>say #34;no#34;]; #60;b#62;#35;1')
    assert told[1].endswith('"]:::superseded')
    assert told[1].count('"') == 2
    assert told[2].endswith('2026-01-08 ana (human)"]:::active')


def test_dot_leads_from_old_to_new_and_is_not_broken_out_of() -> None:
    hostile = 'a "b" \\ c\nd'
    told = list(decision_graphs.dot([decided(2, 1), decided(1, by=(2,), title=hostile)]))
    assert (told[0], told[-1]) == ("digraph decisions {", "}")
    assert '  "d1" -> "d2";' in told
    assert 'label="database\\na \\"b\\" \\\\ c d\\n2026-01-07 ana (human)"' in told[3]
