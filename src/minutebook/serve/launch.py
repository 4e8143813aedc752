"""The commands that start Minutebook again; none of them imports from the working directory.

Clients start servers in the folder of the project that is open, so a `json.py` there must not run.
`python -m` puts the working directory first on `sys.path`; `-P` leaves it out, and a console script
has its own folder there.
"""

import os
import re
import sys
from collections.abc import Mapping
from json import loads
from pathlib import Path

_UV_CACHE = re.compile(r"(archive|builds|environments)-v\d+")
"""Folders of uv's cache that hold the environments of `uvx` and `uv run --with`."""


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module with this interpreter."""
    return [sys.executable, "-P", "-m", module, *arguments]


def lasting_command(executable: Path, prefix: Path, base_prefix: Path, source: str) -> list[str]:
    """Return the command that starts Minutebook from a client's configuration, without arguments.

    The first three are `sys.executable`, `sys.prefix` and `sys.base_prefix`; `source` is what
    `source_of` returns. An environment in a cache of uv or pipx is deleted with the cache, so the
    command leads through the tool that makes it anew. In a virtual environment it is the console
    script; elsewhere one of that name may be another installation's.
    """
    if any(_UV_CACHE.fullmatch(part) for part in prefix.parts):
        return ["uvx", *(["--from", source] if source else []), "minutebook"]
    if prefix.parent.name == "pipx" or prefix.parts[-3:-1] == ("pipx", ".cache"):
        return ["pipx", "run", *(["--spec", source] if source else []), "minutebook"]
    script = executable.with_name("minutebook" + executable.suffix)
    if prefix != base_prefix and script.is_file():
        return [str(script)]
    return [str(executable), "-P", "-m", "minutebook"]


def installed_command() -> list[str]:
    """Return the `lasting_command` of this process."""
    # Imported here: a client whose daemon is not there yet waits for the rest of this module.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        direct_url = distribution("minutebook").read_text("direct_url.json")
    except PackageNotFoundError:
        direct_url = None
    return lasting_command(
        Path(sys.executable), Path(sys.prefix), Path(sys.base_prefix), source_of(direct_url)
    )


def source_of(direct_url: str | None) -> str:
    """Return the requirement that a distribution was installed from; "" if it was installed from a package index.

    `direct_url` is its `direct_url.json` (PEP 610): whoever ran `uvx --from URL` does not mean
    the package that an index has by that name.
    """
    if direct_url is None:
        return ""
    origin = loads(direct_url)
    vcs = origin.get("vcs_info")
    folder = origin.get("subdirectory")
    url = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}" if vcs else origin["url"]
    return f"{url}#subdirectory={folder}" if folder else str(url)


def import_path(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variable PYTHONPATH that a client must set so that no part of it is a relative path.

    {} where the variable needs no change. An empty part, as in `PYTHONPATH=:/lib`, is the
    working directory too.
    """
    if not (path := variables.get("PYTHONPATH")):
        return {}
    absolute = os.pathsep.join(part for part in path.split(os.pathsep) if Path(part).is_absolute())
    return {} if absolute == path else {"PYTHONPATH": absolute}
