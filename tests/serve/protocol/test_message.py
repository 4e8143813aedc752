"""One message, or what is wrong with it, and never what it said."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.serve.protocol.message import BadMessage, parsed

WORDS = "the vault opens at nine"


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "\x00"}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "no"}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -1, "message": "no"}},
    ],
)
def test_requests_notifications_and_answers_are_messages(message: dict[str, Any]) -> None:
    read = parsed(json.dumps(message).encode())
    assert read.model_dump(by_alias=True, exclude_unset=True) == message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f'{{"{WORDS}"', -32700),
        (f'"{WORDS}', -32700),
        (f'{{"jsonrpc": "2.0", "id": 1, "method": 7, "params": "{WORDS}"}}', -32600),
        (f'["{WORDS}"]', -32600),
        (f'"{WORDS}"', -32600),
        ("null", -32600),
        ("[" * 1000, -32700),
    ],
)
def test_what_is_none_is_refused_without_being_quoted(text: str, code: int) -> None:
    with pytest.raises(BadMessage) as refused:
        parsed(text.encode())
    assert refused.value.code == code
    assert WORDS not in refused.value.reason


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused(text: bytes) -> None:
    try:
        code = 0 if parsed(text).jsonrpc == "2.0" else 1
    except BadMessage as error:
        code = error.code
    assert code in (0, -32700, -32600)
