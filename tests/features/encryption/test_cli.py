"""`minutebook encrypt` and what the other commands say of an encrypted store."""

import json
from pathlib import Path

import pytest

from tests.terminal import Run, remembered


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the setting names."""
    monkeypatch.setenv("MINUTEBOOK_KEY", f"file:{tmp_path / 'kept' / 'keys'}")
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept" / "keys"


def state(run: Run) -> str:
    return str(json.loads(run("status", "--json").output)["encryption"])


@pytest.mark.needs("audit_proof")
def test_a_store_is_encrypted_used_given_another_key_and_turned_back(run: Run, keys: Path) -> None:
    remembered(run, "The canary sings at five")
    assert state(run) == "off"
    done = run("encrypt")
    assert done.exit_code == 0, done.output
    id, secret = keys.read_text().split()
    assert f"encrypted with the key {id}" in done.stdout
    assert "Keep a copy of the key" in done.stderr
    assert state(run) == f"key {id} in the file {keys}"
    remembered(run, "The canary sleeps at nine")
    assert run("search", "canary").output.count("canary") == 2
    again = run("encrypt", "--new-key")
    assert again.exit_code == 0, again.output
    assert id not in again.stdout
    assert len(keys.read_text().splitlines()) == 2
    off = run("encrypt", "--off")
    assert off.stdout == "The store is plain now.\n"
    assert state(run) == "off"
    trail = run("audit", "--json").output
    assert [act for each in json.loads(trail) if "crypt" in (act := each["entry"]["act"])] == [
        *("decrypt", "encrypt", "encrypt"),
    ]
    for result in (done, again, off):
        assert secret not in result.output
    assert secret not in trail


@pytest.mark.parametrize("command", [["status"], ["search", "tea"], ["encrypt"], ["doctor"]])
def test_a_key_that_is_missing_is_told_with_its_place(
    run: Run, keys: Path, command: list[str]
) -> None:
    remembered(run, "tea at five")
    run("encrypt")
    id = keys.read_text().split()[0]
    keys.rename(keys.with_name("elsewhere"))
    # What was found once is known to this process.
    from minutebook.store.disk.keys import place_of

    place_of.cache_clear()
    result = run(*command)
    assert result.exit_code == 1
    for part in (id, str(keys), "the setting `key`", "Nothing was changed"):
        assert part in result.stderr
    assert "not a database" not in result.output


def test_what_does_not_fit_is_refused_and_changes_nothing(
    run: Run, keys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "there is no store" in run("encrypt").stderr
    remembered(run, "tea at five")
    assert "--off or --new-key" in run("encrypt", "--off", "--new-key").stderr
    monkeypatch.setenv("MINUTEBOOK_KEY", "0123456789abcdef" * 4)
    refused = run("encrypt")
    assert "must be keyring, or file:PATH" in refused.stderr
    assert "0123456789abcdef" not in refused.output
    assert not keys.exists()
