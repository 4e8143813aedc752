"""What the owner of a data directory does at a terminal to let others in."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.errors import Unidentified
from minutebook.record.records import Role
from tests.terminal import Run

pytestmark = pytest.mark.needs("http")


def made(run: Run, *options: str) -> dict[str, Any]:
    result = run("token", "create", "--name", "ci", "--json", *options)
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return {"secret": told["secret"], **told["token"]}


def listed(run: Run) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(run("token", "list", "--json").stdout)
    return [each["token"] for each in told]


def test_the_secret_alone_goes_to_stdout_and_what_it_allows_to_stderr(run: Run) -> None:
    result = run("token", "create", "--name", "ci", "--repository", "api", "--repository", "web")
    assert result.exit_code == 0
    assert result.stdout.startswith("mbk_")
    assert result.stdout.count("\n") == 1
    assert "ci as agent; organization default; repository api, web; user (any)" in result.stderr
    assert "shown this once" in result.stderr
    assert result.stdout.strip() not in run("token", "list").output


def test_a_token_is_held_to_one_organization_unless_all_are_asked_for(run: Run) -> None:
    assert made(run)["bound_organization"] == "default"
    assert made(run, "--organization", "acme")["bound_organization"] == "acme"
    assert made(run, "--all-organizations")["bound_organization"] is None
    both = run("token", "create", "--name", "a", "--organization", "b", "--all-organizations")
    assert both.exit_code == 2
    assert run("token", "create").exit_code == 2


def test_the_organization_of_the_settings_is_a_tokens_own(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINUTEBOOK_ORGANIZATION", "acme")
    assert made(run)["bound_organization"] == "acme"


def test_a_token_ends_after_ninety_days_or_when_it_is_said(run: Run) -> None:
    now = datetime.now(UTC)
    for options, days in (([], 90), (["--expires", "30d"], 30), (["--expires", "12h"], 0.5)):
        ends = datetime.fromisoformat(made(run, *options)["expires_at"])
        assert timedelta(0) <= ends - now - timedelta(days=days) < timedelta(minutes=5)
    assert made(run, "--expires", "never")["expires_at"] is None
    assert made(run, "--expires", "2999-01-31T12:00+00:00")["expires_at"].startswith(
        "2999-01-31T12"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--expires", "soon"], "--expires must be a time like"),
        (["--expires", "2020-01-01"], "must lie in the future"),
        (["--role", "root"], "--role must be one of viewer, agent"),
        (["--organization", "~system"], "organization must not be ~system"),
        (["--repository", ""], "repository must have"),
    ],
)
@pytest.mark.usefixtures("begun")
def test_what_does_not_fit_is_said_and_makes_no_token(
    run: Run, options: list[str], said: str
) -> None:
    result = run("token", "create", "--name", "ci", *options)
    assert result.exit_code == 1
    assert said in result.stderr
    assert listed(run) == []


@pytest.mark.usefixtures("begun")
def test_tokens_are_listed_with_what_became_of_them(run: Run) -> None:
    assert "token create" in run("token", "list").stdout
    first, second = made(run), made(run, "--role", "human", "--user", "ana")
    assert f"Revoked {first['id']} of ci." in run("token", "revoke", first["id"]).stdout
    assert [(each["id"], each["revoked_at"] is None) for each in listed(run)] == [
        (second["id"], True),
        (first["id"], False),
    ]
    assert not any("digest" in each or "secret" in each for each in listed(run))
    text = run("token", "list").stdout
    assert "ci as human; organization default; repository (any); user ana; ends" in text
    assert "revoked 2" in text
    assert "revoked already" in run("token", "revoke", first["id"]).stderr
    assert "there is no token" in run("token", "revoke", "nope").stderr


def test_a_rotated_token_has_another_secret(run: Run) -> None:
    first = made(run)
    second = json.loads(run("token", "rotate", first["id"], "--json", "--expires", "7d").stdout)
    assert second["token"]["id"] == first["id"]
    assert second["secret"] != first["secret"]
    assert [each["id"] for each in listed(run)] == [first["id"]]


@pytest.mark.needs("audit_proof")
def test_acts_on_tokens_are_on_the_trail_with_who_did_them(run: Run) -> None:
    id = made(run, "--organization", "acme")["id"]
    run("token", "revoke", id)
    text = run("audit", "--subject", id).stdout
    assert text.count("create_token by ") == text.count("revoke_token by ") == 1
    assert "(human) through minutebook" in text


def test_a_revocation_is_heard_at_once_by_a_process_that_runs(run: Run, tmp_path: Path) -> None:
    told = made(run, "--role", "viewer")
    app = open_app(settings_with(home=tmp_path / "home", embedder="none"))
    try:
        assert app.tokens.caller_of(told["secret"]).role is Role.VIEWER
        command = [sys.executable, "-m", "minutebook", "token", "revoke", told["id"]]
        subprocess.run(command, check=True, capture_output=True)
        with pytest.raises(Unidentified, match="revoked"):
            app.tokens.caller_of(told["secret"])
    finally:
        app.close()
