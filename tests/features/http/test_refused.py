"""What is no request is refused by what is wrong with it; the server serves on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.features.http.requests.body import BODY_BYTES, MOST_PARTS, Parts, parts_of
from tests.constants import with_constants
from tests.features.http.speaking import (
    BOTH,
    SINGLE,
    Server,
    call,
    initialize,
    occupied,
    request,
    served,
)
from tests.world import wait_until

SECRET_WORDS = "the vault opens at nine"

MALFORMED = {
    "no JSON": (b"this is no JSON", -32700),
    "nothing": (b"", -32700),
    "half": (b'{"jsonrpc": "2.0", "id": 1', -32700),
    "deep": (b"[" * 100_000, -32700),
    "deep object": (b'{"a":' * 20_000 + b"1" + b"}" * 20_000, -32700),
    "no UTF-8": (b'{"jsonrpc": "2.0", "id": 1, "method": "\xff\xfe"}', -32700),
    "null bytes": (b"\x00" * 64, -32700),
    "not a number": (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', -32700),
    "batch": (json.dumps([request("ping"), request("ping", 2)]).encode(), -32600),
    "empty batch": (b"[]", -32600),
    "number": (b"7", -32600),
    "no version": (b'{"id": 1, "method": "ping"}', -32600),
    "no method": (b'{"jsonrpc": "2.0", "id": 1}', -32600),
    "odd id": (b'{"jsonrpc": "2.0", "id": {"a": 1}, "method": 5}', -32600),
}
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='a",\\[ü'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='a",\\'), inner),
)
WITH_AN_ID = {"no version", "no method"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("served")
    with served(home, MINUTEBOOK_LOG_LEVEL="info") as one:
        yield one
        assert server_is_well(one)
        assert not any("Traceback" in line for line in one.said), one.said


def server_is_well(server: Server) -> bool:
    answer = server.post("/mcp", call("get_status"))
    return answer.status_code == 200 and not answer.json()["result"]["isError"]


@pytest.mark.parametrize("accept", [SINGLE["Accept"], BOTH["Accept"]])
@pytest.mark.parametrize("case", MALFORMED)
def test_what_is_no_message_is_refused_with_its_code_and_its_id(
    server: Server, case: str, accept: str
) -> None:
    body, code = MALFORMED[case]
    answer = server.post("/mcp", body, Accept=accept)
    assert answer.status_code == 400
    told = answer.json()
    assert told["jsonrpc"] == "2.0"
    assert told["id"] == (1 if case in WITH_AN_ID else None)
    assert told["error"]["code"] == code


@pytest.mark.parametrize("path", ["/mcp", "/nowhere"])
def test_a_body_that_cannot_be_read_is_answered_once(server: Server, path: str) -> None:
    """The fixture sees that nothing failed: the second path is answered without its body."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = server.raw(head.encode() + b"no length\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("version", ["2026-07-28", "2031-01-01", "\xff", "a" * 1000])
def test_a_revision_of_the_header_that_is_odd_is_refused_not_fallen_over(
    server: Server, version: str
) -> None:
    for body in (b"no JSON", json.dumps(request("ping")).encode()):
        raw = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        raw += b"Content-Type: application/json\r\nAccept: application/json\r\n"
        raw += b"MCP-Protocol-Version: " + version.encode("latin-1")
        raw += b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        assert server.raw(raw).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "params", [None, [], "text", {"name": 5}, {"arguments": {}}, {"name": "get_status", "x": 1}]
)
def test_parameters_of_the_wrong_form_are_answered_in_the_protocol(
    server: Server, params: Any
) -> None:
    answer = server.post("/mcp", {**request("tools/call"), "params": params})
    assert answer.status_code in (200, 400)
    assert answer.json().get("error", {"code": 0})["code"] in (0, -32602, -32600)


def test_null_bytes_in_a_text_are_the_contracts_to_judge(server: Server) -> None:
    answer = server.post("/mcp", call("store_memory", content="a\x00b"))
    assert answer.status_code == 200
    assert "result" in answer.json()


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-www-form-urlencoded"])
def test_another_content_type_is_refused(server: Server, kind: str) -> None:
    answer = server.post("/mcp", json.dumps(call("get_status")).encode(), Content_Type=kind)
    assert answer.status_code == 415
    assert "application/json" in answer.json()["error"]["message"]


def test_who_takes_neither_json_nor_streams_is_refused(server: Server) -> None:
    assert server.post("/mcp", call("get_status"), Accept="text/html").status_code == 406


def test_other_methods_are_refused(server: Server) -> None:
    raw = server.raw(b"PUT /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert raw.startswith((b"HTTP/1.1 405", b"HTTP/1.1 400"))
    assert server.get("/mcp", Accept="text/event-stream").status_code in (400, 405)


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_body_beyond_the_limit_is_refused_unread(server: Server, framing: str) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    if framing == "length":
        raw = head + b"Content-Length: %d\r\n\r\n" % (BODY_BYTES + 1)
    else:
        raw = (
            head
            + b"Transfer-Encoding: chunked\r\n\r\n400001\r\n"
            + b" " * (BODY_BYTES + 1)
            + b"\r\n"
        )
    assert server.raw(raw).startswith(b"HTTP/1.1 413")


@given(JSON_VALUES, st.integers(1, 9))
def test_the_parts_of_a_body_are_bounded_whatever_its_pieces(value: Any, size: int) -> None:
    text = json.dumps(value, separators=(",", ":")).encode()
    bounds, least = Parts(), 0
    for start in range(0, len(text), size):
        least = bounds.add(text[start : start + size])
    counted = counted_parts(value)
    assert parts_of(text) == counted
    assert least <= counted <= bounds.most


def counted_parts(value: Any) -> int:
    """The strings of a value, and its commas."""
    if isinstance(value, str):
        return 1
    if isinstance(value, list):
        return sum(map(counted_parts, value)) + max(0, len(value) - 1)
    if isinstance(value, dict):
        return counted_parts([each for item in value.items() for each in item]) - len(value)
    return 0


def test_a_long_text_full_of_commas_and_quotation_marks_is_taken(server: Server) -> None:
    text = '",\\' * (MOST_PARTS // 3 + 100)
    body = json.dumps(call("search_text", query=text)).encode()
    assert body.count(b",") + body.count(b'"') > MOST_PARTS // 2
    assert server.post("/mcp", body).status_code == 200


@pytest.mark.parametrize("value", [b"0", b'""', b'"",0', b"{}"])
def test_a_body_of_too_many_values_is_refused(server: Server, value: bytes) -> None:
    values = b",".join([value] * (MOST_PARTS // (1 + value.count(b",")) + 2))
    refused = server.post("/mcp", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":[%b]}}' % values)  # fmt: skip
    assert refused.status_code == 413
    assert "send fewer at once" in refused.text


def test_a_body_of_the_limit_is_taken(server: Server) -> None:
    message = json.dumps(call("get_status")).encode()
    assert server.post("/mcp", message.ljust(BODY_BYTES)).status_code == 200


@pytest.mark.thorough
def test_a_body_that_does_not_come_is_not_waited_for(server: Server) -> None:
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert server.raw(head + b'Content-Length: 100\r\n\r\n{"json').startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("raw", [b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01" * 30])
def test_what_is_no_http_is_refused(server: Server, raw: bytes) -> None:
    assert server.raw(raw)[:12] in (b"HTTP/1.1 400", b"")


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "", "127.0.0.1.nip.io"])
def test_a_name_that_is_not_the_servers_is_refused(server: Server, host: str) -> None:
    raw = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert server.raw(raw.encode()).startswith(b"HTTP/1.1 421")


@pytest.mark.parametrize("path", ["/mcp", "/healthz", "/metrics"])
def test_a_page_of_another_origin_is_refused(server: Server, path: str) -> None:
    for origin in (
        "https://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://localhost:6274",
        "http://127.0.0.1:1",
    ):
        answer = server.get(path, Origin=origin)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("path", ["/mcp", "/command", "/v1/memories"])
def test_a_browser_is_not_told_that_another_page_of_this_machine_may_call(
    server: Server, path: str
) -> None:
    asked = {
        "Origin": "http://localhost:6274",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    answer = httpx2.options(server.url + path, headers=asked)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_a_page_that_was_named_is_let_in_and_told_so(tmp_path: Path) -> None:
    origin = "http://localhost:6274"
    with served(tmp_path, MINUTEBOOK_HTTP_ORIGINS=origin) as server:
        answer = server.post("/mcp", initialize(), Origin=origin)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    assert "Mcp-Session-Id" in answer.headers["access-control-expose-headers"]


def test_calls_beyond_what_is_taken_on_are_told_to_come_again(tmp_path: Path) -> None:
    with served(tmp_path, **with_constants(tmp_path, serve__limits__CALLS=1)) as server:
        with occupied(server):
            answer = server.post("/mcp", call("get_status"))
            assert server.get("/healthz").status_code == 200
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1
        wait_until(lambda: server_is_well(server))


@pytest.mark.thorough
def test_no_line_of_the_log_holds_what_was_sent(server: Server) -> None:
    server.post("/mcp", call("store_memory", content=SECRET_WORDS))
    server.post("/mcp", {**call("store_memory", content=SECRET_WORDS), "id": {SECRET_WORDS: 1}})
    server.post("/mcp", f'{{"jsonrpc": "2.0", "{SECRET_WORDS}"'.encode())
    server.post("/mcp", call("store_memory", **{SECRET_WORDS: 1}))
    server.post("/mcp", {**request("tools/call"), "params": SECRET_WORDS})
    answer = server.post("/mcp", call("get_status"), X_Request_Id="last-one")
    assert answer.headers["x-request-id"] == "last-one"
    wait_until(lambda: any("last-one" in line for line in server.said))
    assert not any(SECRET_WORDS in line for line in server.said)
