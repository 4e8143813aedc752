"""What is set, and setting it."""

import json
import re
import stat
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from minutebook.config import all_settings
from minutebook.config.settings import hidden_settings
from tests.terminal import Run


def done(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "home" / "config.toml"


def test_what_is_set_is_shown_first_with_where_it_is_set(run: Run, config: Path) -> None:
    config.parent.mkdir()
    config.write_text("recall_tokens = 60\nuser = 'bo'\n")
    text = done(run, "settings", "--all", "--agent", "ana", "--user", "di")
    chosen, default = text.split("As by default")
    assert "  agent = ana  (--agent)\n" in chosen
    assert "  user = di  (--user)\n" in chosen
    assert "  embedder = none  (MINUTEBOOK_EMBEDDER)\n" in chosen
    assert f"  recall_tokens = 60  ({config})\n" in chosen
    assert "  durability = full\n" in default
    for each in fields(all_settings()):
        assert (f"  {each.name} = " in chosen) is not (f"  {each.name} = " in default)
    sources = json.loads(done(run, "settings", "--json"))["sources"]
    assert sources["embedder"] == "MINUTEBOOK_EMBEDDER"
    assert sources["user"] == str(config)
    assert "durability" not in sources


@pytest.mark.whole
def test_ten_settings_that_people_set_are_shown_and_how_to_see_the_others(run: Run) -> None:
    text = done(run, "settings")
    default = text.partition("As by default")[2]
    shown = [line for line in default.splitlines() if re.match(r"  \w+ = ", line)]
    # One of the ten is set here.
    assert len(shown) == 9
    set_here = json.loads(done(run, "settings", "--json"))["sources"]
    more = len(fields(all_settings())) - len(shown) - len(set_here)
    assert f"`minutebook settings --all` shows {more} more." in default
    assert "settings --all` shows" not in done(run, "settings", "--all")


def test_a_setting_is_written_beside_the_comments_that_are_there(run: Run, config: Path) -> None:
    config.parent.mkdir()
    config.write_text('# ours\nuser = "ana"  # not bo\n\n# short answers\nrecall_tokens = 60\n')
    assert f"Set agent = claude in {config}." in done(run, "settings", "set", "agent", "claude")
    done(run, "settings", "set", "user", "bo")
    text = config.read_text()
    assert text.startswith('# ours\nuser = "bo"  # not bo\n\n# short answers\nrecall_tokens = 60\n')
    assert 'agent = "claude"' in text
    current = json.loads(done(run, "settings", "--json"))
    assert (current["agent"], current["user"], current["recall_tokens"]) == ("claude", "bo", "60")
    done(run, "settings", "unset", "user")
    assert json.loads(done(run, "settings", "--json"))["user"] == ""
    assert "# short answers" in config.read_text()


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("recall_sources", "memory", 'recall_sources = ["memory"]\n'),
        ("recall_tokens", "64", "recall_tokens = 64\n"),
        pytest.param("rate_limit", "2.5", "rate_limit = 2.5\n", marks=pytest.mark.needs("http")),
        ("policy", "governed", 'policy = "governed"\n'),
        pytest.param(
            "http_hosts",
            "a.example, b.example",
            'http_hosts = ["a.example", "b.example"]\n',
            marks=pytest.mark.needs("http"),
        ),
        pytest.param(
            "ledger",
            "decisions",
            'ledger = "{here}/decisions"\n',
            marks=pytest.mark.needs("ledger"),
        ),
    ],
)
def test_a_value_is_written_in_its_type(
    run: Run, config: Path, tmp_path: Path, name: str, value: str, written: str
) -> None:
    done(run, "settings", "set", name, value)
    assert config.read_text() == written.replace("{here}", str(tmp_path))
    done(run, "settings")


def test_what_does_not_fit_is_refused_and_nothing_is_written(run: Run, config: Path) -> None:
    for name, value, said in (
        ("polcy", "open", "polcy is no setting of config.toml"),
        ("home", "/tmp", "home is no setting of config.toml"),
        ("policy", "strict", "policy must be one of open, governed"),
        ("recall_tokens", "many", "recall_tokens must be"),
    ):
        result = run("settings", "set", name, value)
        assert result.exit_code == 1
        assert said in result.stderr
    assert "is not set in" in run("settings", "unset", "policy").stderr
    assert not config.exists()


def test_a_setting_mends_a_file_that_no_longer_fits_but_not_one_that_is_no_toml(
    run: Run, config: Path
) -> None:
    config.parent.mkdir()
    config.write_text('policy = "strict"\n')
    assert run("settings").exit_code == 1
    done(run, "settings", "set", "policy", "open")
    done(run, "settings")
    config.write_text("= broken")
    assert "must be valid TOML" in run("settings", "set", "policy", "open").stderr
    assert config.read_text() == "= broken"


def test_the_environment_is_said_to_go_before_what_is_written(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_USER", "ana")
    result = run("settings", "set", "user", "bo")
    assert "MINUTEBOOK_USER in the environment goes before it here." in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="no such modes")
@pytest.mark.parametrize("name", sorted(hidden_settings() - {"store"}))
def test_a_secret_is_written_for_its_owner_and_not_shown(run: Run, config: Path, name: str) -> None:
    secret = "open sesame, said the admin"
    assert secret not in done(run, "settings", "set", name, secret)
    assert secret not in done(run, "settings")
    assert f"  {name} = (hidden)" in done(run, "settings").split("As by default")[0]
    assert stat.S_IMODE(config.stat().st_mode) == 0o600
