"""How many examples Hypothesis draws, and which cases of a table run: some in `make test`, all in `.ci/run`."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings

SHARE: Final = {"same": 0.2, "minutebook": 0.1, "all": 2.0}
"""Of the number that a test names (100 where it names none), the part that a profile draws."""


def examples(named: int) -> int:
    """Return the number of examples that a test draws in the profile that is loaded."""
    return max(1, round(named * SHARE.get(settings.get_current_profile_name(), 1.0)))


def parametrize_in_part(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    *,
    every: int = 3,
    ids: Callable[[Any], str] | None = None,
) -> pytest.MarkDecorator:
    """Parametrize a test of which `make test` runs each third case, say; the others are `thorough`.

    A case may be a `pytest.param`.
    """
    rows = []
    for number, case in enumerate(cases):
        if not isinstance(case, ParameterSet):
            case = pytest.param(*(case if isinstance(names, tuple) else [case]))
        marks = [*case.marks, pytest.mark.thorough] if number % every else case.marks
        rows.append(pytest.param(*case.values, id=case.id, marks=marks))
    return pytest.mark.parametrize(names, rows, ids=ids)


def register() -> None:
    """Make the profiles known; none has a deadline, since machines are busy."""
    for name, share in SHARE.items():
        settings.register_profile(
            name, deadline=None, max_examples=round(100 * share), derandomize=name == "same"
        )
    settings.load_profile("minutebook")
