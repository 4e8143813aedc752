"""What was stored with half a character, as the command line can, is answered all the same."""

from minutebook.record.control_characters import encodable
from minutebook.serve.contracts.answers import Answer
from minutebook.serve.protocol.calls import result_of
from minutebook.serve.stdio.early import line_of


def test_an_answer_with_half_a_character_can_be_sent() -> None:
    told = {"results": [{"content": "half \ud800 of it", "\udfff": ["\udc80", 1]}]}
    result = result_of(Answer(text="half \ud800", content=told))
    assert "half \ufffd of it" in line_of(id=1, result=result).decode()
    assert encodable(result)["structuredContent"] == {
        "results": [{"content": "half \ufffd of it", "\ufffd": ["\ufffd", 1]}]
    }
