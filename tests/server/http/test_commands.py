"""Commands that are typed elsewhere: a server runs them in the name of a token's bearer."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import click
import httpx2
import pytest

from minutebook.app import open_app
from minutebook.cli import main
from minutebook.cli.on_server import SERVED
from minutebook.config import Settings
from minutebook.domain.records import Role
from tests.server.http.speaking import PLAIN, Server, served, serving, token
from tests.terminal import Run

Typed = Callable[..., tuple[int, str, str]]
REASON = "It keeps what it was given."


@pytest.fixture(scope="module")
def secrets(server: Server) -> dict[str, str]:
    """Tokens by the names of their bearers."""
    roles = {"ana": Role.HUMAN, "bot": Role.AGENT, "eye": Role.VIEWER}
    return {name: token(server.home, name, role).secret for name, role in roles.items()}


@pytest.fixture
def typed(
    run: Run, server: Server, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Typed:
    """Type a command for the server; its exit status, and what it printed."""

    def type_it(*words: str, by: str = "ana", **options: object) -> tuple[int, str, str]:
        monkeypatch.setenv("MINUTEBOOK_TOKEN", secrets[by])
        done = run("--url", server.url, *words, **options)
        return done.exit_code, done.stdout, done.stderr

    return type_it


def test_what_is_remembered_there_is_found_there_and_not_here(typed: Typed, run: Run) -> None:
    status, printed, said = typed("remember", "The kettle is in the attic", "--type", "fact")
    assert (status, said) == (0, "")
    id = printed.strip()
    assert id in typed("search", "kettle")[1]
    shape = json.loads(typed("show", id, "--json")[1])
    assert (shape["author"], shape["organization"], shape["type"]) == ("ana", "acme", "fact")
    assert run("list").exit_code == 1
    assert typed("invalidate", id, "--reason", "It was sold")[0] == 0
    assert "kettle" not in typed("search", "kettle")[1]
    assert typed("forget", id, "--yes")[0] == 0
    assert typed("show", id)[0] == 1


def test_a_text_from_stdin_is_read_here(typed: Typed) -> None:
    status, printed, _ = typed("remember", "-", "--title", "Odd", input="--yes is no option\n")
    assert status == 0
    assert (
        json.loads(typed("show", printed.strip(), "--json")[1])["content"] == "--yes is no option"
    )


def test_decisions_and_sessions_are_there_as_well(typed: Typed) -> None:
    words = ("--title", "Use it", "--target", "store", "--rationale", REASON)
    assert typed("decide", *words)[0] == 0
    assert "Use it" in typed("decisions")[1]
    assert typed("proposals")[0] == 0
    assert typed("sessions")[0] == 0
    assert typed("summarize")[:2] == (0, "Every session has a summary of what it is now.\n")


def test_the_rules_are_those_for_the_bearer(typed: Typed) -> None:
    for words in (
        ("remember", "No"),
        ("decide", "--title", "a", "--target", "b", "--rationale", REASON),
    ):
        status, _, said = typed(*words, by="eye")
        assert status == 1
        assert "not allowed" in said
        assert "--role" not in said
    assert typed("remember", "A rule", "--type", "business_rule", by="bot")[0] == 1
    assert typed("audit")[0] == 0


@pytest.mark.parametrize("option", ["--role", "--organization", "--agent", "--home", "--policy"])
def test_nobody_says_who_they_are_but_by_their_token(typed: Typed, option: str) -> None:
    status, _, said = typed("list", option, "admin")
    assert status == 2
    assert "the token says it" in said


def test_what_has_to_ask_a_person_is_refused(typed: Typed) -> None:
    id = typed("remember", "Kept")[1].strip()
    status, _, said = typed("forget", id)
    assert status == 2
    assert "ask the person" in said
    assert typed("show", id)[0] == 0
    assert typed("decide")[0] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--url", "URL"], "must be followed by a command"),
        (["--url"], "must be followed by its value"),
        (["--url", "URL", "doctor"], "`doctor` runs where it is typed"),
        (["--url", "URL", "token", "list"], "`token` runs where it is typed"),
        (["--url", "URL", "--role=admin", "list"], "must come after the command"),
        (["--url", "URL", "--token-env", "mbk-secret", "list"], "must name a variable"),
        (["--url", "URL", "--token-env", "NONE_SUCH", "list"], "NONE_SUCH, which is empty"),
        (["--url", "http://memory.example.org", "list"], "must be https"),
        (["--role", "human", "--url", "URL", "list"], "must come before every other option"),
        (["--token-env", "X", "list"], "must come before every other option"),
    ],
)
def test_what_is_not_whole_is_refused_here(
    run: Run, server: Server, words: list[str], said: str
) -> None:
    done = run(*[server.url if word == "URL" else word for word in words])
    assert done.exit_code == 2
    assert said in done.stderr
    assert "mbk-secret" not in done.stderr


def test_a_server_that_is_not_there_and_a_token_that_is_none_are_told(
    run: Run, server: Server, secrets: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert secrets
    monkeypatch.setenv("MINE", "mbk_" + "0" * 43)
    done = run("--url", server.url, "--token-env", "MINE", "list")
    assert done.exit_code == 1
    assert "name a token that is valid" in done.stderr
    done = run("--url", "http://127.0.0.1:1", "list")
    assert done.exit_code == 1
    assert "cannot be reached" in done.stderr


@pytest.mark.parametrize("body", [{}, {"words": []}, {"words": "list"}, {"words": [1]}, []])
def test_a_request_that_is_no_command_is_refused(
    server: Server, secrets: dict[str, str], body: object
) -> None:
    headers = {"Authorization": f"Bearer {secrets['ana']}"}
    assert server.post("/command", body, **headers).status_code == 400
    assert server.post("/command", body).status_code == 401


@pytest.mark.parametrize(
    "words",
    [["doctor"], ["serve"], ["token", "create"], ["--role", "list"], ["edit", "x"], ["index"]],
)
def test_the_server_itself_runs_no_other_command(
    server: Server, secrets: dict[str, str], words: list[str]
) -> None:
    headers = {"Authorization": f"Bearer {secrets['ana']}"}
    answer = server.post("/command", {"words": words}, **headers).json()
    assert answer["status"] == 2
    assert "does not run on a server" in answer["printed"][0][1]


def test_what_a_server_does_not_serve_no_command_reaches(tmp_path: Path) -> None:
    with served(tmp_path, "knowledge", "--read-only") as one:
        for words, said in [
            (["decisions"], "the contract ledger"),
            (["remember", "No"], "read-only"),
        ]:
            answer = one.post("/command", {"words": words}).json()
            assert answer["status"] == 2
            assert said in answer["printed"][0][1]
        assert one.post("/command", {"words": ["list"]}).json()["status"] == 0


def test_an_error_says_nothing_of_the_servers_machine(
    server: Server, typed: Typed, secrets: dict[str, str]
) -> None:
    with closing(open_app(Settings(home=server.home, embedder="none"))) as app:
        assert app.tokens.is_shared()
    status, _, said = typed("show", "0" * 20)
    assert status == 1
    assert str(server.home) not in said


TYPED = "What the operator types."


def _with_a_dash(name: str) -> Iterator[list[str]]:
    """Yield a command with `-` as each of its arguments, as all that follows, and as each option's value."""
    command: click.Command = main
    for word in name.split():
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    words, count = name.split(), sum(isinstance(one, click.Argument) for one in command.params)
    yield from ([*words, *["-"] * many] for many in range(1, max(1, count) + 1))
    yield [*words, "--", "-"]
    for option in command.params:
        if isinstance(option, click.Option) and not option.is_flag:
            yield [*words, option.opts[0], "-", *["-"] * count]


def test_no_command_reads_the_keyboard_the_folder_or_the_files_of_the_server(
    tmp_path: Path,
) -> None:
    posted = [words for name in SERVED for words in _with_a_dash(name)]
    assert ["remember", "-"] in posted
    assert ["audit", "head", "--to", "-"] in posted
    folder = tmp_path / "folder"
    folder.mkdir()
    reading, writing = os.pipe()
    os.write(writing, f"{TYPED}\n".encode())
    with (
        serving(tmp_path / "home", stdin=reading) as one,
        httpx2.Client(**PLAIN) as http,
    ):
        for words in posted:
            answer = http.post(f"{one.url}/command", json={"words": words}, timeout=20).json()
            assert isinstance(answer["status"], int), words
            assert TYPED not in json.dumps(answer), words
        refused = [["remember", "-"], ["remember", "--title", "-", "-"], ["decide"], ["edit", "x"]]
        noted = folder / "heads"
        refused += [
            ["audit", "head", "--to", str(noted)],
            ["audit", "verify", "--heads", str(noted)],
        ]
        refused += [["audit", "key", "--to", str(noted)], ["audit", "sign"]]
        for words in refused:
            assert one.post("/command", {"words": words}).json()["status"] == 2, words
        listed = one.post("/command", {"words": ["list", "--json"]}).json()
        assert TYPED not in json.dumps(listed)
    # Nothing of what was typed there was read, and nothing was written.
    assert os.read(reading, 100).decode() == f"{TYPED}\n"
    assert list(folder.iterdir()) == []
    os.close(reading)
    os.close(writing)


def test_a_dash_that_is_an_options_value_is_no_stdin(typed: Typed) -> None:
    options = ("--title", "-", "The text")
    shown = typed("show", typed("remember", *options, input="typed")[1].strip(), "--json")[1]
    assert (json.loads(shown)["title"], json.loads(shown)["content"]) == ("-", "The text")
    for words in (("--title", "-", "-"), ("--title=-", "--", "-"), ("-", "--title", "-")):
        shown = typed("show", typed("remember", *words, input="typed")[1].strip(), "--json")[1]
        assert (json.loads(shown)["title"], json.loads(shown)["content"]) == ("-", "typed")
