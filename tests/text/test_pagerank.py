from itertools import pairwise
from math import inf, nan, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.errors import InvalidInput
from minutebook.text.pagerank import Graph
from tests.text.walks import personalized_pagerank, visits

Edges = list[tuple[str, str, float]]
Seeds = dict[str, float]

nodes = st.sampled_from("abcdef")
weights = st.sampled_from([0.0, 0.25, 1.0, 1.0, 3.0, 1e-300, 1e300])
edge_lists = st.lists(st.tuples(nodes, nodes, weights), max_size=12)
plain_edges = st.lists(st.tuples(nodes, nodes, st.sampled_from([0.0, 0.5, 1.0, 4.0])), max_size=12)
seed_maps = st.dictionaries(nodes, weights, max_size=3).filter(lambda seeds: any(seeds.values()))


def shares(edges: Edges, seeds: Seeds, iterations: int = 15) -> dict[str, float]:
    return visits(edges, seeds, damping=0.5, iterations=iterations, tolerance=0)


def test_two_neighbours_share_as_the_walk_does() -> None:
    found = personalized_pagerank([("b", "a", 2.0)], {"a": 5.0}, iterations=60, tolerance=0)
    assert found == pytest.approx({"a": 2 / 3, "b": 1 / 3})


def test_the_middle_of_a_path_is_divided_by_the_root_of_its_degree() -> None:
    edges = [("a", "b", 1.0), ("b", "c", 1.0)]
    found = personalized_pagerank(edges, {"b": 1.0}, iterations=60, tolerance=0)
    assert found == pytest.approx({"a": 1 / 6, "b": (2 / 3) / sqrt(2), "c": 1 / 6})


def test_a_neighbour_over_two_relations_counts_once_in_the_degree() -> None:
    twice = personalized_pagerank([("a", "b", 1.0), ("b", "a", 1.0)], {"a": 1.0})
    assert twice == pytest.approx(personalized_pagerank([("a", "b", 2.0)], {"a": 1.0}))


def test_where_no_edge_leads_away_the_walk_starts_again() -> None:
    found = personalized_pagerank(
        [("a", "b", 1.0)], {"a": 1.0, "z": 3.0}, iterations=60, tolerance=0
    )
    # z = ½ · ¾ + ½ z · ¾
    assert found["z"] == pytest.approx(0.6)


def test_what_no_edge_joins_to_a_seed_scores_nothing() -> None:
    found = personalized_pagerank([("a", "b", 1.0), ("c", "d", 1.0)], {"a": 1.0})
    assert found["c"] == found["d"] == 0


def test_without_seeds_nothing_scores() -> None:
    assert personalized_pagerank([("a", "b", 1.0)], {}) == {"a": 0, "b": 0}
    assert personalized_pagerank([], {}) == {}
    assert personalized_pagerank([], {"a": 0.0}) == {"a": 0}


def test_the_walk_ends_when_it_no_longer_changes() -> None:
    edges, seeds = [("a", "b", 1.0), ("b", "c", 1.0)], {"a": 1.0}
    settled = visits(edges, seeds, damping=0.5, iterations=1000, tolerance=1e-2)
    walks = [shares(edges, seeds, iterations) for iterations in range(20)]
    changes = [
        sum(abs(later[node] - earlier[node]) for node in later)
        for earlier, later in pairwise(walks)
    ]
    last = next(n for n, change in enumerate(changes) if change < 1e-2)
    assert 0 < last < 18
    assert settled == walks[last + 1]


@pytest.mark.parametrize("weight", [-1.0, nan, inf])
def test_a_weight_that_is_none_is_refused_by_name(weight: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        personalized_pagerank([("a", "b", weight)], {"a": 1.0})
    assert refused.value.argument == "edges"
    with pytest.raises(InvalidInput) as refused:
        personalized_pagerank([], {"a": weight})
    assert refused.value.argument == "seeds"


@given(edge_lists, seed_maps)
def test_the_shares_of_all_nodes_sum_to_one(edges: Edges, seeds: Seeds) -> None:
    found = shares(edges, seeds)
    assert sum(found.values()) == pytest.approx(1)
    assert all(share >= 0 for share in found.values())


@given(edge_lists, seed_maps, st.randoms())
def test_order_and_direction_of_the_edges_change_nothing(
    edges: Edges, seeds: Seeds, random: Random
) -> None:
    shuffled = [random.choice([(one, other, w), (other, one, w)]) for one, other, w in edges]
    random.shuffle(shuffled)
    turned = dict(reversed(seeds.items()))
    assert personalized_pagerank(shuffled, turned) == personalized_pagerank(edges, seeds)


@given(edge_lists, seed_maps, nodes, nodes)
def test_edges_without_weight_and_loops_are_as_if_absent(
    edges: Edges, seeds: Seeds, one: str, other: str
) -> None:
    more = [*edges, (one, other, 0.0), (one, one, 2.0)]
    assert personalized_pagerank(more, seeds) == personalized_pagerank(edges, seeds)


@given(plain_edges, seed_maps)
def test_the_scale_of_weights_and_of_seeds_changes_nothing(edges: Edges, seeds: Seeds) -> None:
    scaled = [(one, other, weight * 4) for one, other, weight in edges]
    found = personalized_pagerank(scaled, {node: seed / 2 for node, seed in seeds.items()})
    assert found == pytest.approx(personalized_pagerank(edges, seeds))


@given(plain_edges, st.dictionaries(nodes, st.sampled_from([0.5, 1.0]), min_size=1))
def test_shares_are_the_solution_of_the_walks_equations(edges: Edges, seeds: Seeds) -> None:
    names = sorted({end for one, other, _ in edges for end in (one, other)} | seeds.keys())
    place = {name: number for number, name in enumerate(names)}
    joined = np.zeros((len(names), len(names)))
    for one, other, weight in edges:
        if one != other:
            joined[place[one], place[other]] += weight
            joined[place[other], place[one]] += weight
    alone = joined.sum(axis=1) == 0
    joined[alone] = [seeds.get(name, 0.0) for name in names]
    start = np.array([seeds.get(name, 0.0) for name in names])
    step = joined / joined.sum(axis=1, keepdims=True)
    solved = np.linalg.solve(np.eye(len(names)) - 0.5 * step.T, 0.5 * start / start.sum())
    found = shares(edges, seeds, iterations=80)
    assert [found.get(name, 0.0) for name in names] == pytest.approx(solved.tolist(), abs=1e-12)


@given(st.integers(1, 6), st.sampled_from([0.5, 1.0, 7.0]))
def test_on_a_path_the_nearer_scores_higher_and_both_sides_alike(reach: int, weight: float) -> None:
    edges = [(f"{n:+}", f"{n + 1:+}", weight) for n in range(-reach, reach)]
    found = personalized_pagerank(edges, {"+0": 1.0})
    outwards = [found[f"{n:+}"] for n in range(reach + 1)]
    assert outwards == sorted(outwards, reverse=True)
    assert outwards == pytest.approx(
        [found["+0"], *(found[f"{-n:+}"] for n in range(1, reach + 1))]
    )


@given(st.integers(2, 30))
def test_an_entity_that_everything_names_carries_less(named: int) -> None:
    hub = [("hub", f"m{n}", 1.0) for n in range(named)]
    found = personalized_pagerank([*hub, ("rare", "m0", 1.0), ("rare", "r", 1.0)], {"m0": 1.0})
    assert found["r"] >= found["m1"]
    assert found["rare"] >= found["hub"]


def test_a_seed_that_leads_back_only_to_itself_gets_nothing() -> None:
    found = Graph([("a", "e", 1.0)]).arrivals({"a": 1.0})
    assert found["a"] == pytest.approx(0, abs=1e-5)
    assert found["e"] > 0.2


def test_two_seeds_that_share_a_neighbour_get_what_the_other_sends() -> None:
    edges, seeds = [("a", "e", 1.0), ("b", "e", 1.0)], {"a": 3.0, "b": 1.0}
    found = Graph(edges).arrivals(seeds)
    from_b = personalized_pagerank(edges, {"b": 1.0})["a"] / 4
    from_a = personalized_pagerank(edges, {"a": 1.0})["b"] * 3 / 4
    assert (found["a"], found["b"]) == pytest.approx((from_b, from_a), abs=1e-5)
    assert found["b"] > found["a"]


@given(plain_edges, seed_maps.filter(lambda seeds: max(seeds.values()) < 10))
def test_arrivals_are_the_walks_of_all_other_seeds(edges: Edges, seeds: Seeds) -> None:
    joined = {end for one, other, w in edges if w and one != other for end in (one, other)}
    starts = {seed: weight for seed, weight in seeds.items() if seed in joined and weight > 0}
    walks = {seed: personalized_pagerank(edges, {seed: 1.0}) for seed in starts}
    found = Graph(edges).arrivals(seeds)
    assert set(found) == joined
    for node, arrived in found.items():
        others = [
            starts[seed] / sum(starts.values()) * walk[node]
            for seed, walk in walks.items()
            if seed != node
        ]
        assert arrived == pytest.approx(sum(others), abs=1e-4)
