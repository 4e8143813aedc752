"""The command line as a person types it."""

import importlib
import json
import pkgutil
import re
from pathlib import Path

import click
import pytest

from minutebook.cli import commands as commands_of_core
from minutebook.cli import main, subjects
from minutebook.config.settings import hidden_settings
from minutebook.feature import FOLDER, features
from minutebook.serve.contracts.registry import CONTRACTS
from tests.terminal import Run, remembered, typed


def test_what_is_remembered_is_found_listed_and_shown(run: Run) -> None:
    id = remembered(run, "The kettle is in the attic.")
    assert "The kettle is in the attic." in run("search", "kettle").output
    assert id in run("list").output
    shown = run("show", id).output
    assert "The kettle is in the attic." in shown
    assert "created by" in shown


def test_json_is_printed_where_it_is_asked_for(run: Run) -> None:
    id = json.loads(run("remember", "tea at five", "--json").output)["id"]
    hits = json.loads(run("search", "tea", "--json").stdout)
    assert [hit["record"]["id"] for hit in hits] == [id]
    assert hits[0]["shares"][0]["signal"] == "lexical"
    assert json.loads(run("list", "--json").output)["total"] == 1
    shown = json.loads(run("show", id, "--json").output)
    assert [version["number"] for version in shown["versions"]] == [1]
    assert json.loads(run("status", "--json").output)["memories"] == 1
    assert json.loads(run("settings", "--json").output)["embedder"] == "none"


@pytest.mark.needs("models")
def test_a_search_says_that_it_goes_by_words_only_where_the_model_fails(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    remembered(run, "tea at five")
    assert run("search", "tea").stderr == ""
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", str(tmp_path / "no-model"))
    found = run("search", "tea")
    assert "tea at five" in found.stdout
    assert found.stderr.startswith("Found by words alone: the embedding model cannot be used (")


def test_a_search_explains_each_signal(run: Run) -> None:
    remembered(run, "tea at five")
    headline, written, explained = run("search", "tea", "--explain").output.splitlines()
    assert headline.endswith("tea at five")
    assert "through minutebook" in written
    signal, strength, _, weight, _, part, *told = explained.split()
    assert signal == "lexical"
    assert float(strength) * float(weight) == pytest.approx(float(part), abs=0.005)
    assert " ".join(told[:6]) == "100% of the score rank 1"
    assert told[6] == "BM25"


def test_text_is_read_from_stdin(run: Run) -> None:
    assert run("remember", "-", input="from a pipe\n").exit_code == 0
    assert "from a pipe" in run("list").output


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("Käse".encode(), "Käse"),
        ("Käse\r\nBrot\r\n".encode("utf-8-sig"), "Käse\nBrot"),
        ("Käse".encode("utf-16"), "Käse"),
        (b"\xfe\xff" + "Käse".encode("utf-16-be"), "Käse"),
        ("Käse".encode("utf-32"), None),
        ("Käse".encode("latin-1"), None),
        ("Käse".encode("utf-16-le"), None),
        (b"\xff\xfeK", None),
    ],
)
def test_bytes_are_read_by_their_mark_or_refused(run: Run, data: bytes, text: str | None) -> None:
    kept = run("remember", "-", input=data)
    if text is None:
        assert (kept.exit_code, "must be text in UTF-8" in kept.output) == (1, True)
        assert "there is no store" in run("list").output
    else:
        assert kept.exit_code == 0, kept.output
        (memory,) = json.loads(run("list", "--json").output)["memories"]
        assert memory["content"] == text


@pytest.mark.parametrize(
    "words", [("remember", "caf\udce9"), ("search", "caf\udce9"), ("list", "--tag", "caf\udce9")]
)
def test_a_word_that_is_no_utf8_is_refused(run: Run, words: tuple[str, ...]) -> None:
    refused = run(*words)
    assert (refused.exit_code, "must be text in UTF-8" in refused.output) == (2, True)


def test_forget_asks_first_and_then_removes(run: Run) -> None:
    id = remembered(run, "old news")
    assert run("forget", id, input="n\n").exit_code == 1
    assert id in run("list").output
    assert run("forget", id, input="y\n").exit_code == 0
    assert id not in run("list").output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "00000000000000000000"], "there is no memory 00000000000000000000"),
        (["remember", "  "], "TEXT must not be empty"),
        (["remember", "x", "--type", "rumour"], "--type must be one of"),
        (["search", " "], "QUERY must not be empty"),
        (["serve", "nothing"], "CONTRACT must be one of knowledge"),
        (["serve", "--tool-names", "short"], "tool_names must be one of contract, safe"),
        (["serve", "--tools", "recal"], "got 'recal'; the nearest is recall"),
        (
            ["serve", "--read-only", "--tools", "store_memory"],
            "must not name store_memory, which writes, with read_only",
        ),
        pytest.param(
            ["serve", "catalog", "governance"],
            "must not name both catalog and governance",
            marks=pytest.mark.needs("catalog", "governance"),
        ),
        pytest.param(["serve", "--ui"], "--ui needs --http", marks=pytest.mark.needs("pages")),
        pytest.param(
            ["serve", "--ui", "--http", "0.0.0.0:0"],
            "would send its cookies over plain http",
            marks=pytest.mark.needs("pages"),
        ),
        (["export-schema", "nothing"], "CONTRACT must be one of knowledge"),
        (["list", "--role", "king"], "role must be one of viewer, agent"),
        (
            ["remember", "x", "--home", "/dev/null/below"],
            "choose another data directory with --home",
        ),
    ],
)
@pytest.mark.usefixtures("begun")
def test_what_cannot_be_done_is_one_sentence_that_says_why(
    run: Run, arguments: list[str], said: str
) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


@pytest.mark.needs("models")
def test_settings_that_do_not_fit_are_refused_before_serving(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "endpoint")
    refused = run("serve")
    assert refused.exit_code == 1
    assert "embedder = endpoint needs endpoint_url and endpoint_model" in refused.stderr


def test_a_viewer_may_read_and_not_write(run: Run) -> None:
    remembered(run, "for all to read")
    assert "for all to read" in run("list", "--role", "viewer").output
    refused = run("remember", "mine", "--role", "viewer")
    assert refused.exit_code == 1
    assert "the role viewer may only read" in refused.stderr


@pytest.mark.usefixtures("begun")
def test_status_tells_that_no_model_is_wanted_and_doctor_finds_no_fault_in_it(run: Run) -> None:
    told = json.loads(run("status", "--json").output)
    assert told["model_state"] == "off"
    assert "by words" in told["model_reason"]
    examined = run("doctor")
    assert (examined.exit_code, examined.output) == (0, "Everything is in order.\n")


@pytest.mark.usefixtures("begun")
@pytest.mark.needs("models")
def test_doctor_says_why_a_model_that_is_wanted_cannot_be_had(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", str(tmp_path / "no model here"))
    examined = run("doctor")
    assert examined.exit_code == 1
    assert "Search by meaning is off" in examined.output


@pytest.mark.usefixtures("begun")
@pytest.mark.needs("models")
def test_status_loads_no_model(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MINUTEBOOK_EMBEDDER", "built-in")
    told = json.loads(run("status", "--json").output)
    assert (told["model_state"], told["model_reason"]) == ("not loaded", "")


def test_status_and_doctor_tell_of_texts_that_are_being_analysed_anew(
    run: Run, tmp_path: Path
) -> None:
    import apsw

    from minutebook.store.disk.filelock import FileLock
    from minutebook.store.sqlite.missing_database import lock_of

    remembered(run, "one")
    database = tmp_path / "home" / "minutebook.db"
    with apsw.Connection(str(database)) as connection:
        connection.execute("UPDATE text_indices SET reached = 0")
    writer = FileLock(lock_of(database))
    # As long as somebody else writes, nothing is analysed.
    writer.acquire(10)
    assert json.loads(run("status", "--json").output)["to_analyse"] == 1
    examined = run("doctor").output
    writer.close()
    assert "analysed anew for search by words: 1" in examined
    assert "doctor --repair" in examined
    assert run("doctor", "--repair").exit_code == 0
    assert json.loads(run("status", "--json").output)["to_analyse"] == 0


@pytest.mark.needs("audit_proof")
def test_doctor_repairs_a_damaged_index_and_finds_a_changed_trail(run: Run, tmp_path: Path) -> None:
    import apsw

    remembered(run, "one")
    remembered(run, "two")
    with apsw.Connection(str(tmp_path / "home" / "minutebook.db")) as database:
        database.execute("DELETE FROM text_memory_1")
    assert "text index" in run("doctor").output
    assert "text index" not in run("doctor", "--repair").output
    assert "one" in run("search", "one").output
    with apsw.Connection(str(tmp_path / "home" / "minutebook.db")) as database:
        database.execute("UPDATE entries SET actor = 'somebody else' WHERE number = 1")
    assert "The audit trail of default breaks at entry 1" in run("doctor").output


@pytest.mark.whole
def test_the_schema_is_exported_as_one_document(run: Run) -> None:
    document = json.loads(run("export-schema", "knowledge").output)
    assert document["info"]["name"] == "memory-mcp"
    assert len(document["tools"]) == 21
    assert document["errors"]["memory_not_found"] == "Memory not found: {id}"


@pytest.mark.needs("journal", "ledger")
def test_which_contract_is_exported_is_asked(run: Run) -> None:
    asked = run("export-schema")
    assert (asked.exit_code, asked.stdout) == (1, "")
    assert "CONTRACT must be one of knowledge" in asked.stderr
    assert all(name in asked.stderr for name in CONTRACTS)
    assert json.loads(run("export-schema", "journal").output) == CONTRACTS["journal"]().schema()


@pytest.mark.parametrize("contract", CONTRACTS)
def test_each_contract_is_exported_with_all_that_it_offers(run: Run, contract: str) -> None:
    document = json.loads(run("export-schema", contract).output)
    assert document == CONTRACTS[contract]().schema()
    for tool in document["tools"].values():
        assert tool["input_schema"]["type"] == "object"
    if contract == "catalog":
        assert len(document["resources"]) == 8
        assert len(document["prompts"]) == 3


def test_a_setting_comes_from_flag_before_environment_before_file(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text('user = "filed"\nagent = "filed"\n')
    monkeypatch.setenv("MINUTEBOOK_USER", "in-environment")
    current = json.loads(run("settings", "--json", "--role", "human").output)
    assert (current["role"], current["user"], current["agent"]) == (
        "human",
        "in-environment",
        "filed",
    )
    (home / "config.toml").write_text("no_such = 1\n")
    assert "is no setting" in run("settings").stderr
    (home / "config.toml").write_text("= broken")
    assert "must be valid TOML" in run("settings").stderr


def commands() -> dict[str, click.Command]:
    """All commands by name, in the order of the help."""
    context = click.Context(main)
    found = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def listed(*words: str) -> str:
    return typed(*words, "--help", terminal_width=80).output


def test_the_tables_of_commands_name_all_that_the_modules_define() -> None:
    listed = {module: names for modules in subjects().values() for module, names in modules.items()}
    places = [
        commands_of_core,
        *(importlib.import_module(f"{FOLDER}.{each.name}") for each in features()),
    ]
    defined = {
        each.name: tuple(command.name for command in module.COMMANDS)
        for place in places
        for each in pkgutil.iter_modules(place.__path__, f"{place.__name__}.")
        if hasattr(module := importlib.import_module(each.name), "COMMANDS")
    }
    assert {module: tuple(names) for module, names in listed.items()} == defined


@pytest.mark.needs("ledger")
def test_help_names_every_command_by_subject_with_what_it_is_for() -> None:
    text = typed("help", "all", terminal_width=80).output
    assert text.index("Memories:") < text.index("Decisions:") < text.index("Common options:")
    for name, command in commands().items():
        assert re.search(rf"^  {name} +\S", text, re.MULTILINE), name
        assert command.get_short_help_str(), name


@pytest.mark.whole
def test_help_lists_twelve_commands_first_and_says_where_the_others_are() -> None:
    text = typed("help", terminal_width=80).output
    assert text == listed()
    section = text.partition("Commands:\n")[2].partition("\n\n")[0]
    assert len(section.splitlines()) == 12
    assert f"`minutebook help all` lists all {len(commands())} commands." in text


@pytest.mark.needs("http")
def test_help_of_a_command_is_what_it_says_itself() -> None:
    for words in (("list",), ("token", "list")):
        assert typed("help", *words, terminal_width=80).output == listed(*words)
    refused = typed("help", "no-such")
    assert refused.exit_code == 1
    assert "must name a command (got 'no-such'); `minutebook help all` lists them" in refused.stderr


def test_no_help_cuts_off_what_a_command_is_for() -> None:
    groups = [()] + [(name,) for name, each in commands().items() if hasattr(each, "commands")]
    for words in groups:
        assert "..." not in listed(*words).replace("[ARGS]...", ""), words


@pytest.mark.whole
def test_help_explains_a_commands_own_options_and_names_the_common_ones() -> None:
    text = listed("list")
    assert re.search(r"^  --tag TEXT +Only what has this tag", text, re.MULTILINE)
    assert not re.search(r"^  --ledger LEDGER", text, re.MULTILINE)
    assert "Also --home, --role, --agent," in text
    assert "see `minutebook --help`." in text
    assert re.search(r"^  --ledger LEDGER +Where decisions are committed", listed(), re.MULTILINE)
    assert "Also --home: see" in listed("token", "list")


@pytest.mark.whole
def test_no_setting_that_is_a_secret_is_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in hidden_settings():
        monkeypatch.setenv(f"MINUTEBOOK_{name.upper()}", "open-sesame")
    monkeypatch.setenv("MINUTEBOOK_STORE", "postgresql://ana:open-sesame@db.example.org/notes")
    for how in ((), ("--json",)):
        told = run("settings", *how)
        assert told.exit_code == 0
        assert "open-sesame" not in told.output
