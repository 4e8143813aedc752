"""The folders of this machine and its user in which programs keep their settings and files."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from minutebook.serve.invocation import environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The machine and its user: `sys.platform`, home, working directory and environment variables.

    Only APPDATA, LOCALAPPDATA, XDG_CONFIG_HOME are read, and variables of programs that name their folders.
    """

    platform: str
    home: Path
    cwd: Path
    variables: Mapping[str, str]

    def folder(self, variable: str, *default: str) -> Path:
        """Return the folder that a variable names, or else the home's subfolder with the parts `default`."""
        value = self.variables.get(variable, "").strip()
        return Path(value) if value else self.home.joinpath(*default)

    def applications(self) -> Path:
        """Return the folder in which desktop applications keep their settings."""
        if self.platform == "win32":
            return self.folder("APPDATA", "AppData", "Roaming")
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        return self.configuration()

    def configuration(self) -> Path:
        """Return the folder in which terminal programs keep their settings."""
        return self.folder("XDG_CONFIG_HOME", ".config")


def places_here() -> Places:
    """Return the places of this process's machine and user."""
    return Places(platform=sys.platform, home=Path.home(), cwd=Path.cwd(), variables=environment())
