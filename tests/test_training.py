from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tools.training.deltas import deltas
from tools.training.judging import left_out
from tools.training.residual import Batch, Objective, Residual, Tokens, loss, unit
from tools.training.sources import Pool, usable

WIDTH, RANK = 12, 3
HOLDS = np.array([[True, False, True], [False, True, False]])


def tokens(chance, count):
    pieces = chance.integers(0, 50, count).astype(np.int32)
    return Tokens(pieces, chance.uniform(3, 9, count), unit(chance.standard_normal((count, WIDTH))))


def case():
    chance = np.random.default_rng(0)
    batch = Batch(
        [tokens(chance, count) for count in (4, 3)],
        [tokens(chance, count) for count in (6, 5, 7)],
        HOLDS,
    )
    down, up = chance.standard_normal((WIDTH, RANK)), chance.standard_normal((RANK, WIDTH))
    return Residual(0.3 * down, 0.3 * up), batch


@pytest.mark.parametrize("of_texts", [True, False])
@pytest.mark.parametrize("part", ["down", "up"])
def test_the_gradients_are_those_of_the_loss(part, of_texts):
    residual, batch = case()
    objective = Objective(logistic=0.3, keeping=0.1, of_texts=of_texts)
    _, *gradients = loss(residual, batch, objective)
    gradient = gradients[("down", "up").index(part)]
    for place in [(0, 0), (1, 2), (2, 1)]:
        around = []
        for step in (1e-6, -1e-6):
            moved = getattr(residual, part).copy()
            moved[place] += step
            around.append(loss(replace(residual, **{part: moved}), batch, objective)[0])
        assert_allclose((around[0] - around[1]) / 2e-6, gradient[place], rtol=1e-4)


def test_a_residual_begins_as_the_identity_and_folds_into_one_matrix():
    residual, batch = case()
    rows = batch.texts[0].states
    fresh = Residual.fresh(WIDTH, RANK, seed=0)
    assert_allclose(fresh(rows.astype(np.float32)), rows, atol=1e-6)
    assert_allclose(unit(rows @ residual.folded()), residual(rows), atol=1e-6)


def test_a_question_is_kept_once_and_only_with_a_text_that_says_something():
    texts = ["a text that is long enough to answer", "short", "another that is long enough", "x"]
    pool = usable(Pool(texts, [("asked", [0, 1]), ("asked", [2]), ("of nothing", [1, 3])]))
    assert pool is not None
    assert pool.questions == [("asked", [0])]


def test_deltas_are_read_as_kept_and_scaled(tmp_path):
    kept: dict[str, Any] = {"l1.q.a": np.ones((RANK, WIDTH)), "l1.q.u": np.full((5, RANK), 0.5)}
    np.savez(tmp_path / "some.npz", **kept)
    (found,) = deltas(tmp_path / "some.npz", 0.5).items()
    assert found[0] == "l1.q.w"
    assert_allclose(found[1], np.full((5, WIDTH), 0.75))


def test_a_set_that_is_left_out_is_told_what_the_others_chose():
    gains = {"bold": {"talk": 3.0, "notes": -5.0}, "mild": {"talk": 1.0, "notes": 0.5}}
    assert list(left_out(gains)) == [("talk", "mild", 1.0), ("notes", "bold", -5.0)]
