"""The commits that changed lines, in real repositories."""

from pathlib import Path

import pygit2
import pytest
from pygit2.enums import ResetMode

from minutebook.features.citations.trees import Blobs
from minutebook.features.why.line_history import LineRange, history_of
from tests.features.citations.repositories import committed

TOTAL = "def total(lines):\n    return sum(line.cents for line in lines)\n"
REFUND = "def refund(order):\n    return -order\n"


def history(root: Path, path: str, first: int, last: int) -> list[str]:
    """Return the short ids of the commits that changed lines, counted from 1."""
    repository = pygit2.Repository(str(root))
    head = repository.head.peel(pygit2.Commit)
    return [
        each.short_id
        for each in history_of(Blobs(repository), head, LineRange(path, first - 1, last))
    ]


def test_only_commits_that_changed_the_lines_are_told(tmp_path: Path) -> None:
    brought = committed(tmp_path, {"pay.py": TOTAL})
    committed(tmp_path, {"pay.py": f"import os\n\n\n{TOTAL}", "other.py": "x = 1\n"})
    changed = committed(tmp_path, {"pay.py": f"import os\n\n\n{TOTAL}".replace("cents", "amount")})
    below = committed(tmp_path, {"pay.py": f"{TOTAL}\n\n{REFUND}".replace("cents", "amount")})
    committed(tmp_path, {"pay.py": f"{TOTAL}\n\n{REFUND}".replace("cents", "amount").replace("    return", "  return")})  # fmt: skip
    assert history(tmp_path, "pay.py", 1, 2) == [changed, brought]
    assert history(tmp_path, "pay.py", 1, 1) == [brought]
    assert history(tmp_path, "pay.py", 5, 6) == [below]


def test_a_commit_that_changed_formatting_alone_is_left_out(tmp_path: Path) -> None:
    brought = committed(tmp_path, {"a.py": "NAMES = [\n    'ana',\n    'bo'\n]\n"})
    committed(tmp_path, {"a.py": 'NAMES = [\n    "ana",\n    "bo",\n]\n'})
    assert history(tmp_path, "a.py", 1, 4) == [brought]


def test_renamed_files_are_followed(tmp_path: Path) -> None:
    brought = committed(tmp_path, {"pay.py": f"{TOTAL}\n\n{REFUND}"})
    committed(tmp_path, {"pay.py": None, "src/money.py": f"{TOTAL}\n\n{REFUND}"})
    assert history(tmp_path, "src/money.py", 5, 6) == [brought]


def test_lines_that_moved_to_another_file_are_followed(tmp_path: Path) -> None:
    brought = committed(tmp_path, {"pay.py": f"{TOTAL}\n\n{REFUND}"})
    committed(tmp_path, {"pay.py": TOTAL, "refunds.py": f"import os\n\n\n{REFUND}"})
    assert history(tmp_path, "refunds.py", 4, 5) == [brought]


def test_a_rewritten_line_leads_to_the_one_it_was(tmp_path: Path) -> None:
    brought = committed(tmp_path, {"a.py": "x = 1\nlimit = 20  # the bank's\ny = 2\n"})
    changed = committed(tmp_path, {"a.py": "x = 2\nlimit = 30  # the bank's\ny = 3\n"})
    assert history(tmp_path, "a.py", 2, 2) == [changed, brought]


def test_of_a_merge_the_side_that_has_the_lines_is_followed(tmp_path: Path) -> None:
    committed(tmp_path, {"pay.py": f"{TOTAL}\n\n{REFUND}"})
    repository = pygit2.Repository(str(tmp_path))
    base = repository.head.target
    committed(tmp_path, {"pay.py": f"{TOTAL}\n\n{REFUND}".replace("cents", "amount")})
    repository = pygit2.Repository(str(tmp_path))
    ours = repository.head.target
    repository.reset(base, ResetMode.HARD)
    theirs_short = committed(
        tmp_path, {"pay.py": f"{TOTAL}\n\n{REFUND}".replace("-order", "order.minus()")}
    )
    repository = pygit2.Repository(str(tmp_path))
    theirs = repository.head.target
    merged = repository.merge_commits(ours, theirs)
    who = pygit2.Signature("Ana", "ana@example.org", 1_700_000_100, 0)
    made = repository.create_commit(
        None, who, who, "merge", merged.write_tree(repository), [ours, theirs]
    )
    repository.reset(made, ResetMode.HARD)
    assert history(tmp_path, "pay.py", 6, 6)[0] == theirs_short


def test_a_shallow_clone_does_not_know_who_brought_its_lines(tmp_path: Path) -> None:
    committed(tmp_path, {"pay.py": TOTAL})
    committed(tmp_path, {"pay.py": TOTAL.replace("cents", "amount")})
    head = pygit2.Repository(str(tmp_path)).head.target
    # So does `git clone --depth 1` note where it ends.
    (tmp_path / ".git/shallow").write_text(f"{head}\n")
    last = committed(tmp_path, {"pay.py": TOTAL.replace("cents", "euros")})
    repository = pygit2.Repository(str(tmp_path))
    found = history_of(Blobs(repository), repository.head.peel(pygit2.Commit), LineRange("pay.py", 0, 2))  # fmt: skip
    assert next(found).short_id == last
    with pytest.raises(LookupError, match="shallow"):
        next(found)


def test_a_line_of_a_long_file_that_was_rewritten_is_followed(tmp_path: Path) -> None:
    brought = committed(tmp_path, {"a.py": "".join(f"x{at} = {at}\n" for at in range(3000))})
    committed(tmp_path, {"a.py": "".join(f"y{at} = {at * 7}\n" for at in range(3000))})
    assert history(tmp_path, "a.py", 5, 5)[-1] == brought


def test_a_large_file_that_was_rewritten_is_followed_as_a_whole(tmp_path: Path) -> None:
    brought = committed(tmp_path, {"a.py": "".join(f"x{at} = {at}\n" for at in range(9000))})
    changed = committed(tmp_path, {"a.py": "".join(f"y{at} = {at * 7}\n" for at in range(9000))})
    assert history(tmp_path, "a.py", 1, 9000) == [changed, brought]
