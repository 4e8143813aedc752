"""A memory as the long-term store of LangGraph: `BaseStore`.

An item is a memory of its own. Its value is the memory's text, as JSON; namespace and key are in the
metadata, and one name made of both is the memory's key. So each change is a version, on the trail.
"""

import asyncio
import json
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from minutebook.adapters.extras import needing
from minutebook.ask import Memory, Minutebook, NotFound

with needing("langgraph", "langgraph"):
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
    )

_PAGE = 1_000
_MOST_RANKED = 1_000


class MinutebookStore(BaseStore):
    """Keeps items in a memory; `search` with a query ranks them by meaning and words, with the relevance as score.

    Only its own items are found, no other memories, decisions and sessions; `name` separates several stores in one
    memory. Every item can be searched: `index` is ignored. Items do not expire: a time to live is refused.
    """

    supports_ttl = False

    def __init__(self, memory: Minutebook, *, name: str = "langgraph") -> None:
        self._memory = memory
        self._name = name

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do operations: all reads see the state before, then the last write to each key is done.

        Raises ValueError for an operation or an operator that is not known.
        """
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            match op:
                case GetOp():
                    results.append(self._get(op.namespace, op.key))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._list_namespaces(op))
                case PutOp():
                    puts[op.namespace, op.key] = op
                    results.append(None)
                case _:
                    raise ValueError(f"Unknown operation type: {type(op)}")
        for put in puts.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do some operations as `batch` does, in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, namespace: tuple[str, ...], key: str) -> Item | None:
        try:
            memory = self._memory.get(key=self._key(namespace, key))
        except NotFound:
            return None
        return Item(
            value=json.loads(memory.content),
            key=key,
            namespace=namespace,
            created_at=memory.ingestion_time,
            updated_at=memory.updated_at,
        )

    def _put(self, op: PutOp) -> None:
        key = self._key(op.namespace, op.key)
        if op.value is None:
            try:
                self._memory.forget(self._memory.get(key=key).id)
            except NotFound:
                return
            return
        self._memory.remember(
            json.dumps(dict(op.value), ensure_ascii=False),
            key=key,
            metadata=self._metadata_below(op.namespace)
            | {"namespace": list(op.namespace), "key": op.key},
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        scored = self._ranked(op) if op.query else self._newest_first(op.namespace_prefix)
        found = [
            _search_item(memory, score)
            for memory, score in scored
            if _matches_filter(json.loads(memory.content), op.filter)
        ]
        return found[op.offset : op.offset + op.limit]

    def _ranked(self, op: SearchOp) -> Iterator[tuple[Memory, float | None]]:
        """Yield the items that answer the query, the best first, then the others, without a score."""
        assert op.query is not None
        limit = _MOST_RANKED if op.filter else min(op.offset + op.limit, _MOST_RANKED)
        seen = set()
        for hit in self._memory.recall(
            op.query, limit=limit, metadata=self._metadata_below(op.namespace_prefix)
        ):
            assert hit.memory is not None, "only memories have metadata"
            seen.add(hit.memory.id)
            yield hit.memory, hit.relevance
        if len(seen) < limit:
            for memory, _ in self._newest_first(op.namespace_prefix):
                if memory.id not in seen:
                    yield memory, None

    def _newest_first(self, prefix: tuple[str, ...]) -> Iterator[tuple[Memory, float | None]]:
        where = self._metadata_below(prefix)
        offset = 0
        while page := self._memory.list_memories(
            limit=_PAGE, offset=offset, metadata=where
        ).memories:
            yield from ((memory, None) for memory in page)
            offset += len(page)

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        prefix = _fixed_prefix(op.match_conditions or ())
        namespaces = {_namespace(memory) for memory, _ in self._newest_first(prefix)}
        fitting = {
            each[: op.max_depth]
            for each in namespaces
            if all(_matches(condition, each) for condition in op.match_conditions or ())
        }
        return sorted(fitting)[op.offset : op.offset + op.limit]

    def _metadata_below(self, prefix: Sequence[str]) -> dict[str, Any]:
        """Return the metadata that all items below a prefix share."""
        levels = {f"namespace[{level}]": label for level, label in enumerate(prefix)}
        return {"store": self._name, **levels}

    def _key(self, namespace: tuple[str, ...], key: str) -> str:
        return json.dumps([self._name, list(namespace), key], ensure_ascii=False)


def _namespace(memory: Memory) -> tuple[str, ...]:
    levels: Any = memory.metadata["namespace"]
    return tuple(levels)


def _search_item(memory: Memory, score: float | None) -> SearchItem:
    return SearchItem(
        namespace=_namespace(memory),
        key=str(memory.metadata["key"]),
        value=json.loads(memory.content),
        created_at=memory.ingestion_time,
        updated_at=memory.updated_at,
        score=score,
    )


def _fixed_prefix(conditions: Iterable[MatchCondition]) -> tuple[str, ...]:
    """Return the longest prefix without a wildcard that a condition requires."""
    fixed: tuple[str, ...] = ()
    for condition in conditions:
        if condition.match_type == "prefix":
            wild = [*condition.path, "*"].index("*")
            fixed = max(fixed, tuple(condition.path[:wild]), key=len)
    return fixed


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    match condition.match_type:
        case "prefix":
            part = namespace[: len(path)]
        case "suffix":
            part = namespace[len(namespace) - len(path) :]
        case other:
            raise ValueError(f"Unsupported match type: {other}")
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def _matches_filter(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_matches_value(value.get(name), each) for name, each in (wanted or {}).items())


def _matches_value(value: Any, wanted: Any) -> bool:
    """Tell whether a value matches a filter as in LangGraph's own stores: operators, parts of objects, lists by item."""
    match wanted:
        case dict() if any(name.startswith("$") for name in wanted):
            return all(_compare(value, name, operand) for name, operand in wanted.items())
        case dict():
            return isinstance(value, dict) and _matches_filter(value, wanted)
        case list() | tuple():
            return (
                isinstance(value, list)
                and len(value) == len(wanted)
                and all(
                    _matches_value(one, other) for one, other in zip(value, wanted, strict=True)
                )
            )
        case _:
            return bool(value == wanted)


_ORDERS = {"$gt": operator.gt, "$gte": operator.ge, "$lt": operator.lt, "$lte": operator.le}


def _compare(value: Any, name: str, operand: Any) -> bool:
    if name in ("$eq", "$ne"):
        return bool(value == operand) is (name == "$eq")
    if name not in _ORDERS:
        raise ValueError(f"Unsupported operator: {name}")
    return value is not None and bool(_ORDERS[name](float(value), float(operand)))
