"""The places of the keys of encrypted stores: the system's keyring, or a file.

A place keeps every key that was added, so that old backups can be opened after a change of keys.
"""

import os
import sys
from functools import cache
from pathlib import Path
from typing import Protocol

from minutebook.record.errors import EncryptionKeyMissing, InvalidInput
from minutebook.record.reason import Reason, cause_of
from minutebook.store.disk.atomic_file import sync_folder
from minutebook.store.disk.encryption import KEY_FILE, KEYRING, Key

_SERVICE = "minutebook"
_INSTALL = Reason(
    "`pip install minutebook[keyring]` brings what reads it, and key = file:PATH names a file instead"
)
_OTHERS_MAY = 0o077


class KeyPlace(Protocol):
    """A place of keys."""

    name: str
    """The name of the place in a sentence."""

    def find(self, id: str, for_what: str) -> Key:
        """Return a key. Raises EncryptionKeyMissing, which names its purpose `for_what`, if it cannot be read."""

    def add(self, key: Key) -> None:
        """Keep a key, on the disk when this returns. Raises EncryptionKeyMissing if that fails."""

    def check_private(self) -> str | None:
        """Return a sentence if others than the owner can read the place, else None."""


@cache
def place_of(setting: str) -> KeyPlace:
    """Return the place that the setting `key` names; a key that was found there once is remembered."""
    return KeyringPlace() if setting == KEYRING else FilePlace(Path(setting.removeprefix(KEY_FILE)))


class FilePlace:
    """A text file: a line for each key with its id and its 64 hexadecimal digits."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name: str = Reason("the file {path}", path=path)
        self._known: dict[str, Key] = {}

    def find(self, id: str, for_what: str) -> Key:
        """Return a key. Raises EncryptionKeyMissing."""
        if id not in self._known:
            self._known |= self._read(id, for_what)
        if id not in self._known:
            raise _unavailable(
                for_what, id, "{name} has no such key", "put it back there", name=self.name
            )
        return self._known[id]

    def add(self, key: Key) -> None:
        """Add a key as a line. Raises EncryptionKeyMissing if the file cannot be written."""
        line = f"{key.id} {key.secret.hex()}\n".encode()
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(handle, "r+b", buffering=0) as file:
                size = file.seek(0, os.SEEK_END)
                if size:
                    file.seek(size - 1)
                    # A process that was killed may have left half a line.
                    line = line if file.read(1) == b"\n" else b"\n" + line
                file.write(line)
                os.fsync(file.fileno())
            sync_folder(self.path.parent)
        except OSError as error:
            reason = "{path}: {cause}; the setting `key` names another place"
            raise EncryptionKeyMissing(reason, path=self.path, cause=cause_of(error)) from error
        self._known.pop(key.id, None)
        self.find(key.id, "The new key")

    def check_private(self) -> str | None:
        """Return a sentence if others than the owner can read the file, else None."""
        try:
            mode = self.path.stat().st_mode
        except OSError:
            return None
        if sys.platform == "win32" or not mode & _OTHERS_MAY:
            return None
        return f"The file with the key, {self.path}, can be read by others than its owner"

    def _read(self, id: str, for_what: str) -> dict[str, Key]:
        try:
            lines = self.path.read_text(encoding="ascii", errors="replace").splitlines()
        except FileNotFoundError as error:
            remedy = Reason("bring that file back, or name its place by the setting `key`")
            raise _unavailable(
                for_what, id, "there is no {path}", remedy, path=self.path
            ) from error
        except OSError as error:
            reason = Reason(
                "{path} cannot be read ({cause})", path=self.path, cause=cause_of(error)
            )
            raise _unavailable(for_what, id, reason, "make it readable") from error
        found = {}
        for line in lines:
            name, _, digits = line.strip().partition(" ")
            if (key := _key_of(digits)) is not None and key.id == name:
                found[name] = key
        return found


class KeyringPlace:
    """The system's keyring: an entry for each key, named by its id."""

    name = "the system's keyring"

    def __init__(self) -> None:
        self._known: dict[str, Key] = {}

    def find(self, id: str, for_what: str) -> Key:
        """Return a key. Raises EncryptionKeyMissing."""
        if id not in self._known:
            try:
                import keyring
                import keyring.errors

                digits = keyring.get_password(_SERVICE, id)
            except ImportError as error:
                raise _unavailable(
                    for_what, id, "{name} cannot be read", _INSTALL, name=self.name
                ) from error
            except keyring.errors.KeyringError as error:
                raise _unavailable(for_what, id, *_locked(error)) from error
            key = None if digits is None else _key_of(digits)
            if key is None or key.id != id:
                remedy = Reason(
                    "put it back there as the password of {id} for {service}",
                    id=id,
                    service=_SERVICE,
                )
                raise _unavailable(for_what, id, "{name} has no such key", remedy, name=self.name)
            self._known[id] = key
        return self._known[id]

    def add(self, key: Key) -> None:
        """Keep a key as a password for `minutebook`, its id the user. Raises EncryptionKeyMissing."""
        try:
            import keyring
            import keyring.errors

            keyring.set_password(_SERVICE, key.id, key.secret.hex())
        except ImportError as error:
            raise EncryptionKeyMissing(
                "{name} cannot be used: {remedy}", name=self.name, remedy=_INSTALL
            ) from error
        except keyring.errors.KeyringError as error:
            reason, remedy = _locked(error)
            raise EncryptionKeyMissing("{cause}: {remedy}", cause=reason, remedy=remedy) from error
        self._known.pop(key.id, None)
        self.find(key.id, "The new key")

    def check_private(self) -> str | None:
        """Return None: a keyring is its owner's."""
        return None


def check_outside(place: KeyPlace, home: Path) -> None:
    """Raise InvalidInput if keys are in a file in the data directory: a copy would hold both."""
    if isinstance(place, FilePlace) and place.path.resolve().is_relative_to(home.resolve()):
        raise InvalidInput(
            "key",
            "must be a file outside the data directory, so that no copy of that holds its key; "
            "`minutebook settings set key file:PATH` names one",
        )


def _key_of(digits: str) -> Key | None:
    try:
        return Key(bytes.fromhex(digits))
    except ValueError:
        return None


def _locked(error: Exception) -> tuple[Reason, Reason]:
    """Return the reason and the remedy for a keyring that answers with an error."""
    reason = Reason("the system's keyring cannot be used ({name})", name=type(error).__name__)
    remedy = "unlock it, run this where your session's keyring is, or set key = file:PATH"
    return reason, Reason(remedy)


def _unavailable(
    for_what: str, id: str, reason: str, remedy: str, **values: object
) -> EncryptionKeyMissing:
    return EncryptionKeyMissing(
        "{for_what} is encrypted with the key {id}, and {cause}: {remedy}. Nothing was changed",
        for_what=for_what,
        id=id,
        cause=Reason(reason, **values),
        remedy=Reason(remedy, **values),
    )
