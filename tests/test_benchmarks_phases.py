"""What a benchmark that takes hours keeps of each part that ended."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.measure import Table
from benchmarks.phases import Phases

TABLE = Table(
    "Rates", ("what", "a second"), [("one", 1.5), ("two", None), ("mean", (1.0, 2.0, 3.0))]
)


def test_a_part_that_ended_is_not_measured_again_and_one_that_failed_is(tmp_path: Path) -> None:
    measured: list[str] = []

    def measure() -> Sequence[Table]:
        measured.append("measured")
        if len(measured) == 2:
            raise RuntimeError("cut short")
        return [TABLE]

    assert Phases(tmp_path).tables("first", measure) == [TABLE]
    with pytest.raises(RuntimeError):
        Phases(tmp_path).tables("second", measure)
    again = Phases(tmp_path)
    assert again.tables("first", measure) == [TABLE]
    assert len(measured) == 2
    assert again.tables("second", measure) == [TABLE]
    assert len(measured) == 3
