"""Each statement to a server fails once, in each use case: nothing is lost or half there, and the caller is told in our words."""

from collections.abc import Iterator

import pytest

from tests.faults.call_steps import Stepper
from tests.faults.campaign import LONG, chance, report, rounds
from tests.faults.statements import FAULTS, StatementFault, Statements, prepared_on_server
from tests.faults.use_cases import IN_A_FILE, READS, WRITES

MOST = 3
"""How many statements of each use case a long run has fail, others each time."""


@pytest.fixture(scope="module")
def stepper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stepper]:
    statements = Statements()
    with (
        prepared_on_server(tmp_path_factory.mktemp("steps").resolve()) as ground,
        statements.hooked(),
    ):
        yield Stepper(ground, statements, ground.folder.parent)


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_statement_of_each_use_case_fails_once(
    stepper: Stepper, fault: StatementFault
) -> None:
    random = chance(f"statements {fault}")
    names = [name for name in (*WRITES, *READS) if name not in IN_A_FILE]
    wrong: list[str] = []
    steps = errors = unreached = 0
    for name in names if LONG else random.sample(names, 1):
        numbers = stepper.numbers(name, fault)
        for number in random.sample(numbers, min(rounds(1, MOST), len(numbers))):
            step = stepper.step(name, fault, number)
            wrong += step.told(name)
            # Runs differ by a statement: one in which they are counted may send one that this one does not.
            steps, unreached = steps + step.plan.failed, unreached + (not step.plan.failed)
            errors += step.error is not None
    assert steps >= 20 * unreached
    report(
        "statements", fault.name, use_cases=len(names), steps=steps, errors=errors, wrong=len(wrong)
    )
    assert not wrong, "\n".join(wrong)
