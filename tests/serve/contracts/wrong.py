"""Every way in which a contract's schemas allow an argument to be wrong, made from the schemas."""

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from minutebook.serve.contracts.contract import Contract, Tool
from minutebook.serve.contracts.registry import CONTRACTS
from tests.features.governance.contract.governed import ACME, INTENTS, ONE, UNKNOWN

ABSENT = object()
ID = "0" * 20
OPENED: Mapping[str, Contract] = {name: make() for name, make in CONTRACTS.items()}

_MEMORY = {
    "organization": ACME,
    "scope_type": "organization",
    "memory_type": "fact",
    "current_content": "Ana likes tea",
}
VALID: Mapping[str, Any] = {
    "knowledge": {
        "content": "Ana likes tea",
        "id": ID,
        "query": "tea",
        "name": "Ana",
        "from_entity": ID,
        "to_entity": ID,
        "relation_type": "knows",
        "entity_id": ID,
        "timestamp": "2026-01-06T12:00:00Z",
        "path": "/tmp",
        "project_id": "p",
        "confirm": False,
    },
    "catalog": {
        **_MEMORY,
        "id": UNKNOWN,
        "source_id": UNKNOWN,
        "target_id": UNKNOWN,
        "items": [_MEMORY],
    },
    "governance": {
        "content": "Ana likes tea",
        "type": "fact",
        "query": "tea",
        "memory_id": UNKNOWN,
        "reason": "old",
    },
    "ledger": {
        "title": "Use SQLite",
        "target": "database",
        "rationale": "It keeps what it was given.",
        "old_decision_ids": ["decision_20200101T000000000000Z_00000000"],
        "proposal_id": "proposal_20200101T000000000000Z_00000000",
        "query": "tea",
    },
    "journal": {
        "prompt": "Where is the tea?",
        "thought": "The cupboard.",
        "response": "In the cupboard.",
        "sessionId": "session_1",
        "query": "tea",
        "file": "backup.jsonl",
    },
}
"""What each required argument may be."""

BESIDE: Mapping[tuple[str, str], Mapping[str, Any]] = {
    ("catalog", "memory-update"): {"importance": 2},
    ("catalog", "memory-vector-search"): {"query": "tea"},
}
"""What a tool needs although no single argument of it is required."""

WRONG_TYPES: Mapping[str, list[Any]] = {
    "string": [5, 1.5, True, False, [], ["a"], {}, {"a": 1}],
    "integer": ["five", "5.5", "", 1.5, True, False, [], [1], {}, math.nan, math.inf, -math.inf],
    "number": ["half", "NaN", "", True, False, [], [1], {}, math.nan, math.inf, -math.inf, 10**400],
    "boolean": ["yes", "1", "", 1, 0, 1.0, [], {}],
    "object": ["{", "[]", "", 5, 1.5, True, [], [{}]],
    "array": ["[", "{}", "", 5, 1.5, True, {}, {"a": []}],
}


@dataclass(frozen=True)
class Spot:
    """One argument of a tool, perhaps inside another: `filters.status`, `items[0].title`."""

    path: tuple[str | int, ...]
    schema: Mapping[str, Any]
    rules: Mapping[str, Any]
    is_required: bool

    @property
    def name(self) -> str:
        """The argument as an error names it."""
        return "".join(
            f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path
        ).removeprefix(".")


def valid(contract: str, tool: str) -> dict[str, Any]:
    """Arguments that a tool takes: those that it needs."""
    required = OPENED[contract].tools[tool].promise["inputSchema"].get("required", [])
    given = {name: copy.deepcopy(VALID[contract].get(name)) for name in required}
    if "context" in given:
        given["context"] = {
            "agent_id": "claude",
            "organization_id": ACME,
            "repository_id": ONE,
            "intent": INTENTS[tool],
            "request_id": "r1",
        }
    return {**given, **BESIDE.get((contract, tool), {})}


def spots(tool: Tool) -> Iterator[Spot]:
    """Every argument of a tool, those inside others after the one that they are in."""
    hidden = tool.promise.get("hiddenProperties", {})
    yield from _inside((), tool.promise["inputSchema"], tool.promise.get("enforce", {}), hidden)


def _inside(
    path: tuple[str | int, ...],
    schema: Mapping[str, Any],
    rules: Mapping[str, Any],
    hidden: Mapping[str, Any],
) -> Iterator[Spot]:
    for name, told in {**schema["properties"], **hidden}.items():
        own = rules.get(name, {})
        if own.get("form") == "any":
            continue
        yield Spot((*path, name), told, own, name in schema.get("required", []))
        further = (own.get("properties", {}), own.get("hiddenProperties", {}))
        if "properties" in told:
            yield from _inside((*path, name), told, *further)
        elif "properties" in told.get("items", {}):
            yield Spot((*path, name, 0), told["items"], {}, False)
            yield from _inside((*path, name, 0), told["items"], *further)


def wrong_values(spot: Spot) -> Iterator[Any]:
    """Values that an argument must not have: by type, range, length, content and form."""
    schema, rules = spot.schema, spot.rules
    if spot.is_required:
        yield from (ABSENT, None)
    yield from WRONG_TYPES[schema["type"]]
    for allowed in schema.get("enum", rules.get("enum", [])):
        yield from (allowed.upper(), f"{allowed} ", allowed[:-1])
    both = {**schema, **rules}
    if "minimum" in both:
        yield from (both["minimum"] - 1, -(10**30))
    if "maximum" in both:
        yield from (both["maximum"] + 1, 10**30)
    if both.get("minLength"):
        yield from dict.fromkeys(("", "a" * (both["minLength"] - 1)))
    if both.get("maxLength"):
        yield "a" * (both["maxLength"] + 1)
    if "pattern" in both:
        yield " \n" * both["minLength"]
    if both.get("minItems"):
        yield []
    if "maxBytes" in both and schema["type"] == "string":
        yield from ("a" * (both["maxBytes"] + 1), "ä" * (both["maxBytes"] // 2 + 1))
    if schema["type"] == "array" and "properties" not in schema["items"]:
        yield from ([each] for each in WRONG_TYPES[schema["items"]["type"]])
    if schema["type"] == "object" and "properties" not in schema:
        yield from ({"a": math.nan}, {"a": [-math.inf]}, {"a": "b" * 102_400}, {"a": nested(9**5)})
    yield from _wrong_forms(both)


def _wrong_forms(rules: Mapping[str, Any]) -> Iterator[Any]:
    if rules.get("form") == "instant":
        yield from ("then", "2026-02-30T00:00:00Z", "2026-01-06T12:00:00+99:00", "1e9")
    if rules.get("form") == "id":
        yield from ({"tb": "memories"}, {"id": {"String": ID}}, {"tb": "memories", "id": {}})
        yield from ({"tb": 1, "id": ID}, {"tb": "memories", "id": {"String": 1}}, [ID])
    if "uuid" in (rules.get("form"), rules.get("format")):
        yield from ("nonsense", UNKNOWN[:-1], f"{UNKNOWN}0", UNKNOWN.replace("9", "g"), "")


def nested(depth: int) -> Any:
    """A list in a list, and so on."""
    told: Any = 1
    for _ in range(depth):
        told = [told]
    return told


def placed(arguments: dict[str, Any], path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    """The arguments with a value in one place; what it lies in is made if it is not there."""
    made: Any = {**arguments}
    at, filled = made, made
    for part, following in pairwise(path):
        if isinstance(part, str):
            filled = at.get(part)
            at[part] = copy.copy(filled) if filled is not None else [{}] if following == 0 else {}
        else:
            at[part] = copy.copy(at[part])
        at = at[part]
    if value is ABSENT:
        at.pop(path[-1], None)
    else:
        at[path[-1]] = value
    told: dict[str, Any] = made
    return told
