"""This machine and its user: where programs keep their settings and files."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from minutebook.serve.invocation import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The machine and its user: `sys.platform`, home, working directory and process environment.

    Of the environment these are looked at: APPDATA, LOCALAPPDATA, XDG_CONFIG_HOME,
    and those that programs name for folders of theirs.
    """

    platform: str
    home: Path
    cwd: Path
    variables: Mapping[str, str]

    def folder(self, variable: str, *otherwise: str) -> Path:
        """Return the folder that a variable names, or else one below the home."""
        value = self.variables.get(variable, "").strip()
        return Path(value) if value else self.home.joinpath(*otherwise)

    def applications(self) -> Path:
        """Return the folder in which desktop applications keep their settings."""
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming")
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return self.configuration()

    def configuration(self) -> Path:
        """Return the folder in which programs of a terminal keep their settings."""
        return self.folder("XDG_CONFIG_HOME", ".config")


def places_here() -> Places:
    """Return where programs keep their files on this machine."""
    return Places(platform=sys.platform, home=Path.home(), cwd=Path.cwd(), variables=environment())
