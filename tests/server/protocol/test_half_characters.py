"""What was stored with half a character, as the command line can, is answered all the same."""

from minutebook.contracts.answers import Answer
from minutebook.server.protocol.tools import _as_result


def test_an_answer_with_half_a_character_can_be_sent() -> None:
    told = {"results": [{"content": "half \ud800 of it", "\udfff": ("\udc80", 1)}]}
    result = _as_result(Answer(text="half \ud800", content=told))
    assert "half \ufffd of it" in result.model_dump_json()
    assert result.structured_content == {
        "results": [{"content": "half \ufffd of it", "\ufffd": ["\ufffd", 1]}]
    }
