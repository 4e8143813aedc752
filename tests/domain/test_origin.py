import pytest

from minutebook.domain.origin import LONGEST_NAME, Origin, tidied


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("claude-code", "claude-code"),
        (" Visual Studio Code ", "Visual Studio Code"),
        ("a\nb\tc\x1b[31m\u202e", "a b c [31m"),
        ("half \ud800", "half"),
        ("東京", "東京"),
        ("x" * 10_000, "x" * LONGEST_NAME),
        ("", ""),
    ],
)
def test_what_a_client_says_of_itself_is_kept_as_one_short_line(told: str, kept: str) -> None:
    assert tidied(told) == kept


def test_only_the_parts_that_are_known_are_named() -> None:
    origin = Origin(client="cursor", session="s")
    assert origin.parts == {"client": "cursor", "session": "s"}
    assert Origin.of(origin.parts) == origin
    assert origin.program == "cursor"
    assert Origin(client="cursor", version="1.2").program == "cursor 1.2"
    with pytest.raises(TypeError):
        Origin.of({"colour": "red"})
