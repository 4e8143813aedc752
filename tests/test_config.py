"""Settings as they are read from the file in the data directory."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from minutebook.config import all_settings, load, settings_with
from minutebook.config.kinds import FILE, FOLDER, ROOTS
from minutebook.config.settings import differing, former_settings, hidden_settings, shared
from minutebook.features.code.settings import CodeSettings
from minutebook.features.ledger.settings import LedgerSettings
from minutebook.features.sign_in.settings import SignInSettings
from minutebook.record.errors import InvalidInput
from minutebook.record.records import Role


@pytest.mark.parametrize(
    "name",
    [
        "ledger",
        "embedder",
        "jwt_keys",
        "index_roots",
        pytest.param("archive_roots", marks=pytest.mark.needs("archives")),
    ],
)
def test_paths_in_the_file_of_settings_are_from_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "config.toml").write_text(f'{name} = "sub/here"\n')
    monkeypatch.chdir("/")
    found = getattr(load({"home": str(tmp_path)}, {}), name)
    (told,) = found if isinstance(found, tuple) else (found,)
    assert str(told) == str(tmp_path / "sub" / "here")


def test_what_is_no_path_stays_as_it_was_said(tmp_path: Path) -> None:
    keys = "https://issuer.example/keys"
    (tmp_path / "config.toml").write_text(
        f'embedder = "none"\njwt_keys = "{keys}"\nledger = "none"\n'
    )
    settings = load({"home": str(tmp_path)}, {})
    assert (settings.embedder, settings.of(SignInSettings).jwt_keys) == ("none", keys)
    assert settings.of(LedgerSettings).ledger == tmp_path / "none"


def test_a_path_that_is_no_text_is_refused_by_what_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("ledger = 5\n")
    with pytest.raises(InvalidInput, match="must be a folder"):
        load({"home": str(tmp_path)}, {})


@pytest.mark.parametrize("nested", ["[" * 5000 + "]" * 5000, "{a=" * 5000 + "1" + "}" * 5000])
def test_a_file_that_is_nested_too_deeply_is_refused_in_a_sentence(
    tmp_path: Path, nested: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"daemon = {nested}\n")
    with pytest.raises(InvalidInput) as refusal:
        load({"home": str(tmp_path)}, {})
    assert str(refusal.value) == f"{file} must be valid TOML: it is nested too deeply"


TABLE = """
[index_roots]
acme = ["code", "/srv/acme"]
zoo = { api = ["/srv/api"], web = "/srv/web" }
"""


def test_roots_are_a_list_or_a_table_by_organization_and_repository(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(TABLE)
    assert load({"home": str(tmp_path)}, {}).of(CodeSettings).index_roots == {
        "acme": (tmp_path / "code", Path("/srv/acme")),
        "zoo": {"api": (Path("/srv/api"),), "web": (Path("/srv/web"),)},
    }
    variables = {"MINUTEBOOK_INDEX_ROOTS": '{"acme": ["/srv/acme"]}'}
    assert load({"home": str(tmp_path)}, variables).of(CodeSettings).index_roots == {
        "acme": (Path("/srv/acme"),)
    }


@pytest.mark.parametrize(
    "value", ["7", "{acme = 7}", "{acme = {api = 7}}", "{acme = {api = {deep = []}}}", "[[1]]"]
)
def test_roots_that_are_neither_are_refused_by_what_is_wanted(tmp_path: Path, value: str) -> None:
    (tmp_path / "config.toml").write_text(f"index_roots = {value}\n")
    with pytest.raises(InvalidInput, match="list of folders, or a table"):
        load({"home": str(tmp_path)}, {})


@pytest.mark.parametrize("value", ["{", '{"acme": 7}', '{"acme": ' + "[" * 100_000])
def test_roots_in_the_environment_that_are_no_table_are_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(InvalidInput, match="list of folders, or a table"):
        load({"home": str(tmp_path)}, {"MINUTEBOOK_INDEX_ROOTS": value})


@pytest.mark.whole
def test_every_path_is_from_the_folder_in_which_it_was_typed(tmp_path: Path) -> None:
    kinds = {each.name: each.metadata["kind"] for each in fields(all_settings())}
    paths = [name for name, kind in kinds.items() if kind in (FOLDER, FILE, ROOTS)]
    for name in (*paths, "embedder", "jwt_keys"):
        variables = {f"MINUTEBOOK_{name.upper()}": "sub/here"}
        for settings in (
            load({}, variables, str(tmp_path)),
            load({name: "sub/here"}, {}, str(tmp_path)),
        ):
            found = getattr(settings, name)
            (told,) = found if isinstance(found, tuple) else (found,)
            assert str(told) == str(tmp_path / "sub" / "here"), name
    key = load({"key": "file: sub/key "}, {}, str(tmp_path)).key
    assert key == f"file:{tmp_path / 'sub' / 'key'}"


@pytest.mark.whole
def test_secrets_are_in_no_representation() -> None:
    assert {each.name for each in fields(all_settings()) if not each.repr} == hidden_settings()


def test_a_variable_of_a_contract_states_a_setting(tmp_path: Path) -> None:
    variables = {"AGENT_MEMORY_SECRET": "open sesame", "MINUTEBOOK_HOME": str(tmp_path)}
    assert load({}, variables).of(LedgerSettings).agent_memory_secret == "open sesame"
    own = variables | {"MINUTEBOOK_AGENT_MEMORY_SECRET": "sesame"}
    assert load({}, own).of(LedgerSettings).agent_memory_secret == "sesame"


OF_A_CLIENT: dict[str, Any] = {
    "role": Role.ADMIN,
    "agent": "ada",
    "organization": "acme",
    "repository": "r",
    "user": "u",
    "scope_from_folder": "on",
    "tool_names": "safe",
    "read_only": True,
    "tools": ("recall",),
    "answers": "lines",
    "hook_wait": 2.0,
    "hooks": "off",
    "rate_limit": 9.0,
}


@pytest.mark.needs("hooks", "http", "ledger")
def test_clients_of_one_daemon_have_to_agree_on_all_but_their_own(tmp_path: Path) -> None:
    plain = settings_with(home=tmp_path)
    assert shared(settings_with(home=tmp_path, **OF_A_CLIENT)) == plain
    assert differing(settings_with(home=tmp_path, **OF_A_CLIENT, log_level="debug"), plain) == []
    ledger = settings_with(home=tmp_path, ledger=tmp_path, **OF_A_CLIENT)
    assert shared(ledger) == settings_with(home=tmp_path, ledger=tmp_path, organization="acme")
    assert differing(ledger, plain) == ["organization", "ledger"]
    secret = settings_with(home=tmp_path, durability="normal", agent_memory_secret="sesame")
    assert set(differing(secret, plain)) == {"durability", "agent_memory_secret"}


@pytest.mark.whole
def test_a_former_setting_is_none_that_there_is() -> None:
    assert former_settings()
    assert not former_settings() & {each.name for each in fields(all_settings())}


@pytest.mark.parametrize("name", ["embedding_cache", "token_states", "log_format"])
def test_a_former_setting_stops_nothing_and_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f"{name} = 5\nrecall_tokens = 7\n")
    for _ in range(2):
        assert load({"home": tmp_path}, {}).recall_tokens == 7
    assert [each.getMessage() for each in caplog.records] == [
        f"{name} in {file} is no setting any more and has no effect; take it out"
    ]
    caplog.clear()
    variable = f"MINUTEBOOK_{name.upper()}"
    load({"home": tmp_path / "other"}, {variable: "x"})
    assert f"{name} in {variable} is no setting" in caplog.text
    # Another name is a slip of the pen, which may leave a secret unmasked.
    file.write_text("redcat = 'mask'\n")
    with pytest.raises(InvalidInput, match="is no setting"):
        load({"home": tmp_path}, {})


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("recall_tokens = 2.5", "a whole number of at least 0"),
        ("recall_tokens = -1", "a whole number of at least 0"),
        ("rate_limit = nan", "a number of at least 0"),
        pytest.param(
            *("tidy_every = -1", "a number of at least 0"), marks=pytest.mark.needs("tidying")
        ),
        ("durability = 'half'", "one of full, normal"),
        ("durability = ['full']", "one of full, normal"),
        ("public_url = 'memory.example.org'", "an http or https URL without a query"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_is_wanted(
    tmp_path: Path, line: str, wanted: str
) -> None:
    (tmp_path / "config.toml").write_text(line)
    with pytest.raises(InvalidInput) as refusal:
        load({"home": str(tmp_path)}, {})
    assert f"must be {wanted} ({tmp_path / 'config.toml'} is " in str(refusal.value)
