"""Which folder holds a ledger, where several servers share a store and each sees folders of its own."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from uuid import uuid4

from minutebook.record.errors import InvalidInput, LedgerError, StoreError
from minutebook.store.disk.atomic_file import new_file
from minutebook.store.shared_values import SharedValues

_MANAGED = "ledgers"
"""The name of the shared value that says where the ledger of an organization without one is made."""


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """A folder of ledgers: the id in its id file, and the machine and path where it was last written to."""

    id: str
    machine: str
    path: str

    def __str__(self) -> str:
        return f"{self.path} on {self.machine}"


@dataclass(frozen=True, slots=True)
class LocalLedger:
    """A ledger as this server sees it: its path, and the file with its id.

    A managed ledger has the id of the folder of all managed ledgers, an external one that of its repository,
    followed by the folder `within` it.
    """

    path: str
    id_file: Path
    is_managed: bool
    within: str = ""

    def id(self) -> str | None:
        """Return the id that the file states; None if there is no file. Raises LedgerError."""
        try:
            return " ".join([*self.id_file.read_text(encoding="utf-8").split(), self.within])
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise _unreadable(self.id_file, error) from error

    def ensure_id(self) -> str:
        """Return the id in the file, which is written now if there is none. Raises LedgerError."""
        known = self.id()
        if known is not None:
            return known
        try:
            self.id_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # If several processes write it at once, the first one's stays.
            with suppress(InvalidInput), new_file(self.id_file, str(self.id_file)) as file:
                file.write(f"{uuid4()}\n".encode())
        except (OSError, StoreError) as error:
            raise _unreadable(self.id_file, error) from error
        return self.ensure_id()


class LedgerPlaces:
    """Keeps in the store which folder holds each ledger, so that all servers commit to the same one.

    The store names the folder by its id; a server whose folder has another id, or none, does not
    commit there. Without `shared` values the store is a file, and every ledger is on its machine.
    `local` returns an organization's ledger as this server sees it.
    """

    def __init__(
        self, shared: SharedValues | None, local: Callable[[str], LocalLedger], machine: str
    ) -> None:
        self._shared = shared
        self._local = local
        self._machine = machine

    def is_unclaimed(self, organization: str) -> bool:
        """Tell whether servers share the store and it does not say where an organization's ledger is."""
        return self._shared is not None and self._shared.read(_name(organization)) is None

    def check(self, organization: str) -> None:
        """Raise LedgerError if the store says that an organization's ledger is in another folder than this server's."""
        if self._shared is None:
            return
        here, noted = self._local(organization), self._noted_place(organization)
        if noted is not None and noted.id != here.id():
            raise self._elsewhere(organization, noted, here)

    def claim(self, organization: str) -> None:
        """Note in the store that this server has a ledger; call inside the transaction of a commit.

        Raises LedgerError if the store says that it is elsewhere.
        """
        if self._shared is None:
            return
        self.check(organization)
        here = self._local(organization)
        place = self._place(here)
        if here.is_managed:
            noted = _read(self._shared.claim(_MANAGED, _text(place)))
            if noted.id != place.id and self._shared.read(_name(organization)) is None:
                raise self._elsewhere(organization, noted, here)
        self._shared.write(_name(organization), _text(place))

    def adopt(self, organization: str) -> None:
        """Note in the store that this server has a ledger, whatever it said before; call inside a transaction."""
        if self._shared is None:
            return
        here = self._local(organization)
        place = self._place(here)
        self._shared.write(_name(organization), _text(place))
        if here.is_managed:
            self._shared.write(_MANAGED, _text(place))

    def _noted_place(self, organization: str) -> LedgerPlace | None:
        """Return where the store says that a ledger is, or is to be made; None if it does not say."""
        assert self._shared is not None
        text = self._shared.read(_name(organization))
        if text is None and self._local(organization).is_managed:
            text = self._shared.read(_MANAGED)
        return None if text is None else _read(text)

    def _place(self, here: LocalLedger) -> LedgerPlace:
        return LedgerPlace(here.ensure_id(), self._machine, here.path)

    def _elsewhere(self, organization: str, place: LedgerPlace, here: LocalLedger) -> LedgerError:
        """Return the error for a ledger that the store places on another server than this."""
        return LedgerError(
            "the ledger of {name} is not on this server: it lies in {place}, and {path} on {machine} is another folder",
            "record decisions through a server that has that folder, or mount it here at {path}"
            "; if it is lost, `minutebook ledger rebuild` on this server writes the decisions anew here",
            name=organization,
            place=place,
            path=here.path,
            machine=self._machine,
        )


def _name(organization: str) -> str:
    return f"ledger {organization}"


def _text(place: LedgerPlace) -> str:
    return json.dumps(asdict(place))


def _read(text: str) -> LedgerPlace:
    return LedgerPlace(**json.loads(text))


def _unreadable(path: Path, error: Exception) -> LedgerError:
    return LedgerError(
        "{path}, which states the id of the ledgers' folder, cannot be read or written: {error}",
        "see that the folder is mounted and that this server may write to it",
        path=path,
        error=error,
    )
