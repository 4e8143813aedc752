"""A folder of notes that a person and this program both write, and their last agreed content."""

import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from minutebook.disk.atomic_file import replace_file
from minutebook.domain.errors import InvalidInput, StoreError
from minutebook.domain.reason import of_system
from minutebook.features.archives.exports.plain_folder import PlainFolder, digest_at, is_plain

LOOK_MS = 2000
"""Milliseconds between two looks at a folder that is watched."""

MOST_BYTES = 1 << 20
"""Bytes of a note; a longer file is named and left alone."""

_OWN = ".minutebook"
_STATE = "sync.json"
_PENDING = "pending.jsonl"
_FORMAT = "minutebook-notes"
_PART = "part"


@dataclass(frozen=True, slots=True)
class Agreed:
    """The agreed state of one note: its file, the digests of file and record, its links.

    `kind` is `memory`, or another for notes that are only written. `conflict` is the file that holds another version.
    """

    kind: str
    organization: str
    id: str
    path: str
    file: str
    record: str
    links: list[str] = field(default_factory=list)
    conflict: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Organization and id; the path of a note that is only written."""
        return (self.organization, self.id) if self.kind == "memory" else ("", self.path)


class NoteFolder:
    """Reads and writes the files; the agreed state is noted before a file gets its name."""

    def __init__(self, root: Path) -> None:
        """Open a folder, made if it is missing.

        Raises InvalidInput if its place does not fit, StoreError if it cannot be read.
        """
        self._folder = PlainFolder(root, "FOLDER")
        self.root = root
        self.agreed: dict[tuple[str, str], Agreed] = {}
        self.written: list[str] = []
        self._home = root / _OWN
        with self._folder.opened():
            self._folder.check_is_no_link(self._home)
            self._home.mkdir(exist_ok=True)
            self.id = self._load()

    def files(self) -> dict[str, str]:
        """Return the names of the notes in the folder, `/` between their parts, and their digests.

        Hidden files and folders, links and what is no plain file are left out. Raises StoreError.
        """
        found: dict[str, str] = {}
        try:
            for parent, folders, names in os.walk(self.root):
                folders[:] = sorted(each for each in folders if not each.startswith("."))
                for name in sorted(names):
                    path = Path(parent, name)
                    if name.startswith(".") or path.suffix.lower() != ".md" or not is_plain(path):
                        continue
                    relative = path.relative_to(self.root).as_posix()
                    with suppress(FileNotFoundError, UnicodeEncodeError):
                        relative.encode()
                        found[relative] = digest_at(path)
        except OSError as error:
            raise StoreError(of_system(self.root, error)) from error
        return found

    def read(self, name: str) -> bytes:
        """Return the bytes of a note. Raises InvalidInput if it is too large, StoreError if it cannot be read."""
        path = self._folder.path(name)
        try:
            if path.stat().st_size > MOST_BYTES:
                raise InvalidInput("note", "is larger than {most} MiB", most=MOST_BYTES >> 20)
            return path.read_bytes()
        except OSError as error:
            raise StoreError(of_system(path, error)) from error

    def write(self, agreed: Agreed, content: bytes, expected: str) -> bool:
        """Write a note over the one of digest `expected` (empty: over none); tell whether it was done.

        What somebody saved meanwhile stays. Raises StoreError if it cannot be written, InvalidInput if one
        of its folders is a link.
        """
        path = self._folder.path(agreed.path)
        try:
            self._folder.make_parents(path)
            if digest_at(path) != expected:
                return False
            part = self._home / _PART
            part.write_bytes(content)
            self._note(agreed)
            self.agreed[agreed.key] = agreed
            if digest_at(path) != expected:
                return False
            part.replace(path)
        except OSError as error:
            raise StoreError(of_system(path, error)) from error
        self.written.append(agreed.path)
        return True

    def put_beside(self, name: str, content: bytes) -> None:
        """Write a file that is nobody's note, unless it is there. Raises StoreError if that fails."""
        path = self._folder.path(name)
        try:
            if not path.exists():
                part = self._home / _PART
                part.write_bytes(content)
                part.replace(path)
                self.written.append(name)
        except OSError as error:
            raise StoreError(of_system(path, error)) from error

    def remove(self, agreed: Agreed, expected: str) -> None:
        """Remove a note that still has a digest; its agreed state is forgotten.

        Raises StoreError if it cannot be removed.
        """
        path = self._folder.path(agreed.path)
        try:
            if digest_at(path) == expected:
                path.unlink(missing_ok=True)
                self.written.append(agreed.path)
        except OSError as error:
            raise StoreError(of_system(path, error)) from error
        self.agreed.pop(agreed.key, None)

    def agree(self, agreed: Agreed) -> None:
        """Note that folder and store say the same of a note as it is."""
        if self.agreed.get(agreed.key) != agreed:
            self._note(agreed)
            self.agreed[agreed.key] = agreed

    def is_there(self, name: str) -> bool:
        """Tell whether there is a file of a name."""
        return self._folder.path(name).exists()

    def save(self) -> None:
        """Keep the agreed state, in place of the notes on the way. Raises StoreError if that fails."""
        lines = [json.dumps(asdict(each)) for _, each in sorted(self.agreed.items())]
        head = json.dumps({"format": _FORMAT, "version": 1, "folder": self.id})
        content = "\n".join([head, *lines, ""]).encode()
        place = self._home / _STATE
        try:
            if not place.exists() or place.read_bytes() != content:
                replace_file(place, content)
            (self._home / _PENDING).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(of_system(place, error)) from error

    def _load(self) -> str:
        """Read the agreed state; of a write that was noted last, only if its file got its name."""
        lines = _lines(self._home / _STATE)
        head = lines[0] if lines else {}
        if lines and (head.get("format"), head.get("version")) != (_FORMAT, 1):
            remedy = "was begun by a later version ({path}); upgrade Minutebook"
            raise InvalidInput("FOLDER", remedy, path=self._home / _STATE)
        for document in lines[1:]:
            if (agreed := _agreed_of(document)) is not None:
                self.agreed[agreed.key] = agreed
        for document in _lines(self._home / _PENDING):
            agreed = _agreed_of(document)
            if agreed is not None and digest_at(self._folder.path(agreed.path)) == agreed.file:
                self.agreed[agreed.key] = agreed
        folder = head.get("folder")
        return (
            folder if isinstance(folder, str) else hashlib.sha256(os.urandom(16)).hexdigest()[:20]
        )

    def _note(self, agreed: Agreed) -> None:
        with (self._home / _PENDING).open("ab") as file:
            file.write(json.dumps(asdict(agreed)).encode() + b"\n")


def looks(folder: Path, stop: threading.Event) -> Iterator[bool]:
    """Yield every LOOK_MS, and at once when a note changes, whether one did, until `stop` is set.

    At first one did: what changed before the watcher stood is to be read as well.
    """
    from watchfiles import Change, watch

    root = folder.resolve()

    def is_note(change: Change, path: str) -> bool:
        return not any(part.startswith(".") for part in Path(path).relative_to(root).parts)

    is_first = True
    for changes in watch(
        root,
        watch_filter=is_note,
        stop_event=stop,
        rust_timeout=LOOK_MS,
        yield_on_timeout=True,
        raise_interrupt=True,
        ignore_permission_denied=True,
    ):
        yield bool(changes) or is_first
        is_first = False


def digest_of(content: bytes) -> str:
    """Return the digest of a file's content."""
    return hashlib.sha256(content).hexdigest()


def _lines(path: Path) -> list[dict[str, Any]]:
    """Read a file of JSON objects; the last line of a process that was killed may be half of one."""
    with suppress(FileNotFoundError):
        return list(_objects(path.read_bytes()))
    return []


def _objects(data: bytes) -> Iterator[dict[str, Any]]:
    for line in data.splitlines():
        with suppress(ValueError, RecursionError):
            document = json.loads(line)
            if isinstance(document, dict):
                yield document


def _agreed_of(document: Mapping[str, Any]) -> Agreed | None:
    """Return the agreed state of a note; None for a document no run wrote, or a place outside the folder."""
    try:
        agreed = Agreed(**document)
    except TypeError:
        return None
    parts = PurePosixPath(str(agreed.path)).parts
    is_inside = parts and not any(each in ("/", "..") or each.startswith(".") for each in parts)
    return agreed if is_inside and str(agreed.path).lower().endswith(".md") else None
