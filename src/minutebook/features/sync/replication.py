"""Versions of one record on several machines, and how two of these states become one.

Each edit of a record has a name, its dot: the machine and the number of the edit there. A `State` holds
the edits that nobody has replaced, and as its context all edits that are known of, replaced or not. To
merge two states is commutative, associative and idempotent, so machines that have heard of the same
edits agree, in whatever order they heard of them, and no clock is asked. The form is that of dotted
version vectors (Preguiça and others, 2010).
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from minutebook.features.ledger.mirror.waiting import is_in_git
from minutebook.record.errors import InvalidInput
from minutebook.record.json_lines import json_line, line_of, object_of, record_of
from minutebook.record.records import Decision, Kind, Proposal, Record

Dot: TypeAlias = tuple[str, int]
"""A machine, and the number of an edit of the record there, counted from 1."""

REMOVED = ""
"""The digest of a record that is not there."""

DERIVED = "~"
"""How the machine of a dot begins that no machine made: the edit follows from others, everywhere the same."""

TRAVELLING = (
    *(Kind.MEMORY, Kind.VERSION, Kind.ENTITY, Kind.RELATION, Kind.LINK),
    *(Kind.PROPOSAL, Kind.TURN, Kind.SUMMARY, Kind.DECISION),
)
"""The kinds that machines exchange; memories come first, since the others ask whether theirs is there."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """An edit that nobody has replaced: its dot, the digest of the record after it, and the record's line.

    `line` is None for a removed record, and where the store holds the record.
    """

    dot: Dot
    digest: str
    line: bytes | None = None

    @property
    def record(self) -> Record | None:
        """The record as of this edit, if its line is here."""
        return None if self.line is None else record_of(object_of(self.line))


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The edits of one record that are known: those that stand, and all there were."""

    context: Mapping[str, int]
    siblings: tuple[Sibling, ...]

    def knows(self, dot: Dot) -> bool:
        """Tell whether an edit is known, replaced or not."""
        return self.context.get(dot[0], 0) >= dot[1]

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the edits that stand; several are a conflict."""
        return frozenset(each.digest for each in self.siblings)

    def edited(self, machine: str, line: bytes | None) -> "ReplicaState":
        """Return the state after an edit that replaces all that stand."""
        number = self.context.get(machine, 0) + 1
        sibling = Sibling((machine, number), digest_of(line), line)
        return ReplicaState({**self.context, machine: number}, (sibling,))

    def derived(self, line: bytes | None) -> "ReplicaState":
        """Return the state after an edit that follows from this state, and has the same dot on each machine."""
        known = json_line({"context": dict(sorted(self.context.items()))})
        name = DERIVED + hashlib.sha256(known + (line or b"")).hexdigest()[:16]
        return self.edited(name, line)

    def renamed(self, machine: str, other: str) -> "ReplicaState":
        """Return the state with the machine's latest edit, which nobody has heard of, as another's."""
        number = self.context.get(machine, 0)
        if not any(each.dot == (machine, number) for each in self.siblings):
            return self
        context = {**self.context, machine: number - 1, other: self.context.get(other, 0) + 1}
        siblings = tuple(
            replace(each, dot=(other, context[other])) if each.dot == (machine, number) else each
            for each in self.siblings
        )
        return ReplicaState({name: count for name, count in context.items() if count}, siblings)


UNKNOWN = ReplicaState({}, ())
"""What is known of a record that nobody has heard of."""


def merge(one: ReplicaState, other: ReplicaState) -> ReplicaState:
    """Return the union of both states: an edit stands if both have it, or one has it and the other never saw it."""
    here = {each.dot: each for each in one.siblings}
    there = {each.dot: each for each in other.siblings}
    standing = [
        here.get(dot, there.get(dot))
        for dot in sorted(here.keys() | there.keys())
        if (dot in here and dot in there)
        or (dot in here and not other.knows(dot))
        or (dot in there and not one.knows(dot))
    ]
    names = one.context.keys() | other.context.keys()
    context = {n: max(one.context.get(n, 0), other.context.get(n, 0)) for n in sorted(names)}
    return ReplicaState(context, tuple(each for each in standing if each is not None))


def travelling_line(record: Record | None) -> bytes | None:
    """Return a record as the line that machines exchange; a decision without its commit, which is local.

    None for a decision that waits, or waited, as a proposal since Git brought it: Git brings it to the others.
    """
    if record is None or (isinstance(record, Proposal) and is_in_git(record)):
        return None
    return line_of(replace(record, commit_id=None) if isinstance(record, Decision) else record)


def digest_of(line: bytes | None) -> str:
    """Return the digest of a record's line."""
    return REMOVED if line is None else hashlib.sha256(line).hexdigest()[:32]


def winner_of(state: ReplicaState) -> Sibling:
    """Return the edit that is shown of those that stand: the same on each machine.

    A record that is there comes before a removed one, a locked memory before one that is not, one that
    was changed later before an earlier one, as its own machine's clock said; then the digest decides.
    """
    return max(state.siblings, key=_rank)


def _rank(sibling: Sibling) -> tuple[bool, bool, bool, str, str]:
    if sibling.digest == REMOVED:
        return (False, False, False, "", "")
    if sibling.line is None:
        raise ValueError(sibling.dot)
    fields = object_of(sibling.line)
    is_standing = fields.get("deleted_at") is None
    is_locked = fields.get("locked_by") is not None
    instants = ("updated_at", "changed_at", "settled_at", "at", "created_at")
    at = next((fields[name] for name in instants if fields.get(name)), "")
    return (True, is_standing, is_locked, str(at), sibling.digest)


def differing(one: Record, other: Record) -> list[str]:
    """Return the names of the fields in which two records of a kind differ, times of changes aside."""
    lines = [object_of(travelling_line(each) or b"{}") for each in (one, other)]
    names = sorted(lines[0].keys() | lines[1].keys())
    return [
        name
        for name in names
        if name not in ("updated_at", "version") and lines[0].get(name) != lines[1].get(name)
    ]


def document_of(state: ReplicaState, *, with_lines: bool) -> dict[str, Any]:
    """Return a state as JSON has it; without lines where the store has them or nobody asks."""
    siblings = []
    for each in state.siblings:
        written: dict[str, Any] = {"dot": list(each.dot), "digest": each.digest}
        if with_lines and each.line is not None:
            written["record"] = object_of(each.line)
        siblings.append(written)
    return {"context": dict(state.context), "siblings": siblings}


def state_of(document: Mapping[str, Any]) -> ReplicaState:
    """Return the state that JSON describes. Raises InvalidInput if it is none."""
    context, listed = document.get("context"), document.get("siblings")
    if not isinstance(context, dict) or not isinstance(listed, list):
        raise InvalidInput("context", "and siblings must be given: what is known of the record")
    if not all(_is_count(each) for each in context.values()):
        raise InvalidInput("context", "must give the number of edits by machine")
    return ReplicaState(context, tuple(_sibling_of(each) for each in listed))


def _sibling_of(document: Any) -> Sibling:
    dot = document.get("dot") if isinstance(document, dict) else None
    if not (isinstance(dot, list) and len(dot) == 2 and isinstance(dot[0], str)):
        raise InvalidInput("dot", "must be a machine and a number")
    if not _is_count(dot[1]) or not isinstance(document.get("digest"), str):
        raise InvalidInput("dot", "must be a machine and a number, with a digest beside it")
    record, digest = document.get("record"), document["digest"]
    line = None if record is None else json_line(record)
    if line is not None and digest_of(line) != digest:
        raise InvalidInput("digest", "must fit the record")
    return Sibling((dot[0], dot[1]), digest, line)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
