"""The files that tools changed in a session, by the uses of tools in its thoughts."""

import re
from collections.abc import Callable, Iterable

_FOLDER = re.compile(r"^\[.*\bfolder ([^;\]]+)", re.MULTILINE)
_EDIT = re.compile(
    r"^\[(?:(?:multi|notebook)?edit\w*|write\w*|create\w*|apply_patch|str_replace\w*|replace)\][^→]*",
    re.IGNORECASE | re.MULTILINE,
)
_PATCHED = re.compile(
    r"\*\*\* (?:Update|Add|Delete) File: ([^\\\n]+)|\"\w*path\": *\"([^\"]+)\"",
    re.IGNORECASE,
)


class EditedFiles:
    """Collects the files that tools changed, turn by turn, without the folder of the session.

    `guess` finds the files in a use that names none as a path.
    """

    def __init__(self, guess: Callable[[str], Iterable[str]] = lambda _: ()) -> None:
        self._guess = guess
        self._paths: dict[str, None] = {}
        self._folder = ""

    def read(self, thought: str) -> None:
        """Enter the files that the uses of tools in a thought changed."""
        if not self._folder and (folder := _FOLDER.search(thought)):
            self._folder = f"{folder[1]}/"
        for use in _EDIT.findall(thought):
            named = [patched or path for patched, path in _PATCHED.findall(use)]
            for path in named or self._guess(use):
                own = path.removeprefix(self._folder)
                self._paths.pop(own, None)
                self._paths[own] = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths, the last first."""
        return tuple(reversed(self._paths))
