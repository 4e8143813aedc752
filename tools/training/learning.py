"""Draw batches from shards, learn a residual, and judge it on the way."""

import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from minutebook.text.binary_codes import rotated
from tools.training.judging import MEAN, Judge, unchanged
from tools.training.residual import Adam, Batch, Objective, Residual, Tokens, loss, unit
from tools.training.states import Asked, Shard

SHARES = {
    "molweni": 0.12,
    **dict.fromkeys(("arcd", "jaquad", "cmrc", "iapp"), 0.06),
    **dict.fromkeys(("gnome", "libreoffice"), 0.09),
    **dict.fromkeys(("python", "npm"), 0.07),
    "tatoeba": 0.08,
}
"""How often a batch is of a source, beside one another; 0.1 for one that is not named."""
POOLS_OF_A_BATCH = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """How a residual is learnt; `left_out` names the sources that it does not see."""

    rank: int = 64
    steps: int = 1200
    rate: float = 1e-3
    objective: Objective = field(default_factory=Objective)
    left_out: tuple[str, ...] = ()
    seed: int = 34


class Drawing:
    """Draws batches of a few pools of one source."""

    def __init__(self, shards: Sequence[Shard], seed: int, pools: int = POOLS_OF_A_BATCH) -> None:
        self._count = pools
        self._chance = random.Random(seed)
        self._shards = list(shards)
        self._pools = [_pools(each) for each in self._shards]
        self._shares = [SHARES.get(each.name, 0.1) for each in self._shards]

    def batches(self) -> Iterator[tuple[Shard, list[Asked], list[int]]]:
        """Yield, without an end, a shard, what is asked, and the texts that it is compared with."""
        places = range(len(self._shards))
        while True:
            (at,) = self._chance.choices(places, self._shares)
            chosen = self._chance.sample(self._pools[at], min(self._count, len(self._pools[at])))
            asked = [each for pool in chosen for each in pool]
            shard = self._shards[at]
            texts = [each for pool in chosen for each in pool[0].texts if shard.is_telling(each)]
            yield shard, asked, texts


def _pools(shard: Shard) -> list[list[Asked]]:
    found: dict[int, list[Asked]] = {}
    for each in shard.asked:
        found.setdefault(each.texts[0], []).append(each)
    return list(found.values())


def batch_of(shard: Shard, asked: Sequence[Asked], texts: Sequence[int], *, as_kept: bool) -> Batch:
    """Read the states of a batch; `as_kept`: those of texts as the signs that a store keeps."""
    place = {text: at for at, text in enumerate(texts)}
    holds = np.zeros((len(asked), len(texts)), bool)
    for row, each in enumerate(asked):
        holds[row, [place[each.texts[at]] for at in each.held]] = True
    return Batch(
        [tokens_of(shard, each.question) for each in asked],
        [_signs(tokens_of(shard, each)) if as_kept else tokens_of(shard, each) for each in texts],
        holds,
    )


def tokens_of(shard: Shard, sequence: int) -> Tokens:
    """Read the tokens of a sequence that say something."""
    own = shard.own(sequence)
    telling = shard.surprise[own] > 0
    if not telling.any():
        telling[:] = True
    states = shard.last[own].astype(np.float32)[telling] - MEAN
    return Tokens(shard.ids[own][telling], shard.surprise[own][telling], states)


def _signs(tokens: Tokens) -> Tokens:
    """Return tokens whose states are unit rows of signs, turned back from how they are kept."""
    signs = np.where(rotated(tokens.states) >= 0, np.float32(1), np.float32(-1))
    return replace(tokens, states=unit(signs @ rotated(np.eye(len(MEAN), dtype=np.float32)).T))


def learnt(
    shards: Sequence[Shard], judges: Sequence[Judge], plan: Plan, log: Path, every: int = 500
) -> Residual:
    """Learn by a plan; what each judge says on the way goes to a log, and the matrices beside it."""
    residual = Residual.fresh(len(MEAN), plan.rank, plan.seed)
    adam = Adam(plan.rate, plan.steps)
    values = {"down": residual.down, "up": residual.up}
    drawing = Drawing([each for each in shards if each.name not in plan.left_out], plan.seed)
    losses, started = list[float](), time.process_time()
    with log.open("w", encoding="utf-8") as file:
        for step, drawn in enumerate(drawing.batches()):
            if step % every == 0:
                told = told_of(judges, residual, plan.objective)
                told |= {"step": step, "loss": round(float(np.mean(losses or [0])), 4)}
                told |= {"cpu": round(time.process_time() - started)}
                file.write(json.dumps(told) + "\n")
                file.flush()
                np.savez(log.with_suffix(f".{step}.npz"), down=residual.down, up=residual.up)
                losses = []
            if step == plan.steps:
                return residual
            batch = batch_of(*drawn, as_kept=not plan.objective.of_texts)
            value, down, up = loss(residual, batch, plan.objective)
            adam.step(values, {"down": down, "up": up})
            losses.append(value)
    return residual


def told_of(judges: Sequence[Judge], residual: Residual, objective: Objective) -> dict[str, object]:
    """Return NDCG@10, the share first and the area of each set."""
    told = dict[str, object]()
    for judge in judges:
        found = judge.figures(residual, residual if objective.of_texts else unchanged)
        means = float(found.ndcg.mean()), float(found.first.mean()), found.area
        told[judge.shard.name] = [round(100 * each, 2) for each in means]
    return told
