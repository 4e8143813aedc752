"""An erasure under way, noted on the disk until it is done: which records, and nothing of their texts."""

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
"""The file in the data directory that says that an erasure is not done; backups leave it out."""


@dataclass(frozen=True, slots=True)
class Order:
    """An order to erase: organization, kind and id of each record, and the places beside the store."""

    began: str
    records: tuple[Key, ...]
    backups: bool = False
    from_ledger: bool = False
    rewrites_tables: bool = False


class Orders:
    """Keeps the one erasure that is under way in a data directory."""

    def __init__(self, home: Path) -> None:
        self._path = home / NAME

    def read(self) -> Order | None:
        """Return the erasure that is not done, or None. Raises StoreError if its note cannot be read."""
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
            KeyError,
            AttributeError,
            RecursionError,
        ) as error:
            reason = "{path} cannot be read: an erasure was begun; erase again what it was about, after removing this file"
            raise StoreError(reason, path=self._path) from error

    def put(self, order: Order) -> None:
        """Note an erasure, on the disk. Raises StoreError if it cannot be written."""
        try:
            replace_file(self._path, json.dumps(asdict(order)).encode())
        except OSError as error:
            raise StoreError(os_error_reason(self._path, error)) from error

    def clear(self) -> None:
        """Note that it is done. Raises StoreError if that cannot be written."""
        try:
            self._path.unlink(missing_ok=True)
            sync_folder(self._path.parent)
        except OSError as error:
            raise StoreError(os_error_reason(self._path, error)) from error


def checks(app: App) -> Iterable[Check]:
    """Yield the check for an erasure that was cut short."""
    yield Check("The erasure", lambda: _of_order(Orders(app.settings.home)))


def _of_order(orders: Orders) -> list[Finding]:
    if orders.read() is None:
        return []
    finding = "An erasure was cut short: what it was about may still be there"
    return [Finding(finding, "run `minutebook erase --resume`")]


def undoing(app: App, caller: Caller, act: DoneAct) -> Undoing | None:
    """Say of an erasure that nothing is left of its records."""
    return Undoing(Reason("no byte of it is left")) if act.named.act == ERASE else None
