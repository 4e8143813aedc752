"""A folder of derived files that is either whole or not there.

It is filled as a scratch folder, flushed to disk, then renamed. `manifest.json` holds the size and
SHA-256 of every file. Several processes may fill the same folder at once: the first rename wins.
"""

import contextlib
import errno
import json
from collections.abc import Callable
from pathlib import Path

from minutebook.disk.atomic_file import scratch_folder, sync_folder, sync_tree
from minutebook.domain.reason import Reason, cause_of
from minutebook.features.models.built_in.weights import sha256_of

MANIFEST = "manifest.json"
_OCCUPIED = {errno.EEXIST, errno.ENOTEMPTY}


def damage(folder: Path, *, by_size: frozenset[str] = frozenset()) -> Reason | None:
    """Return the damage of a folder, or None; files in `by_size` are measured, not read."""
    try:
        for name, (size, digest) in _read_manifest(folder).items():
            path = folder / name
            if path.stat().st_size != size:
                return Reason("{path} is of the wrong size", path=path)
            if name not in by_size and sha256_of(path) != digest:
                return Reason("{path} is damaged", path=path)
    except FileNotFoundError as error:
        return Reason("{path} is missing", path=error.filename)
    except OSError as error:
        return Reason(
            "{path} cannot be read: {cause}", path=error.filename or folder, cause=cause_of(error)
        )
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return Reason("{folder} is damaged", folder=folder / MANIFEST)
    return None


def _read_manifest(folder: Path) -> dict[str, tuple[int, str]]:
    manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    return {
        str(name): (int(entry["bytes"]), str(entry["sha256"]))
        for name, entry in manifest["files"].items()
    }


def put_in_place(folder: Path, fill: Callable[[Path], None]) -> None:
    """Call `fill` to write the files into an empty folder, then rename it to `folder`.

    What stood there before is replaced unless another process has put a whole one there meanwhile.
    Raises OSError where the disk refuses; nothing half-made is left under the folder's name.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with scratch_folder(folder) as draft:
        draft.chmod(0o755)  # a scratch folder is its maker's alone
        fill(draft)
        _write_manifest(draft)
        sync_tree(draft)
        _swap(draft, folder)
    sync_folder(folder.parent)


def _swap(draft: Path, folder: Path) -> None:
    while True:
        try:
            draft.rename(folder)
        except OSError as error:
            # Ask what the refusal was, not what stands there: another process may just have moved it.
            if error.errno not in _OCCUPIED:
                raise
        else:
            return
        if damage(folder) is None:
            return
        # Another process may be mending the same folder and have moved it away first.
        with scratch_folder(folder) as aside, contextlib.suppress(FileNotFoundError):
            folder.rename(aside / folder.name)


def _write_manifest(folder: Path) -> None:
    files = {
        path.name: {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(folder.iterdir())
    }
    text = json.dumps({"files": files}, indent=2)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
