"""`minutebook sync`, as a person types it."""

import shutil
from pathlib import Path

from tests.terminal import Run


def test_a_place_that_was_put_back_is_told_of_on_both_machines_and_filled_again(
    run: Run, tmp_path: Path
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    sender = ("--home", str(tmp_path / "one"))
    taker = ("--home", str(tmp_path / "other"))
    run("remember", "Tea is green", *sender)
    assert run("sync", str(place), *sender).exit_code == 0
    assert run("sync", str(place), *taker).exit_code == 0
    shutil.copytree(place, tmp_path / "earlier")
    run("remember", "Milk is white", *sender)
    assert run("sync", str(place), *sender).exit_code == 0
    shutil.rmtree(place / "changes")
    shutil.copytree(tmp_path / "earlier" / "changes", place / "changes")
    for home in (sender, taker):
        checked = run("sync", str(place), "--check", *home)
        assert checked.exit_code == 1, checked.output
        assert "Gone from the remote: 1 file" in checked.output
        assert "sends them again" in checked.output
    sent = run("sync", str(place), *sender)
    assert sent.exit_code == 0
    assert "A snapshot of all that is here was sent" in sent.output
    assert run("sync", str(place), *taker).exit_code == 0
    assert "Milk is white" in run("search", "milk", *taker).output
    assert run("sync", str(place), "--check", *taker).exit_code == 0
    assert run("sync", str(place), "--check", *sender).exit_code == 0
