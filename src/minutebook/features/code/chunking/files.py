"""Find the files of a project that can be read, and read them.

A text is read as UTF-8, as UTF-16 if it has a byte order mark, else as Latin-1, if it is no binary. A byte
order mark is not part of the text. Symbolic links are never followed.
"""

import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from stat import S_ISREG
from types import MappingProxyType

from minutebook.features.code.chunking.ignored import IgnoreRules
from minutebook.record.errors import InvalidRoot, MinutebookError
from minutebook.record.reason import Reason

MAX_BYTES = 1 << 20
"""A larger file is skipped."""

_NO_STAMPS: Mapping[str, str] = MappingProxyType({})
_HEAD = 8192
"""Bytes of a file by which it is known to be binary or generated."""

_FRESH_NS = 2_000_000_000
"""Nanoseconds in which a second change of a file may get the same time as the first."""


class Skip(StrEnum):
    """Why an entry of a folder was left out; a folder left out counts once, whatever it holds."""

    IGNORED = "ignored"
    HIDDEN = "hidden"
    SECRET = "secret"  # noqa: S105
    BINARY = "binary"
    GENERATED = "generated"
    TOO_LARGE = "too_large"
    LINK = "link"
    UNREADABLE = "unreadable"


class RootProblem:
    """Why a path cannot be the root of a project."""

    NOT_ABSOLUTE = Reason("not an absolute path")
    MISSING = Reason("does not exist")
    NOT_A_FOLDER = Reason("is not a folder")
    NOT_READABLE = Reason("cannot be read")
    NOT_ALLOWED = Reason("is outside the allowed roots")
    SECRET = Reason("is a place for secrets")


@dataclass(eq=False)
class Unreadable(MinutebookError):
    """A file cannot be read, or has changed since: gone, too large, binary."""

    path: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A text file: its path below the root with forward slashes, and a stamp of its size and times.

    If the stamp is the same, so are the bytes. It is empty if the last change is so fresh that another
    may get the same time.
    """

    path: str
    stamp: str


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a file at one moment: its text, and the SHA-256 of its bytes."""

    text: str
    digest: str


_SECRET_AT_HOME = (
    *(".ssh", ".gnupg", ".password-store", ".local/share/keyrings", ".local/share/kwalletd"),
    *(".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".config/gh"),
    *(".mozilla", ".config/google-chrome", ".config/chromium"),
    *("Library/Keychains", "Library/Cookies", "AppData/Roaming/Microsoft/Protect"),
)
_SECRET_PLACES = (
    *("/proc", "/sys", "/dev", "/run/secrets", "/run/user", "/var/lib/private", "/var/spool"),
    *("/etc/ssh", "/etc/ssl/private", "/etc/pki", "/etc/security", "/etc/sudoers.d"),
    *("/etc/NetworkManager", "/private/etc/ssh", "/private/var/db"),
)
_SECRET_FILES = re.compile(
    r"id_(?:rsa|dsa|ecdsa|ed25519)|.*\.(?:pem|key|p12|pfx|jks|keystore|kdbx|ppk)"
    r"|shadow-?|gshadow-?|master\.passwd|sudoers|credentials\.json"
)

_BINARY_NAMES = re.compile(
    r".*\.(?:pyc|pyo|so|dylib|dll|exe|a|o|obj|lib|class|jar|war|wasm|bin|dat|(?:db|sqlite3?)(?:-(?:wal|shm|journal|lock))?|parquet|npy|npz"
    r"|png|jpe?g|gif|bmp|ico|icns|webp|tiff?|psd|pdf|mp[34]|m4a|ogg|wav|flac|avi|mov|mkv|webm"
    r"|ttf|otf|woff2?|eot|zip|gz|bz2|xz|zst|tar|tgz|7z|rar|whl|egg|deb|rpm|dmg|iso|onnx|pt|gguf)",
    re.IGNORECASE,
)
_GENERATED_NAMES = re.compile(
    r".*[.-]min\.(?:js|mjs|css)|.*\.(?:map|lock)|(?:package-lock|npm-shrinkwrap)\.json"
    r"|pnpm-lock\.yaml|go\.sum|bun\.lockb|.*_pb2(?:_grpc)?\.pyi?|.*\.pb(?:\.gw)?\.(?:go|cc|h)"
    r"|.*\.designer\.cs|.*\.g\.dart",
    re.IGNORECASE,
)
_GENERATED_MARK = re.compile(
    rb"""^[ \t]*(?:\#|//|/\*|\*|--|;|%|<!--|\"\"\").*(?:
      @generated\b | code[ ]generated\b.*\bdo[ ]not[ ](?:edit|modify)
      | \b(?:auto-?[ ]?generated|generated[ ]by)\b.*\bdo[ ]not[ ](?:edit|modify)
    )""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_SKIPPED_NAMES = (
    (Skip.SECRET, _SECRET_FILES),
    (Skip.BINARY, _BINARY_NAMES),
    (Skip.GENERATED, _GENERATED_NAMES),
)
_MARKED_LINES = 20
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
# Whitespace, backspace and escape occur in text; the other controls do not.
_CONTROLS = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f]")


def check_root(path: str, allowed: Sequence[Path] = ()) -> Path:
    """Return the real folder at a path that may be read as a project; `~` is the user's home.

    If `allowed` names folders, the root must be one of them or inside one. Raises InvalidRoot with the path as
    given and the reason.
    """
    expanded = _expanded(path)
    if not expanded.is_absolute():
        raise InvalidRoot(path, RootProblem.NOT_ABSOLUTE)
    try:
        root = expanded.resolve(strict=True)
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise InvalidRoot(path, RootProblem.MISSING) from error
    except (OSError, RuntimeError) as error:
        raise InvalidRoot(path, RootProblem.NOT_READABLE) from error
    if not root.is_dir():
        raise InvalidRoot(path, RootProblem.NOT_A_FOLDER)
    if any(root.is_relative_to(folder) for folder in _secret_places()):
        raise InvalidRoot(path, RootProblem.SECRET)
    if allowed and not any(root.is_relative_to(folder.resolve()) for folder in allowed):
        raise InvalidRoot(path, RootProblem.NOT_ALLOWED)
    if not os.access(root, os.R_OK | os.X_OK):
        raise InvalidRoot(path, RootProblem.NOT_READABLE)
    return root


def check_root_below(path: str, allowed: Sequence[Path]) -> Path:
    """Return the root of a project, as `check_root` does, without a hint whether folders elsewhere exist.

    Raises InvalidRoot if the path is not absolute or not inside an allowed folder, whether it
    exists or not. So the path is judged before the file system is asked, and again once its links are resolved.
    """
    normal = Path(os.path.normpath(path)) if "\0" not in path else Path()
    if not normal.is_absolute():
        raise InvalidRoot(path, RootProblem.NOT_ABSOLUTE)
    named = [each for folder in allowed for each in (folder, folder.resolve())]
    if not any(normal.is_relative_to(folder) for folder in named):
        raise InvalidRoot(path, RootProblem.NOT_ALLOWED)
    try:
        root = normal.resolve()
    except (OSError, RuntimeError) as error:
        raise InvalidRoot(path, RootProblem.NOT_ALLOWED) from error
    if not any(root.is_relative_to(folder.resolve()) for folder in allowed):
        raise InvalidRoot(path, RootProblem.NOT_ALLOWED)
    try:
        return check_root(str(root), allowed)
    except InvalidRoot as error:
        raise InvalidRoot(path, error.reason) from error


def _expanded(path: str) -> Path:
    """Return a path with `~` expanded; as it is if there is no home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


def _secret_places() -> list[Path]:
    at_home = [_expanded(f"~/{path}") for path in _SECRET_AT_HOME]
    places = [Path(path) for path in _SECRET_PLACES] + at_home
    return places + [path.resolve() for path in places]


def walk(
    root: Path, skipped: Counter[Skip], stamps: Mapping[str, str] = _NO_STAMPS
) -> Iterator[CodeFile]:
    """Yield the text files under a root that `check_root` returned, ordered by the parts of their paths.

    Only the folders from the root to the current one are in memory. It counts in `skipped` the entries that it leaves
    out; a folder that cannot be listed counts as unreadable. A file is not opened if it still has its
    stamp of an earlier walk, which `stamps` has by path.
    """
    secrets = frozenset(str(folder) for folder in _secret_places() if folder.is_relative_to(root))
    top = str(root)
    open_folders = [_entries(top, "", IgnoreRules.around(root), skipped)]
    while open_folders:
        entry = next(open_folders[-1], None)
        if entry is None:
            open_folders.pop()
            continue
        path, is_folder, rules = entry
        real = os.path.join(top, path)  # noqa: PTH118, a path object costs as much as the file
        if not is_folder:
            if stamps.get(path) and _stamp_now(real) == stamps[path]:
                yield CodeFile(path, stamps[path])
            elif file := _source_file(real, path, skipped):
                yield file
        elif real in secrets:
            skipped[Skip.SECRET] += 1
        else:
            open_folders.append(_entries(real, path + "/", rules, skipped))


def _entries(
    folder: str, prefix: str, rules: IgnoreRules, skipped: Counter[Skip]
) -> Iterator[tuple[str, bool, IgnoreRules]]:
    """Yield path, whether it is a folder, and the rules of the folder for each entry that no rule leaves out."""
    try:
        with os.scandir(folder) as found:
            entries = sorted((entry.name, _kind(entry)) for entry in found)
    except OSError:
        skipped[Skip.UNREADABLE] += 1
        return
    rules = rules.inside(folder, {name for name, _ in entries})
    for name, kind in entries:
        is_folder = kind == _FOLDER
        if skip := _skip_by_name(name, kind):
            skipped[skip] += 1
        elif rules.is_ignored(f"{folder}/{name}", is_folder=is_folder):
            skipped[Skip.IGNORED] += 1
        else:
            yield prefix + name, is_folder, rules


_FOLDER, _FILE, _LINK, _OTHER = range(4)


def _kind(entry: os.DirEntry[str]) -> int:
    """Return the kind of a folder's entry, without following a link."""
    if entry.is_symlink():
        return _LINK
    if entry.is_dir(follow_symlinks=False):
        return _FOLDER
    return _FILE if entry.is_file(follow_symlinks=False) else _OTHER


def _skip_by_name(name: str, kind: int) -> Skip | None:
    """Return the reason to skip an entry of a folder by its name and kind; None if there is none."""
    if name.startswith("."):
        return Skip.HIDDEN
    if kind == _LINK:
        return Skip.LINK
    if kind == _OTHER or not _is_utf8(name):
        return Skip.UNREADABLE
    if kind == _FOLDER:
        return None
    for skip, names in _SKIPPED_NAMES:
        if names.fullmatch(name):
            return skip
    return None


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _source_file(real: str, path: str, skipped: Counter[Skip]) -> CodeFile | None:
    """Return a file that can be indexed; of another None, which it counts in `skipped` by the reason."""
    try:
        head, status = read_regular(real, _HEAD)
    except OSError:
        skipped[Skip.UNREADABLE] += 1
        return None
    skip = Skip.TOO_LARGE if status.st_size > MAX_BYTES else _skip_by_head(head)
    if skip:
        skipped[skip] += 1
        return None
    return CodeFile(path, _stamp(status))


def _stamp_now(real: str) -> str:
    """Return the stamp of a file as it is now; "" if it is no plain file."""
    try:
        status = os.lstat(real)
    except OSError:
        return ""
    return _stamp(status) if S_ISREG(status.st_mode) else ""


def _stamp(status: os.stat_result) -> str:
    """Return a text that changes with a file; "" if it changed so recently that a second change could have the same."""
    # Programs can set the time of the last change back, but not that of the last change of the entry.
    changed = max(status.st_mtime_ns, status.st_ctime_ns)
    if time.time_ns() - changed < _FRESH_NS:
        return ""
    return f"{status.st_size}.{status.st_mtime_ns}.{status.st_ctime_ns}"


# A link put in a file's place is not followed, and a pipe put there is not waited for.
_OPEN = os.O_RDONLY | sum(
    getattr(os, f"O_{flag}", 0) for flag in ("NOFOLLOW", "NONBLOCK", "BINARY")
)


def read_regular(real: str, count: int) -> tuple[bytes, os.stat_result]:
    """Read the first bytes of a regular file. Raises OSError for anything else, links included."""
    handle = os.open(real, _OPEN)
    try:
        status = os.fstat(handle)
        if not S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        data = b""
        while len(data) < count and (more := os.read(handle, count - len(data))):
            data += more
        return data, status
    finally:
        os.close(handle)


def _skip_by_head(head: bytes) -> Skip | None:
    """Return the reason to skip a file by its first bytes: it is binary, or a program made it; None if there is none."""
    if not is_text(head):
        return Skip.BINARY
    if head.startswith(_UTF16):
        return None
    breaks = head.count(b"\n") + head.count(b"\r")
    lines = head.split(b"\n", _MARKED_LINES)[:_MARKED_LINES]
    is_packed = len(head) == _HEAD and breaks < 4
    return Skip.GENERATED if is_packed or _GENERATED_MARK.search(b"\n".join(lines)) else None


def is_text(data: bytes) -> bool:
    """Tell whether bytes are those of a text."""
    head = data[:_HEAD]
    if head.startswith(_UTF16):
        return True
    try:
        head.decode()
    except UnicodeDecodeError as error:
        is_cut = len(head) == _HEAD and error.start > len(head) - 4
        return b"\0" not in head and (is_cut or not _CONTROLS.search(head))
    return b"\0" not in head


def read_source(root: Path, path: str) -> FileContent:
    """Read a file that `walk` yielded. Raises Unreadable if it is missing, too large or binary by now."""
    try:
        data, _ = read_regular(str(root / path), MAX_BYTES + 1)
    except OSError as error:
        raise Unreadable(path, Reason(error.strerror or str(error))) from error
    if len(data) > MAX_BYTES:
        raise Unreadable(path, Reason("larger than a megabyte"))
    if not is_text(data):
        raise Unreadable(path, Reason("binary"))
    return FileContent(decode(data), hashlib.sha256(data).hexdigest())


def decode(data: bytes) -> str:
    """Return the text of a file's bytes; any bytes decode to some text."""
    if data.startswith(_UTF16):
        return data.decode("utf-16", errors="replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")
