"""A chat service answers, or it is said why it did not."""

import json

import pytest

from minutebook.features.models.endpoint import Completion
from minutebook.record.errors import Unanswered
from tests.chat_service import ChatService, completed


def asked(service: ChatService, key: str | None = None, timeout: float = 10.0) -> Completion:
    return Completion(service.url, "small", key, timeout, pause=lambda seconds: None)


def test_it_is_asked_as_openai_is() -> None:
    with ChatService((200, completed("an answer"))) as service:
        assert asked(service, "k3y").ask("be brief", "what is it?", 99) == "an answer"
    ((path, key, body),) = service.asked
    assert (path, key) == ("/v1/chat/completions", "Bearer k3y")
    assert body == {
        "model": "small",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "what is it?"},
        ],
        "max_tokens": 99,
        "temperature": 0,
    }


def test_half_characters_are_not_sent() -> None:
    with ChatService((200, completed("an answer"))) as service:
        asked(service).ask("be brief", "\ud800", 9)
    assert service.asked[0][2]["messages"][1]["content"] == "\ufffd"


def test_a_service_that_is_busy_is_asked_again() -> None:
    with ChatService((503, {}), (200, completed("an answer"))) as service:
        assert asked(service).ask("", "", 9) == "an answer"


@pytest.mark.parametrize(
    ("status", "said", "told"),
    [
        (401, {"error": {"message": "no such key: k3y"}}, "answered 401: no such key: (key)"),
        (404, b"not here", "answered 404: not here"),
        (302, b"", "answered 302"),
        (200, b"<html>", "answered what is not a completion"),
        (200, [], "answered what is not a completion"),
        (200, {"choices": []}, "answered what is not a completion"),
        (200, {"choices": [{"message": {"content": [1]}}]}, "answered what is not a completion"),
    ],
)
def test_what_is_no_answer_is_told_without_the_key(status: int, said: object, told: str) -> None:
    with ChatService((status, said)) as service, pytest.raises(Unanswered) as refused:
        asked(service, "k3y").ask("", "", 9)
    assert told in refused.value.reason
    assert "k3y" not in refused.value.reason


def test_a_service_that_is_too_slow_is_given_up() -> None:
    reply = (200, completed("too late"))
    with ChatService(reply, reply, slow=0.5) as service, pytest.raises(Unanswered) as refused:
        asked(service, timeout=0.1).ask("", "", 9)
    assert "ReadTimeout" in refused.value.reason


def test_a_service_that_is_not_there_is_told() -> None:
    with ChatService() as service:
        gone = asked(service)
    with pytest.raises(Unanswered) as refused:
        gone.ask("", json.dumps({}), 9)
    assert "cannot be reached" in refused.value.reason
