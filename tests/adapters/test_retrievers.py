"""The retrievers of LangChain and LlamaIndex."""

import asyncio
from typing import Any

import pytest

from minutebook.api import Minutebook
from tests.adapters.conftest import library

WHOSE = {
    "relevance",
    "source",
    "at",
    "by",
    "session",
    "location",
    "revised_by",
    "memory_type",
    "title",
    "author",
    "client",
    "status",
    "created_at",
    "reads_as_instructions",
}


@pytest.fixture
def ids(memory: Minutebook) -> list[str]:
    return [
        memory.remember("Ana likes green tea", metadata={"team": "ops"}).id,
        memory.remember("Ben likes black tea", metadata={"team": "web"}).id,
        memory.remember("The build runs at night").id,
    ]


def langchain(memory: Minutebook, **options: Any) -> Any:
    library("langchain_core")
    from minutebook.adapters.langchain import MinutebookRetriever

    return MinutebookRetriever(memory=memory, **options)


def llamaindex(memory: Minutebook, **options: Any) -> Any:
    library("llama_index")
    from minutebook.adapters.llamaindex import MinutebookRetriever

    return MinutebookRetriever(memory, **options)


def test_a_document_is_a_memory_with_whose_words_it_has(memory: Minutebook, ids: list[str]) -> None:
    (found,) = langchain(memory, limit=1).invoke("green tea")
    assert (found.id, found.page_content) == (ids[0], "Ana likes green tea")
    assert set(found.metadata) == {"team", *WHOSE}
    assert (found.metadata["team"], found.metadata["author"]) == ("ops", "bot")
    assert found.metadata["relevance"] > 0


def test_decisions_and_sessions_are_documents_too(memory: Minutebook, ids: list[str]) -> None:
    decided = memory.decisions.record("tea", "The office buys green tea", "Ana likes it.")
    turn = memory.sessions.append("s1", "Green tea", "Green tea.")
    found = {each.id: each.metadata for each in langchain(memory).invoke("green tea")}
    assert (found[decided.id]["source"], found[turn.id]["source"]) == ("decision", "session")
    assert found[turn.id]["session"] == "s1"
    assert found[decided.id]["by"]
    only = langchain(memory, filters={"sources": ["memory"]}).invoke("green tea")
    assert {each.id for each in only} <= set(ids)
    nodes = {each.node.node_id for each in llamaindex(memory).retrieve("green tea")}
    assert {decided.id, turn.id} < nodes


def test_a_retriever_of_langchain_can_be_narrowed_chained_and_awaited(
    memory: Minutebook, ids: list[str]
) -> None:
    retriever = langchain(memory, filters={"metadata": {"team": "web"}})
    assert [each.id for each in retriever.invoke("tea")] == [ids[1]]
    chain = retriever | (lambda documents: [each.page_content for each in documents])
    assert chain.invoke("tea") == ["Ben likes black tea"]
    assert [each.id for each in asyncio.run(retriever.ainvoke("tea"))] == [ids[1]]
    assert langchain(memory, least_relevance=1.1).invoke("tea") == []


def test_a_node_is_a_memory_and_a_model_is_shown_its_own_metadata_alone(
    memory: Minutebook, ids: list[str]
) -> None:
    (found,) = llamaindex(memory, limit=1).retrieve("green tea")
    assert (found.node.node_id, found.node.text) == (ids[0], "Ana likes green tea")
    assert found.score > 0
    assert set(found.node.metadata) == {"team", *WHOSE}
    from llama_index.core.schema import MetadataMode

    shown = found.node.get_content(MetadataMode.LLM)
    assert "team: ops" in shown
    assert "author" not in shown


def test_a_retriever_of_llamaindex_can_be_narrowed_and_awaited(
    memory: Minutebook, ids: list[str]
) -> None:
    retriever = llamaindex(memory, metadata={"team": "web"})
    assert [each.node.node_id for each in retriever.retrieve("tea")] == [ids[1]]
    assert [each.node.node_id for each in asyncio.run(retriever.aretrieve("tea"))] == [ids[1]]
    assert llamaindex(memory, least_relevance=1.1).retrieve("tea") == []
