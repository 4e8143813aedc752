from math import inf, nan

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from minutebook.record.errors import InvalidInput
from minutebook.text.fusion import FusedHit, Share, Signal, fuse, minmax, z_normalise

VECTOR, LEXICAL, GRAPH = Signal.VECTOR, Signal.LEXICAL, Signal.GRAPH
Scores = dict[str, float]
Signals = dict[Signal, Scores]
Weights = dict[Signal, float]

EQUAL = {VECTOR: 1.0, LEXICAL: 1.0, GRAPH: 1.0}

ids = st.sampled_from("abcdef")
raw = st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0, 8.0])
score_maps = st.dictionaries(ids, raw, max_size=6)
walked = st.dictionaries(ids, st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=6)
signal_maps = st.fixed_dictionaries(
    {}, optional={VECTOR: score_maps, LEXICAL: score_maps, GRAPH: walked}
)
weight_maps = st.fixed_dictionaries(
    dict.fromkeys(Signal, st.sampled_from([0.0, 0.15, 0.4, 1.0, 3.0]))
).filter(lambda weights: any(weights.values()))


def told(hits: list[FusedHit]) -> Scores:
    return {hit.id: hit.score for hit in hits}


def test_minmax_puts_the_best_at_one_and_the_worst_at_nought() -> None:
    assert minmax({"a": -2.0, "b": 0.0, "c": 2.0}) == {"a": 0.0, "b": 0.5, "c": 1.0}


def test_minmax_of_equal_scores_is_one_each() -> None:
    assert minmax({"a": 0.0}) == {"a": 1.0}
    assert minmax({"a": 3.0, "b": 3.0}) == {"a": 1.0, "b": 1.0}
    assert minmax({}) == {}


def test_what_a_walk_gives_is_taken_as_it_is() -> None:
    hits = fuse({GRAPH: {"a": 0.5, "b": 0.25}, VECTOR: {"a": 0.1, "c": 0.9}}, EQUAL, 10)
    assert told(hits) == {"c": 0.5, "a": 0.25, "b": 0.125}


def test_z_normalised_scores_count_population_deviations_from_the_mean() -> None:
    assert z_normalise([1.0, 3.0]) == [-1.0, 1.0]
    assert z_normalise([1.0, 1.0 + 1e-6]) == [0.0, 0.0]
    assert z_normalise([]) == []


@given(score_maps.filter(lambda scores: len({*scores.values()}) > 1))
def test_z_normalised_scores_have_mean_nought_and_deviation_one(scores: Scores) -> None:
    found = z_normalise([*scores.values()])
    assert sum(found) == pytest.approx(0, abs=1e-9)
    assert sum(score**2 for score in found) == pytest.approx(len(found))


def test_a_hit_tells_what_each_signal_said_and_gave() -> None:
    signals = {VECTOR: {"a": 1.0, "b": 0.75, "c": 0.5}, LEXICAL: {"b": 7.0, "d": 2.0}}
    first, second, *_ = fuse(signals, {VECTOR: 2.0, LEXICAL: 2.0, GRAPH: 1.0}, 10)
    assert first == FusedHit(
        "b",
        0.75,
        (Share(VECTOR, 0.75, 0.5, 2, 0.5, 1 / 3), Share(LEXICAL, 7.0, 1.0, 1, 0.5, 2 / 3)),
    )
    assert second == FusedHit(
        "a", 0.5, (Share(VECTOR, 1.0, 1.0, 1, 0.5, 1.0), Share(LEXICAL, None, 0.0, None, 0.5, 0.0))
    )


def test_equal_scores_are_ranked_by_id() -> None:
    hits = fuse({VECTOR: {"b": 0.5, "c": 0.5, "a": 0.5}}, EQUAL, 2)
    assert [(hit.id, hit.score, hit.shares[0].rank) for hit in hits] == [("a", 1, 1), ("b", 1, 2)]


def test_a_candidate_of_a_signal_without_weight_is_no_hit() -> None:
    hits = fuse({VECTOR: {"a": 0.5}, GRAPH: {"b": 0.5}}, {**EQUAL, GRAPH: 0.0}, 10)
    assert told(hits) == {"a": 1.0}
    assert fuse({GRAPH: {"b": 0.5}}, {**EQUAL, GRAPH: 0.0}, 10) == []


@pytest.mark.parametrize("wrong", [-0.1, nan, inf, -inf])
@pytest.mark.parametrize("signal", Signal)
def test_a_wrong_weight_is_refused_by_name(signal: Signal, wrong: float) -> None:
    with pytest.raises(InvalidInput) as refused:
        fuse({}, {**EQUAL, signal: wrong}, 10)
    assert refused.value.argument == f"{signal.value}_weight"


def test_weights_that_are_all_zero_are_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        fuse({VECTOR: {"a": 1.0}}, {VECTOR: 0.0, GRAPH: 0.0}, 10)
    assert refused.value.argument == "vector_weight, graph_weight"


@given(signal_maps, weight_maps, st.integers(0, 7))
def test_hits_are_the_best_of_all_candidates_in_order(
    signals: Signals, weights: Weights, limit: int
) -> None:
    every = fuse(signals, weights, 100)
    counting = [signal for signal in signals if weights[signal] > 0]
    assert {hit.id for hit in every} == {id for signal in counting for id in signals[signal]}
    assert every == sorted(every, key=lambda hit: (-hit.score, hit.id))
    assert all(0 <= hit.score <= 1 + 1e-12 for hit in every)
    assert fuse(signals, weights, limit) == every[:limit]


@given(signal_maps, weight_maps)
def test_shares_sum_to_one_when_anything_scored(signals: Signals, weights: Weights) -> None:
    for hit in fuse(signals, weights, 100):
        assert sum(one.share for one in hit.shares) == pytest.approx(1 if hit.score > 0 else 0)
        assert sum(one.weight for one in hit.shares) == pytest.approx(1)
        assert hit.score == pytest.approx(sum(one.weight * one.normalised for one in hit.shares))


@given(signal_maps, weight_maps)
def test_ranks_follow_raw_scores(signals: Signals, weights: Weights) -> None:
    for hit in fuse(signals, weights, 100):
        for share in hit.shares:
            scores = signals[share.signal]
            assert share.raw == scores.get(hit.id)
            if share.raw is not None:
                before = sum((-s, id) < (-share.raw, hit.id) for id, s in scores.items())
                assert share.rank == before + 1


@given(signal_maps, weight_maps, ids, st.sampled_from(Signal), raw, st.sampled_from([0.1, 9.0]))
def test_a_higher_raw_score_never_hurts_against_anyone(
    signals: Signals, weights: Weights, id: str, signal: Signal, score: float, more: float
) -> None:
    scores = signals.get(signal, {})
    score = abs(score) if signal is GRAPH else score
    before = told(fuse({**signals, signal: {**scores, id: score}}, weights, 100))
    after = told(fuse({**signals, signal: {**scores, id: score + more}}, weights, 100))
    assert after.keys() == before.keys()
    for other in before.keys() if id in before else ():
        assert after[id] >= before[id] - 1e-12
        assert after[id] - after[other] >= before[id] - before[other] - 1e-12


@given(signal_maps, weight_maps, st.sampled_from([1e-3, 0.5, 7.0, 1e300]))
def test_only_the_proportion_of_weights_counts(
    signals: Signals, weights: Weights, factor: float
) -> None:
    scaled = {signal: weight * factor for signal, weight in weights.items()}
    assert told(fuse(signals, scaled, 100)) == pytest.approx(told(fuse(signals, weights, 100)))


@given(signal_maps, weight_maps, st.sampled_from([0.5, 4.0]), st.sampled_from([-2.0, 0.0, 16.0]))
def test_the_scale_of_raw_scores_does_not_count(
    signals: Signals, weights: Weights, factor: float, shift: float
) -> None:
    rescaled = {
        signal: {
            id: score if signal is GRAPH else score * factor + shift for id, score in scores.items()
        }
        for signal, scores in signals.items()
    }
    assert told(fuse(rescaled, weights, 100)) == pytest.approx(told(fuse(signals, weights, 100)))


@given(signal_maps, weight_maps)
def test_the_order_of_arguments_does_not_count(signals: Signals, weights: Weights) -> None:
    turned = {
        signal: dict(reversed(scores.items())) for signal, scores in reversed(signals.items())
    }
    assert fuse(turned, dict(reversed(weights.items())), 100) == fuse(signals, weights, 100)


@given(signal_maps, weight_maps, st.sampled_from(Signal), score_maps)
def test_absent_empty_and_weightless_signals_are_the_same(
    signals: Signals, weights: Weights, signal: Signal, scores: Scores
) -> None:
    without = {other: found for other, found in signals.items() if other is not signal}
    assert fuse({**without, signal: {}}, weights, 100) == fuse(without, weights, 100)
    weightless = {**weights, signal: 0.0}
    assume(any(weightless.values()))
    assert fuse({**without, signal: scores}, weightless, 100) == fuse(without, weights, 100)
