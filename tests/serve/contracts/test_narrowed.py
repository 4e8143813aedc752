"""Contracts with fewer of their tools: those that only read, or those that were named."""

import pytest

from minutebook.record.errors import InvalidInput
from minutebook.serve.contracts.announced import has_skill, safe_name
from minutebook.serve.contracts.contract import Contract
from minutebook.serve.contracts.registry import CONTRACTS, open_contracts


def reads(contract: Contract, name: str) -> bool:
    return bool(contract.tools[name].promise["annotations"]["readOnlyHint"])


@pytest.mark.parametrize("name", CONTRACTS)
def test_read_only_leaves_what_reads_and_offers_nothing_else(name: str) -> None:
    (whole,), (left,) = open_contracts([name]), open_contracts([name], read_only=True)
    assert left.listed == [each for each in whole.listed if reads(whole, each)]
    assert 0 < len(left.listed) < len(whole.listed)
    for tool in whole.listed:
        assert left.offers(tool) == left.offers(safe_name(tool)) == reads(whole, tool)
    instructions = left.promise["info"]["instructions"]
    assert instructions.startswith(whole.promise["info"]["instructions"])
    assert "read-only" in instructions
    assert {*left.promise["info"]} == {*whole.promise["info"]}


def test_what_leads_to_a_tool_goes_with_it() -> None:
    (left,) = open_contracts(["knowledge"], read_only=True)
    assert left.aliases["knowledge_graph"].to == {
        "get_related": "get_related",
        "detect_communities": "detect_communities",
    }
    assert list(left.prompts) == ["what-do-we-know", "why-was-it-decided"]
    (two,) = open_contracts(["knowledge"], tools=["search", "get_memory"])
    assert two.listed == ["get_memory", "search"]
    assert two.names == {"get_memory", "search", "search_memory"}
    assert two.aliases["search_memory"].default is None
    assert not two.prompts


@pytest.mark.parametrize(
    ("tools", "has"),
    [
        (["recall", "store_memory"], True),
        (["recall", "store_memory", "get_memory"], True),
        (["recall"], False),
        (["store_memory", "get_memory"], False),
    ],
)
def test_the_skill_is_there_with_the_two_tools_that_it_is_about(
    tools: list[str], *, has: bool
) -> None:
    (left,) = open_contracts(["knowledge"], tools=tools)
    assert has_skill([left.promise]) == has


@pytest.mark.needs("catalog", "ledger")
def test_tools_are_named_in_either_spelling_over_all_contracts() -> None:
    left = open_contracts(["catalog", "ledger"], tools=["memory_search", "record_decision"])
    assert [each.listed for each in left] == [["memory-search"], ["record_decision"]]
    assert open_contracts(["catalog"])[0].listed != left[0].listed


@pytest.mark.parametrize("name", ["search_memory", "Recall", "", "memory-write"])
def test_what_is_no_listed_tool_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="tools must name tools"):
        open_contracts(["knowledge"], tools=["recall", name])


def test_a_prompt_takes_its_arguments_as_they_are() -> None:
    (contract,) = open_contracts(["knowledge"])
    written = contract.prompt("what-do-we-know", {"subject": " {subject} of {decision} "})
    assert "---\n{subject} of {decision}\n---" in written
    refused: list[dict[str, str]] = [{}, {"subject": " "}, {"subject": "x" * 2001}]
    for arguments in refused:
        with pytest.raises(InvalidInput, match="subject must be a text"):
            contract.prompt("what-do-we-know", arguments)
    with pytest.raises(InvalidInput, match="topic is no argument of the prompt"):
        contract.prompt("what-do-we-know", {"subject": "tea", "topic": "tea"})
    assert "store_memory" in contract.prompt("remember-this-session")
    with pytest.raises(InvalidInput, match="takes none"):
        contract.prompt("remember-this-session", {"x": "y"})


def test_prompts_name_only_tools_that_they_need_and_that_there_are() -> None:
    (contract,) = open_contracts(["knowledge"])
    for name, promise in contract.prompts.items():
        text = contract.prompt_text(name)
        named = {tool for tool in contract.listed if f"`{tool}`" in text}
        assert named == set(promise["needs"]), name
        assert all(f"{{{each['name']}}}" in text for each in promise.get("arguments", ()))
