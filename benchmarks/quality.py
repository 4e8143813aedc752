"""Does it find what was said? Claims of long conversations stored, questions about them recalled.

`python -m benchmarks.quality [--quick] [--data FILE]`. The data is LoCoMo (Maharana et al., 2024), in
the form of its repository; it is not part of this project. Each conversation has a store of its own.
Each turn is a memory, stored by the tool: “Speaker: text”, and “[shares: caption]” where the turn came
with a picture. Each question goes, unchanged, to `search_text` (words alone), `search` (vectors alone)
and `recall`, ten results each.

What counts is whether the turns that the data names as evidence are among them. *Any*: at least one;
*share*: which part of them; NDCG@10 with equal gains; MRR: one by the place of the first. In per cent,
with 95 % intervals from resampling questions. An evidence id that names no turn is left out, and so is
a question that has no other.
"""

import json
import math
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.measure import ROOT, Table, asked, interval, machine, publish
from minutebook.app import App, open_app
from minutebook.config import Settings, load
from minutebook.contracts.contract import Contract
from minutebook.contracts.knowledge import knowledge

DATA = ROOT.parent / "shared" / "data" / "locomo-dev.json"
TOOLS = {"search_text": "words", "search": "vectors", "recall": "recall"}
CATEGORIES = {
    1: "1 multi-hop",
    2: "2 temporal",
    3: "3 open-domain",
    4: "4 single-hop",
    5: "5 adversarial",
}
ANSWERABLE = frozenset({1, 2, 3, 4})
LIMIT = 10
SAMPLE = 100
"""Questions of the short form."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the turns that hold its answer."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said, by the id of the turn, and what is asked about it."""

    id: str
    turns: Mapping[str, str]
    questions: Sequence[Question]
    skipped: int
    malformed: int


@dataclass(frozen=True, slots=True)
class Scores:
    """How well one ranking serves one question; each in [0, 1]."""

    any: float
    share: float
    ndcg: float
    mrr: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what each tool made of it, and the milliseconds each took."""

    question: Question
    scores: Mapping[str, Scores]
    times: Mapping[str, float]


def read(path: Path) -> list[Conversation]:
    """Read conversations in LoCoMo's form."""
    return [_conversation(each) for each in json.loads(path.read_text(encoding="utf-8"))]


def evidence_of(named: Sequence[str], turns: Mapping[str, str]) -> tuple[frozenset[str], int]:
    """Give the turns that evidence names, several in one string or not, and how many do not exist."""
    ids = [id for text in named for id in re.split(r"[;,\s]+", text) if id]
    known = frozenset(id for id in ids if id in turns)
    return known, sum(id not in turns for id in ids)


def score(ranked: Sequence[str], evidence: frozenset[str]) -> Scores:
    """Score the best LIMIT of a ranking; NDCG after Järvelin and Kekäläinen (2002), gains of one."""
    places = [place for place, id in enumerate(ranked[:LIMIT], 1) if id in evidence]
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(evidence), LIMIT) + 1))
    return Scores(
        any=float(bool(places)),
        share=len(places) / len(evidence),
        ndcg=sum(1 / math.log2(place + 1) for place in places) / ideal,
        mrr=1 / places[0] if places else 0.0,
    )


def sampled(conversation: Conversation, count: int) -> Conversation:
    """Keep `count` questions, evenly from the whole list."""
    questions = conversation.questions
    step = max(1.0, len(questions) / count)
    kept = [questions[int(at * step)] for at in range(min(count, len(questions)))]
    return Conversation(conversation.id, conversation.turns, kept, 0, 0)


def ask(app: App, contract: Contract, conversation: Conversation) -> Iterator[Asked]:
    """Store the turns, then put each question to each tool."""
    turn_of = {
        _called(app, contract, "store_memory", content=content)["id"]: turn
        for turn, content in conversation.turns.items()
    }
    for question in conversation.questions:
        scores, times = {}, {}
        # The vector of the question is kept by the first that needs it; no one is charged for it.
        app.embedding.embed_query(question.text)
        for tool, name in TOOLS.items():
            started = time.perf_counter()
            answer = _called(app, contract, tool, query=question.text, limit=LIMIT)
            times[name] = (time.perf_counter() - started) * 1e3
            scores[name] = score(
                [turn_of[each["id"]] for each in answer["results"]], question.evidence
            )
        yield Asked(question, scores, times)


@contextmanager
def opened(home: Path) -> Iterator[App]:
    """Open a store of its own with the built-in model."""
    app = open_app(Settings(home=home, models=load({}).models, durability="normal"))
    try:
        app.embedding.wait()
        yield app
    finally:
        app.close()


def run(conversations: Iterable[Conversation]) -> list[Asked]:
    """Ask all questions of all conversations."""
    contract = knowledge()
    found: list[Asked] = []
    for conversation in conversations:
        with tempfile.TemporaryDirectory() as home, opened(Path(home)) as app:
            found += ask(app, contract, conversation)
    return found


def tables(answers: Sequence[Asked]) -> list[Table]:
    """Sum up by category, and compare recall with each signal alone, question by question."""
    groups: dict[str, list[Asked]] = {
        "all": list(answers),
        "1–4": [each for each in answers if each.question.category in ANSWERABLE],
    } | {
        name: [each for each in answers if each.question.category == category]
        for category, name in CATEGORIES.items()
    }
    kept = {name: group for name, group in groups.items() if group}
    speeds = ", ".join(
        f"{name} {median(each.times[name] for each in answers):.2g} ms" for name in TOOLS.values()
    )
    measures = ("any@10", "share@10", "NDCG@10", "MRR")
    return [
        Table(
            "turns found, per cent [95 %]",
            ("questions", "n", "by", *measures),
            [
                (name, len(group), tool, *_summed(group, _scores(tool)))
                for name, group in kept.items()
                for tool in TOOLS.values()
            ],
            f"in process, the question embedded already: {speeds}",
        ),
        Table(
            "recall less each alone, points [95 %], paired",
            ("questions", "n", "less", *measures),
            [
                (name, len(group), tool, *_summed(group, _gain(tool)))
                for name, group in kept.items()
                for tool in ("words", "vectors")
            ],
        ),
    ]


def main() -> None:
    """Measure and publish; say so where there is no data."""
    parser = asked("Measure how well questions find the turns that answer them.")
    parser.add_argument("--data", type=Path, default=DATA, help="conversations in LoCoMo's form")
    given = parser.parse_args()
    if not given.data.exists():
        print(f"left out: there is no {given.data}; --data names another file")
        return
    conversations = read(given.data)
    if given.quick:
        conversations = [sampled(min(conversations, key=lambda c: len(c.turns)), SAMPLE)]
    answers = run(conversations)
    method = {
        **machine(),
        "data": f"{given.data.name}: {', '.join(each.id for each in conversations)}",
        "turns": sum(len(each.turns) for each in conversations),
        "questions": len(answers),
        "left out": f"{sum(each.skipped for each in conversations)} questions without evidence, "
        f"{sum(each.malformed for each in conversations)} evidence ids that name no turn",
        "memory": "“Speaker: text [shares: caption]”; one store a conversation",
    }
    publish("quality", method, tables(answers), quick=given.quick)


def _conversation(told: Mapping[str, Any]) -> Conversation:
    turns = {
        turn["dia_id"]: _content(turn)
        for session, said in told["conversation"].items()
        if re.fullmatch(r"session_\d+", session)
        for turn in said
    }
    questions, skipped, malformed = [], 0, 0
    for each in told["qa"]:
        evidence, unknown = evidence_of(each["evidence"], turns)
        malformed += unknown
        if evidence:
            questions.append(Question(each["question"], each["category"], evidence))
        else:
            skipped += 1
    return Conversation(told["sample_id"], turns, questions, skipped, malformed)


def _content(turn: Mapping[str, Any]) -> str:
    said = f"{turn['speaker']}: {turn['text']}"
    caption = turn.get("blip_caption")
    return f"{said} [shares: {caption}]" if caption else said


def _called(app: App, contract: Contract, tool: str, **arguments: object) -> Mapping[str, Any]:
    answer = contract.call(app, Settings().caller(), tool, arguments)
    if answer.content is None:
        raise RuntimeError(f"{tool}: {answer.error}")
    return answer.content


def _scores(tool: str) -> Callable[[Asked], Scores]:
    return lambda each: each.scores[tool]


def _gain(tool: str) -> Callable[[Asked], Scores]:
    def gain(each: Asked) -> Scores:
        ours, alone = each.scores["recall"], each.scores[tool]
        return Scores(
            ours.any - alone.any,
            ours.share - alone.share,
            ours.ndcg - alone.ndcg,
            ours.mrr - alone.mrr,
        )

    return gain


def _summed(
    group: Sequence[Asked], of: Callable[[Asked], Scores]
) -> list[tuple[float, float, float]]:
    chosen = [of(each) for each in group]
    return [
        interval([100 * getattr(scores, name) for scores in chosen])
        for name in ("any", "share", "ndcg", "mrr")
    ]


if __name__ == "__main__":
    main()
