"""What a client may send that is no message: each line has its answer, and the next is served."""

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.config import settings_with
from minutebook.serve.app_loader import AppLoader
from minutebook.serve.stdio.transport import MOST
from tests.line_client import INITIALIZED, initialize
from tests.serve.contracts.requirements import requirement
from tests.serve.stdio.on_socket import SocketClient, connected

PING = {"jsonrpc": "2.0", "id": "after", "method": "ping"}


@pytest.fixture(scope="module")
def opening(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppLoader]:
    settings = settings_with(home=tmp_path_factory.mktemp("home"), embedder="none")
    opened = AppLoader(settings)
    yield opened
    opened.close()


@pytest.fixture
def client(opening: AppLoader) -> Iterator[SocketClient]:
    """A client that has shaken hands."""
    with connected(opening) as one:
        one.send(initialize("2025-06-18"))
        assert one.read()["result"]["protocolVersion"] == "2025-06-18"
        one.send(INITIALIZED)
        yield one


BAD = {
    "no JSON": (b"this is no JSON", -32700, None),
    "half a message": (b'{"jsonrpc":"2.0","id":1,"met', -32700, None),
    "no UTF-8": (b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}', -32700, None),
    "null bytes": (b'{"jsonrpc":"2.0","id":1,"method":"pi\x00ng"}', -32700, None),
    "only a null byte": (b"\x00", -32700, None),
    "nested too deeply": (b"[" * 100_000, -32700, None),
    "nested too deeply, and whole": (b"[" * 100_000 + b"]" * 100_000, -32700, None),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
    "an empty batch": (b"[]", -32600, None),
    "a number": (b"7", -32600, None),
    "no method": (b'{"jsonrpc":"2.0","id":8}', -32600, 8),
    "no version": (b'{"id":"9","method":"ping"}', -32600, "9"),
    "an id that can be none": (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', -32600, None),
    "too long": (b"x" * (MOST + 1), -32600, None),
}


@pytest.mark.parametrize("name", BAD)
def test_a_line_that_is_no_message_is_answered_and_the_next_is_served(
    client: SocketClient, name: str
) -> None:
    line, code, id = BAD[name]
    client.write(line + b"\n")
    answer = client.read()
    assert answer["error"]["code"] == code
    assert answer["id"] == id
    client.send(PING)
    assert client.read() == {"jsonrpc": "2.0", "id": "after", "result": {}}


@requirement("common/arguments/as-sent")
@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        (rb"The deploy is done \ud83d", "The deploy is done \ufffd"),
        (rb"\ude80 lands", "\ufffd lands"),
        (rb"\ud83d\ud83d\ude80", "\ufffd\U0001f680"),
        (rb"a path C:\\ud83d \ud83d", "a path C:\\ud83d \ufffd"),
    ],
)
def test_half_a_surrogate_pair_is_read_as_the_sign_for_a_lost_character(
    client: SocketClient, sent: bytes, kept: str
) -> None:
    client.write(
        b'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"store_memory","arguments":{"content":"%b"}}}\n'
        % sent
    )
    id = client.read()["result"]["structuredContent"]["id"]
    call = {"name": "get_memory", "arguments": {"id": id}}
    client.send({"jsonrpc": "2.0", "id": 6, "method": "tools/call", "params": call})
    assert client.read()["result"]["structuredContent"]["content"] == kept


def test_an_error_that_a_client_answers_with_is_not_sent_back(client: SocketClient) -> None:
    client.send({"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "no"}})
    client.send(PING)
    assert client.read()["id"] == "after"


def test_blank_lines_are_passed_over(client: SocketClient) -> None:
    client.write(b"\n  \r\n\n")
    client.send(PING)
    assert client.read()["id"] == "after"


def test_a_message_in_pieces_and_several_in_one_are_all_read(client: SocketClient) -> None:
    one, other, last = (json.dumps({**PING, "id": id}).encode() for id in (1, 2, 3))
    client.write(one[:20])
    client.write(one[20:] + b"\r\n" + other + b"\n" + last)
    assert sorted(json.loads(each)["id"] for each in client.end().splitlines()) == [1, 2, 3]


def test_a_notification_that_speaks_of_an_id_is_one(client: SocketClient) -> None:
    params = {"progressToken": "id", "progress": 1, "_meta": {"id": 1}}
    client.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    client.send(PING)
    assert client.read()["id"] == "after"


@pytest.mark.parametrize("id", [[], {}, None, 1.5, True, "unknown", 77])
def test_a_cancellation_of_what_is_no_call_changes_nothing(
    client: SocketClient, id: object
) -> None:
    params = {"requestId": id, "reason": "late"}
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    client.send(PING)
    assert client.read()["id"] == "after"


def test_what_was_asked_is_answered_after_the_client_stopped_writing(client: SocketClient) -> None:
    call = {"name": "list_memories", "arguments": {}}
    client.write(json.dumps({**PING, "method": "tools/call", "params": call}).encode())
    assert json.loads(client.end())["result"]["isError"] is False


def test_a_client_that_vanishes_mid_call_ends_its_connection_only(
    client: SocketClient, opening: AppLoader
) -> None:
    call = {"name": "store_memory", "arguments": {"content": "said before the line went dead"}}
    client.send({**PING, "method": "tools/call", "params": call})
    client.vanish()
    assert opening.is_open or opening()


@given(lines=st.lists(st.binary(max_size=60), max_size=8))
def test_whatever_is_sent_the_connection_is_served_to_its_end(
    opening: AppLoader, lines: list[bytes]
) -> None:
    with connected(opening) as one:
        one.send(initialize("2025-06-18"))
        one.read()
        one.write(b"\n".join(lines) + b"\n")
        one.send(PING)
        ids = [json.loads(each)["id"] for each in one.end().splitlines()]
        assert ids.count("after") == 1
