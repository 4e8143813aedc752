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
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, Table, asked, machine, publish
from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.features.hooks import log as hook_log
from minutebook.features.hooks.contexts import HookContexts
from minutebook.features.hooks.operations import RELEVANCE
from minutebook.record.caller import Caller
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from minutebook.serve.daemon import client
from minutebook.serve.daemon.rendezvous import daemon_address
from minutebook.serve.invocation import Invocation

WRITER = Caller(name="benchmark", role=Role.HUMAN)
_CALLS, _QUICK_CALLS = 41, 2
_QUICK_STEP = 9
"""The short form asks each so manieth prompt, and keeps only the notes which answer one of these."""


def main() -> None:
    """Measure both, and publish."""
    given = asked("Measure what hooks say before prompts.").parse_args()
    prompts = _lines("prompts.jsonl")[:: _QUICK_STEP if given.quick else 1]
    wanted = {each for row in prompts for each in row["relevant"]} if given.quick else None
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        documents = _fill(home, wanted)
        questions = [] if given.quick else [row for row in _lines("notes.jsonl") if "query" in row]
        said = _said(home, documents, [*questions, *prompts])
        tables = [_precision(said), _cost(home, _QUICK_CALLS if given.quick else _CALLS)]
    publish("hooks", machine(), tables, quick=given.quick)


def _lines(name: str) -> list[dict[str, Any]]:
    text = (ROOT / "benchmarks" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _fill(home: Path, wanted: Container[str] | None) -> Mapping[str, str]:
    """Keep the notes, all or those that are wanted; return which document each memory is."""
    app = open_app(settings_with(home=home))
    try:
        app.embedding.start()
        app.embedding.wait(timeout=None)
        ids = {}
        for row in _lines("notes.jsonl"):
            if "document" in row and (wanted is None or row["document"] in wanted):
                draft = Draft(content=row["text"], type=MemoryType(row["type"]))
                ids[app.memories.store(WRITER, draft).id] = str(row["document"])
        app.embeddings.backfill(threading.Event())
        return ids
    finally:
        app.close()


def _said(
    home: Path, documents: Mapping[str, str], rows: Iterable[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], list[str], int]]:
    """Return for each prompt which documents are put before it, and how many tokens that takes."""
    app = open_app(settings_with(home=home))
    try:
        app.embedding.start()
        app.embedding.wait(timeout=None)
        contexts = app.get(HookContexts)
        found = []
        for row in rows:
            context = contexts.before_prompt(WRITER, str(row["text"]), RELEVANCE, ())
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
    """Time the process of each client's hook beside one that does nothing, in turn."""
    environment = {**os.environ, "MINUTEBOOK_HOME": str(home), "MINUTEBOOK_HOOK_WAIT": "5"}
    invocation = Invocation({}, (), environment)
    place = daemon_address(invocation.address)
    client.start(invocation, place)
    prompts = [row["text"] for row in _lines("prompts.jsonl")]
    python = [sys.executable, "-P"]
    ways = {name: [*python, "-m", "minutebook", "hook", name] for name in _PROMPTED}
    ways["Python alone"] = [*python, "-c", "pass"]
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    try:
        for name in _PROMPTED:
            # A session is told what matters when it starts; the prompts that follow are timed.
            _run(ways[name], _event(name, home, "SessionStart", ""), environment)
        for number in range(calls):
            for name, command in ways.items():
                event = _event(name, home, _PROMPTED.get(name, ""), prompts[number % len(prompts)])
                took[name].append(_run(command, event, environment))
    finally:
        client.stop(place)
    rows = [(name, *_times(took[name]), *_tokens(home, name)) for name in ways]
    head = ("hook of", "p50 ms", "p95 ms", "its CPU ms", "tokens a prompt", "tokens at the start")
    return Table("Milliseconds and tokens a prompt, client by client", head, rows)


_PROMPTED = {
    "claude-code": "UserPromptSubmit",
    "codex": "UserPromptSubmit",
    "gemini": "BeforeAgent",
    "copilot": "UserPromptSubmit",
    "cursor": "beforeSubmitPrompt",
    "opencode": "UserPromptSubmit",
}


def _event(name: str, folder: Path, event: str, prompt: str) -> bytes:
    told = {"hook_event_name": event, "session_id": name, "cwd": str(folder), "prompt": prompt}
    return json.dumps(told).encode()


def _run(command: list[str], event: bytes, environment: Mapping[str, str]) -> tuple[float, float]:
    """Return how many seconds a process took, and how many its CPU."""
    began, cpu = time.perf_counter(), os.times()
    subprocess.run(command, input=event, env=environment, check=True, capture_output=True)
    after = os.times()
    used = after.children_user + after.children_system
    return time.perf_counter() - began, used - cpu.children_user - cpu.children_system


def _times(times: list[tuple[float, float]]) -> tuple[float, float, float]:
    # The first waits for the model.
    walls, cpus = sorted(w for w, _ in times[1:]), sorted(c for _, c in times[1:])
    middle, late = len(walls) // 2, int(len(walls) * 0.95)
    return 1000 * walls[middle], 1000 * walls[late], 1000 * cpus[middle]


def _tokens(home: Path, name: str) -> tuple[float | str, float | str]:
    """Return how many tokens a client was told a prompt, and when its session started."""
    of = [entry for entry in hook_log.entries(str(home)) if entry["client"] == name]
    told = {
        is_start: [int(str(entry.get("tokens", 0))) for entry in each]
        for is_start, each in (
            (True, [entry for entry in of if entry.get("event") == "SessionStart"]),
            (False, [entry for entry in of if entry.get("event") != "SessionStart"]),
        )
    }
    if not of:
        return "", ""
    return sum(told[False]) / len(told[False]), sum(told[True]) / len(told[True])


if __name__ == "__main__":
    main()
