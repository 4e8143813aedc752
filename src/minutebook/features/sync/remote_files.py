"""The content of a remote: its founder, the machines that write there, and their files."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from minutebook.features.sync.change_files import Verified, covers_of, is_sealed, verify
from minutebook.features.sync.remotes import NameTaken, Remote, names_in
from minutebook.record.errors import InvalidArchive, InvalidInput, MinutebookError
from minutebook.record.ids import RandomBits
from minutebook.record.json_lines import json_line

FILE = re.compile(r"([0-9a-f]{16})-([0-9]{8})\.jsonl")
"""The name of a file of changes: its machine and its number there."""

_MADE = re.compile(r"([0-9a-f]{16})-([0-9]{8})[-.]")
"""The beginning of the name of a file: its machine, and the number of files of changes that the machine had written."""

_HEADER = "sync.json"
_FORMAT = "minutebook-sync-remote"


def name_of_changes(machine: str, number: int) -> str:
    """Return the name of a machine's file of changes, as FILE reads it."""
    return f"{machine}-{number:08}.jsonl"


class RemoteFiles:
    """The files of a remote, as they were when it was pulled."""

    def __init__(self, folder: Path, id: str) -> None:
        self._folder = folder
        self._id = id

    def changes(self) -> dict[str, dict[int, int]]:
        """Return by machine the numbers of its files of changes, and their sizes."""
        found: dict[str, dict[int, int]] = {}
        for name, size in names_in(self._folder, "changes").items():
            if match := FILE.fullmatch(name):
                found.setdefault(match[1], {})[int(match[2])] = size
        return found

    def verified(self, kind: str) -> tuple[list[Verified], list[tuple[str, str]]]:
        """Return the sound files of a kind, and the names of the others with the reasons."""
        found, refused = list[Verified](), list[tuple[str, str]]()
        for name in names_in(self._folder, kind):
            try:
                found.append(verify(self._folder / kind / name, self._id))
            except (InvalidArchive, InvalidInput) as error:
                refused.append((name, reason_of(error)))
        return found, refused

    def machines(self) -> dict[str, dict[str, Any]]:
        """Return by machine its own file, with `name`, `number` and `taken`; unreadable ones are left out."""
        found = {}
        for name in names_in(self._folder, "machines"):
            try:
                noted = json.loads((self._folder / "machines" / name).read_bytes())
            except (OSError, ValueError, RecursionError):
                continue
            is_sound = (
                isinstance(noted, dict)
                and isinstance(noted.get("taken"), dict)
                and isinstance(noted.get("number"), int)
                and all(isinstance(each, int) for each in noted["taken"].values())
                and noted.get("machine") == name.removesuffix(".json")
            )
            if is_sound:
                found[name.removesuffix(".json")] = noted
        return found

    def last_of(self, machine: str) -> int:
        """Return the highest number of a machine's files that were ever here, replaced ones included."""
        numbers = [0, *self.changes().get(machine, {})]
        for name, noted in self.machines().items():
            numbers.append(noted["number"] if name == machine else noted["taken"].get(machine, 0))
        return max(numbers)

    def known(self) -> dict[str, int]:
        """Return by machine the highest number that any file here mentions."""
        machines = self.machines()
        taken = {name for noted in machines.values() for name in noted["taken"]}
        return {name: self.last_of(name) for name in {*self.changes(), *machines, *taken}}

    def lost(self, published: Mapping[str, int]) -> Iterator[tuple[str, int]]:
        """Yield machine and number of files up to the given numbers that are neither here, with a seal, nor in a snapshot.

        Only the end of each file is read; `verified` finds damage before it.
        """
        changes, covered = self.changes(), self.covered()
        for machine, last in sorted(published.items()):
            files = changes.get(machine, {})
            for number in range(covered.get(machine, 0) + 1, last + 1):
                if number not in files or not is_sealed(self.path(machine, number)):
                    yield machine, number

    def covered(self) -> dict[str, int]:
        """Return by machine the number up to which sealed snapshots contain its files."""
        covered: dict[str, int] = {}
        for name in names_in(self._folder, "snapshots"):
            for machine, number in covers_of(self._folder / "snapshots" / name, self._id).items():
                covered[machine] = max(covered.get(machine, 0), number)
        return covered

    def cut_short(self, covered: Mapping[str, int]) -> list[str]:
        """Return the names of files that were cut short and that a snapshot with such `covers` replaces."""
        found = []
        for kind in ("changes", "snapshots"):
            for name in names_in(self._folder, kind):
                made = _MADE.match(name)
                is_held = made is not None and int(made[2]) <= covered.get(made[1], 0)
                if is_held and not is_sealed(self._folder / kind / name):
                    found.append(f"{kind}/{name}")
        return found

    def path(self, machine: str, number: int) -> Path:
        """Return the path of a file of changes."""
        return self._folder / "changes" / name_of_changes(machine, number)

    def size_of_snapshots(self) -> int:
        """Return the size of the largest snapshot in bytes, 0 if there is none."""
        return max(names_in(self._folder, "snapshots").values(), default=0)


def identity_of(remote: Remote, randbits: RandomBits) -> str:
    """Return the remote's id, creating one if the remote is empty.

    Raises InvalidInput if the folder contains other files, or a later version wrote it.
    """
    path = remote.folder / _HEADER
    if not path.exists():
        foreign = sorted(e.name for e in remote.folder.iterdir() if not e.name.startswith("."))
        if foreign:
            remedy = "must be an empty folder, or one that sync has begun; {folder} holds {name}"
            raise InvalidInput("REMOTE", remedy, folder=remote.folder, name=foreign[0])
        made = {"format": _FORMAT, "version": 1, "id": f"{randbits(128):032x}"}
        try:
            remote.publish({_HEADER: json_line(made)}, {})
        except NameTaken:
            # Another machine began it at the same moment.
            remote.pull()
    try:
        noted = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput("REMOTE", "is damaged: {path} cannot be read", path=path) from error
    is_ours = isinstance(noted, dict) and noted.get("format") == _FORMAT
    id = noted.get("id") if is_ours else None
    if not isinstance(id, str) or not re.fullmatch(r"[0-9a-f]{32}", id):
        raise InvalidInput("REMOTE", "is damaged: {path} is no header of a sync", path=path)
    if noted.get("version") != 1:
        raise InvalidInput("REMOTE", "was begun by a later version; upgrade Minutebook")
    return id


def reason_of(error: MinutebookError) -> str:
    """Return the reason why a file was not taken in, without the file's name."""
    match error:
        case InvalidArchive(reason=reason, line=line):
            return reason if line is None else f"line {line}: {reason}"
        case _:
            return str(error)
