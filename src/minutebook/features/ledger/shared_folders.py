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
"""The name of the shared value that says where ledgers of organizations are made that have none yet."""


@dataclass(frozen=True, slots=True)
class LedgerPlace:
    """A folder of ledgers: the id that a file in it states, and where it was when it was last written to."""

    id: str
    machine: str
    path: str

    def __str__(self) -> str:
        return f"{self.path} on {self.machine}"


@dataclass(frozen=True, slots=True)
class LocalLedger:
    """This server's view of a ledger: its path, and the file that states its id.

    A managed ledger has the id of the folder of all, an external one that of its repository and `within`
    it the folder.
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

    def given_id(self) -> str:
        """Return the id that the file states, written now if there is none. Raises LedgerError."""
        known = self.id()
        if known is not None:
            return known
        try:
            self.id_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Of several that write it the first does.
            with suppress(InvalidInput), new_file(self.id_file, str(self.id_file)) as file:
                file.write(f"{uuid4()}\n".encode())
        except (OSError, StoreError) as error:
            raise _unreadable(self.id_file, error) from error
        return self.given_id()


class LedgerPlaces:
    """Holds all servers over one store to one folder for each ledger.

    The store names the folder by an id; a server whose folder states another id, or none, does not
    commit there. Without `shared` values the store is a file, and its ledgers are those of its machine.
    """

    def __init__(
        self, shared: SharedValues | None, local: Callable[[str], LocalLedger], machine: str
    ) -> None:
        self._shared = shared
        self._local = local
        self._machine = machine

    def is_unclaimed(self, organization: str) -> bool:
        """Tell whether servers share the store, and it does not say where a ledger is."""
        return self._shared is not None and self._shared.read(_name(organization)) is None

    def check(self, organization: str) -> None:
        """Raise LedgerError if the ledger of an organization is another than this server sees."""
        if self._shared is None:
            return
        here, stated = self._local(organization), self._stated(organization)
        if stated is not None and stated.id != here.id():
            raise self._elsewhere(organization, stated, here)

    def claim(self, organization: str) -> None:
        """Note that a ledger is here, unless it is elsewhere; call inside the transaction of a commit.

        Raises LedgerError if it is elsewhere.
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
        """Note that a ledger is here from now on, wherever it was; call inside a transaction."""
        if self._shared is None:
            return
        here = self._local(organization)
        place = self._place(here)
        self._shared.write(_name(organization), _text(place))
        if here.is_managed:
            self._shared.write(_MANAGED, _text(place))

    def _stated(self, organization: str) -> LedgerPlace | None:
        """Return where the store says that a ledger is, or is to be made; None if it does not say."""
        assert self._shared is not None
        text = self._shared.read(_name(organization))
        if text is None and self._local(organization).is_managed:
            text = self._shared.read(_MANAGED)
        return None if text is None else _read(text)

    def _place(self, here: LocalLedger) -> LedgerPlace:
        return LedgerPlace(here.given_id(), self._machine, here.path)

    def _elsewhere(self, organization: str, place: LedgerPlace, here: LocalLedger) -> LedgerError:
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
