"""Removing copies of remotes, so that a kill leaves none that is half removed and taken for whole."""

import shutil
from contextlib import suppress
from pathlib import Path

_GONE = ".gone-"
"""How the name of a copy begins that is being removed."""


def remove_copies(work: Path, *, only_begun: bool = False) -> None:
    """Remove copies of remotes and files on their way, or those of which a kill left some.

    Each gets another name first: of a copy that is half removed no remote must go on.
    """
    paths = sorted(work.iterdir()) if work.exists() else []
    for path in paths:
        if path.name.startswith(_GONE):
            shutil.rmtree(path, ignore_errors=True)
        elif not only_begun:
            with suppress(OSError):
                path = path.rename(path.with_name(_GONE + path.name))
            shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        # Only if nothing is left in it.
        work.rmdir()
