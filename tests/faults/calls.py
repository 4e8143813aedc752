"""System calls on files, made to fail for real: those of SQLite, of libgit2 and of Python alike.

Each of them calls the C library by an address that the loader wrote into a table of its own. `Calls` puts an address of
ours there; what we answer with -1 and an `errno` fails for the library as it would on a disk that is full or broken. No
code of the project is replaced, and nothing has to be compiled. On Linux, with a processor of 64 bits.
"""

import ctypes
import errno
import fcntl
import os
import platform
import struct
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

IS_POSSIBLE = sys.platform == "linux" and platform.machine() in ("x86_64", "aarch64")

_INT, _LONG, _TEXT, _PLACE = ctypes.c_int, ctypes.c_long, ctypes.c_char_p, ctypes.c_void_p
_SIZE, _OFFSET, _SSIZE = ctypes.c_size_t, ctypes.c_int64, ctypes.c_ssize_t

_WRITES = {
    "write": (_SSIZE, _INT, _PLACE, _SIZE),
    "pwrite": (_SSIZE, _INT, _PLACE, _SIZE, _OFFSET),
    "pwrite64": (_SSIZE, _INT, _PLACE, _SIZE, _OFFSET),
}
_READS = {
    "read": (_SSIZE, _INT, _PLACE, _SIZE),
    "pread": (_SSIZE, _INT, _PLACE, _SIZE, _OFFSET),
    "pread64": (_SSIZE, _INT, _PLACE, _SIZE, _OFFSET),
}
_SYNCS = {"fsync": (_INT, _INT), "fdatasync": (_INT, _INT)}
_SIZES = {"ftruncate": (_INT, _INT, _OFFSET), "ftruncate64": (_INT, _INT, _OFFSET)}
_COPIES = {
    "sendfile": (_SSIZE, _INT, _INT, _PLACE, _SIZE),
    "sendfile64": (_SSIZE, _INT, _INT, _PLACE, _SIZE),
}
_LOCKS = {"flock": (_INT, _INT, _INT), "fcntl": (_INT, _INT, _INT, _LONG)}
_LOCKS["fcntl64"] = _LOCKS["fcntl"]
_OPENS = {"open": (_INT, _TEXT, _INT, _INT), "open64": (_INT, _TEXT, _INT, _INT)}
_NAMES = {
    "rename": (_INT, _TEXT, _TEXT),
    "link": (_INT, _TEXT, _TEXT),
    "mkdir": (_INT, _TEXT, _INT),
    "unlink": (_INT, _TEXT),
    "rmdir": (_INT, _TEXT),
}
_SIGNATURES = _WRITES | _READS | _SYNCS | _SIZES | _COPIES | _LOCKS | _OPENS | _NAMES

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
_LOCK_COMMANDS = {fcntl.F_SETLK, fcntl.F_SETLKW}


@dataclass(frozen=True)
class Fault:
    """How calls fail: which, with which errno, and whether all after the first that does.

    With no errno half of what is to be written is. Only calls on paths with this `ending` are concerned.
    """

    name: str
    calls: Collection[str]
    errno: int | None
    lasts: bool = False
    ending: str = ""

    def __str__(self) -> str:
        return self.name


_ALLOCATING = {*_WRITES, *_SIZES, *_COPIES, *_OPENS, "link", "mkdir", "rename"}

FAULTS = (
    Fault("I/O error", {*_SIGNATURES} - {*_READS, *_LOCKS}, errno.EIO),
    Fault("I/O error at reading", _READS, errno.EIO),
    Fault("full disk", _ALLOCATING, errno.ENOSPC, lasts=True),
    Fault("exceeded quota", _ALLOCATING, errno.EDQUOT, lasts=True),
    Fault("no permission", {*_OPENS, *_NAMES}, errno.EACCES, lasts=True),
    Fault("no file descriptor", _OPENS, errno.EMFILE, lasts=True),
    Fault("short write", _WRITES, None),
    Fault("busy", _LOCKS, errno.EAGAIN),
)


@dataclass
class Plan:
    """What fails below a folder, in one thread: the calls of a fault from that of a number on.

    `reached` are those that were made, `failed` how many of them failed.
    """

    root: str
    fault: Fault
    number: int
    thread: int
    reached: list[str] = field(default_factory=list)
    failed: int = 0

    def failing(self, name: str, arguments: tuple[Any, ...]) -> bool:
        """Tell whether a call is to fail, and count it."""
        if name not in self.fault.calls or threading.get_ident() != self.thread:
            return False
        place = self._place(name, arguments)
        if place is None or not place.endswith(self.fault.ending):
            return False
        number = len(self.reached)
        self.reached.append(f"{name} {place}")
        if number == self.number or (self.fault.lasts and number > self.number):
            self.failed += 1
            return True
        return False

    def _place(self, name: str, arguments: tuple[Any, ...]) -> str | None:
        """Return which file below the folder a call is about, if it is about one and may fail so."""
        if isinstance(first := arguments[0], bytes):
            path = os.fsdecode(first)
            if name in _OPENS:
                changes = arguments[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
                if self.fault.errno in (*_NO_ROOM, errno.EACCES) and not changes:
                    return None
                # What is there already needs no more room.
                if self.fault.errno in _NO_ROOM and os.path.exists(path):  # noqa: PTH110
                    return None
        else:
            if name in _LOCKS and not _takes_lock(name, arguments):
                return None
            try:
                path = os.readlink(f"/proc/self/fd/{first}")  # noqa: PTH115
            except OSError:
                return None
        return path[len(self.root) :] if path.startswith(self.root) else None


def _takes_lock(name: str, arguments: tuple[Any, ...]) -> bool:
    """Tell whether a call locks: to unlock never fails."""
    if name == "flock":
        return not arguments[1] & fcntl.LOCK_UN
    if arguments[1] not in _LOCK_COMMANDS:
        return False
    (kind,) = struct.unpack("<h", ctypes.string_at(arguments[2], 2))
    return bool(kind != fcntl.F_UNLCK)


class Calls:
    """The calls of this process, as long as `hooked`."""

    def __init__(self) -> None:
        self._plan: Plan | None = None
        library = ctypes.CDLL(None, use_errno=True)
        self._kept: list[Any] = []
        self._ours: dict[str, int] = {}
        for name, (result, *arguments) in _SIGNATURES.items():
            real = ctypes.CFUNCTYPE(result, *arguments, use_errno=True)(
                ctypes.cast(getattr(library, name), _PLACE).value or 0
            )
            hook = ctypes.CFUNCTYPE(result, *arguments, use_errno=True)(self._hook(name, real))
            self._kept.append(hook)
            self._ours[name] = ctypes.cast(hook, _PLACE).value or 0

    def _hook(self, name: str, real: Callable[..., int]) -> Callable[..., int]:
        def called(*arguments: Any) -> int:
            plan = self._plan
            if plan is None:
                return real(*arguments)
            before = ctypes.get_errno()
            if not plan.failing(name, arguments):
                ctypes.set_errno(before)
                return real(*arguments)
            if plan.fault.errno is None:
                file, data, size, *rest = arguments
                return real(file, data, max(1, size // 2), *rest)
            ctypes.set_errno(plan.fault.errno)
            return -1

        return called

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """Have all libraries that are loaded call us instead, meanwhile."""
        replaced = [
            (slot, _replace(slot, self._ours[name])) for slot, name in _slots(frozenset(self._ours))
        ]
        assert replaced
        try:
            yield
        finally:
            for slot, original in replaced:
                _replace(slot, original)

    @contextmanager
    def failing(self, root: Path, fault: Fault, number: int) -> Iterator[Plan]:
        """Make calls of this thread on files below a folder fail, from that of a number on."""
        self._plan = plan = Plan(str(root), fault, number, threading.get_ident())
        try:
            yield plan
        finally:
            self._plan = None


# The tables of an ELF file, as the loader keeps them in memory.

_LOADED, _DYNAMIC = 1, 2
_STRINGS, _SYMBOLS, _RELOCATIONS, _RELOCATIONS_SIZE, _CALLS, _CALLS_SIZE = 5, 6, 7, 8, 23, 2
_KINDS = {"x86_64": (1, 6, 7), "aarch64": (257, 1025, 1026)}
"""The relocations that hold the address of a function of another library."""


class _Header(ctypes.Structure):
    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("offset", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("physical", ctypes.c_uint64),
        ("file_size", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("alignment", ctypes.c_uint64),
    )


class _Info(ctypes.Structure):
    _fields_ = (
        ("base", ctypes.c_uint64),
        ("name", ctypes.c_char_p),
        ("headers", ctypes.POINTER(_Header)),
        ("count", ctypes.c_uint16),
    )


def _slots(names: frozenset[str]) -> list[tuple[int, str]]:
    """Return where the libraries of this process keep the addresses of functions."""
    dynamic: list[tuple[int, int]] = []

    @ctypes.CFUNCTYPE(_INT, ctypes.POINTER(_Info), _SIZE, _PLACE)
    def found(info: Any, _: int, __: Any) -> int:
        path = Path(os.fsdecode(info.contents.name or b"")).name
        # The C library calls itself by other ways; the system's own page has no table.
        if not path.startswith(("libc.", "libc-", "ld-", "ld.", "linux-", "libpthread")):
            for number in range(info.contents.count):
                header = info.contents.headers[number]
                if header.kind == _DYNAMIC:
                    dynamic.append((info.contents.base, info.contents.base + header.address))
        return 0

    ctypes.CDLL(None).dl_iterate_phdr(found, None)
    return [slot for base, address in dynamic for slot in _slots_of(base, address, names)]


def _slots_of(base: int, dynamic: int, names: frozenset[str]) -> Iterator[tuple[int, str]]:
    tags: dict[int, int] = {}
    while True:
        tag, value = struct.unpack("<qQ", ctypes.string_at(dynamic, 16))
        if tag == 0:
            break
        tags[tag] = value
        dynamic += 16
    symbols, strings = (_address(base, tags[tag]) for tag in (_SYMBOLS, _STRINGS))
    kinds = _KINDS[platform.machine()]
    for table, size in ((_RELOCATIONS, _RELOCATIONS_SIZE), (_CALLS, _CALLS_SIZE)):
        if table not in tags:
            continue
        content = ctypes.string_at(_address(base, tags[table]), tags[size])
        for offset, info, _ in struct.iter_unpack("<QQq", content):
            if info & 0xFFFFFFFF in kinds:
                (at,) = struct.unpack("<I", ctypes.string_at(symbols + 24 * (info >> 32), 4))
                name = ctypes.string_at(strings + at).decode()
                if name in names:
                    yield base + offset, name


def _address(base: int, value: int) -> int:
    return value if value >= base else base + value


def _replace(slot: int, address: int) -> int:
    """Write an address into a slot; return the one that was there."""
    page = os.sysconf("SC_PAGE_SIZE")
    library = ctypes.CDLL(None, use_errno=True)
    start = slot & ~(page - 1)
    # The loader makes some of these tables read-only once it is done.
    if library.mprotect(_PLACE(start), _SIZE(page), 1 | 2) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    place = ctypes.c_uint64.from_address(slot)
    before: int = place.value
    place.value = address
    return before
