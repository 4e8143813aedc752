"""Removing copies of remotes, so that a kill leaves none that is half removed and taken for whole."""

import shutil
from contextlib import suppress
from pathlib import Path

_GONE = ".gone-"
"""How the name of a copy begins that is being removed."""


def remove_copies(work: Path, *, only_begun: bool = False, ignore_errors: bool = True) -> None:
    """Remove the folders of remotes: copies, files on their way; or only those left half removed by a kill.

    Each gets another name first: of a copy that is half removed no remote must go on. Raises OSError if one cannot be
    removed, unless errors are ignored.
    """
    paths = sorted(work.iterdir()) if work.exists() else []
    for path in paths:
        if path.name.startswith(_GONE):
            shutil.rmtree(path, ignore_errors=ignore_errors)
        elif not only_begun:
            with suppress(OSError):
                path = path.rename(path.with_name(_GONE + path.name))
            shutil.rmtree(path, ignore_errors=ignore_errors)
    with suppress(OSError):
        # Only if nothing is left in it.
        work.rmdir()
