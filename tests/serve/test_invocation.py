"""Which daemon serves whom: settled from argv and environment alone."""

import json
import os
import sys
from pathlib import Path

import platformdirs
import pytest

from minutebook.config import load
from minutebook.features.code.settings import CodeSettings
from minutebook.features.hooks.early_hook import hook_wait
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.serve import invocation

HOME = {"HOME": "/home/ada"}


def asked(*words: str, **variables: str) -> invocation.Invocation:
    found = invocation.read(["serve", *words], HOME | variables)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("words", "given", "contracts"),
    [
        (["serve"], {}, ["knowledge"]),
        (["serve", "catalog"], {}, ["catalog"]),
        (["serve", "--role", "human", "ledger"], {"role": "human"}, ["ledger"]),
        (["--role=human", "serve", "ledger"], {"role": "human"}, ["ledger"]),
        (["serve", "--tool-names", "safe"], {"tool_names": "safe"}, ["knowledge"]),
        (["serve", "--read-only", "ledger"], {"read_only": "true"}, ["ledger"]),
        (["serve", "--tools", "recall,search"], {"tools": "recall,search"}, ["knowledge"]),
        (["serve", "--home", "/a b"], {"home": "/a b"}, ["knowledge"]),
        (["serve", "--agent", "--role"], {"agent": "--role"}, ["knowledge"]),
    ],
)
def test_serve_is_read_as_the_command_line_reads_it(
    words: list[str], given: dict[str, str], contracts: list[str]
) -> None:
    found = invocation.read(words, HOME)
    assert found is not None
    assert found.given == given
    assert found.contracts == contracts


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["status"],
        ["serve", "--help"],
        ["serve", "-h"],
        ["serve", "--no-daemon"],
        ["serve", "--http", "127.0.0.1:0"],
        ["serve", "--home"],
        ["--tool-names", "safe", "serve"],
        ["serve", "--", "catalog"],
    ],
)
def test_whatever_else_is_left_to_the_command_line(words: list[str]) -> None:
    assert invocation.read(words, HOME) is None


ALIKE: list[tuple[list[str], dict[str, str]]] = [
    (["catalog"], {}),
    (["--role", "admin", "--organization", "acme"], {}),
    ([], {"MINUTEBOOK_AGENT": "ada"}),
    (["--policy", "governed", "--ledger", "/a/ledger"], {}),
    ([], {"AGENT_MEMORY_SECRET": "a secret"}),
    ([], {"MINUTEBOOK_DURABILITY": "normal"}),
    ([], {"PATH": "/elsewhere", "XDG_CACHE_HOME": "/cache"}),
    (["--home", invocation.default_home("/data")], {}),
]


@pytest.mark.parametrize(("words", "variables"), ALIKE)
def test_one_daemon_is_asked_by_all_clients_of_a_data_directory(
    words: list[str], variables: dict[str, str]
) -> None:
    data = {"XDG_DATA_HOME": "/data"}
    assert asked(*words, **variables, **data).address == asked(**data).address


OTHER: list[tuple[list[str], dict[str, str]]] = [
    (["--home", "/elsewhere"], {}),
    ([], {"MINUTEBOOK_HOME": "/elsewhere"}),
    ([], {"XDG_DATA_HOME": "/elsewhere"}),
]


@pytest.mark.parametrize(("words", "variables"), OTHER)
def test_another_data_directory_has_another(words: list[str], variables: dict[str, str]) -> None:
    assert asked(*words, **variables).address != asked().address


def test_where_no_contract_is_named_it_is_knowledge() -> None:
    assert asked().contracts == ["knowledge"]
    assert asked("journal").contracts == ["journal"]


def test_a_changed_file_of_settings_leads_to_the_same_daemon(tmp_path: Path) -> None:
    words = ["--home", str(tmp_path)]
    before = asked(*words)
    stamped = before.settings_stamp()
    (tmp_path / "config.toml").write_text('durability = "normal"\n')
    assert asked(*words).address == before.address
    assert before.settings_stamp() != stamped


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", True),
        ('daemon = "on"', True),
        ('daemon = "off"', False),
        ("# no daemon here", True),
        ('daemon = "perhaps"', False),
        ("daemon is no TOML", False),
        ("daemon = " + "[" * 5000, False),
    ],
)
def test_the_file_of_settings_may_turn_the_daemon_off(
    tmp_path: Path, text: str, wanted: bool
) -> None:
    (tmp_path / "config.toml").write_text(text)
    assert asked("--home", str(tmp_path)).wants_daemon is wanted
    assert asked("--home", str(tmp_path), MINUTEBOOK_DAEMON="on").wants_daemon


def test_paths_mean_the_same_wherever_a_daemon_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    roots = os.pathsep.join(["one", "/two"])
    found = asked("--home", "here", "--ledger", "~/there", MINUTEBOOK_INDEX_ROOTS=roots)
    monkeypatch.chdir("/")
    assert found.home == str(tmp_path / "here")
    settings = load(found.given, found.variables, found.folder)
    assert settings.home == tmp_path / "here"
    assert settings.of(LedgerSettings).ledger == Path("~/there").expanduser()
    assert settings.of(CodeSettings).index_roots == (tmp_path / "one", Path("/two"))
    table = json.dumps({"acme": ["one"], "zoo": {"api": ["/two", "~/three"]}})
    monkeypatch.chdir(tmp_path)
    found = asked(MINUTEBOOK_INDEX_ROOTS=table)
    monkeypatch.chdir("/")
    assert load({}, found.variables, found.folder).of(CodeSettings).index_roots == {
        "acme": (tmp_path / "one",),
        "zoo": {"api": (Path("/two"), Path("~/three").expanduser())},
    }


def test_the_data_directory_is_found_as_settings_find_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (None, "/data"):
        if folder is not None:
            monkeypatch.setenv("XDG_DATA_HOME", folder)
        else:
            monkeypatch.delenv("XDG_DATA_HOME", raising=False)
        found = invocation.default_home(os.environ.get("XDG_DATA_HOME", ""))
        assert found == platformdirs.user_data_dir("minutebook", appauthor=False)


@pytest.mark.parametrize(
    ("stated", "waits"),
    [("", 0.25), ("7.5", 7.5), ("0", 0.01), ("nan", 0.01), ("inf", 60.0), ("soon", 0.25)],
)
def test_a_hook_waits_within_bounds(tmp_path: Path, stated: str, waits: float) -> None:
    environment = {"MINUTEBOOK_HOME": str(tmp_path), "MINUTEBOOK_HOOK_WAIT": stated}
    found = invocation.read(["serve"], environment)
    assert found is not None
    assert hook_wait(found) == waits


def test_an_installation_has_one_daemon_whatever_name_its_python_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = asked().address
    monkeypatch.setattr(sys, "executable", f"{sys.prefix}/bin/python-by-another-name")
    assert asked().address == before
    monkeypatch.setattr(sys, "prefix", f"{sys.prefix}-other")
    assert asked().address != before
