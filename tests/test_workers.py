"""Runs in several processes (tests/workers.py), as whoever starts pytest sees them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forkserver import ROOT

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork"),
]

MODULE = """
import atexit, os, warnings
from pathlib import Path
import pytest

@pytest.fixture(scope="module")
def made():
    with Path("made").open("a") as file:
        file.write(f"{__name__} {os.getpid()}\\n")
    atexit.register(Path(f"ended {os.getpid()}").touch)

@pytest.mark.parametrize("number", range(12))
def test_one(number, made, tmp_path):
    print(f"said of {__name__} {number}")
    (tmp_path / "own").touch(exist_ok=False)
    if number == 2:
        warnings.warn("of two", stacklevel=1)
    if number == 3:
        pytest.skip("of three")
    assert number != 4
    if number == 5 and __name__ == "test_b":
        os._exit(7)
"""


def run(folder: Path, *options: str) -> tuple[int, str]:
    for name in ("test_a", "test_b"):
        (folder / f"{name}.py").write_text(MODULE)
    (folder / "pytest.ini").write_text("[pytest]\n")
    arguments = ["-p", "tests.workers", "-p", "no:cacheprovider", *options]
    # The plugin is this project's; the run itself knows nothing of the project.
    code = f"import pytest, sys; sys.path.insert(0, {str(ROOT)!r}); "
    code += f"sys.exit(pytest.main({arguments!r}))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.cold_start
def test_every_test_is_run_once_and_told_whatever_becomes_of_its_process(tmp_path: Path) -> None:
    status, told = run(tmp_path, "--workers", "2", "-ra")
    assert status == 1
    assert re.search(r"3 failed, 19 passed, 2 skipped, 2 warnings", told), told
    assert "test_b.py::test_one[5] - the process that ran it ended with 7" in told
    # What a failed test said is told, in the order of their ends, and nothing that others said.
    assert sorted(re.findall(r"^said of .*", told, re.MULTILINE)) == [
        "said of test_a 4",
        "said of test_b 4",
    ]
    assert told.count("UserWarning: of two") == told.count("Warning: of two") == 2
    made = [line.split() for line in (tmp_path / "made").read_text().splitlines()]
    assert re.search(r"processor time: \d+ s, of it \d+ s in tests, 2 files", told), told
    assert re.search(r"^ +\d+\.\d s test_a\.py$", told, re.MULTILINE), told
    # One died and another took its place; on a busy machine the second may come when all is done.
    processes = {pid for _, pid in made}
    assert len(processes) in (2, 3)
    assert sorted({name for name, _ in made}) == ["test_a", "test_b"]
    # All but the one that died have come to their end.
    assert len([*tmp_path.glob("ended *")]) == len(processes) - 1


@pytest.mark.cold_start
def test_a_run_ends_with_the_first_failure_where_that_is_asked_for(tmp_path: Path) -> None:
    status, told = run(tmp_path, "--workers", "2", "-x")
    assert status == 1
    assert "stopping after" in told
    ran = sum(map(int, re.findall(r"(\d+) (?:failed|passed|skipped)", told)))
    assert ran < 24
