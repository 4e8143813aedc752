"""What a recall costs, counted where milliseconds hold nothing: statements, texts compared, pairs judged."""

import gc
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import apsw
import pytest

from minutebook.features.ledger.decisions import DecisionActs
from minutebook.memory.search import signals
from minutebook.model.service import Embedding
from minutebook.serve.contracts.knowledge import knowledge
from minutebook.serve.dispatch import Dispatcher, tool_job
from minutebook.text.comparing import align
from minutebook.text.late_interaction import Question
from tests.features.ledger.decided import AGENT, draft
from tests.world import Opener, World

MOST = {
    # Of a recall: statements of SQL, texts compared token by token, pairs of sentences judged. They may only fall.
    "memories": (22, 30, 4),
    "memories, turns and decisions": (49, 58, 4),
}

QUESTION = "When is copper unloaded in the harbour of Lisbon?"
PORTS = ("Lisbon", "Genoa", "Bergen", "Cadiz", "Riga", "Nantes", "Hull", "Turku")
WARES = ("copper", "tin", "wool", "salt", "cork", "wine", "timber")


@pytest.fixture
def world(opener: Opener, built_in: Embedding) -> World:
    return opener(built_in, wait=60.0)


@pytest.fixture
def few_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty texts stand for a hundred, so that a small store has more candidates than are compared."""
    monkeypatch.setattr(signals, "COMPARED", 30)
    monkeypatch.setattr(signals, "LEAST_COMPARED", 6)


@pytest.mark.needs("ledger")
@pytest.mark.usefixtures("few_compared")
def test_a_recall_costs_no_more_than_the_table_says(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [f"In {port} {ware} is unloaded at {len(port)}." for port in PORTS for ware in WARES]
    for each in said:
        world.remember(each)
    check_counts("memories", counted(world, monkeypatch))
    for number, each in enumerate(said[:40]):
        world.app.sessions.add(AGENT, f"s{number // 5}", f"And {number}?", "", each)
    for each in said[:8]:
        decision = draft(each, f"Agreed: {each}", rationale="The cranes are free then.")
        world.app.get(DecisionActs).record(AGENT, decision)
    check_counts("memories, turns and decisions", counted(world, monkeypatch))


def test_a_write_passes_few_functions_of_ours(world: World) -> None:
    found: list[str] = []

    def trace(_: Any, statement: str, __: Any) -> bool:
        if statement.startswith("INSERT INTO memories("):
            stack = traceback.extract_stack()
            found.extend(each.name for each in stack if "/minutebook/" in each.filename)
        return True

    world.remember("copper")
    for each in [each for each in gc.get_objects() if isinstance(each, apsw.Connection)]:
        with suppress(apsw.ConnectionClosedError):
            each.exec_trace = trace
    job = tool_job(knowledge(), "store_memory", {"content": "tin"}, world.caller)
    Dispatcher(lambda: world.app, lambda _: world.caller)._run(job)
    assert len(found[found.index("_run") :]) == 10, found


def check_counts(name: str, counts: tuple[int, ...]) -> None:
    assert all(count <= most for count, most in zip(counts, MOST[name], strict=True)), counts


def counted(world: World, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int, int]:
    """Count what a recall does, the second time: the first reads what was written since."""
    world.call("recall", query=QUESTION)
    statements, texts, pairs = [0], [0], [0]

    def tell(count: list[int], of: Callable[..., Any], size: Callable[..., int]) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            answer = of(*given, **named)
            count[0] += size(answer)
            return answer

        return call

    def trace(*_: Any) -> bool:
        statements[0] += 1
        return True

    connections = [each for each in gc.get_objects() if isinstance(each, apsw.Connection)]
    with monkeypatch.context() as patch:
        patch.setattr(Question, "scores", tell(texts, Question.scores, len))
        patch.setattr("minutebook.text.revisions.align", tell(pairs, align, lambda _: 1))
        for each in connections:
            with suppress(apsw.ConnectionClosedError):
                each.exec_trace = trace
        world.call("recall", query=QUESTION)
        for each in connections:
            with suppress(apsw.ConnectionClosedError):
                each.exec_trace = None
    return statements[0], texts[0], pairs[0]
