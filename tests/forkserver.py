"""A fork server: Python processes that tests start are forked from one warm process.

A server that is started fresh spends a second on imports before its first answer; one that is forked
from a process which has imported everything spends a twentieth of that. `install` replaces
`subprocess.Popen`, so that a test starts processes as anybody does:

    subprocess.Popen([sys.executable, "-m", "minutebook", "serve"], stdin=PIPE, stdout=PIPE)

and gets a process with its own pid, pipes, signals, arguments, environment, working directory and
exit status. The processes of a test run share one fork server. Processes that were forked start
theirs in the same way: the daemon that a client starts is forked as well.

What differs from a fresh start: the modules are imported (and with them the hash seed is chosen), and
the process ends without the destructors that run at the very end of an interpreter. So `may_fork`
sends whatever could tell the difference to a fresh start (options of the interpreter, variables that
it reads once, a working directory whose modules would shadow imported ones), and tests about the
start itself are marked `cold_start`. Where there is no `fork` (or not Linux), all starts are fresh.
"""

import gc
import importlib
import inspect
import io
import json
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, cast

from tests.forked import Program, Request, become, execute, finish

ROOT = Path(__file__).parent.parent

AVAILABLE = sys.platform == "linux"

IMPORTED_ON_USE = (
    "anyio._backends._asyncio",
    "httpx2",
    "mcp.client.stdio",
    "onnxruntime",
    "uvicorn",
    "uvicorn.lifespan.on",
)
"""What Minutebook imports inside functions, and a server or its client needs soon."""

READ_ONCE = ("PYTHON", "LD_", "OMP_", "OPENBLAS_", "MALLOC_", "GLIBC_")
"""How variables begin that an interpreter, or a library when it is loaded, reads once."""

READ_AGAIN = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"})
"""Variables among them that a forked process applies to itself."""

START_SECONDS = 280.0
"""How long the fork server may take to import everything."""

LOOKS_AT_IMPORTS = ("sys.modules", "meta_path")
"""What code that is run with -c names if it is about what has been imported."""

UTF_8 = frozenset({"", "C", "POSIX", "C.UTF-8", "C.utf8"})
"""Locales in which Python's streams are UTF-8 and let pass what is none."""

_WARM = sys.stdlib_module_names | {"sitecustomize", "usercustomize"}

# What can be forked


def parse(command: list[str]) -> Program | None:
    """Read a command that this interpreter, or its `minutebook` script, runs; None for any other."""
    executable, *words = command
    script = Path(sys.executable).with_name("minutebook")
    if executable == str(script) and _is_ours(script):
        return Program("script", executable, words)
    if executable != sys.executable:
        return None
    is_safe_path = words[:1] == ["-P"]
    match words[is_safe_path:]:
        case ["-m", module, *arguments]:
            return Program("module", module, arguments, is_safe_path)
        case ["-c", code, *arguments]:
            return Program("code", code, arguments, is_safe_path)
    return None


def _is_ours(script: Path) -> bool:
    """Tell whether a console script is run by this interpreter."""
    with suppress(OSError), script.open("rb") as file:
        return file.readline().strip() == f"#!{sys.executable}".encode()
    return False


def may_fork(request: Request, own: Mapping[str, str]) -> bool:
    """Tell whether a forked process would behave as a fresh one; `own` is the server's environment."""
    return (
        _locale(request.environment) in UTF_8
        and _locale(own) in UTF_8
        and read_once(request.environment) == read_once(own)
        and not any(word in request.program.target for word in LOOKS_AT_IMPORTS)
        and Path(request.cwd).is_dir()
        and not _shadowed(request.cwd)
    )


def _locale(environment: Mapping[str, str]) -> str:
    told = (environment.get(name) for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    return next((each for each in told if each), "")


def read_once(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a forked process must have in common with its server."""
    # The package sets it where it is not set.
    return {"OPENBLAS_NUM_THREADS": "1"} | {
        name: value
        for name, value in environment.items()
        if name.startswith(READ_ONCE) and name not in READ_AGAIN
    }


def _shadowed(folder: str) -> bool:
    """Tell whether a folder has a module that would be imported in place of one that is warm."""
    return any(
        _is_other(path.name.partition(".")[0], path)
        for path in Path(folder).iterdir()
        if path.suffix in (".py", ".pyc", ".so") or (path / "__init__.py").is_file()
    )


def _is_other(name: str, path: Path) -> bool:
    """Tell whether a name means something else to a process that does not import it from a path."""
    if (module := sys.modules.get(name)) is None:
        return name in _WARM
    source = getattr(module, "__file__", None)
    return source is None or Path(source) not in (path, path / "__init__.py")


# The client: what tests call


class ForkServer:
    """The warm process, as those see it who have it fork; it is started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._environment: dict[str, str] = {}
        self.is_suspended = False
        self.children: dict[int, Child] = {}
        """Forked processes that were not waited for yet, by pid."""
        self.spent = 0.0
        """Seconds of processor time of the forked processes that were waited for."""

    def takes(self, request: Request) -> bool:
        """Tell whether the server may fork this."""
        return not self.is_suspended and may_fork(request, self._environment or os.environ)

    def fork(self, request: Request, streams: list[int]) -> "Child":
        """Fork a process whose stdin, stdout and stderr are the three descriptors."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(self._listening())
            message = json.dumps(asdict(request)).encode()
            socket.send_fds(connection, [struct.pack("!I", len(message))], streams)
            connection.sendall(message)
            # Not buffered, so that what is readable can be seen at the socket.
            reader = connection.makefile("rb", buffering=0)
            pid = int(reader.readline())
        except BaseException:
            connection.close()
            raise
        child = self.children[pid] = Child(pid, connection, reader)
        return child

    def start(self) -> str:
        """Start the server unless one is known; its address, at which it listens soon."""
        with self._lock:
            if self._folder is None:
                folder = Path(tempfile.mkdtemp(prefix="forkserver-"))
                command = [sys.executable, "-m", "tests.forkserver", str(folder / "socket")]
                self._environment = dict(os.environ)
                self._process = fresh_popen(command, stdin=subprocess.PIPE, cwd=ROOT)
                self._folder = folder
            return str(self._folder / "socket")

    def _listening(self) -> str:
        """Return the address once the server has imported everything."""
        address, deadline = self.start(), time.monotonic() + START_SECONDS
        while not Path(address).exists():
            is_over = self._process is not None and self._process.poll() is not None
            if is_over or time.monotonic() > deadline:
                raise RuntimeError("the fork server did not start; its stderr says why")
            time.sleep(0.01)
        return address

    def adopt(self) -> None:
        """Forget what the process knew from which this one was forked; go on with its server."""
        self._lock = threading.Lock()
        self._process = None
        self.children = {}

    def use(self, address: str) -> None:
        """Use the server at an address, which may be this process."""
        self._folder = Path(address).parent
        self._environment = dict(os.environ)

    def close(self) -> None:
        """End the server; what it forked goes on."""
        if self._process is not None:
            self._process.communicate()
            shutil.rmtree(cast("Path", self._folder))
            self._process = self._folder = None


class Child:
    """A forked process, as `waitpid` sees it."""

    def __init__(
        self, pid: int, connection: socket.socket, reader: IO[bytes] | io.RawIOBase
    ) -> None:
        self.pid = pid
        self._connection = connection
        self._reader = reader
        self._lock = threading.Lock()

    def wait(self, options: int) -> tuple[int, int]:
        """Do what `os.waitpid` does, of whose options WNOHANG is known."""
        if not self._lock.acquire(blocking=not options & os.WNOHANG):
            return 0, 0
        try:
            if options & os.WNOHANG and not self._is_readable():
                return 0, 0
            status = self._reader.readline()
            server.children.pop(self.pid, None)
            server.spent += _processor_time(self.pid)
            # The server reaps it only now: until it is waited for, a process keeps its pid.
            with suppress(OSError):
                self._connection.shutdown(socket.SHUT_WR)
                self._reader.read()
            self._reader.close()
            self._connection.close()
        finally:
            self._lock.release()
        if not status:
            raise ChildProcessError("the fork server ended before its child")
        return self.pid, int(status)

    def _is_readable(self) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._connection, selectors.EVENT_READ)
            return bool(selector.select(0))


def _processor_time(pid: int) -> float:
    """Return the seconds that a process took, and those that it waited for; 0 of one that is unknown."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


server = ForkServer()

fresh_popen = subprocess.Popen
"""The class as the standard library has it: every start is fresh."""

_fresh_waitpid = os.waitpid


def _waitpid(pid: int, options: int, /) -> tuple[int, int]:
    """Wait for a child, forked or not: asyncio and `subprocess` call this."""
    child = server.children.get(pid)
    return _fresh_waitpid(pid, options) if child is None else child.wait(options)


_asked = inspect.signature(fresh_popen._execute_child)  # type: ignore[attr-defined]
_PLAIN: Mapping[str, Any] = {
    "executable": None,
    "preexec_fn": None,
    "close_fds": True,
    "pass_fds": (),
    "startupinfo": None,
    "creationflags": 0,
    "shell": False,
    "restore_signals": True,
    "gid": None,
    "gids": None,
    "uid": None,
    "umask": -1,
    "process_group": -1,
}
"""What `Popen` was not asked for if its arguments are these; a forked process has none of it."""


class Popen(subprocess.Popen[Any]):
    """`subprocess.Popen`, whose child is forked from the warm process where that is the same."""

    def _execute_child(self, *given: Any) -> None:
        asked = dict(_asked.bind(self, *given).arguments)
        request = _request(asked)
        if request is None or not server.takes(request):
            super()._execute_child(*given)  # type: ignore[misc]
            return
        ends = ("p2cread", "c2pwrite", "errwrite")
        streams = [
            number if (end := asked[name]) == -1 else end for number, name in enumerate(ends)
        ]
        pipes = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        try:
            self.pid = server.fork(request, streams).pid
            self._child_created = True
        finally:
            self._close_pipe_fds(*(asked[name] for name in pipes))  # type: ignore[attr-defined]

    def _internal_poll(self, *given: Any, **named: Any) -> int | None:
        if self.pid not in server.children:
            return super()._internal_poll(*given, **named)  # type: ignore[misc, no-any-return]
        lock: threading.Lock = self._waitpid_lock  # type: ignore[attr-defined]
        if lock.acquire(blocking=False):
            try:
                pid, status = _waitpid(self.pid, os.WNOHANG)
                if pid and self.returncode is None:
                    self.returncode = os.waitstatus_to_exitcode(status)
            finally:
                lock.release()
        return self.returncode


def _request(asked: Mapping[str, Any]) -> Request | None:
    """Return the process that `Popen` is asked for; None if it is none that could be forked."""
    if any(asked.get(name, plain) != plain for name, plain in _PLAIN.items()):
        return None
    args = asked["args"]
    if isinstance(args, str | bytes | os.PathLike):
        return None
    command = [os.fsdecode(each) for each in args]
    program = parse(command)
    if program is None:
        return None
    given = os.environ if asked["env"] is None else asked["env"]
    return Request(
        command=command,
        program=program,
        cwd=str(Path(os.fsdecode(asked["cwd"] or ".")).absolute()),
        environment={os.fsdecode(name): os.fsdecode(value) for name, value in given.items()},
        new_session=bool(asked["start_new_session"]),
    )


def install() -> None:
    """Have `subprocess` fork what it can, from here on."""
    if AVAILABLE:
        subprocess.Popen = Popen  # type: ignore[misc]
        os.waitpid = _waitpid


def is_installed() -> bool:
    """Tell whether `subprocess` forks what it can in this process."""
    return subprocess.Popen is Popen


@contextmanager
def suspended() -> Iterator[None]:
    """Have every start be a fresh one for a while."""
    before, server.is_suspended = server.is_suspended, True
    try:
        yield
    finally:
        server.is_suspended = before


# The server: the warm process


@dataclass
class Forked:
    """A process that was forked, and who waits for it."""

    pid: int
    connection: socket.socket | None
    is_over: bool = field(default=False)


class Server:
    """Forks a process for each connection, tells its pid and, when it has ended, its status."""

    def __init__(self, address: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(f"{address}.new")
        self._listener.listen(64)
        # Where the address is seen, it is listened at.
        Path(f"{address}.new").rename(address)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)
        self._selector.register(0, selectors.EVENT_READ, None)

    def run(self) -> tuple[Request, list[int]] | None:
        """Serve until stdin closes: None. In a process that was forked: what it is to be."""
        while True:
            for key, _ in self._selector.select():
                if key.data is None:
                    return None
                if (became := key.data()) is not None:
                    return cast("tuple[Request, list[int]]", became)

    def _accept(self) -> tuple[Request, list[int]] | None:
        connection, _ = self._listener.accept()
        try:
            request, streams = _received(connection)
        except (EOFError, OSError):
            connection.close()
            return None
        pid = os.fork()
        if pid == 0:
            self._close(connection)
            return request, streams
        for stream in streams:
            os.close(stream)
        forked = Forked(pid, connection)
        descriptor = os.pidfd_open(pid)
        self._selector.register(
            descriptor, selectors.EVENT_READ, lambda: self._ended(forked, descriptor)
        )
        self._selector.register(
            connection, selectors.EVENT_READ, lambda: self._left(forked, connection)
        )
        self._tell(forked, pid)
        return None

    def _ended(self, forked: Forked, descriptor: int) -> None:
        """Tell the status of a process; it is reaped when it has been waited for."""
        self._selector.unregister(descriptor)
        os.close(descriptor)
        forked.is_over = True
        if forked.connection is None:
            os.waitpid(forked.pid, 0)
            return
        seen = os.waitid(os.P_PID, forked.pid, os.WEXITED | os.WNOWAIT)
        assert seen is not None
        is_exit = seen.si_code == os.CLD_EXITED
        core = 0x80 if seen.si_code == os.CLD_DUMPED else 0
        self._tell(forked, seen.si_status << 8 if is_exit else seen.si_status | core)

    def _left(self, forked: Forked, connection: socket.socket) -> None:
        """See that whoever started a process has waited for it, or is gone."""
        self._selector.unregister(connection)
        if forked.is_over:
            os.waitpid(forked.pid, 0)
        forked.connection = None
        connection.close()

    def _tell(self, forked: Forked, number: int) -> None:
        assert forked.connection is not None
        # Whoever has gone away meanwhile is seen by `_left`.
        with suppress(OSError):
            forked.connection.sendall(b"%d\n" % number)

    def _close(self, connection: socket.socket) -> None:
        """Close, in a forked process, what is the server's."""
        connection.close()
        for key in self._selector.get_map().values():
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
            else:
                os.close(cast("int", key.fileobj))
        self._selector.close()


def _received(connection: socket.socket) -> tuple[Request, list[int]]:
    """Read a request and the three streams that come with it."""
    head, streams, _, _ = socket.recv_fds(connection, 4, 3)
    reader = connection.makefile("rb")
    (size,) = struct.unpack("!I", head or b"\0" * 4)
    body = reader.read(size)
    if not size or len(body) < size or len(streams) != 3:
        for stream in streams:
            os.close(stream)
        raise EOFError
    told = json.loads(body)
    return Request(**told | {"program": Program(**told["program"])}), streams


_kept: list[object] = []
"""What was loaded in the warm process for those that are forked from it."""


def _load_tokenizer() -> None:
    """Load the tokenizer of the model in the box, if that is there; the rest of it has threads."""
    from minutebook.feature import FOLDER

    # By names, so that the tests stand without that feature.
    with suppress(OSError, ModuleNotFoundError):
        files = importlib.import_module(f"{FOLDER}.models.built_in.model_files")
        tokenizer = importlib.import_module(f"{FOLDER}.models.built_in.tokenizer")
        _kept.append(tokenizer.Tokenizer(files.FILES / files.TOKENIZER))


def _open_contracts() -> None:
    """Open the contracts, and make the check of each tool's arguments."""
    from minutebook.record.errors import InvalidInput
    from minutebook.serve.contracts.registry import CONTRACTS

    for contract in CONTRACTS.values():
        for tool in contract().tools.values():
            with suppress(InvalidInput):
                tool.arguments.check({})


def warm() -> None:
    """Import what servers need, so that nobody forked from here has to."""
    import minutebook
    from tests import cheap_secret

    # Read when the libraries are loaded: no thread may run in a process that forks, and none that
    # tests start may tell anybody of itself.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    for found in pkgutil.walk_packages(minutebook.__path__, "minutebook."):
        # No server imports an adapter, and their libraries may be missing.
        if not found.name.endswith("__main__") and ".adapters." not in found.name:
            importlib.import_module(found.name)
    for name in IMPORTED_ON_USE:
        importlib.import_module(name)
    _load_tokenizer()
    _open_contracts()
    cheap_secret.install()
    gc.collect()
    gc.freeze()
    threads = list(Path("/proc/self/task").iterdir())
    assert len(threads) == 1, f"a library that was imported has started threads: {threads}"


def main(address: str) -> None:
    """Be the fork server at an address, or a process that it forked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_path = sys.path[1:]
    server.use(address)
    warm()
    install()
    became = Server(address).run()
    if became is None:
        return
    request, streams = became
    server.adopt()
    become(request, streams, import_path)
    finish(execute(request.program))


if __name__ == "__main__":
    # Under its own name, by which `Popen` and what is forked know it.
    from tests.forkserver import main as serve

    serve(sys.argv[1])
