"""Measurements that are kept as each ends, so that a run that was cut short goes on where it was."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.measure import Cell, Table


class Phases:
    """Runs phases by name, each once for a folder."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "phases.json"
        try:
            self._done: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            self._done = {}

    def tables(self, name: str, measure: Callable[[], Sequence[Table]]) -> list[Table]:
        """Return the tables of a phase, which is measured unless an earlier run did."""
        if name not in self._done:
            print(f"{name} …", flush=True)
            before, tables = os.getloadavg()[0], measure()
            loads = {"load": [round(load, 1) for load in (before, os.getloadavg()[0])]}
            self._done[name] = loads | {"tables": [asdict(table) for table in tables]}
            draft = self._path.with_suffix(".new")
            draft.write_text(json.dumps(self._done, indent=1), encoding="utf-8")
            draft.replace(self._path)
        return [_table(told) for told in self._done[name]["tables"]]


def _table(told: dict[str, Any]) -> Table:
    rows = [tuple(_cell(cell) for cell in row) for row in told["rows"]]
    return Table(told["title"], tuple(told["columns"]), rows, told["note"])


def _cell(told: Any) -> Cell:
    return tuple(told) if isinstance(told, list) else told
