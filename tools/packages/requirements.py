"""The part of the lock that a release needs: what the package itself requires, and what that requires."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = "minutebook (pyproject.toml)"
"""Whom the lock names as having asked for what the package itself requires."""

_ENTRY = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]*)(?:\[[^\]]*\])?==(?P<version>[^\s;\\]+)"
    r"(?:\s*;\s*(?P<marker>[^\\\n]*[^\\\s]))?"
)


@dataclass(frozen=True, slots=True)
class Requirement:
    """One entry of the lock: a version, where it is wanted, the digests of its files, and who asks for it."""

    name: str
    version: str
    marker: str
    digests: tuple[str, ...]
    parents: frozenset[str]

    @property
    def pin(self) -> str:
        """Return it without its digests: `name==version`, and a marker where there is one."""
        return f"{self.name}=={self.version}" + (f"; {self.marker}" if self.marker else "")

    @property
    def line(self) -> str:
        """Return it as a line of a requirements file, with its digests."""
        digests = "".join(f" \\\n    --hash=sha256:{digest}" for digest in self.digests)
        return f"{self.pin}{digests}\n"


def released(lock: str) -> list[Requirement]:
    """Return what the package needs at run time, from a lock that has development's needs in it, too.

    Which these are the lock says itself, in the comments `# via` behind each entry. Raises ValueError
    if an entry cannot be read, or none is found.
    """
    entries = [_read(entry) for entry in re.split(r"^(?=[a-z0-9])", lock, flags=re.M) if entry]
    wanted: set[str] = set()
    asked = {ROOT}
    while asked:
        asked = {entry.name for entry in entries if entry.parents & asked} - wanted
        wanted |= asked
    if not wanted:
        raise ValueError(f"the lock must say of some entry that {ROOT} asked for it")
    return [entry for entry in entries if entry.name in wanted]


def unlocked(root: Path) -> list[str]:
    """Return the names of direct requirements that the lock lacks."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    asked = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    names = {re.split(r"[^A-Za-z0-9._-]", each)[0] for each in asked}
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([a-z0-9][a-z0-9._-]*)(?:\[[^\]]*\])?==", lock, re.M))
    return sorted({re.sub(r"[-_.]+", "-", name).lower() for name in names} - locked)


def _read(entry: str) -> Requirement:
    found = _ENTRY.match(entry)
    if found is None:
        raise ValueError(f"the lock must begin each entry with name==version, not {entry[:60]!r}")
    comments = re.findall(r"^ +#(?: via)? *(.*)$", entry, re.M)
    return Requirement(
        name=found["name"],
        version=found["version"],
        marker=found["marker"] or "",
        digests=tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})", entry)),
        parents=frozenset(each.strip() for each in comments if each.strip()),
    )
