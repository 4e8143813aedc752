"""Each call on a file fails once, in each use case: nothing is lost or half there, and the caller is told in our words."""

import errno
from collections.abc import Callable, Iterator
from pathlib import Path

import apsw
import pygit2
import pytest

from tests.faults.call_steps import Stepper
from tests.faults.calls import FAULTS, IS_POSSIBLE, Calls, Fault
from tests.faults.campaign import LONG, chance, report
from tests.faults.use_cases import OUTSIDE, READS, WRITES, prepared

pytestmark = pytest.mark.skipif(not IS_POSSIBLE, reason="the tables of libraries are Linux's")

SHORT = 3
"""How many use cases a short run takes, of all, with one call of each."""


@pytest.fixture(scope="module")
def stepper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepper]:
    calls = Calls()
    # Below pytest's own folder names would be too long for some of what is made there.
    with (
        prepared(tmp_path_factory.mktemp("steps").resolve()) as ground,
        calls.hooked(),
    ):
        yield Stepper(ground, calls, ground.folder.parent)


def test_a_call_that_is_to_fail_fails_for_python_and_sqlite_and_git(tmp_path: Path) -> None:
    """Without this, what follows would prove nothing."""
    calls = Calls()
    broken = Fault("broken", {"write", "pwrite64", "pwrite"}, errno.EIO)
    connection = apsw.Connection(str(tmp_path / "a.db"))
    connection.execute("CREATE TABLE numbers (n)")
    repository = pygit2.init_repository(str(tmp_path / "git"), True)
    ways: list[tuple[Callable[[], object], type[Exception]]] = [
        (lambda: (tmp_path / "a").write_text("1"), OSError),
        (lambda: connection.execute("INSERT INTO numbers VALUES (1)"), apsw.IOError),
        (lambda: repository.create_blob(b"1"), OSError),
    ]
    with calls.hooked():
        for way, error in ways:
            with calls.failing(tmp_path, broken, 0) as plan, pytest.raises(error):
                way()
            assert plan.failed == 1
            with calls.failing(tmp_path, broken, 1 << 30) as plan:
                way()
            assert plan.reached
            assert not plan.failed
    connection.close()


@pytest.mark.parametrize(
    "fault",
    [
        # A quota fails as a full disk does, by another number.
        pytest.param(each, marks=[pytest.mark.slow] if each.name == "exceeded quota" else [])
        for each in FAULTS
    ],
    ids=str,
)
def test_each_call_of_each_use_case_fails_once(stepper: Stepper, fault: Fault) -> None:
    random, names = chance(f"calls {fault}"), [*WRITES, *OUTSIDE, *READS]
    wrong: list[str] = []
    steps = errors = 0
    for name in names if LONG else random.sample(names, SHORT):
        numbers = stepper.numbers(name, fault)
        for number in numbers if LONG else random.sample(numbers, min(1, len(numbers))):
            step = stepper.step(name, fault, number)
            wrong += step.told(name)
            steps, errors = steps + 1, errors + (step.error is not None)
    report("calls", fault.name, use_cases=len(names), steps=steps, errors=errors, wrong=len(wrong))
    assert not wrong, "\n".join(wrong)
