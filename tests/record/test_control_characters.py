import json

from hypothesis import given
from hypothesis import strategies as st

from minutebook.record.control_characters import escaped, escaped_in_json

STEERING = (
    "\x00\x07\x08\n\r\t\x1b\x7f\x85\x9b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ud800"
)


def test_each_character_that_steers_is_written_as_an_escape() -> None:
    told = (
        r"\x00\x07\x08\n\r\t\x1b\x7f\x85\x9b\u061c\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069"
        r"\ud800"
    )
    assert escaped(STEERING) == told


def test_what_is_to_be_kept_is_kept() -> None:
    assert escaped("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


def test_other_writing_is_as_it_was() -> None:
    for text in ("naïve façade", "日本語", "क्षि", "می‌خواهم", "👩‍👩‍👧", "שלום", "C:\\temp\\new"):
        assert escaped(text) == text


@given(st.text(st.characters(codec=None) | st.sampled_from(STEERING)))
def test_a_json_document_reads_back_as_it_was_and_steers_nothing(text: str) -> None:
    document = json.dumps({text: [text]}, ensure_ascii=False, indent=2)
    shown = escaped_in_json(document)
    assert json.loads(shown) == {text: [text]}
    assert escaped(shown, keep="\n") == shown
