"""The trail at a terminal: its key, its ends noted elsewhere, the records that differ."""

import json
from pathlib import Path

import apsw
import pytest

from tests.terminal import Run, remembered


def done(run: Run, *arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def key(run: Run, tmp_path: Path) -> Path:
    """A key that was made at the terminal for a store with one memory."""
    remembered(run, "tea at five")
    path = tmp_path / "trail.key"
    assert "Every trail is signed." in done(run, "audit", "key", "--to", str(path))
    return path


def test_a_key_is_made_signs_and_proves(run: Run, key: Path) -> None:
    public = key.with_name("trail.key.pub")
    (proof,) = json.loads(done(run, "audit", "verify", "--key", str(public), "--json"))["proofs"]
    assert proof["signed"]["number"] == 1
    assert proof["signed"]["key"] == public.read_text().strip()
    remembered(run, "rye bread")
    assert "not yet signed are the 1 last" in done(run, "audit", "verify")
    done(run, "audit", "sign")
    assert "signed up to entry 3 " in done(run, "audit", "verify")
    another = run("audit", "verify", "--key", "ed25519:" + "A" * 43)
    assert another.exit_code == 1
    assert "no entry is signed by ed25519:AAAA" in another.output


def test_a_key_in_the_data_directory_is_refused(run: Run, tmp_path: Path) -> None:
    remembered(run, "tea at five")
    result = run("audit", "key", "--to", str(tmp_path / "home" / "trail.key"))
    assert result.exit_code == 1
    assert "outside the data directory" in result.stderr


def test_noted_ends_prove_that_the_trail_still_holds_each(
    run: Run, key: Path, tmp_path: Path
) -> None:
    heads = tmp_path / "heads.jsonl"
    assert "Noted 1" in done(run, "audit", "head", "--to", str(heads))
    assert "Nothing new" in done(run, "audit", "head", "--to", str(heads))
    remembered(run, "rye bread")
    done(run, "audit", "head", "--to", str(heads))
    assert "sound" in done(run, "audit", "verify", "--heads", str(heads))
    with heads.open("a") as file:
        file.write(heads.read_text().splitlines()[-1].replace('"number":3', '"number":9') + "\n")
    result = run("audit", "verify", "--heads", str(heads))
    assert result.exit_code == 1
    assert "entry 9 was noted" in result.output


def test_a_trail_that_was_cut_back_is_not_signed_until_it_is_accepted(
    run: Run, key: Path, tmp_path: Path
) -> None:
    remembered(run, "rye bread")
    done(run, "audit", "sign")
    with apsw.Connection(str(tmp_path / "home" / "minutebook.db")) as file:
        file.execute("DELETE FROM entries WHERE number > 2")
        file.execute(
            "UPDATE heads SET number = 2, digest = (SELECT digest FROM entries WHERE number = 2)"
        )
    refused = run("audit", "sign")
    assert refused.exit_code == 1
    assert "audit sign --accept" in refused.stderr
    assert run("audit", "verify").exit_code == 1
    done(run, "audit", "sign", "--accept")
    assert "Every trail is signed." in done(run, "audit", "sign")


def test_a_memory_that_differs_is_named(run: Run, tmp_path: Path) -> None:
    id = remembered(run, "tea at five")
    with apsw.Connection(str(tmp_path / "home" / "minutebook.db")) as file:
        file.execute("UPDATE memories SET content = 'tea at nine'")
    result = run("audit", "verify")
    assert result.exit_code == 1
    assert f"memory {id}: its text is not the one" in result.output
