"""The states of one record on several machines, and merging them.

Each edit of a record is identified by its dot: the machine and the number of the edit there. A `ReplicaState` has
the edits that no other edit has replaced, and as its context all known edits, replaced or not. Merging
is commutative, associative and idempotent, so machines that know the same edits agree, in whatever order
they learned of them, without clocks. These are dotted version vectors (Preguiça and others, 2010).
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
"""The digest of a removed record."""

DERIVED = "~"
"""The beginning of the machine in the dot of a derived edit: one that follows from others and is the same on each machine."""

TRAVELLING = (
    *(Kind.MEMORY, Kind.VERSION, Kind.ENTITY, Kind.RELATION, Kind.LINK),
    *(Kind.PROPOSAL, Kind.TURN, Kind.SUMMARY, Kind.DECISION),
)
"""The kinds that machines exchange; memories come first, because versions and links need them."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """An edit that no other has replaced: its dot, the digest of the record after it, and the record's line.

    `line` is None for a removed record, and for one that the store has.
    """

    dot: Dot
    digest: str
    line: bytes | None = None

    @property
    def record(self) -> Record | None:
        """The record after this edit; None if there is no line."""
        return None if self.line is None else record_of(object_of(self.line))


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """The known edits of one record: `siblings` are those that no other has replaced.

    `context` is by machine the number of its edits that are known.
    """

    context: Mapping[str, int]
    siblings: tuple[Sibling, ...]

    def knows(self, dot: Dot) -> bool:
        """Tell whether an edit is known, replaced or not."""
        return self.context.get(dot[0], 0) >= dot[1]

    @property
    def digests(self) -> frozenset[str]:
        """The digests of the siblings; several are a conflict."""
        return frozenset(each.digest for each in self.siblings)

    def edited(self, machine: str, line: bytes | None) -> "ReplicaState":
        """Return the state after an edit by a machine that replaces all siblings."""
        number = self.context.get(machine, 0) + 1
        sibling = Sibling((machine, number), digest_of(line), line)
        return ReplicaState({**self.context, machine: number}, (sibling,))

    def derived(self, line: bytes | None) -> "ReplicaState":
        """Return the state after a derived edit, which has the same dot on each machine."""
        known = json_line({"context": dict(sorted(self.context.items()))})
        name = DERIVED + hashlib.sha256(known + (line or b"")).hexdigest()[:16]
        return self.edited(name, line)

    def renamed(self, machine: str, other: str) -> "ReplicaState":
        """Return the state with the machine's latest edit, which was not sent yet, under another machine id."""
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
"""The state of an unknown record."""


def merge(one: ReplicaState, other: ReplicaState) -> ReplicaState:
    """Return both states merged: a sibling of one stays if the other has it, too, or does not know the edit."""
    here = {each.dot: each for each in one.siblings}
    there = {each.dot: each for each in other.siblings}
    siblings = {dot: each for dot, each in there.items() if dot in here or not one.knows(dot)}
    siblings |= {dot: each for dot, each in here.items() if dot in there or not other.knows(dot)}
    names = one.context.keys() | other.context.keys()
    context = {n: max(one.context.get(n, 0), other.context.get(n, 0)) for n in sorted(names)}
    return ReplicaState(context, tuple(siblings[dot] for dot in sorted(siblings)))


def travelling_line(record: Record | None) -> bytes | None:
    """Return a record as the line that machines exchange; a decision without its commit, which is local.

    Returns None for no record, and for a proposal that Git brought, because Git brings it to the others.
    """
    if record is None or (isinstance(record, Proposal) and is_in_git(record)):
        return None
    return line_of(replace(record, commit_id=None) if isinstance(record, Decision) else record)


def digest_of(line: bytes | None) -> str:
    """Return the digest of a record's line."""
    return REMOVED if line is None else hashlib.sha256(line).hexdigest()[:32]


def winner_of(state: ReplicaState) -> Sibling:
    """Return the sibling to be shown, the same on each machine.

    A record wins over a removed one, then one that is not soft-deleted, then a locked memory, then the one that
    was changed later by its own machine's clock; then the digest decides.
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


def differing_fields(one: Record, other: Record) -> list[str]:
    """Return the names of the fields in which two records of a kind differ, times of changes aside."""
    lines = [object_of(travelling_line(each) or b"{}") for each in (one, other)]
    names = sorted(lines[0].keys() | lines[1].keys())
    return [
        name
        for name in names
        if name not in ("updated_at", "version") and lines[0].get(name) != lines[1].get(name)
    ]


def document_of(state: ReplicaState, *, with_lines: bool) -> dict[str, Any]:
    """Return a state as JSON; with the records' lines if `with_lines`, as far as the state has them."""
    siblings = []
    for each in state.siblings:
        written: dict[str, Any] = {"dot": list(each.dot), "digest": each.digest}
        if with_lines and each.line is not None:
            written["record"] = object_of(each.line)
        siblings.append(written)
    return {"context": dict(state.context), "siblings": siblings}


def state_of(document: Mapping[str, Any]) -> ReplicaState:
    """Return the state that `document_of` wrote. Raises InvalidInput if the document does not fit."""
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
