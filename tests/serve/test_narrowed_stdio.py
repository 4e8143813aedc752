"""A server with fewer tools, as a client meets it; and the prompts of the knowledge contract."""

from pathlib import Path

from tests.features.catalog.test_stdio import OFFLINE, ask
from tests.serve.stdio.speaking import serving


def test_what_writes_is_neither_listed_nor_called(tmp_path: Path) -> None:
    with serving(tmp_path, "knowledge", "--read-only", **OFFLINE) as pipe:
        begun = pipe.handshake()["result"]
        assert "read-only" in begun["instructions"]
        assert begun["capabilities"]["prompts"] == {"listChanged": False}
        listed = [each["name"] for each in ask(pipe, "tools/list")["result"]["tools"]]
        assert "recall" in listed
        assert "store_memory" not in listed
        for tool in ("store_memory", "knowledge_graph", "reset_all_memory"):
            refused = pipe.call(tool, content="Tea at five", action="create_entity")
            told = str(refused)
            assert "Unknown tool" in told or "`action`: must be one of get_related" in told, told
        assert not pipe.call("list_memories")["result"]["isError"]


def test_the_prompts_are_given_with_their_arguments(tmp_path: Path) -> None:
    with serving(tmp_path, "knowledge", **OFFLINE) as pipe:
        pipe.handshake()
        prompts = {each["name"]: each for each in ask(pipe, "prompts/list")["result"]["prompts"]}
        assert prompts["remember-this-session"]["title"] == "Remember this session"
        assert prompts["what-do-we-know"]["arguments"][0]["required"] is True
        arguments = {"decision": "tea at five"}
        given = ask(pipe, "prompts/get", name="why-was-it-decided", arguments=arguments)
        assert "tea at five" in given["result"]["messages"][0]["content"]["text"]
        refused = ask(pipe, "prompts/get", name="why-was-it-decided")
        assert refused["error"]["code"] == -32602
        assert "decision must be a text" in refused["error"]["message"]
