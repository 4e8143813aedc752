"""The file that notes an erasure until it is done: its records' ids, and nothing of their texts."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from minutebook.app import App
from minutebook.memory.maintenance.doctor import Check, Finding
from minutebook.record.caller import Caller
from minutebook.record.errors import StoreError
from minutebook.record.reason import Reason, os_error_reason
from minutebook.record.records import Key, Kind
from minutebook.record.trust.done_acts import DoneAct, Undoing
from minutebook.record.trust.trail import ERASE
from minutebook.store.disk.atomic_file import replace_file, sync_folder

NAME = ".erasing.json"
"""The name of the file in the data directory that notes an erasure; backups leave it out."""


@dataclass(frozen=True, slots=True)
class Order:
    """An order to erase records, with the arguments of `Erasing.erase`."""

    began: str
    """The time at which the erasure began, as ISO 8601."""
    records: tuple[Key, ...]
    backups: bool = False
    from_ledger: bool = False
    rewrites_tables: bool = False


class OrderFile:
    """Holds the order of the one erasure that is under way in a data directory."""

    def __init__(self, home: Path) -> None:
        self._path = home / NAME

    def read(self) -> Order | None:
        """Return the order that is not done, or None. Raises StoreError if the file cannot be read."""
        try:
            noted = json.loads(self._path.read_bytes())
            records = tuple((str(o), Kind(k), str(i)) for o, k, i in noted.pop("records"))
            return Order(records=records, **noted)
        except FileNotFoundError:
            return None
        except (
            OSError,
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
        ) as error:
            reason = "{path} cannot be read: an erasure was begun; erase again what it was about, after removing this file"
            raise StoreError(reason, path=self._path) from error

    def write(self, order: Order) -> None:
        """Write an order to the file. Raises StoreError if it cannot be written."""
        try:
            replace_file(self._path, json.dumps(asdict(order)).encode())
        except OSError as error:
            raise StoreError(os_error_reason(self._path, error)) from error

    def remove(self) -> None:
        """Remove the file, as the erasure is done. Raises StoreError if it cannot be removed."""
        try:
            self._path.unlink(missing_ok=True)
            sync_folder(self._path.parent)
        except OSError as error:
            raise StoreError(os_error_reason(self._path, error)) from error


def checks(app: App) -> Iterable[Check]:
    """Yield the check for an erasure that was cut short."""
    yield Check("The erasure", lambda: _order_findings(OrderFile(app.settings.home)))


def _order_findings(file: OrderFile) -> list[Finding]:
    if file.read() is None:
        return []
    finding = "An erasure was cut short: what it was about may still be there"
    return [Finding(finding, "run `minutebook erase --resume`")]


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Return, for an erasure, that it cannot be undone; None for other acts."""
    return Undoing(Reason("no byte of it is left")) if act.naming_entry.act == ERASE else None
