"""Chains of decisions as people read them: a tree for a terminal, Mermaid and DOT for documents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from minutebook.record.control_characters import escaped
from minutebook.record.origin import byline
from minutebook.record.records import Decision

MARKS: Mapping[str, str] = {"active": "●", "superseded": "○", "withdrawn": "×"}

Describe = Callable[[Decision], str]
"""Returns the text of a decision's line."""


def tree(decisions: Sequence[Decision], describe: Describe) -> Iterator[str]:
    """Yield the lines of a drawing of chains, the newest on top, below each decision those that it replaced.

    A decision that replaced one other is drawn in the same column, so that a long chain stays readable; below one
    that replaced several, each has a branch. What two branches share is drawn once, then referred to.
    """
    by_id = {decision.id: decision for decision in decisions}
    named = {id for decision in decisions for id in decision.supersedes if id in by_id}
    newest = sorted(by_id.values(), key=_age, reverse=True)
    drawn: set[str] = set()
    for start in (each for each in newest if each.id not in named):
        yield from _branch(start, "", "", by_id, drawn, describe)
    # Only a broken ledger has others, in a cycle.
    for left in newest:
        if left.id not in drawn:
            yield from _branch(left, "", "", by_id, drawn, describe)


def _branch(
    start: Decision,
    lead: str,
    below: str,
    by_id: Mapping[str, Decision],
    drawn: set[str],
    describe: Describe,
) -> Iterator[str]:
    """Draw one decision and those it replaced; `lead` is put before its line, `below` before the lines below it."""
    waiting = [(start, lead, below)]
    while waiting:
        decision, before, under = waiting.pop()
        line = f"{before}{MARKS[decision.status]} {describe(decision)}"
        if decision.id in drawn:
            yield f"{line} (see above)"
            continue
        drawn.add(decision.id)
        yield line
        replaced = sorted(
            (by_id[id] for id in decision.supersedes if id in by_id), key=_age, reverse=True
        )
        if len(replaced) == 1:
            waiting.append((replaced[0], under, under))
            continue
        last = len(replaced) - 1
        branches = [
            (
                each,
                f"{under}{'└' if index == last else '├'}─",
                f"{under}{' ' if index == last else '│'} ",
            )
            for index, each in enumerate(replaced)
        ]
        waiting += reversed(branches)


def mermaid(decisions: Iterable[Decision]) -> Iterator[str]:
    """Write chains as a Mermaid flowchart, from the replaced decisions to the replacing ones."""
    ordered = sorted(decisions, key=_age)
    names = {decision.id: f"d{number}" for number, decision in enumerate(ordered)}
    yield "flowchart LR"
    for decision in ordered:
        label = "<br/>".join(_mermaid_text(line) for line in _label(decision))
        yield f'  {names[decision.id]}["{label}"]:::{decision.status}'
    for old, new in _edges(ordered):
        yield f"  {names[old]} --> {names[new]}"
    yield "  classDef active fill:#dff5e1,stroke:#2b8a3e,color:#000"
    yield "  classDef superseded fill:#f1f3f5,stroke:#868e96,color:#000"
    yield "  classDef withdrawn fill:#fff,stroke:#868e96,color:#000,stroke-dasharray:4"


def dot(decisions: Iterable[Decision]) -> Iterator[str]:
    """Write chains as a DOT digraph, from the replaced decisions to the replacing ones."""
    ordered = sorted(decisions, key=_age)
    styles = {"active": "bold", "superseded": "solid", "withdrawn": "dashed"}
    yield "digraph decisions {"
    yield "  rankdir=LR;"
    yield "  node [shape=box];"
    for decision in ordered:
        label = "\\n".join(_dot_text(line) for line in _label(decision))
        yield f'  "{decision.id}" [label="{label}", style={styles[decision.status]}];'
    for old, new in _edges(ordered):
        yield f'  "{old}" -> "{new}";'
    yield "}"


def _age(decision: Decision) -> tuple[datetime, str]:
    return (decision.created_at, decision.id)


def _edges(decisions: Sequence[Decision]) -> Iterator[tuple[str, str]]:
    """Yield the ids of an old decision and of the one that supersedes it, if both are among the decisions."""
    there = {decision.id for decision in decisions}
    for decision in decisions:
        for old in decision.supersedes:
            if old in there:
                yield old, decision.id


def _label(decision: Decision) -> tuple[str, str, str]:
    by = byline(decision.author, decision.origin)
    who = f"{decision.created_at:%Y-%m-%d} {by} ({decision.authorship})"
    return decision.target, decision.title, who


def _mermaid_text(text: str) -> str:
    """Put a text into a quoted label, where entities are written `#34;`."""
    plain = escaped(" ".join(text.split()))
    return "".join(f"#{ord(each)};" if each in '#"<>&`\\' else each for each in plain)


def _dot_text(text: str) -> str:
    return escaped(" ".join(text.split())).replace("\\", "\\\\").replace('"', '\\"')
