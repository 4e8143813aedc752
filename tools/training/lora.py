"""Low-rank changes (Hu et al., 2021) of all layers, products in bfloat16, all else in float32.

Needs torch, which is in requirements.lock here and no part of the product.
"""

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from minutebook.features.models.built_in.model_files import dequantise
from minutebook.text.calibration import ABOUT_MIDDLE, ABOUT_SLOPE
from tools.models.derive import MULTILINGUAL
from tools.models.graph import Weights
from tools.training.judging import MEAN
from tools.training.learning import Drawing, tokens_of
from tools.training.residual import ANSWER_WEIGHT, token_weights
from tools.training.states import Asked, Shard

STEPS = ("q", "k", "v", "ao", "fi", "fo")
"""The matrices of a layer."""
COSINE_SCALE = 20.0

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Plan:
    """How the layers are changed; `left_out` names the sources that they do not see."""

    rank: int = 16
    steps: int = 400
    rate: float = 1e-3
    cosine: float = 0.3
    logistic: float = 0.3
    keeping: float = 2.0
    others: int = 8
    """Texts of all sources in each batch that are only kept near where they were."""
    left_out: tuple[str, ...] = ()
    seed: int = 34


class Layers(nn.Module):
    """The transformer, each matrix W of a layer as W + UA; A and U alone are learnt."""

    def __init__(self, weights: Weights, plan: Plan) -> None:
        super().__init__()
        torch.manual_seed(plan.seed)
        shape = weights.shape
        self.heads, self.epsilon = shape.heads, shape.epsilon
        self.numbers = range(shape.layers)
        self.fixed = dict[str, Tensor]()
        self.learnt = nn.ParameterDict()
        self._table = weights.words()
        places = weights.tensor("emb.pos").reshape(-1, shape.width)
        self._places = places + weights.tensor("emb.type")[: shape.width]
        norms = [f"l{layer}.{norm}" for layer in self.numbers for norm in ("aln", "oln")]
        for name in (f"{norm}.{part}" for norm in ["emb.ln", *norms] for part in "wb"):
            self.fixed[name] = torch.from_numpy(weights.tensor(name))
        for layer in self.numbers:
            for step in STEPS:
                name = f"l{layer}.{step}"
                columns = shape.inner if step == "fo" else shape.width
                matrix = torch.from_numpy(weights.matrix(f"{name}.w", columns))
                self.fixed[f"{name}.w"] = matrix
                self.fixed[f"{name}.b"] = torch.from_numpy(weights.tensor(f"{name}.b"))
                down = torch.randn(plan.rank, columns) / columns**0.5
                up = torch.zeros(len(matrix), plan.rank)
                self.learnt[f"{name}.a".replace(".", "_")] = nn.Parameter(down)
                self.learnt[f"{name}.u".replace(".", "_")] = nn.Parameter(up)

    def of(self, shard: Shard, sequences: Sequence[int]) -> tuple[Tensor, Tensor]:
        """Return the last states of some sequences, (b, s, d), and the mask."""
        texts = [shard.ids[shard.place(each)] for each in sequences]
        states = np.zeros((len(texts), max(map(len, texts)), len(MEAN)), np.float32)
        mask = np.zeros(states.shape[:2], bool)
        for row, ids in enumerate(texts):
            states[row, : len(ids)] = dequantise(self._table[ids]) + self._places[: len(ids)]
            mask[row, : len(ids)] = True
        shown = torch.from_numpy(mask)
        with torch.autocast("cpu", torch.bfloat16):
            return self(self._norm("emb.ln", torch.from_numpy(states)), shown), shown

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """Return the last states (b, s, d) of what the layers begin with; `mask` (b, s) is false on padding."""
        batch, length, width = states.shape
        shut = mask[:, None, None, :]
        for layer in self.numbers:
            query, key, value = (
                self._linear(f"l{layer}.{step}", states)
                .view(batch, length, self.heads, -1)
                .transpose(1, 2)
                for step in "qkv"
            )
            # Written out: the fused step takes three times as long on a processor.
            heights = (query / query.shape[-1] ** 0.5) @ key.transpose(2, 3)
            context = heights.masked_fill(~shut, -1e9).softmax(-1) @ value
            joined = context.transpose(1, 2).reshape(batch, length, width)
            states = self._norm(f"l{layer}.aln", self._linear(f"l{layer}.ao", joined) + states)
            inner = nn.functional.gelu(self._linear(f"l{layer}.fi", states))
            states = self._norm(f"l{layer}.oln", self._linear(f"l{layer}.fo", inner) + states)
        return states

    def _linear(self, name: str, value: Tensor) -> Tensor:
        down, up = (self.learnt[f"{name}.{part}".replace(".", "_")] for part in "au")
        plain = nn.functional.linear(value, self.fixed[f"{name}.w"], self.fixed[f"{name}.b"])
        return plain + (value @ down.T) @ up.T

    def _norm(self, name: str, value: Tensor) -> Tensor:
        weight, bias = self.fixed[f"{name}.w"], self.fixed[f"{name}.b"]
        return nn.functional.layer_norm(value, weight.shape, weight, bias, self.epsilon)

    def kept(self) -> dict[str, Any]:
        """Return what is learnt as `deltas.py` reads it."""
        return {
            name.replace("_", "."): each.detach().numpy().astype(np.float16)
            for name, each in self.learnt.items()
        }


def loss(
    layers: Layers, shard: Shard, asked: Sequence[Asked], texts: Sequence[int], plan: Plan
) -> Tensor:
    """Return the mean loss of a batch."""
    made, asked_mask = layers.of(shard, [each.question for each in asked])
    of_texts, text_mask = layers.of(shard, texts)
    moved = _moved(shard, [each.question for each in asked], made) + _moved(shard, texts, of_texts)
    rows, vectors = list[Tensor](), list[Tensor]()
    for number, text in enumerate(texts):
        rows.append(_own(shard, text, of_texts[number]))
        vectors.append(of_texts[number][text_mask[number]].mean(0))
    length = max(map(len, rows))
    stacked = torch.stack([nn.functional.pad(each, (0, 0, 0, length - len(each))) for each in rows])
    filled = torch.stack([torch.arange(length) < len(each) for each in rows])
    among = nn.functional.normalize(torch.stack(vectors), dim=-1)
    spelled = [tokens_of(shard, each) for each in texts]
    place = {text: at for at, text in enumerate(texts)}
    total = plan.keeping * moved
    for number, each in enumerate(asked):
        question = _own(shard, each.question, made[number])
        cosines = torch.einsum("kld,td->klt", stacked, question)
        best = cosines.masked_fill(~filled[:, :, None], -1).amax(1)
        weights = token_weights(tokens_of(shard, each.question), spelled)
        scores = best @ torch.from_numpy(weights)
        vector = nn.functional.normalize(made[number][asked_mask[number]].mean(0), dim=-1)
        holds = torch.zeros(len(texts), dtype=torch.bool)
        holds[[place[each.texts[at]] for at in each.held]] = True
        total = total + _of_scores(scores, among @ vector, holds, plan) / len(asked)
    return total


def _of_scores(scores: Tensor, cosines: Tensor, holds: Tensor, plan: Plan) -> Tensor:
    """Return a question's loss: two softmaxes, and the logistic that the product takes relevance from."""
    least = torch.finfo(torch.float32).min
    value = torch.zeros(())
    for heights, share in ((ABOUT_SLOPE * scores, 1.0), (COSINE_SCALE * cosines, plan.cosine)):
        answers = heights.masked_fill(~holds, least)
        value = value + share * (heights.logsumexp(0) - answers.logsumexp(0))
    about = ABOUT_SLOPE * (scores - ABOUT_MIDDLE)
    best = nn.functional.softplus(-about[holds].max())
    others = nn.functional.softplus(about[~holds]).mean() if bool((~holds).any()) else 0.0
    return value + plan.logistic * (ANSWER_WEIGHT * best + others)


def _own(shard: Shard, sequence: int, made: Tensor) -> Tensor:
    """Return the unit states of a sequence's telling tokens."""
    own, whole = shard.own(sequence), shard.place(sequence)
    states = made[own.start - whole.start : own.stop - whole.start]
    telling = torch.from_numpy(shard.surprise[own] > 0)
    centred = states - torch.from_numpy(MEAN)
    return nn.functional.normalize(centred[telling] if bool(telling.any()) else centred, dim=-1)


def _moved(shard: Shard, sequences: Sequence[int], made: Tensor) -> Tensor:
    """Return by how much states moved: 1 − cosine of centred states, the mean over all positions."""
    mean = torch.from_numpy(MEAN)
    parts = []
    for row, each in enumerate(sequences):
        before = torch.from_numpy(shard.last[shard.place(each)].astype(np.float32)) - mean
        parts.append(1 - nn.functional.cosine_similarity(made[row, : len(before)] - mean, before))
    return torch.cat(parts).mean()


def learnt(shards: Sequence[Shard], plan: Plan, log: Path, every: int = 50) -> None:
    """Learn by a plan; the loss goes to a log, and what is learnt beside it."""
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"
    layers = Layers(MULTILINGUAL.open(), plan)
    learner = torch.optim.AdamW(layers.parameters(), plan.rate, weight_decay=0.01)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(learner, plan.steps)
    drawing = Drawing([each for each in shards if each.name not in plan.left_out], plan.seed)
    chance = random.Random(plan.seed)
    started, losses = time.process_time(), list[float]()
    with log.open("w", encoding="utf-8") as file:
        for step, (shard, asked, texts) in zip(
            range(1, plan.steps + 1), drawing.batches(), strict=False
        ):
            learner.zero_grad()
            value = loss(layers, shard, asked, texts, plan)
            if plan.others:
                other = chance.choice(shards)
                some = chance.sample(range(len(other.ends)), plan.others)
                value = value + plan.keeping * _moved(other, some, layers.of(other, some)[0])
            value.backward()
            learner.step()
            falling.step()
            losses.append(value.item())
            if step % every == 0:
                # A run that is cut short leaves what it learnt.
                told = {"step": step, "loss": round(float(np.mean(losses)), 4)}
                told |= {"cpu": round(time.process_time() - started)}
                file.write(json.dumps(told) + "\n")
                file.flush()
                losses = []
                np.savez(log.with_suffix(f".{step}.npz"), **layers.kept())
