"""A PostgreSQL server and its standby, kept by Patroni with etcd, of which the first is killed under load.

Run by `python -m benchmarks.cluster --postgres BIN_DIR --patroni COMMAND`. Replication is synchronous, so
that what was acknowledged is on both.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path

import psycopg
import yaml

from benchmarks.http_client import served
from benchmarks.measure import Cell, Table
from benchmarks.serving_load import over_http
from benchmarks.writers import ORGANIZATIONS, app_on, judged, writing

_USER = "nobody" if os.geteuid() == 0 else None
_WITHIN = 60.0
_TTL = 20
"""Seconds after which a leader that says nothing is one no more: the least that Patroni takes."""


def _free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port: int = free.getsockname()[1]
        return port


class Member:
    """A server that Patroni keeps."""

    def __init__(
        self, name: str, programs: Path, patroni: Sequence[str], folder: Path, etcd: int
    ) -> None:
        self.port, self.rest = _free_port(), _free_port()
        self._patroni, self._folder = patroni, folder / name
        self._folder.mkdir()
        if _USER is not None:
            shutil.chown(self._folder, _USER)
        trusted = ["local all all trust", "host all all 127.0.0.1/32 trust"]
        settings = {
            "scope": "minutebook",
            "name": name,
            "restapi": {
                "listen": f"127.0.0.1:{self.rest}",
                "connect_address": f"127.0.0.1:{self.rest}",
            },
            "etcd3": {"host": f"127.0.0.1:{etcd}"},
            "bootstrap": {
                "dcs": {
                    "ttl": _TTL,
                    "loop_wait": 3,
                    "retry_timeout": 5,
                    "synchronous_mode": True,
                    "postgresql": {"use_pg_rewind": True, "parameters": {"max_connections": 100}},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, {"auth": "trust"}],
            },
            "postgresql": {
                "listen": f"127.0.0.1:{self.port}",
                "connect_address": f"127.0.0.1:{self.port}",
                "data_dir": str(self._folder / "data"),
                "bin_dir": str(programs),
                "pgpass": str(self._folder / "pgpass"),
                "pg_hba": [*trusted, "host replication all 127.0.0.1/32 trust"],
                "authentication": {
                    "superuser": {"username": "minutebook"},
                    "replication": {"username": "minutebook"},
                },
                "parameters": {
                    "unix_socket_directories": str(self._folder),
                    "shared_buffers": "32MB",
                },
            },
        }
        (self._folder / "patroni.yml").write_text(yaml.safe_dump(settings), encoding="utf-8")

    def start(self) -> None:
        """Start Patroni, which starts the server."""
        self.process = subprocess.Popen(
            [*self._patroni, self._folder / "patroni.yml"],
            stdout=(self._folder / "log").open("ab"),
            stderr=subprocess.STDOUT,
            cwd=self._folder,
            user=_USER,
            start_new_session=True,
        )

    def is_leader(self) -> bool:
        """Tell whether Patroni says that this server takes writes."""
        return self._status("/primary") == 200

    def is_synchronous(self) -> bool:
        """Tell whether this is a standby that has all that was acknowledged."""
        return self._status("/synchronous") == 200

    def kill(self) -> None:
        """End Patroni and the server as the loss of a machine does."""
        postmaster = self._postmaster()
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        for pid in (self.process.pid, postmaster, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """End both, if they run."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        with suppress(OSError, ValueError):
            os.kill(self._postmaster(), signal.SIGQUIT)

    def _postmaster(self) -> int:
        return int((self._folder / "data" / "postmaster.pid").read_text().splitlines()[0])

    def _status(self, path: str) -> int | None:
        try:
            with closing(HTTPConnection("127.0.0.1", self.rest, timeout=5)) as connection:
                connection.request("GET", path)
                return connection.getresponse().status
        except OSError:
            return None


@contextmanager
def pair(programs: Path, patroni: Sequence[str]) -> Iterator[tuple[Member, Member]]:
    """Run etcd and two members; the first one is the leader, the other its synchronous standby."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)
        client, peer = _free_port(), _free_port()
        etcd = subprocess.Popen(
            [
                *("etcd", "--data-dir", folder / "etcd", "--unsafe-no-fsync"),
                *("--listen-client-urls", f"http://127.0.0.1:{client}"),
                *("--advertise-client-urls", f"http://127.0.0.1:{client}"),
                *("--listen-peer-urls", f"http://127.0.0.1:{peer}"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        stack.callback(etcd.wait)
        stack.callback(etcd.terminate)
        one, other = (Member(name, programs, patroni, folder, client) for name in ("one", "other"))
        one.start()
        stack.callback(one.stop)
        _wait_for(one.is_leader, "the first member leads")
        other.start()
        stack.callback(other.stop)
        _wait_for(other.is_synchronous, "the standby is synchronous")
        yield one, other


def _wait_for(holds: Callable[[], bool], what: str) -> float:
    """Return how many seconds it took. Raises RuntimeError after a while."""
    started = time.monotonic()
    while not holds():
        if time.monotonic() - started > _WITHIN:
            raise RuntimeError(f"not within {_WITHIN:.0f} s: {what}")
        time.sleep(0.1)
    return time.monotonic() - started


@contextmanager
def _polled(port: int) -> Iterator[list[tuple[float, int | None]]]:
    """Ask a server's /readyz four times a second; None is no answer within five seconds."""
    told: list[tuple[float, int | None]] = []
    stop = threading.Event()

    def poll() -> None:
        while not stop.wait(0.25):
            asked = time.monotonic()
            try:
                with closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
                    connection.request("GET", "/readyz")
                    told.append((asked, connection.getresponse().status))
            except OSError:
                told.append((asked, None))

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield told
    finally:
        stop.set()
        thread.join()


def failover(
    programs: Path, patroni: Sequence[str], seconds: float
) -> tuple[list[tuple[Cell, ...]], Table]:
    """Kill the leader and its Patroni under load; return the writers' row, and what was seen meanwhile."""
    with ExitStack() as stack:
        one, other = stack.enter_context(pair(programs, patroni))
        hosts = f"127.0.0.1:{one.port},127.0.0.1:{other.port}"
        with psycopg.connect(
            _url(f"127.0.0.1:{one.port}", "postgres"), autocommit=True
        ) as connection:
            connection.execute("CREATE DATABASE cluster")
        url = _url(hosts, "cluster") + "?target_session_attrs=read-write"
        app = stack.enter_context(app_on(url))
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (home / "config.toml").write_text(f'embedder = "none"\nstore = "{url}"\n', encoding="utf-8")
        server = stack.enter_context(served(over_http(home)))
        told = stack.enter_context(_polled(server.port))
        with writing(dict.fromkeys(ORGANIZATIONS, app)) as writers:
            time.sleep(seconds)
            killed = time.monotonic()
            one.kill()
            promoted = _wait_for(other.is_leader, "the standby leads")
            time.sleep(seconds)
            one.start()
            rejoined = _wait_for(one.is_synchronous, "the killed one is a standby again")
            time.sleep(2)
        rows = [judged("the leader of a pair killed", app, [*writers.values()], "all")]
        resumed = min(at for each in writers.values() for at in each.at if at > killed + 1) - killed
    return rows, _seen(told, killed, promoted, resumed, rejoined)


def _seen(
    told: Sequence[tuple[float, int | None]],
    killed: float,
    promoted: float,
    resumed: float,
    rejoined: float,
) -> Table:
    after = [(at - killed, status) for at, status in told if at > killed]
    unready = [at for at, status in after if status != 200]
    counts: Mapping[str, int] = {
        f"{status}": sum(each == status for _, each in after)
        for status in sorted({s for _, s in after}, key=str)
    }
    return Table(
        "After the leader was killed, s",
        (
            "standby leads",
            "first write",
            "/readyz not 200 until",
            "answers",
            "killed one is standby again",
        ),
        [(promoted, resumed, max(unready, default=0.0), f"{counts}", rejoined)],
        f"Patroni's ttl is {_TTL} s; the last is counted from its start",
    )


def _url(hosts: str, database: str) -> str:
    return f"postgresql://minutebook@{hosts}/{database}"
