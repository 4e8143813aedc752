"""Marks every test here, so that `make test` leaves it out and `.ci/run` runs its short form."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.thorough)
            item.add_marker(pytest.mark.whole)
