"""A folder of notes or tables that this program writes beside people's own files, and the last agreed state of each.

Only files that differ are written; a file that is not the program's, or that somebody edited, stays. A write is noted
in a file of the folder before it happens, so that a run may be killed at any moment. Links are never followed.
"""

import hashlib
import json
import os
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from minutebook.features.archives.notes import note_form
from minutebook.record.errors import InvalidInput, StoreError
from minutebook.record.reason import os_error_reason
from minutebook.record.records import Memory
from minutebook.store.disk.atomic_file import replace_file

LOOK_MS = 2000
"""Milliseconds between two looks at a watched folder."""

MOST_BYTES = 1 << 20
"""The most bytes of a note; a longer file is reported and left alone."""

OTHER = "other"
"""Stands for the digest of anything that is no plain file, such as a link or a folder."""

TABLE = "table"
"""The kind of a table; a run for notes leaves tables alone, and one for tables leaves notes alone."""

_OWN = ".minutebook"
_STATE = "sync.json"
_PENDING = "pending.jsonl"
_FORMAT = "minutebook-notes"
_PART = "part"


@dataclass(frozen=True, slots=True)
class AgreedFile:
    """The agreed state of one file: its path, the digests of file and record, and its links, as lines.

    `kind` is `memory`, or another for files that are only written. `conflict` is the path of the file with another version.
    """

    kind: str
    organization: str
    id: str
    path: str
    file: str = ""
    record: str = ""
    links: list[str] = field(default_factory=list)
    conflict: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Organization and id; the path of a file that is only written."""
        return (self.organization, self.id) if self.kind == "memory" else ("", self.path)


class NoteFolder:
    """Reads and writes the files of a folder, and their agreed state, which is noted before a file gets its name."""

    def __init__(self, root: Path, argument: str = "FOLDER") -> None:
        """Open a folder, creating a missing one; `argument` is its name in errors.

        Raises InvalidInput if the path is no folder, StoreError if it cannot be read.
        """
        self.root = root
        self._argument = argument
        self.agreed: dict[tuple[str, str], AgreedFile] = {}
        self.expected_keys: set[tuple[str, str]] = set()
        """The keys of the files that this run expects in the folder."""
        self.written: list[str] = []
        self.removed: list[str] = []
        self.kept: list[str] = []
        """Files that were left as they are, because somebody else wrote or edited them."""
        self._home = root / _OWN
        try:
            root.mkdir(parents=True, exist_ok=True)
            self._check_is_no_link(self._home)
            self._home.mkdir(exist_ok=True)
            self.id = self._load()
        except (FileExistsError, NotADirectoryError) as error:
            raise InvalidInput(argument, "must be a folder: {path}", path=root) from error
        except OSError as error:
            raise StoreError(os_error_reason(root, error)) from error

    def files(self) -> dict[str, str]:
        """Return the digests of the notes in the folder by name, with `/` between its parts.

        Hidden files and folders, links and other files that are not plain are left out. Raises StoreError if the folder
        cannot be read.
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
            raise StoreError(os_error_reason(self.root, error)) from error
        return found

    def read(self, name: str) -> bytes:
        """Return the bytes of a note. Raises InvalidInput if it is too large, StoreError if it cannot be read."""
        with self._at(name) as path:
            if path.stat().st_size > MOST_BYTES:
                raise InvalidInput("note", "is larger than {most} MiB", most=MOST_BYTES >> 20)
            return path.read_bytes()

    def write(self, agreed: AgreedFile, pieces: Iterable[bytes], taken: str = "") -> bool:
        """Write a file, unless somebody edited it; tell whether it has the content afterwards.

        It may replace no file, the agreed one, or one with the digest `taken`; a file that somebody saved meanwhile stays.
        Raises StoreError if it cannot be written, InvalidInput if one of its folders is a link.
        """
        known = self.agreed.get(agreed.key)
        self.expected_keys.add(agreed.key)
        with self._at(agreed.path) as path:
            self._make_parents(path)
            here = digest_at(path)
            part, digest = self._part(pieces, here)
            now = replace(agreed, file=digest)
            if part is None:
                self.agree(now)
                return True
            if here not in ("", taken, known and known.file):
                part.unlink()
                self.kept.append(agreed.path)
                return False
            self.agree(now)
            if digest_at(path) != here:
                return False
            part.replace(path)
        self.written.append(agreed.path)
        return True

    def write_if_missing(self, name: str, content: bytes) -> None:
        """Write a file that is no record's note, unless it exists. Raises StoreError if that fails."""
        with self._at(name) as path:
            if not path.exists():
                if (part := self._part([content], "")[0]) is not None:
                    part.replace(path)
                self.written.append(name)

    def remove(self, agreed: AgreedFile, expected: str) -> None:
        """Remove a file if it still has the digest `expected`, and forget its agreed state.

        Raises StoreError if it cannot be removed.
        """
        with self._at(agreed.path) as path:
            here = digest_at(path)
            if here and here == expected:
                path.unlink()
                self.removed.append(agreed.path)
            elif here:
                self.kept.append(agreed.path)
        self.agreed.pop(agreed.key, None)

    def remove_others(self, among: Callable[[AgreedFile], bool]) -> None:
        """Remove the files of earlier runs that this run does not expect and `among` accepts."""
        for key, agreed in list(self.agreed.items()):
            if key not in self.expected_keys and among(agreed):
                self.remove(agreed, agreed.file)

    def agree(self, agreed: AgreedFile) -> None:
        """Note the agreed state of a file: folder and store have the same content."""
        if self.agreed.get(agreed.key) != agreed:
            self._note(agreed)
            self.agreed[agreed.key] = agreed

    def paths_in(self, organization: str) -> dict[str, str]:
        """Return by id the paths of the notes of an organization's memories, without `.md`."""
        return {
            id: agreed.path.removesuffix(".md")
            for (home, id), agreed in self.agreed.items()
            if home == organization and agreed.kind == "memory"
        }

    def is_there(self, name: str) -> bool:
        """Tell whether there is a file with a name."""
        return self._path(name).exists()

    def save(self) -> None:
        """Store the agreed state of all files, and remove the notes of pending writes. Raises StoreError if that fails."""
        lines = [json.dumps(asdict(each)) for _, each in sorted(self.agreed.items())]
        head = json.dumps({"format": _FORMAT, "version": 1, "folder": self.id})
        content = "\n".join([head, *lines, ""]).encode()
        place = self._home / _STATE
        try:
            if not place.exists() or place.read_bytes() != content:
                replace_file(place, content)
            (self._home / _PENDING).unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(os_error_reason(place, error)) from error

    def _load(self) -> str:
        """Read the agreed state and return the folder's id; a pending write counts only if its file has the digest noted."""
        lines = _lines(self._home / _STATE)
        head = lines[0] if lines else {}
        if lines and (head.get("format"), head.get("version")) != (_FORMAT, 1):
            remedy = "was begun by a later version ({path}); upgrade Minutebook"
            raise InvalidInput(self._argument, remedy, path=self._home / _STATE)
        for document in lines[1:]:
            if (agreed := _agreed_file(document)) is not None:
                self.agreed[agreed.key] = agreed
        for document in _lines(self._home / _PENDING):
            agreed = _agreed_file(document)
            if agreed is not None and digest_at(self._path(agreed.path)) == agreed.file:
                self.agreed[agreed.key] = agreed
        folder = head.get("folder")
        return (
            folder if isinstance(folder, str) else hashlib.sha256(os.urandom(16)).hexdigest()[:20]
        )

    def _note(self, agreed: AgreedFile) -> None:
        with (self._home / _PENDING).open("ab") as file:
            file.write(json.dumps(asdict(agreed)).encode() + b"\n")

    def _part(self, pieces: Iterable[bytes], here: str) -> tuple[Path | None, str]:
        """Write content to a temporary file, readable by its owner alone; return its path and digest.

        The path is None if the digest is `here`, the digest of the existing file: then nothing has to be written.
        """
        rest, start = iter(pieces), bytearray()
        for piece in rest:
            start += piece
            if len(start) > MOST_BYTES:
                break
        else:
            if here == (whole := hashlib.sha256(start).hexdigest()):
                return None, whole
        part = self._home / _PART
        part.unlink(missing_ok=True)
        digest = hashlib.sha256()
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for piece in chain([bytes(start)], rest):
                file.write(piece)
                digest.update(piece)
        if digest.hexdigest() == here:
            part.unlink()
        return (None if digest.hexdigest() == here else part), digest.hexdigest()

    @contextmanager
    def _at(self, name: str) -> Iterator[Path]:
        """Yield the path of a file; an OSError inside the block becomes a StoreError that names it."""
        path = self._path(name)
        try:
            yield path
        except OSError as error:
            raise StoreError(os_error_reason(path, error)) from error

    def _path(self, name: str) -> Path:
        return self.root.joinpath(*name.split("/"))

    def _make_parents(self, path: Path) -> None:
        reached = self.root
        for name in path.parent.relative_to(self.root).parts:
            reached /= name
            self._check_is_no_link(reached)
            reached.mkdir(exist_ok=True)

    def _check_is_no_link(self, path: Path) -> None:
        """Raise InvalidInput if a path is a link, which may lead out of the folder."""
        if path.is_symlink():
            raise InvalidInput(
                self._argument, "must not lead elsewhere: {path} is a link", path=path
            )


def agreed_on(
    memory: Memory,
    name: str,
    links: Sequence[tuple[str, note_form.Target]],
    conflict: str | None = None,
) -> AgreedFile:
    """Return the state that a memory's note at the path `name` is to have."""
    return AgreedFile(
        *("memory", memory.organization, memory.id, name),
        record=digest_of_memory(memory),
        links=note_form.link_lines(links),
        conflict=conflict,
    )


def digest_of_memory(memory: Memory) -> str:
    """Return the digest of the part of a memory that a note shows."""
    return hashlib.sha256(note_form.memory_note(memory, ()).encode()).hexdigest()


def watch_notes(folder: Path, stop: threading.Event) -> Iterator[bool]:
    """Yield whether a note changed, every LOOK_MS and at once when one does, until `stop` is set.

    The first value is True, so that changes before the watcher was ready are read, too.
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


def digest_at(path: Path) -> str:
    """Return the digest of a plain file; "" if nothing is there, OTHER if it is not a plain file."""
    if not is_plain(path):
        return OTHER if path.is_symlink() or path.exists() else ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_plain(path: Path) -> bool:
    """Tell whether a path is a plain file, not a link to one."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _lines(path: Path) -> list[dict[str, Any]]:
    """Return the JSON objects in the lines of a file; a process that was killed may have left half a line."""
    found = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        with suppress(ValueError, RecursionError):
            if isinstance(document := json.loads(line), dict):
                found.append(document)
    return found


def _agreed_file(document: Mapping[str, Any]) -> AgreedFile | None:
    """Return the agreed state in a document; None if no run wrote it, or its path leads out of the folder."""
    try:
        agreed = AgreedFile(**document)
    except TypeError:
        return None
    parts = PurePosixPath(str(agreed.path)).parts
    is_inside = parts and not any(each in ("/", "..") or each.startswith(".") for each in parts)
    return agreed if is_inside else None
