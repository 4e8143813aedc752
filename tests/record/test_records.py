"""What search reads of a record."""

from minutebook.record.records import MAX_CHUNK_TEXT
from tests.store.samples import chunk


def test_the_text_of_a_chunk_says_where_and_what_it_is() -> None:
    told = chunk(
        path="auth/verify.py",
        name="Issuer.check",
        signature="def check(self):",
        content="    def  check(self):\n        return 1\n",
    )
    assert told.text == "auth/verify.py\nIssuer.check\ndef  check(self):\n        return 1"


def test_the_signature_stands_before_lines_that_lack_it() -> None:
    told = chunk(path="a.py", name="f", signature="def f():", content="    return 1\n")
    assert told.text == "a.py\nf\ndef f():\nreturn 1"


def test_the_text_of_an_endless_line_ends() -> None:
    assert len(chunk(content="x" * 100_000).text) == MAX_CHUNK_TEXT


def test_the_text_outside_of_definitions_is_path_and_lines() -> None:
    told = chunk(path="a b/ü.py", name="", content="\nimport os\n")
    assert told.text == "a b/ü.py\nimport os"
