"""`python -m tools.training STEP`: see README.md here."""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tools.training import sources

if TYPE_CHECKING:
    from tools.training.judging import Figures, Judge
    from tools.training.states import Shard

    Candidate = Callable[[Judge], Figures]

WORK = Path("/tmp/training")
SEED = 34
EVERY = 3
"""Of so many questions one is asked on the way."""


def fetch(work: Path) -> None:
    """Fetch the public data, and count what it gives."""
    sources.fetch(work)
    total = 0
    for name, (source, _) in {**sources.TRAINING, **sources.MEASURING}.items():
        pools = [pool for each in source(work) if (pool := sources.usable(each))]
        questions = sum(len(each.questions) for each in pools)
        total += questions
        print(f"{name:<12}{len(pools):>6} pools{questions:>8} questions", flush=True)
    print(f"{total} in all")


def states(work: Path, part: str) -> None:
    """Compute the states of what is `trained` or `measured` by, unless they are there."""
    from tools.training import measured
    from tools.training.sharpened import sharpened
    from tools.training.states import MEASURED_TOKENS, TEXT_TOKENS, Maker, sampled, write

    maker = Maker()
    makers: dict[str, Callable[[], list[sources.Pool]]] = {}
    if part == "trained":
        for name, (source, count) in sources.TRAINING.items():
            drawn = partial(sharpened, maker) if name in sources.STRETCHES else sampled
            makers[name] = partial(drawn, source, work, count, SEED)
    else:
        for name, pools in measured.measured().items():
            makers[name] = partial(list, pools)
        for name, (source, count) in sources.MEASURING.items():
            makers[name] = partial(whole, source, work, count)
    for name, make in makers.items():
        folder = work / part / name
        if not (folder / "asked.json").exists():
            started = time.process_time()
            write(maker, make(), folder, TEXT_TOKENS if part == "trained" else MEASURED_TOKENS)
            print(f"{name:<12}{time.process_time() - started:6.0f} s of CPU", flush=True)


def whole(source: sources.Source, work: Path, count: int) -> list[sources.Pool]:
    """Return a source's first pools that have so many questions."""
    pools = list[sources.Pool]()
    for each in source(work):
        if (pool := sources.usable(each)) and sum(len(p.questions) for p in pools) < count:
            pools.append(pool)
    return pools


def shards(work: Path, part: str) -> list["Shard"]:
    """Open the shards that are there."""
    from tools.training.states import Shard

    return [Shard(each.parent) for each in sorted((work / part).glob("*/asked.json"))]


def residual(given: argparse.Namespace) -> None:
    """Learn a residual, judged on a part of the measured questions on the way."""
    from tools.training.judging import Judge
    from tools.training.learning import Plan, learnt
    from tools.training.residual import Objective

    objective = Objective(keeping=given.keeping, of_texts=not given.questions_only)
    plan = Plan(given.rank, given.steps, given.rate, objective, tuple(given.left_out), SEED)
    judges = [
        Judge(each, EVERY)
        for each in shards(given.work, "measured")
        if not given.set or each.name in given.set
    ]
    log = given.work / f"{given.name}.jsonl"
    learnt(shards(given.work, "trained"), judges, plan, log, max(1, given.steps // 4))
    print(log.read_text(encoding="utf-8"))


def lora(given: argparse.Namespace) -> None:
    """Change all layers, each matrix by a product of two narrow ones."""
    import torch

    from tools.training.lora import Plan, learnt

    torch.set_num_threads(1)
    plan = Plan(
        given.rank,
        given.steps,
        given.rate,
        keeping=given.keeping,
        left_out=tuple(given.left_out),
        seed=SEED,
    )
    learnt(shards(given.work, "trained"), plan, given.work / f"{given.name}.jsonl")


def candidates(given: argparse.Namespace) -> Iterator[tuple[str, "Candidate"]]:
    """Yield each change that is judged: of residuals or of LoRA's matrices, at each scale."""
    from tools.training.deltas import deltas, merged
    from tools.training.judging import Judge, unchanged
    from tools.training.residual import Residual
    from tools.training.states import Maker

    def by_residual(made: Residual, judge: Judge) -> "Figures":
        return judge.figures(made, unchanged if given.questions_only else made)

    def by_model(maker: Maker, judge: Judge) -> "Figures":
        return Judge(judge.shard.by(maker), judge.every).figures()

    for path in given.change:
        for scale in given.scale:
            name = f"{path.stem}×{scale:g}"
            if Residual.is_in(path):
                yield name, partial(by_residual, Residual.read(path, scale))
            else:
                with TemporaryDirectory() as models:
                    folder = merged(deltas(path, scale), Path(models))
                    yield name, partial(by_model, Maker(folder))


def judge(given: argparse.Namespace) -> None:
    """Print what changes gain on each set that no training saw, and what a set gains by the others' choice."""
    from tools.training.judging import Judge, gain, left_out

    judges = [
        Judge(each, given.every)
        for each in shards(given.work, "measured")
        if not given.set or each.name in given.set
    ]
    plain = {each.shard.name: each.figures() for each in judges}
    gains = dict[str, dict[str, float]]()
    for name, candidate in candidates(given):
        print(name)
        for each in judges:
            before, found = plain[each.shard.name], candidate(each)
            print(gain(each.shard.name, before, found), flush=True)
            gained = float(100 * (found.ndcg - before.ndcg).mean())
            gains.setdefault(name, {})[each.shard.name] = gained
    for left, best, gained in left_out(gains):
        print(f"{left:<12} left out: {best} {gained:+.2f}")


def fusion(given: argparse.Namespace) -> None:
    """Print what a change gains through the whole search."""
    from contextlib import AbstractContextManager, nullcontext

    from minutebook.config import load
    from tools.training import fusion as whole_search
    from tools.training.deltas import deltas, merged
    from tools.training.residual import Residual

    settings = load({})
    entered: Callable[[], AbstractContextManager[None]] = nullcontext
    (path,), (scale,) = given.change, given.scale
    if Residual.is_in(path):
        made = Residual.read(path, scale)
        entered = partial(whole_search.changed, made, of_texts=not given.questions_only)
    else:
        files = merged(deltas(path, scale), given.work / f"{path.stem}-{scale:g}-models")
        entered = partial(whole_search.of_files, files)
    for path in whole_search.SETS:
        if path.exists() and (not given.set or path.stem in given.set):
            before = whole_search.asked(path, settings)
            with entered():
                after = whole_search.asked(path, settings)
            print(whole_search.gain(path.stem, before, after), flush=True)


def main() -> None:
    """Run one step."""
    parser = argparse.ArgumentParser(prog="python -m tools.training", description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("fetch", "trained", "measured", "residual", "lora", "judge", "fusion"):
        step = steps.add_parser(name)
        step.add_argument("--work", type=Path, default=WORK)
        step.add_argument("--name", default=name)
        step.add_argument("--rank", type=int, default=64 if name == "residual" else 16)
        step.add_argument("--steps", type=int, default=1200 if name == "residual" else 400)
        step.add_argument("--rate", type=float, default=1e-3)
        step.add_argument("--keeping", type=float, default=1.0)
        step.add_argument("--left-out", nargs="*", default=[])
        step.add_argument("--questions-only", action="store_true")
        judges = name in ("judge", "fusion")
        step.add_argument("--change", type=Path, nargs="+", required=judges, default=[])
        step.add_argument("--scale", type=float, nargs="*", default=[1.0])
        step.add_argument("--every", type=int, default=1)
        step.add_argument("--set", nargs="*")
    given = parser.parse_args()
    if given.step == "fetch":
        fetch(given.work)
    elif given.step in ("trained", "measured"):
        states(given.work, given.step)
    else:
        {"residual": residual, "lora": lora, "judge": judge, "fusion": fusion}[given.step](given)


if __name__ == "__main__":
    main()
