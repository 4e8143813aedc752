"""`minutebook erase`: it counts, asks, erases, looks, and says so by its exit status."""

import json
from pathlib import Path

import pytest

from minutebook.features.erasure.order import NAME
from tests.features.erasure.leftovers import leftovers
from tests.terminal import Run

WORD = "quixotically"
TEXT = f"Maria Keller came {WORD} in the morning and left at noon"


@pytest.fixture
def ids(begun: Run) -> list[str]:
    return [begun("remember", text).stdout.strip() for text in (TEXT, "Tea at five")]


@pytest.mark.needs("audit_proof")
def test_it_counts_asks_and_erases(run: Run, ids: list[str], tmp_path: Path) -> None:
    counted = run("erase", "--query", "maria keller", "--dry-run", "--json")
    assert [each["id"] for each in json.loads(counted.stdout)["records"]] == ids[:1]
    asked = run("erase", ids[0], input="n\n")
    assert (asked.exit_code, TEXT[:40] in asked.output) == (1, True)
    assert leftovers(tmp_path, [WORD])
    done = run("erase", ids[0], "--yes", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    checked = said["checked"]
    assert (checked["traces"], checked["alike"], said["left"]) == ([], [], [])
    assert checked["pieces"] > 1
    assert leftovers(tmp_path, [WORD]) == set()
    assert WORD not in run("audit").output
    assert "erase by" in run("audit").output
    assert run("erase", "--resume").output == "No erasure was cut short.\n"


@pytest.mark.needs("archives")
def test_what_is_found_makes_it_fail(run: Run, ids: list[str], tmp_path: Path) -> None:
    home = next(tmp_path.rglob("minutebook.db")).parent
    run("backup", str(home / "b.tar"))
    done = run("erase", ids[0], "--yes")
    assert (done.exit_code, str(home / "b.tar") in done.output) == (1, True)
    said = tmp_path / "said.txt"
    said.write_text(f"{TEXT}\n\nno\n", encoding="utf-8")
    assert run("erase", "--check", str(said)).exit_code == 1
    (home / "b.tar").unlink()
    said.rename(tmp_path.parent / "said-elsewhere.txt")
    assert run("erase", "--check", str(tmp_path.parent / "said-elsewhere.txt")).exit_code == 0


def test_what_was_deleted_is_erased_afterwards(run: Run, ids: list[str], tmp_path: Path) -> None:
    run("forget", ids[0], "--yes")
    done = run("erase", "--deleted")
    assert done.output == "Nothing of what was deleted is left in the store's files.\n"
    assert leftovers(tmp_path, [WORD]) == set()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "typed",
    [
        [],
        ["ID", "--deleted"],
        ["--deleted", "--resume"],
        ["--deleted", "--dry-run"],
        ["--resume", "--dry-run"],
        ["ID", "--yes", "--organization", "another"],
        ["nobody", "--yes"],
    ],
)
def test_what_says_nothing_or_too_much_is_refused(
    run: Run, ids: list[str], typed: list[str]
) -> None:
    refused = run("erase", *(ids[0] if each == "ID" else each for each in typed))
    assert refused.exit_code != 0
    assert run("show", ids[0]).exit_code == 0


def test_a_note_that_cannot_be_read_is_told(run: Run, ids: list[str], tmp_path: Path) -> None:
    home = next(tmp_path.rglob("minutebook.db")).parent
    (home / NAME).write_text("{", encoding="utf-8")
    refused = run("erase", ids[0], "--yes")
    assert (refused.exit_code != 0, NAME in refused.output) == (True, True)
