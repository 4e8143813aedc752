"""A file beside the repository that names the commit under way, so that the next act can finish it after a kill."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

NAME = "minutebook.pending"
"""The file, in the folder of Git's own files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingWrite:
    """The commit that is about to become the branch's head, and the files it brings, by path."""

    commit: str
    branch: str
    files: dict[str, str]

    def write(self, folder: Path) -> Path:
        """Write it to a folder atomically; return the file.

        Nothing waits for the disk: after a power cut the branch is whole without it.
        """
        path = folder / NAME
        draft = folder / f"{NAME}.new"
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(path)
        return path


def read(folder: Path) -> PendingWrite | None:
    """Return the intent that an interrupted commit left in a folder, or None.

    None also if a power cut took its content: the branch is whole all the same.
    """
    try:
        return PendingWrite(**json.loads((folder / NAME).read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, RecursionError, TypeError):
        return None


def remove(folder: Path) -> None:
    """Remove the file: every step of the commit is done, or every one was undone."""
    for name in (f"{NAME}.new", NAME):
        with suppress(FileNotFoundError):
            (folder / name).unlink()
