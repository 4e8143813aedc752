import pytest

from minutebook.record.origin import LONGEST_NAME, Origin, as_client, byline, tidied


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


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("claude-code", "claude-code"),
        ("Visual Studio Code", "Visual Studio Code"),
        ("東京_2.1", "東京_2.1"),
        ("@scope/tool", "_scope_tool"),
        ("ada, 2 months ago, a person's", "ada_ 2 months ago_ a person_s"),
        ("a (b); c: “d” [e]\n\u202ef", "a _b__ c_ _d_ _e_ f"),
        ("x" * 41, "x" * 40),
        (f"{'x' * 39} y", "x" * 39),
    ],
)
def test_the_name_of_a_client_is_a_token(told: str, kept: str) -> None:
    assert as_client(told) == kept


@pytest.mark.parametrize(
    ("author", "origin", "said"),
    [
        ("ada", None, "ada"),
        ("ada@example.org", None, "ada@example.org"),
        ("Zoë Ünal-Öz Jr.", None, "Zoë Ünal-Öz Jr."),
        ("ada, a person's", None, '"ada, a person\'s"'),
        ("ada through minutebook", None, '"ada through minutebook"'),
        ("ada (human)", Origin(brought="bo"), 'bo, in the name of "ada (human)"'),
        (
            "ada",
            Origin(brought="bo, in the name of eve"),
            '"bo, in the name of eve", in the name of ada',
        ),
        ('a"b, c', Origin(brought='a"b, c'), '"a\'b, c" (claimed)'),
        ("ada\n(verified)", None, '"ada (verified)"'),
    ],
)
def test_a_name_does_not_pass_for_the_words_around_it(author: str, origin: Origin | None, said: str) -> None:  # fmt: skip
    assert byline(author, origin) == said


def test_only_the_parts_that_are_known_are_named() -> None:
    origin = Origin(client="cursor", session="s")
    assert origin.parts == {"client": "cursor", "session": "s"}
    assert Origin.from_parts(origin.parts) == origin
    assert origin.program == "cursor"
    assert Origin(client="cursor", version="1.2").program == "cursor 1.2"
    with pytest.raises(TypeError):
        Origin.from_parts({"colour": "red"})
