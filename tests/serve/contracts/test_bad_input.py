"""Every argument wrong in every way that its schema allows: an error that names it, nothing kept."""

import json
from collections.abc import Iterator, Mapping
from reprlib import repr as short
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minutebook.record.errors import InvalidInput
from minutebook.record.records import Role
from minutebook.serve.contracts.answers import Answer, readable_parts
from tests.examples import examples
from tests.features.governance.contract.governed import told
from tests.features.journal.contract.journaled import told as journal_told
from tests.features.ledger.contract.ledgered import told as refusal
from tests.serve.contracts.fitting import anything, fitting
from tests.serve.contracts.requirements import requirement
from tests.serve.contracts.wrong import ABSENT, OPENED, Spot, placed, spots, valid, wrong_values
from tests.world import World, worlds

TOOLS = {
    (contract.name, tool.name): tool
    for contract in OPENED.values()
    for tool in contract.tools.values()
    if tool.is_listed
}


def cases(contract: str, name: str) -> Iterator[tuple[Spot, Any]]:
    """Every argument of a tool, in every way wrong that its schema knows."""
    for spot in spots(TOOLS[contract, name]):
        for value in wrong_values(spot):
            yield spot, value
        if spot.name.endswith("_weight"):
            yield spot, -0.001


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("bad")
    with worlds(folder) as open_one:
        # A path drawn at random may well be a folder, with millions of files in it.
        roots = {"index_roots": (folder / "no such folder",)}
        made = open_one(**(roots if ("knowledge", "index_project") in TOOLS else {}))
        made.remember("Ana likes tea")
        made.relate(made.entity("Ana"), made.entity("Ben"))
        yield made.by(session="session_bad_input")


def check_form(contract: str, answer: Answer) -> None:
    """See that an error has the form that its contract promises."""
    assert answer.error is not None, answer.text
    assert answer.content is None
    assert "Traceback" not in answer.text
    failure = answer.error
    match contract:
        case "knowledge":
            assert (failure.code, failure.structured) == (None, None)
        case "catalog":
            assert failure.code in {404, -32602, -32001, -32003, -32603}
            assert failure.structured is not None
        case "governance":
            told(failure.text, failure.code, failure.structured)
        case "ledger":
            refusal(failure.text, failure.code, failure.structured)
        case "journal":
            journal_told(failure.text, failure.code, failure.structured, failure.name)
        case other:
            pytest.fail(f"no form of errors is known for {other}")


def check_refused_for(contract: str, answer: Answer, argument: str) -> None:
    """See that an argument was refused, by its name, in the contract's form."""
    check_form(contract, answer)
    assert answer.error is not None
    assert f"`{argument}" in answer.text
    assert len(answer.text) < 500
    if contract == "catalog":
        assert answer.error.code == -32602
    if contract == "ledger":
        assert answer.error.code == -32602
    if contract == "governance":
        code = "INVALID_CONTEXT" if argument.startswith("context") else "INVALID_ARGUMENT"
        assert answer.text.startswith(f"{code}: ")
    if contract == "journal":
        assert answer.text.startswith("Tool Error: Invalid arguments. Message: ")


def call(world: World, contract: str, tool: str, arguments: Mapping[str, Any]) -> Answer:
    answer = OPENED[contract].call(world.app, world.caller, tool, arguments)
    if tool == "stop_database" and answer.error is None:
        world.app.database.start(world.caller)
    return answer


@pytest.mark.parametrize(("contract", "name"), TOOLS)
def test_what_is_valid_is_not_refused_for_its_arguments(
    world: World, contract: str, name: str
) -> None:
    answer = call(world.by(role=Role.VIEWER), contract, name, valid(contract, name))
    assert "argument" not in (answer.text.lower() if answer.error else "")


@requirement(
    "common/bad-input/named",
    "governance/published/bad-input",
    "governance/memory-search/limit-refused",
)
@pytest.mark.parametrize(("contract", "name"), TOOLS)
def test_a_wrong_argument_is_named_and_nothing_is_kept(
    world: World, contract: str, name: str
) -> None:
    failures = []
    before = world.kept()
    for spot, value in cases(contract, name):
        answer = call(world, contract, name, placed(valid(contract, name), spot.path, value))
        try:
            check_refused_for(contract, answer, spot.name)
            assert world.kept() == before
        except AssertionError as failure:
            failures.append(f"{spot.name} = {short(value)}: {failure}")
            before = world.kept()
    assert not failures, "\n\n".join([f"{len(failures)} wrong arguments:", *failures])


@requirement("common/bad-input/unknown")
@pytest.mark.parametrize(("contract", "name"), TOOLS)
def test_an_unknown_argument_is_left_out_or_where_it_stands_in_another_refused_with_the_nearest_known_one(
    world: World, contract: str, name: str
) -> None:
    before = world.kept()
    tool = TOOLS[contract, name]
    is_open = tool.promise["inputSchema"].get("additionalProperties", True)
    for spot in spots(tool):
        *around, key = spot.path
        if not isinstance(key, str) or key in tool.promise.get("atGate", ()):
            continue
        for near in (f"{key}s", key.capitalize(), key.replace("_", "-") + "_"):
            wrong = placed(valid(contract, name), (*around, near), "x")
            if is_open and not around:
                gated = tool.promise.get("atGate", ())
                assert [each for each in tool.arguments.left_out(wrong) if each not in gated] == [
                    near
                ]
                assert tool.arguments.nearest(near) == key
                continue
            answer = call(world, contract, name, wrong)
            *_, place = Spot((*around, near), {}, {}, False).name.rpartition("`")
            check_refused_for(contract, answer, place)
            assert f"; `{key}` is" in answer.text
    assert world.kept() == before
    viewer = world.by(role=Role.VIEWER, request="more")
    plain = call(viewer, contract, name, valid(contract, name))
    answer = call(viewer, contract, name, {**valid(contract, name), "zzzz": 1})
    if is_open:
        assert (answer.error is None) is (plain.error is None)
        assert set(answer.content or ()) == set(plain.content or ())
        if answer.error is None:
            assert answer.notes["arguments"].facts == {"left_out": ["zzzz"]}
    else:
        check_refused_for(contract, answer, "zzzz")


def test_what_was_left_out_is_named_with_what_may_be_meant(world: World) -> None:
    world.remember("tea")
    answer = world.contract.call(
        world.app, world.caller, "recall", {"query": "tea", "limits": 1, "task_progress": "- [x]"}
    )
    first, *others = readable_parts(answer)
    assert json.loads(first)["query"] == "tea"
    assert others[-1] == (
        "Left out, since this tool has no such argument: limits (not limit?), task_progress."
    )


@requirement("common/arguments/as-sent")
@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ({"query": "a", "limit": "5"}, {"query": "a", "limit": 5}),
        ({"query": "a", "limit": "5.0"}, {"query": "a", "limit": 5}),
        ({"query": "5"}, {"query": "5"}),
        ({"query": "true"}, {"query": "true"}),
        ({"query": "a", "include_code": "true"}, {"query": "a", "include_code": True}),
        ({"query": "a", "vector_weight": "0.4"}, {"query": "a", "vector_weight": 0.4}),
    ],
)
def test_a_string_that_reads_as_the_declared_value_is_taken_as_it(
    arguments: dict[str, Any], meant: dict[str, Any]
) -> None:
    check = TOOLS["knowledge", "recall"].arguments.check
    assert check(arguments) == check(meant)


@requirement("common/arguments/as-sent")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("limit", each) for each in ("five", " 5", "5 ", "", "true", "NaN", "Infinity", "[5]")),
        *(("limit", each) for each in ("5.5", "1e400", "9" * 5000, '"5"', "[" * 100_000)),
        *(("include_code", each) for each in ("True", "yes", "1", "null")),
    ],
)
def test_any_other_string_is_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        TOOLS["knowledge", "recall"].arguments.check({"query": "a", name: value})
    assert refused.value.argument == name


def test_objects_and_lists_written_out_as_strings_are_taken_and_a_confirmation_is_not(
    world: World,
) -> None:
    id = world.call("store_memory", content="x", metadata='{"a": 1}')["id"]
    assert world.call("get_memory", id=id)["metadata"] == {"a": 1}
    assert world.call("reset_all_memory", confirm="true")["reset"] is False
    filters = '{"metadata": {"a": 1}}'
    check = TOOLS["catalog", "memory-search"].arguments.check
    assert check({"filters": filters}) == check({"filters": json.loads(filters)})


@pytest.mark.parametrize("content", [" \n", "\u200b", "\u3000"])
def test_a_blank_text_is_refused(world: World, content: str) -> None:
    assert "must not be blank" in world.refused("store_memory", content=content)
    id = world.call("store_memory", content="x")["id"]
    assert "must not be blank" in world.refused("update_memory", id=id, content=content)


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


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    contract, name = draw(st.sampled_from(sorted(TOOLS)))
    there = [spot.path for spot in spots(TOOLS[contract, name])]
    paths = draw(st.lists(st.sampled_from([*there, ("zz",)]), unique=True, max_size=4))
    arguments = valid(contract, name)
    for path in sorted(paths, key=len, reverse=True):
        arguments = placed(arguments, path, draw(anything))
    return contract, name, arguments


@given(calls())
@settings(max_examples=examples(300))
def test_no_arguments_whatever_end_in_anything_but_an_answer_or_an_error(
    world: World, made: tuple[str, str, dict[str, Any]]
) -> None:
    before = world.kept()
    answer = call(world, *made)
    if answer.error is not None:
        check_form(made[0], answer)
        assert world.kept() == before


@st.composite
def fitting_calls(draw: st.DrawFn) -> tuple[str, str, dict[str, Any]]:
    contract, name = draw(st.sampled_from(sorted(TOOLS)))
    arguments = valid(contract, name)
    published = TOOLS[contract, name].promise["inputSchema"]["properties"]
    for key in draw(st.lists(st.sampled_from([*published, ""]), unique=True)):
        # A context is made of several things that must fit one another: its own test is elsewhere.
        if key and key != "context":
            arguments[key] = draw(fitting(published[key]))
    return contract, name, arguments


@given(fitting_calls())
@settings(max_examples=examples(300))
def test_arguments_that_fit_the_published_schema_are_answered_or_refused_with_a_reason(
    world: World, made: tuple[str, str, dict[str, Any]]
) -> None:
    answer = call(world, *made)
    if answer.error is not None:
        check_form(made[0], answer)
        assert "is not an argument" not in answer.text
        assert "must be text" not in answer.text


@pytest.mark.needs("code")
def test_every_spot_of_every_schema_is_tried() -> None:
    tried: dict[tuple[str, str, str], list[Any]] = {}
    for key in TOOLS:
        for spot, value in cases(*key):
            tried.setdefault((*key, spot.name), []).append(value)
    assert ("catalog", "memory-search", "filters.status") in tried
    assert ("catalog", "memory-batch-write", "items[0].importance") in tried
    assert ("governance", "memory.read", "context.repository_id") in tried
    assert -0.001 in tried["knowledge", "recall", "ppr_weight"]
    assert any(value is ABSENT for values in tried.values() for value in values)
    assert sum(map(len, tried.values())) > 2800
