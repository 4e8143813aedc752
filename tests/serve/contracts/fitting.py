"""Arguments that fit a published schema, drawn from it."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from tests.serve.contracts.wrong import ID

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)

NAMES_A_MEMORY = frozenset({"id", "memory_id", "source_id", "target_id", "superseded_by"})


def fitting(
    schema: Mapping[str, Any], name: str = "", ids: Sequence[str] = ()
) -> st.SearchStrategy[Any]:
    """Draw what the published schema of a property allows.

    With ids, what names a memory is one of them, and texts are such as every tool takes.
    """
    least, most = schema.get("minimum"), schema.get("maximum")
    if name in NAMES_A_MEMORY and ids:
        return st.sampled_from(ids)
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "properties" in schema:
        inner = {key: fitting(each, key, ids) for key, each in schema["properties"].items()}
        required = {key: inner.pop(key) for key in schema.get("required", [])}
        return st.fixed_dictionaries(required, optional=inner)
    by_type: Mapping[str, st.SearchStrategy[Any]] = {
        "string": st.just("tea at four") if ids else st.text(max_size=30) | st.just(ID),
        "integer": st.integers(least, most),
        "number": st.floats(least, most, allow_nan=False, allow_infinity=False),
        "boolean": st.booleans(),
        "object": st.dictionaries(st.text(max_size=3), anything, max_size=3),
    }
    if schema["type"] == "array":
        return st.lists(fitting(schema["items"], name, ids), min_size=1 if ids else 0, max_size=3)
    return by_type[schema["type"]]
