"""The catalog contract as real clients meet it: the document's examples, resources, prompts."""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from minutebook.features.catalog.contract import catalog
from minutebook.serve.contracts.knowledge import knowledge
from tests.examples import parametrize_in_part
from tests.line_client import LineClient
from tests.serve.contracts.requirements import published, requirement
from tests.serve.stdio.speaking import parameters, serving

OFFLINE = {"MINUTEBOOK_EMBEDDER": "none"}
POLICY = {
    "organization": "acme-corp",
    "scope_type": "organization",
    "memory_type": "business_rule",
    "current_content": "All deployments must pass acceptance tests.",
    "title": "Deployment Policy",
    "importance": 10,
}
ID = "550e8400-e29b-41d4-a716-446655440000"
LISTEN = "2026-07-28"


def talk(
    home: Path,
    told: Callable[[Client], Awaitable[None]],
    *contracts: str,
    mode: Any = "legacy",
    heard: list[Any] | None = None,
) -> None:
    """Connect the official client to a server of some contracts, and let it speak."""

    async def hear(message: Any) -> None:
        if heard is not None:
            heard.append(message)

    async def connect() -> None:
        server = parameters(home, *contracts, **OFFLINE)
        async with Client(server, mode=mode, message_handler=hear) as client:
            await told(client)

    anyio.run(connect)


async def write(client: Client, **more: Any) -> dict[str, Any]:
    told: dict[str, Any] = (
        await client.call_tool("memory-write", POLICY | more)
    ).structured_content
    return told


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri, cache_mode="bypass")).contents
    assert isinstance(content, types.TextResourceContents)
    return json.loads(content.text) if content.mime_type == "application/json" else content.text


def lines() -> list[dict[str, Any]]:
    """The JSON-RPC requests of the document's examples, in order."""
    blocks = re.findall(r"```json\n(.*?)\n```", published("catalog"), re.DOTALL)
    return [json.loads(block) for block in blocks if '"method"' in block]


@requirement("catalog/tools/examples")
def test_each_example_of_the_document_is_answered_as_it_shows(tmp_path: Path) -> None:
    write_example, update_example, search_example = lines()
    with serving(tmp_path, "catalog", **OFFLINE) as pipe:
        pipe.handshake("2025-06-18")
        pipe.send(write_example)
        answer = pipe.read()
        assert answer["id"] == write_example["id"]
        (content,) = answer["result"]["content"]
        created = json.loads(content["text"])
        assert content["type"] == "text"
        assert answer["result"]["structuredContent"] == created
        shown = write_example["params"]["arguments"] | {"status": "draft"}
        assert {key: created[key] for key in shown} == shown

        update_example["params"]["arguments"]["id"] = created["id"]
        pipe.send(update_example)
        updated = json.loads(pipe.read()["result"]["content"][0]["text"])
        assert updated == created | {"status": "active", "updated_at": updated["updated_at"]}

        pipe.send(search_example)
        result = pipe.read()["result"]
        assert "structuredContent" not in result
        (hit,) = json.loads(result["content"][0]["text"])
        assert hit == updated | {"relevance": hit["relevance"]}
        assert hit["relevance"] > 0


@requirement("catalog/errors/not-found", "catalog/errors/invalid", "catalog/memory-delete/again")
def test_errors_are_json_rpc_errors_with_the_promised_codes(tmp_path: Path) -> None:
    with serving(tmp_path, "catalog", **OFFLINE) as pipe:
        pipe.handshake()
        pipe.call("memory-write", **POLICY, id=ID)
        assert pipe.call("memory-delete", id=ID)["result"]["content"] == [
            {"type": "text", "text": f"Memory {ID} has been soft-deleted."}
        ]
        again = pipe.call("memory-delete", id=ID)
        assert "result" not in again
        assert again["error"]["code"] == 404
        assert again["error"]["data"] == {"id": ID}
        assert ID in again["error"]["message"]
        wrong = pipe.call("memory-write", **(POLICY | {"importance": 50}))["error"]
        assert wrong["code"] == -32602
        assert wrong["data"] == {"argument": "importance"}
        assert "`importance`" in wrong["message"]


def test_a_store_that_cannot_be_opened_is_a_json_rpc_error_too(tmp_path: Path) -> None:
    (tmp_path / "minutebook.db").write_bytes(b"this is no database" * 1000)
    with serving(tmp_path, "catalog", **OFFLINE) as pipe:
        pipe.handshake()
        for _ in range(2):
            assert pipe.call("memory-search")["error"]["code"] == -32603


def ask(pipe: LineClient, method: str, **params: Any) -> dict[str, Any]:
    pipe.send({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
    while (answer := pipe.read()).get("id") != method:
        assert "method" in answer
    return answer


@pytest.mark.needs("journal")
def test_resources_and_prompts_are_announced_only_where_a_contract_has_them(tmp_path: Path) -> None:
    with serving(tmp_path, "catalog", **OFFLINE) as pipe:
        told = pipe.handshake()["result"]["capabilities"]
        assert told["resources"] == {"subscribe": True, "listChanged": True}
        assert told["prompts"] == {"listChanged": False}
        assert "completions" in told
    with serving(tmp_path, "journal", **OFFLINE) as pipe:
        told = pipe.handshake()["result"]["capabilities"]
        assert not {"resources", "prompts", "completions"} & told.keys()
        assert ask(pipe, "resources/list")["error"]["code"] == -32601


@pytest.mark.parametrize("mode", ["legacy", LISTEN])
@requirement(
    "catalog/index/light",
    "catalog/resources/memory",
    "catalog/resources/history",
    "catalog/resources/docs",
    "catalog/resources/schema",
)
def test_resources_are_listed_and_read_by_a_real_client(tmp_path: Path, mode: str) -> None:
    async def told(client: Client) -> None:
        id = (await write(client))["id"]
        listed = (await client.list_resources(cache_mode="bypass")).resources
        assert [each.uri for each in listed][-2:] == ["schema://schema", f"memory://{id}"]
        templates = (await client.list_resource_templates()).resource_templates
        assert [each.uri_template for each in templates] == [
            "memory://{id}",
            "memory://{id}/history",
        ]
        for each in listed:
            assert await read(client, each.uri)
        (entry,) = await read(client, "memory://index")
        assert entry["id"] == id
        assert "current_content" not in entry
        assert (await read(client, f"memory://{id}"))["current_content"] == POLICY[
            "current_content"
        ]
        history = await read(client, f"memory://{id}/history")
        assert [each["action"] for each in history["audit"]] == ["created"]
        code = -32002 if mode == "legacy" else -32602
        for uri in (f"memory://{ID}", f"memory://{ID}/history", "memory://x", "docs://nowhere"):
            with pytest.raises(MCPError) as error:
                await client.read_resource(uri)
            assert error.value.code == code
            assert error.value.data["uri"] == uri

    talk(tmp_path, told, "catalog", mode=mode)


@parametrize_in_part("mode", [LISTEN, "legacy"])
@requirement("catalog/resources/completion")
def test_an_id_is_completed_by_a_real_client(tmp_path: Path, mode: str) -> None:
    async def told(client: Client) -> None:
        for number in range(102):
            await write(client, title=f"Deploy {number:03}")
        reference = types.ResourceTemplateReference(uri="memory://{id}")

        async def complete(typed: str) -> types.Completion:
            return (await client.complete(reference, {"name": "id", "value": typed})).completion

        many = await complete("dep")
        assert (len(many.values), many.has_more) == (100, True)
        one = await complete("DEPLOY 007")
        assert (len(one.values), one.total, one.has_more) == (1, 1, False)
        assert (await read(client, f"memory://{one.values[0]}"))["title"] == "Deploy 007"
        prompt = types.PromptReference(name="memory-agent-core")
        nothing = await client.complete(prompt, {"name": "id", "value": "dep"})
        assert nothing.completion.values == []

    talk(tmp_path, told, "catalog", mode=mode)


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(60):
        while not holds():
            await anyio.sleep(0.02)


@requirement("catalog/resources/subscribe")
@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
@pytest.mark.filterwarnings("ignore:resources/unsubscribe is removed")
def test_a_subscriber_hears_when_the_index_changes_and_not_when_it_does_not(tmp_path: Path) -> None:
    heard: list[Any] = []

    def updates(uri: str) -> int:
        return sum(
            isinstance(each, types.ResourceUpdatedNotification) and str(each.params.uri) == uri
            for each in heard
        )

    def lists() -> int:
        return sum(isinstance(each, types.ResourceListChangedNotification) for each in heard)

    async def told(client: Client) -> None:
        await client.list_resources()
        await client.subscribe_resource("memory://index")
        id = (await write(client))["id"]
        await until(lambda: (updates("memory://index"), lists()) == (1, 1))
        await client.subscribe_resource(f"memory://{id}")
        await client.call_tool("memory-update", {"id": id, "importance": 3})
        await until(lambda: updates("memory://index") == 2 and updates(f"memory://{id}") == 1)
        # A refusal is entered in the trail; what the client was shown is still so.
        with pytest.raises(MCPError):
            await client.call_tool("memory-link", {"source_id": id, "target_id": id})
        await client.unsubscribe_resource("memory://index")
        await client.call_tool("memory-delete", {"id": id})
        await until(lambda: lists() == 2 and updates(f"memory://{id}") == 2)
        assert updates("memory://index") == 2
        with pytest.raises(MCPError):
            await client.subscribe_resource("docs://nowhere")

    talk(tmp_path, told, "catalog", heard=heard)


def test_a_client_that_listed_and_subscribed_to_nothing_hears_nothing(tmp_path: Path) -> None:
    heard: list[Any] = []

    async def told(client: Client) -> None:
        id = (await write(client))["id"]
        await read(client, "memory://index")
        await client.call_tool("memory-delete", {"id": id})
        await anyio.sleep(0.3)
        assert heard == []

    talk(tmp_path, told, "catalog", heard=heard)


@requirement("catalog/resources/subscribe")
def test_a_subscriber_hears_what_another_process_writes(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "catalog", **OFFLINE) as one,
        serving(tmp_path, "knowledge", **OFFLINE) as other,
    ):
        one.handshake()
        other.handshake("2025-06-18")
        assert ask(one, "resources/subscribe", uri="memory://index")["result"] == {}
        other.call("store_memory", content="The kettle is in the attic.")
        assert one.read() == {
            "jsonrpc": "2.0",
            "method": "notifications/resources/updated",
            "params": {"uri": "memory://index"},
        }
        (entry,) = json.loads(
            ask(one, "resources/read", uri="memory://index")["result"]["contents"][0]["text"]
        )
        assert entry["memory_type"] == "semantic"


@requirement("catalog/resources/subscribe")
def test_a_listening_client_hears_the_same(tmp_path: Path) -> None:
    async def told(client: Client) -> None:
        uris = ["memory://index"]
        heard: list[str] = []
        async with (
            client.listen(resources_list_changed=True, resource_subscriptions=uris) as events,
            anyio.create_task_group() as group,
        ):

            async def hear() -> None:
                async for event in events:
                    heard.append(type(event).__name__)

            group.start_soon(hear)
            await write(client)
            await until(lambda: sorted(heard) == ["ResourceUpdated", "ResourcesListChanged"])
            group.cancel_scope.cancel()
        assert (await client.call_tool("memory-search", {})).content

    talk(tmp_path, told, "catalog", mode=LISTEN)


def test_a_client_that_listens_does_not_keep_the_server_from_ending(tmp_path: Path) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": LISTEN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    }
    with serving(tmp_path, "catalog", **OFFLINE) as pipe:
        pipe.send(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "subscriptions/listen",
                "params": {"_meta": meta, "notifications": {"resourcesListChanged": True}},
            }
        )
        assert pipe.read()["method"] == "notifications/subscriptions/acknowledged"
        assert pipe.process.stdin is not None
        pipe.process.stdin.close()
        assert pipe.process.wait(timeout=60) == 0


@pytest.mark.parametrize("mode", ["legacy", LISTEN])
@requirement("catalog/prompts/texts", "catalog/prompts/no-arguments")
def test_the_prompts_are_given_whole(tmp_path: Path, mode: str) -> None:
    async def told(client: Client) -> None:
        prompts = (await client.list_prompts()).prompts
        assert [each.name for each in prompts] == list(catalog().prompts)
        for each in prompts:
            assert each.description
            assert not each.arguments
            (message,) = (await client.get_prompt(each.name)).messages
            assert message.role == "user"
            assert isinstance(message.content, types.TextContent)
            assert message.content.text == catalog().prompt(each.name)
        with pytest.raises(MCPError) as error:
            await client.get_prompt("no-such-prompt")
        assert error.value.code == -32602

    talk(tmp_path, told, "catalog", mode=mode)


@requirement("common/safe-spelling")
@pytest.mark.parametrize("contract", ["catalog", "governance"])
def test_safe_names_are_published_when_asked_for_and_both_spellings_are_called(
    tmp_path: Path, contract: str
) -> None:
    for spelling in ("contract", "safe"):
        with serving(tmp_path, contract, "--tool-names", spelling, **OFFLINE) as pipe:
            pipe.handshake()
            listed = [each["name"] for each in ask(pipe, "tools/list")["result"]["tools"]]
            assert any(re.search(r"[.-]", each) for each in listed) is (spelling == "contract")
            for name in ("memory-search", "memory_search"):
                answer = pipe.call(name)
                assert "Unknown tool" not in json.dumps(answer)


@requirement("common/one-memory")
@pytest.mark.needs("code")
def test_contracts_on_one_connection_share_its_resources_and_their_memories(tmp_path: Path) -> None:
    async def told(client: Client) -> None:
        tools = [each.name for each in (await client.list_tools()).tools]
        assert len(tools) == 28
        await write(client)
        found = await client.call_tool("recall", {"query": "deployments"})
        assert found.structured_content["results"][0]["content"] == POLICY["current_content"]
        assert len((await client.list_resources()).resources) == 8
        assert len((await client.list_prompts()).prompts) == len(catalog().prompts) + len(
            knowledge().prompts
        )
        missing = await client.call_tool("get_memory", {"id": "0" * 20})
        assert missing.is_error

    talk(tmp_path, told, "knowledge", "catalog")


@requirement("common/clash")
def test_a_pair_that_clashes_ends_at_start_with_a_sentence(tmp_path: Path) -> None:
    with serving(tmp_path, "catalog", "governance", **OFFLINE) as pipe:
        assert pipe.process.wait(timeout=60) == 1
        assert pipe.process.stderr is not None
        said = pipe.process.stderr.read().decode()
        assert "memory-search, memory-write" in said
        assert "HTTP" in said
        assert "Traceback" not in said
