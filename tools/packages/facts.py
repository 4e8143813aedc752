"""What all that is packaged says of the project: read from pyproject.toml and the package, in one place."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

RESERVED = ("example", "invalid", "localhost", "test")
"""Last parts of hosts that belong to nobody (RFC 2606)."""

_MINOR = re.compile(r"Programming Language :: Python :: 3\.(\d+)")


@dataclass(frozen=True, slots=True)
class Facts:
    """Name, version, description and addresses of a release, and the Pythons that it was tested on."""

    name: str
    version: str
    description: str
    author: str
    license: str
    keywords: tuple[str, ...]
    urls: dict[str, str]
    minors: tuple[int, ...]

    @property
    def title(self) -> str:
        """Return the name as people write it."""
        return self.name.capitalize()

    @property
    def short_description(self) -> str:
        """Return the first clause of the description, for places that take a hundred characters."""
        return self.description.partition(":")[0] + "."

    @property
    def registry_name(self) -> str:
        """Return the name in the registry of MCP servers: the homepage's host, turned round, and ours."""
        host = urlsplit(self.urls["Homepage"]).hostname or ""
        return ".".join(reversed(host.split("."))) + "/" + self.name

    @property
    def pythons(self) -> str:
        """Return the range of tested Pythons as in `requires-python`, without a comma: `>=3.11 <3.15`."""
        return f">=3.{self.minors[0]} <3.{self.minors[-1] + 1}"

    def file_url(self, name: str) -> str:
        """Return the address under which a file of this release is offered."""
        return f"{self.urls['Releases'].rstrip('/')}/download/v{self.version}/{name}"

    def placeholders(self) -> list[str]:
        """Return the addresses that belong to nobody, which no release may carry."""
        hosts = {url: urlsplit(url).hostname or "" for url in self.urls.values()}
        return [url for url, host in hosts.items() if host.rpartition(".")[2] in ("", *RESERVED)]


def facts_of(root: Path) -> Facts:
    """Return what the project in a folder says of itself.

    Raises KeyError if pyproject.toml lacks one of the fields, ValueError if no version is found.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    package = root / "src" / project["name"] / "__init__.py"
    version = re.search(r'^__version__ = "([^"]+)"$', package.read_text(encoding="utf-8"), re.M)
    if version is None:
        raise ValueError(f'{package} must hold a line `__version__ = "…"`')
    minors = sorted(int(m[1]) for m in map(_MINOR.fullmatch, project["classifiers"]) if m)
    return Facts(
        name=project["name"],
        version=version[1],
        description=project["description"],
        author=project["authors"][0]["name"],
        license=project["license"],
        keywords=tuple(project["keywords"]),
        urls=dict(project["urls"]),
        minors=tuple(minors),
    )
