"""Writes the part of `docs/quality.md` about revisions, chats and hooks, from what `python -m benchmarks answers --keep` kept."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

KEPT = Path(__file__).resolve().parent.parent / "docs" / "answers.json"

OPENING = """\
## The newest truth, decisions in chats, hooks

Measured by `python -m benchmarks answers --keep`, through what users get. Per cent, in brackets the 95 % interval.

*Revisions*: pairs of a statement and another said a month later (`benchmarks/revisions.jsonl`, ours, in five languages, written
before anything was fitted; the part `learn` was learnt from, `unseen` was not), fourteen pairs at a time among 96 notes. *Marked*:
the answer says `revised_by`. Pairs that look alike revise nothing: a mark on one is false.

*Chats*: sixteen chats of developers that settle something, six of which is settled anew two months later
(`benchmarks/deciding_chats.jsonl`, ours), kept turn by turn among other sessions. Each is asked by a report of a fault in other words.
*Among ten*: the turn that decides, or the amendment, is a result of `recall`; turns beside a hit are not counted, which
*said by ten* does count. The second set are twenty longer chats (`benchmarks/more_deciding_chats.jsonl`, ours). The hook tells few of them:
the chances of an answer are alike for reports that a store's chats decide and for those that other chats do, so a lower bar would tell
strangers as much.

*Hook*: what is put before a prompt, 500 tokens at most. Of LoCoMo each turn is a memory that a person wrote. Strangers are the
questions of the conversation before.

*What a question costs*: processor time of `recall` in a process that took turns with one of commit e46fe663, before decisions, sessions,
relations and revisions were part of the answer, the ratio of the pairs in the middle, on a machine under load: 1.34 with 1,000 turns of
LoCoMo, 1.25 to 1.36 (three runs) with 1,000 notes of which each holds words of each question (1.42 before names and fields were read once and texts compared
less), 1.07 with some 100,000. It is not the same or less, as was wanted: holding the four best hits against one another takes a sixth of
a question with 1,000 notes.
"""


def section() -> list[str]:
    """Return the lines of the part."""
    tables = json.loads(KEPT.read_text(encoding="utf-8"))
    return [OPENING, *(line for each in tables for line in _table(each))]


def _table(told: dict[str, Any]) -> Iterator[str]:
    yield f"### {told['title']}"
    yield ""
    yield f"| {' | '.join(told['columns'])} |"
    yield "|" + " --- |" * len(told["columns"])
    for row in told["rows"]:
        yield f"| {' | '.join(map(_cell, row))} |"
    yield ""


def _cell(value: Any) -> str:
    if isinstance(value, list):
        middle, low, high = value
        return f"{middle:.1f} [{low:.1f}, {high:.1f}]"
    return "" if value is None else str(value)
