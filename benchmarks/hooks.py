"""What hooks say before prompts, and what they cost: `python -m benchmarks.hooks [--quick]`.

Questions to the notes of `notes.jsonl`, in twelve languages, and prompts to a coding agent (`prompts.jsonl`): to some
a note matters, to others nothing does. All notes are in one store; `said` are memories put before a prompt. The
cut was chosen on the development half. Then the process that a client runs for each prompt, in turn with one that
imports nothing: wall milliseconds and CPU, with a daemon that has the model.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, Table, asked, machine, publish
from minutebook.app import open_app
from minutebook.config import Settings
from minutebook.domain.caller import Caller
from minutebook.domain.drafts import Draft
from minutebook.domain.records import MemoryType, Role
from minutebook.invocation import Invocation
from minutebook.server.daemon import client
from minutebook.server.daemon.rendezvous import daemon_address
from minutebook.services.hooks import HookContexts

LEAST = Settings().hook_relevance
WRITER = Caller(name="benchmark", role=Role.HUMAN)
_CALLS, _QUICK_CALLS = 41, 5


def main() -> None:
    """Measure both, and publish."""
    given = asked("Measure what hooks say before prompts.").parse_args()
    prompts = _lines("prompts.jsonl")
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        documents = _fill(home)
        questions = [] if given.quick else [row for row in _lines("notes.jsonl") if "query" in row]
        said = _said(home, documents, [*questions, *prompts])
        tables = [_precision(said), _cost(home, _QUICK_CALLS if given.quick else _CALLS)]
    publish("hooks", machine(), tables, quick=given.quick)


def _lines(name: str) -> list[dict[str, Any]]:
    text = (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _fill(home: Path) -> Mapping[str, str]:
    """Keep the notes; return which document each memory is."""
    app = open_app(Settings(home=home))
    try:
        app.embedding.start()
        app.embedding.wait(timeout=None)
        ids = {}
        for row in _lines("notes.jsonl"):
            if "document" in row:
                draft = Draft(content=row["text"], type=MemoryType(row["type"]))
                ids[app.memories.store(WRITER, draft).id] = str(row["document"])
        app.embeddings.backfill(threading.Event(), lambda: None)
        return ids
    finally:
        app.close()


def _said(
    home: Path, documents: Mapping[str, str], rows: Iterable[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], list[str], int]]:
    """Return for each prompt which documents are put before it, and how many tokens that takes."""
    app = open_app(Settings(home=home))
    try:
        app.embedding.start()
        app.embedding.wait(timeout=None)
        services = (app.memories, app.decisions, app.sessions, app.summaries, app.recall)
        contexts = HookContexts(*services, app.embedding, app.clock)
        found = []
        for row in rows:
            context = contexts.before_prompt(WRITER, str(row["text"]), LEAST, ())
            ids = () if context is None else context.ids
            tokens = 0 if context is None else context.tokens
            found.append((row, [documents[id] for id in ids], tokens))
        return found
    finally:
        app.close()


def _precision(said: list[tuple[Mapping[str, Any], list[str], int]]) -> Table:
    rows = []
    for split in ("dev", "test"):
        of = [each for each in said if each[0]["split"] == split]
        for category in dict.fromkeys(row["category"] for row, _, _ in of):
            rows.append(
                (f"{split}: {category}", *_figures(e for e in of if e[0]["category"] == category))
            )
        rows.append((f"{split}: all", *_figures(of)))
    head = (
        "prompts",
        "number",
        "something said",
        "memories said",
        "right",
        "right one said",
        "tokens where said",
    )
    return Table("What is put before prompts", head, rows)


def _figures(
    of: Iterable[tuple[Mapping[str, Any], list[str], int]],
) -> tuple[int, int, int, str, str, float]:
    each = list(of)
    shown = [(row, ids) for row, ids, _ in each if ids]
    count = sum(len(ids) for _, ids in shown)
    right = sum(id in row["relevant"] for row, ids in shown for id in ids)
    answerable = [row for row, _, _ in each if row["relevant"]]
    found = sum(any(id in row["relevant"] for id in ids) for row, ids in shown)
    tokens = [tokens for _, ids, tokens in each if ids]
    return (
        len(each),
        len(shown),
        count,
        f"{right / count:.2f}" if count else "",
        f"{found} of {len(answerable)}" if answerable else "",
        sum(tokens) / len(tokens) if tokens else 0,
    )


def _cost(home: Path, calls: int) -> Table:
    """Time the process of a hook beside one that does nothing, in turn."""
    environment = {**os.environ, "MINUTEBOOK_HOME": str(home), "MINUTEBOOK_HOOK_WAIT": "5"}
    invocation = Invocation({}, (), environment)
    place = daemon_address(invocation.address)
    client.start(invocation, place)
    script = [sys.executable, "-P", "-m", "minutebook", "hook", "claude-code"]
    prompts = [row["text"] for row in _lines("prompts.jsonl")]
    ways = {"a hook before a prompt": script, "Python alone": [sys.executable, "-P", "-c", "pass"]}
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    try:
        for number in range(calls):
            event = {
                "hook_event_name": "UserPromptSubmit",
                "session_id": f"s{number}",
                "cwd": str(home),
                "prompt": prompts[number % len(prompts)],
            }
            for name, command in ways.items():
                began, cpu = time.perf_counter(), os.times()
                data = json.dumps(event).encode()
                subprocess.run(
                    command, input=data, env=environment, check=True, capture_output=True
                )
                after = os.times()
                used = after.children_user + after.children_system
                used -= cpu.children_user + cpu.children_system
                took[name].append((time.perf_counter() - began, used))
    finally:
        client.stop(place)
    rows = []
    for name, times in took.items():
        # The first waits for the model.
        walls, cpus = sorted(w for w, _ in times[1:]), sorted(c for _, c in times[1:])
        middle, late = len(walls) // 2, int(len(walls) * 0.95)
        rows.append((name, 1000 * walls[middle], 1000 * walls[late], 1000 * cpus[middle]))
    return Table("Milliseconds a prompt", ("process", "p50", "p95", "its CPU"), rows)


if __name__ == "__main__":
    main()
