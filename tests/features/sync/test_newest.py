"""Which of two edits that were made at once perhaps revises the other."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.features.sync.joined_machines import Machines, machines


@pytest.fixture
def two(tmp_path: Path) -> Iterator[Machines]:
    with machines(tmp_path) as joined:
        yield joined


def test_a_conflict_tells_which_version_perhaps_revises_the_other(two: Machines) -> None:
    one, _other = two.worlds
    office, tea = one.remember("The office closes."), one.remember("Tea is green")
    two.settle()
    two.edit(0, office, "The office closes at 19:00.")
    two.edit(1, office, "The office closes at 20:30.")
    two.edit(0, tea, "Tea is served in the kitchen")
    two.edit(1, tea, "Milk stands in the fridge")
    two.sync(0)
    found = {each.id: each for each in two.sync(1).conflicts}
    assert found[office].newest == office
    assert found[tea].newest == ""
