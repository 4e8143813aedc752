"""`minutebook today`: the day's report on a screen, and what an empty day says."""

import json
import re
from pathlib import Path

import pytest

from tests.terminal import Run, remembered

SCREEN = 25


def test_a_full_day_fits_on_a_screen_in_words(run: Run) -> None:
    for number in range(30):
        remembered(run, f"Note {number} " + "and so on " * 30, "--repository", f"shop{number % 9}")
    lines = run("today").output.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 80
    assert lines[1].startswith("Learned  30 memories")
    assert any("more" in line for line in lines)
    told = json.loads(run("today", "--json").stdout)
    (learned,) = [each for each in told["parts"] if each["topic"] == "learned"]
    assert len(learned["lines"]) == 30
    assert not any(line["path"].split("/")[-1] in "\n".join(lines) for line in learned["lines"])


def test_an_empty_day_says_so_and_what_to_do_next(run: Run) -> None:
    id = remembered(run, "Tea at five")
    empty = run("today", "--date", "2001-02-03").output
    assert "nothing was kept. The latest memory is of" in empty
    run("forget", id, "--yes")
    assert "nothing was kept. `minutebook setup` connects your clients" in run("today").output
    assert "`minutebook ui`" in empty


def test_a_span_shows_what_was_kept_in_it(run: Run) -> None:
    remembered(run, "Tea at five")
    assert "Tea at five" in run("today", "--since", "7d").output
    assert "Tea at five" not in run("today", "--date", "2001-02-03").output


@pytest.mark.parametrize(
    "words",
    [
        ("--date", "9999-12-31"),
        ("--date", "x"),
        ("--since", "x"),
        ("--date", "2001-01-01", "--since", "1d"),
    ],
)
def test_a_day_that_is_none_is_refused(run: Run, words: tuple[str, ...]) -> None:
    remembered(run, "Tea at five")
    result = run("today", *words)
    assert result.exit_code == 1
    assert result.stderr.startswith("minutebook: ")


@pytest.mark.needs("code")
def test_what_belongs_to_no_project_is_moved_by_the_command_that_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / ".minutebook.toml").write_text('repository = "acme/shop"\n')
    stray = remembered(run, "Totals round half up.")
    remembered(run, "Refunds wait a day.", "--repository", "acme/shop")
    assert "--to" not in run("today").output
    monkeypatch.chdir(tmp_path / "shop")
    assert run("where", "--trust").exit_code == 0
    assert "--to" not in run("today").output
    monkeypatch.setenv("MINUTEBOOK_SCOPE_FROM_FOLDER", "on")
    (said,) = re.findall(r"`minutebook (edit .*)`", run("today").output)
    assert said == f"edit {stray} --to acme/shop"
    assert run(*said.split()).exit_code == 0
    assert "--to" not in run("today").output
