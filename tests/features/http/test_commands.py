"""Commands that are typed elsewhere: a server runs them in the name of a token's bearer."""

import json
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from minutebook.app import open_app
from minutebook.ask.table import operations
from minutebook.cli.on_server import NOT_SERVED, why_not
from minutebook.config import settings_with
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.features.http.speaking import OWNER, Server, served, token
from tests.terminal import Run, leaf_commands

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
    assert id in typed("search", "kettle", "--since", "1h")[1]
    assert id not in typed("search", "kettle", "--until", "1h")[1]
    shape = json.loads(typed("show", id, "--json")[1])
    assert (shape["author"], shape["organization"], shape["type"]) == ("ana", "acme", "fact")
    assert run("list").exit_code == 1
    assert typed("invalidate", id, "--reason", "It was sold")[0] == 0
    assert "kettle" not in typed("search", "kettle")[1]
    assert typed("forget", id, "--yes")[0] == 0
    assert typed("show", id)[0] == 1


def test_a_repository_narrows_what_is_searched_and_listed_there(
    typed: Typed, server: Server
) -> None:
    wide = typed("remember", "The ladle is in the cellar", "--type", "fact")[1].strip()
    with closing(open_app(settings_with(home=server.home, embedder="none"))) as app:
        draft = Draft(content="The ladle is in the attic", type=MemoryType.FACT, repository="attic")
        own = app.memories.store(replace(OWNER, organization="acme"), draft).id
    for words in (("search", "ladle"), ("list",)):
        assert own in typed(*words)[1]
        assert own in typed(*words, "--repository", "attic")[1]
        there = typed(*words, "--repository", "cellar")[1]
        assert own not in there
        assert wide in there
    status, _, said = typed("remember", "A spoon", "--repository", "attic")
    assert status == 2
    assert "--repository must be left out with --url" in said


def test_a_text_from_stdin_is_read_here(typed: Typed) -> None:
    status, printed, _ = typed("remember", "-", "--title", "Odd", input="--yes is no option\n")
    assert status == 0
    assert (
        json.loads(typed("show", printed.strip(), "--json")[1])["content"] == "--yes is no option"
    )


@pytest.mark.needs("journal", "ledger")
def test_decisions_and_sessions_are_there_as_well(typed: Typed) -> None:
    words = ("--title", "Use it", "--target", "store", "--rationale", REASON)
    assert typed("decide", *words)[0] == 0
    assert "Use it" in typed("decisions")[1]
    assert typed("decisions", "--proposed")[0] == 0
    assert typed("sessions")[0] == 0
    assert typed("sessions", "--summarize")[:2] == (
        0,
        "Every session has a summary of what it is now.\n",
    )


@pytest.mark.needs("audit_proof", "governance")
def test_the_rules_are_those_for_the_bearer(typed: Typed) -> None:
    status, _, said = typed("remember", "No", by="eye")
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


def test_a_person_is_asked_here(typed: Typed) -> None:
    id = typed("remember", "Kept")[1].strip()
    assert typed("forget", id, input="n\n")[0] == 1
    assert typed("show", id)[0] == 0
    assert typed("forget", id, input="y\n")[0] == 0
    assert typed("show", id)[0] == 1
    assert "Kept" not in typed("today")[1].partition("Acts")[0]


@pytest.mark.needs("undo")
def test_the_last_act_there_is_taken_back_here(typed: Typed) -> None:
    id = typed("remember", "Kept")[1].strip()
    assert "Kept" in typed("today")[1]
    assert typed("forget", id, "--yes")[0] == 0
    assert typed("undo", input="n\n")[0] == 1
    assert typed("undo", input="y\n")[0] == 0
    assert typed("show", id)[0] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--url", "URL"], "Missing command"),
        (["--url"], "requires an argument"),
        (["--url", "URL", "doctor"], "`doctor` runs where the store is"),
        (["--url", "URL", "token", "list"], "`token` runs where the store is"),
        pytest.param(
            ["--url", "URL", "audit", "key"],
            "`audit key` runs where the store is",
            marks=pytest.mark.needs("audit_proof"),
        ),
        (["--url", "URL", "settings"], "`settings` runs where it is typed"),
        (["--url", "URL", "--role=admin", "list"], "the token says it"),
        (["--role", "admin", "--url", "URL", "list"], "the token says it"),
        (["--url", "URL", "--token-env", "mbk-secret", "list"], "must name a variable"),
        (["--url", "URL", "--token-env", "NONE_SUCH", "list"], "NONE_SUCH, which is empty"),
        (["--url", "http://memory.example.org", "list"], "must be https"),
        (["--token-env", "X", "list"], "goes with --url"),
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


@pytest.mark.parametrize("path", ["/command", "/operations", "/operations/", "/operations/export"])
def test_there_is_no_door_for_words(server: Server, secrets: dict[str, str], path: str) -> None:
    headers = {"Authorization": f"Bearer {secrets['ana']}"}
    assert server.post(path, {"words": ["list"]}, **headers).status_code == 404


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("search", {}),
        ("search", {"query": "x"}),
        ("search", {"query": ["x"], "limit": 1}),
        ("search", {"query": "x", "limit": 10_000}),
        ("search", {"query": "x", "limit": 1, "words": ["list"]}),
        ("named_by_part", {"kinds": ["token"], "part": "0"}),
        ("list_memories", {"where": [], "limit": 1, "offset": 0}),
        ("list_memories", {"where": {"status": "none"}, "limit": 1, "offset": 0}),
        pytest.param(
            "tidy",
            {"topics": ["none"], "limit": 1, "offset": 0, "dry_run": True},
            marks=pytest.mark.needs("tidying"),
        ),
        pytest.param(
            "set_standing",
            {"id": "x", "stand": "own"},
            marks=pytest.mark.needs("governance"),
        ),
    ],
)
def test_arguments_that_are_none_are_refused(
    server: Server, secrets: dict[str, str], name: str, body: object
) -> None:
    headers = {"Authorization": f"Bearer {secrets['ana']}"}
    answer = server.post(f"/operations/{name}", body, **headers)
    assert answer.status_code == 400
    assert answer.json()["facts"]["name"] == "InvalidInput"
    assert server.post(f"/operations/{name}", body).status_code == 401


KEPT_HOME = sorted(name for name, each in operations().items() if each.contract is None)


@pytest.mark.parametrize("name", KEPT_HOME)
def test_what_is_for_the_owner_of_a_store_is_served_to_nobody(
    server: Server, secrets: dict[str, str], name: str
) -> None:
    headers = {"Authorization": f"Bearer {secrets['ana']}"}
    assert server.post(f"/operations/{name}", {}, **headers).status_code == 404


@pytest.mark.needs("governance", "ledger")
def test_what_a_server_does_not_serve_no_operation_reaches(tmp_path: Path) -> None:
    with served(tmp_path, "knowledge", "--read-only") as one:
        for name in ("decisions", "remember", "entries", "delete_memory"):
            answer = one.post(f"/operations/{name}", {})
            assert answer.status_code == 404
            assert "does not serve" in answer.json()["message"]
        page = {"where": {}, "limit": 1, "offset": 0}
        assert one.post("/operations/list_memories", page).status_code == 200
    with served(tmp_path, "governance") as one:
        part = {"kinds": ["memory"], "part": "0"}
        assert one.post("/operations/named_by_part", part).json()["answer"] == []
        assert one.post("/operations/list_memories", page).status_code == 404
    with served(tmp_path, "knowledge", "--tools", "recall") as one:
        assert one.post("/operations/list_memories", page).status_code == 404


def test_an_error_says_nothing_of_the_servers_machine(
    server: Server, typed: Typed, secrets: dict[str, str]
) -> None:
    with closing(open_app(settings_with(home=server.home, embedder="none"))) as app:
        assert app.tokens.is_shared()
    status, _, said = typed("show", "0" * 20)
    assert status == 1
    assert str(server.home) not in said


@pytest.mark.needs("archives")
def test_what_was_changed_is_corrected_and_brought_back_from_afar(
    typed: Typed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'w').write('tea at six\\n')\n")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {editor}")
    id = typed("remember", "tea at five")[1].strip()
    assert "it is at version 2" in typed("edit", id)[1]
    assert "tea at six" in typed("show", id)[1]
    assert "it is at version 3" in typed("restore", id, "--version", "1")[1]
    assert json.loads(typed("show", id, "--json")[1])["content"] == "tea at five"


@pytest.mark.needs("code", "screening", "tidying")
def test_what_is_not_in_order_is_settled_from_afar(typed: Typed) -> None:
    assert typed("remember", "The tea is black")[0] == 0
    id = typed("remember", "The tea is green", by="bot")[1].strip()
    waiting = json.loads(typed("tidy", "--json")[1])["items"]
    assert id in {each["records"][0]["id"] for each in waiting}
    assert typed("tidy", "apply", id)[0] == 0
    assert json.loads(typed("show", id, "--json")[1])["status"] == "verified"
    assert typed("scan")[0] == 0
    assert typed("code")[0] == 0


@pytest.mark.needs("code")
def test_no_command_reads_the_folder_of_the_server(server: Server, typed: Typed) -> None:
    assert str(server.home) not in "".join(map(str, typed("code", "--json")))


def test_a_dash_that_is_an_options_value_is_no_stdin(typed: Typed) -> None:
    options = ("--title", "-", "The text")
    shown = typed("show", typed("remember", *options, input="typed")[1].strip(), "--json")[1]
    assert (json.loads(shown)["title"], json.loads(shown)["content"]) == ("-", "The text")
    for words in (("--title", "-", "-"), ("--title=-", "--", "-"), ("-", "--title", "-")):
        shown = typed("show", typed("remember", *words, input="typed")[1].strip(), "--json")[1]
        assert (json.loads(shown)["title"], json.loads(shown)["content"]) == ("-", "typed")


@pytest.mark.whole
def test_each_command_runs_on_a_server_or_says_where_it_does(server: Server, run: Run) -> None:
    known = set()
    for words, _ in leaf_commands():
        name = " ".join(words)
        known |= {name, words[0]}
        said = run("--url", server.url, *words, "--no-such-option").stderr
        reasons = [why_not(each) for each in (words[0], name)]
        if any(reasons):
            assert any(reason and reason in " ".join(said.split()) for reason in reasons), (
                name,
                said,
            )
        else:
            assert "No such option" in said
    assert known >= NOT_SERVED
