"""Where the hash of the approval secret is kept: in a file of one machine, or in the store that servers share."""

from pathlib import Path
from typing import Protocol

from minutebook.record.errors import StoreError
from minutebook.record.reason import Word, os_error_reason
from minutebook.store.disk.atomic_file import replace_file
from minutebook.store.shared_values import SharedValues


class SecretPlace(Protocol):
    """Where one secret text is kept; `str` names the place for people."""

    def read(self) -> str | None:
        """Return the text, or None. Raises StoreError."""

    def write(self, text: str) -> None:
        """Keep a text in place of the one there was. Raises StoreError."""


class SecretFile:
    """A file that only its owner reads; `content` names it in errors, such as "the secret"."""

    def __init__(self, path: Path, content: str) -> None:
        self._path = path
        self._content = content

    def __str__(self) -> str:
        return str(self._path)

    def read(self) -> str | None:
        """Return the text of the file, or None if there is none. Raises StoreError."""
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            reason = "{place}: it cannot be read ({error}); remove it to set {what} anew"
            raise StoreError(reason, place=self, error=error, what=Word(self._content)) from error

    def write(self, text: str) -> None:
        """Write the file anew. Raises StoreError."""
        try:
            replace_file(self._path, text.encode())
        except OSError as error:
            raise StoreError(os_error_reason(self, error)) from error


class SharedSecret:
    """A value by name that all servers over the database at `place` share."""

    def __init__(self, shared: SharedValues, place: str, name: str) -> None:
        self._shared = shared
        self._place = place
        self._name = name

    def __str__(self) -> str:
        return f"the {self._name} in {self._place}"

    def read(self) -> str | None:
        """Return the shared value, or None if there is none. Raises StoreError."""
        return self._shared.read(self._name)

    def write(self, text: str) -> None:
        """Keep the shared value. Raises StoreError."""
        self._shared.write(self._name, text)
