"""Every argument wrong in every way that its schema allows: an error that names it, nothing kept."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.contracts.knowledge import knowledge
from tests.contracts.requirements import requirement
from tests.world import World, worlds

TOOLS = {tool.name: tool for tool in knowledge().tools.values() if tool.is_listed}
ABSENT = object()
ID = "0" * 20

VALID: Mapping[str, Any] = {
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
}
"""What each required argument may be."""

WRONG_TYPES: Mapping[str, list[Any]] = {
    "string": [5, 1.5, True, False, [], ["a"], {}, {"a": 1}],
    "integer": ["5", "", 1.5, True, False, [], [1], {}, math.nan, math.inf, -math.inf],
    "number": ["0.5", "", True, False, [], [1], {}, math.nan, math.inf, -math.inf, 10**400],
    "boolean": ["true", "", 1, 0, 1.0, [], {}],
    "object": ["{}", "", 5, 1.5, True, [], [{}]],
}


def nested(depth: int) -> Any:
    told: Any = 1
    for _ in range(depth):
        told = [told]
    return told


def wrong_values(schema: Mapping[str, Any], rules: Mapping[str, Any]) -> Iterator[Any]:
    """Give values that a property must not have: by type, range, length and form."""
    yield from WRONG_TYPES[schema["type"]]
    if "enum" in schema or "enum" in rules:
        for allowed in schema.get("enum", rules.get("enum")):
            yield from (allowed.upper(), f"{allowed} ", allowed[:-1])
    least = schema.get("minimum", rules.get("minimum"))
    if least is not None:
        yield from (least - 1, -(10**30))
    most = schema.get("maximum", rules.get("maximum"))
    if most is not None:
        yield from (most + 1, 10**30)
    if rules.get("minLength"):
        yield ""
    if "maxBytes" in rules and schema["type"] == "string":
        yield from ("a" * (rules["maxBytes"] + 1), "ä" * (rules["maxBytes"] // 2 + 1))
    if schema["type"] == "object":
        yield from ({"a": math.nan}, {"a": [-math.inf]}, {"a": "b" * 102_400}, {"a": nested(9**5)})
    if rules.get("form") == "instant":
        yield from ("then", "2026-02-30T00:00:00Z", "2026-01-06T12:00:00+99:00", "1e9")
    if rules.get("form") == "id":
        yield from ({"tb": "memories"}, {"id": {"String": ID}}, {"tb": "memories", "id": {}})
        yield from ({"tb": 1, "id": ID}, {"tb": "memories", "id": {"String": 1}}, [ID])


def cases() -> Iterator[Any]:
    for name, tool in TOOLS.items():
        schema, rules = tool.promise["inputSchema"], tool.promise.get("enforce", {})
        for key, told in schema["properties"].items():
            if rules.get(key, {}).get("form") == "any":
                continue
            if key in schema.get("required", []):
                yield pytest.param(name, key, ABSENT, id=f"{name}-{key}-absent")
                yield pytest.param(name, key, None, id=f"{name}-{key}-null")
            for number, value in enumerate(wrong_values(told, rules.get(key, {}))):
                yield pytest.param(name, key, value, id=f"{name}-{key}-{number}")
            if key.endswith("_weight"):
                yield pytest.param(name, key, -0.001, id=f"{name}-{key}-negative")


def valid(name: str) -> dict[str, Any]:
    return {key: VALID[key] for key in TOOLS[name].promise["inputSchema"].get("required", [])}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with worlds(tmp_path_factory.mktemp("bad")) as open_one:
        made = open_one()
        made.remember("Ana likes tea")
        made.relate(made.entity("Ana"), made.entity("Ben"))
        yield made


@pytest.mark.parametrize("name", TOOLS)
def test_what_is_valid_is_not_refused_for_its_arguments(world: World, name: str) -> None:
    answer = world.contract.call(world.app, world.by(role="viewer").caller, name, valid(name))
    assert "argument" not in (answer.text if answer.error else "")


@requirement("common/bad-input/named")
@pytest.mark.parametrize(("name", "key", "value"), list(cases()))
def test_a_wrong_argument_is_named_and_nothing_is_kept(
    world: World, name: str, key: str, value: Any
) -> None:
    before = world.contents()
    arguments = {**valid(name), key: value}
    if value is ABSENT:
        del arguments[key]
    text = world.refused(name, **arguments)
    assert f"`{key}`" in text
    assert len(text) < 400
    assert world.contents() == before


@requirement("common/bad-input/unknown")
@pytest.mark.parametrize("name", TOOLS)
def test_an_unknown_argument_is_refused_with_the_nearest_known_one(world: World, name: str) -> None:
    before = world.contents()
    properties = TOOLS[name].promise["inputSchema"]["properties"]
    for key in properties:
        for near in (f"{key}s", key.capitalize(), key.replace("_", "-") + "_"):
            text = world.refused(name, **valid(name), **{near: "x"})
            assert f"`{near}`" in text
            assert f"did you mean `{key}`" in text
    text = world.refused(name, **valid(name), zzzz=1)
    assert "`zzzz`" in text
    assert all(key in text for key in properties)
    assert world.contents() == before


@pytest.mark.parametrize("depth", [0, 4, -1, 2.5])
def test_a_walk_is_one_to_three_deep(world: World, depth: float) -> None:
    ana = world.entity("Ana")
    assert "`depth`" in world.refused("get_related", entity_id=ana, depth=depth)


def test_numbers_that_are_whole_may_be_written_with_a_point(world: World) -> None:
    assert world.call("list_memories", limit=1.0, offset=0.0)["limit"] == 1
    assert len(world.ids("list_memories", limit=1.0)) == 1


def test_the_largest_offset_is_answered(world: World) -> None:
    assert world.ids("list_memories", offset=2**53 - 1, limit=100) == []
    assert "`offset`" in world.refused("list_memories", offset=2**53)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(TOOLS)))
    properties = TOOLS[name].promise["inputSchema"]["properties"]
    keys = draw(st.lists(st.sampled_from([*properties, "zz"]), unique=True))
    arguments = {key: draw(anything) for key in keys}
    return name, (valid(name) if draw(st.booleans()) else {}) | arguments


@given(calls())
@settings(max_examples=150)
def test_no_arguments_whatever_end_in_anything_but_an_answer_or_an_error(
    world: World, call: tuple[str, dict[str, Any]]
) -> None:
    before = world.contents()
    answer = world.contract.call(world.app, world.caller, *call)
    assert (answer.content is None) is (answer.error is not None)
    if answer.error is not None:
        assert world.contents() == before


@st.composite
def fitting_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    name = draw(st.sampled_from(sorted(TOOLS)))
    schema = TOOLS[name].promise["inputSchema"]
    required = schema.get("required", [])
    optional = [key for key in schema["properties"] if key not in required]
    chosen: st.SearchStrategy[list[str]] = (
        st.lists(st.sampled_from(optional), unique=True) if optional else st.just([])
    )
    keys = [*required, *draw(chosen)]
    return name, {key: draw(fitting(schema["properties"][key])) for key in keys}


def fitting(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Draw what the published schema of a property allows."""
    least, most = schema.get("minimum"), schema.get("maximum")
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    by_type: Mapping[str, st.SearchStrategy[Any]] = {
        "string": st.text(max_size=30) | st.just(ID),
        "integer": st.integers(least, most),
        "number": st.floats(least, most, allow_nan=False, allow_infinity=False),
        "boolean": st.booleans(),
        "object": st.dictionaries(st.text(max_size=3), anything, max_size=3),
    }
    return by_type[schema["type"]]


@given(fitting_calls())
@settings(max_examples=150)
def test_arguments_that_fit_the_published_schema_are_answered_or_refused_with_a_reason(
    world: World, call: tuple[str, dict[str, Any]]
) -> None:
    answer = world.contract.call(world.app, world.caller, *call)
    assert (answer.content is None) is (answer.error is not None)
    assert "is not an argument" not in (answer.text if answer.error else "")
    assert "must be text" not in (answer.text if answer.error else "")
