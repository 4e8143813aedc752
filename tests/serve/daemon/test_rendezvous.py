"""The door of a daemon, on each kind of system: who gets in, and who does not."""

import os
import socket
import stat
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from minutebook.serve.daemon import rendezvous
from minutebook.serve.daemon.sockets import DaemonSocket, UnixSocket
from minutebook.serve.daemon.tcp_socket import TcpSocket

Kind = Callable[[str], DaemonSocket]

KINDS: list[Kind] = [TcpSocket] + ([UnixSocket] if hasattr(socket, "AF_UNIX") else [])


def let_in(door: DaemonSocket, listener: socket.socket, greeting: bytes) -> threading.Thread:
    def attend() -> None:
        guest, _ = listener.accept()
        with guest:
            try:
                door.check(guest)
            except OSError:
                return
            guest.sendall(greeting)

    thread = threading.Thread(target=attend, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "here.door")


@pytest.mark.parametrize("kind", KINDS)
def test_who_reads_the_door_gets_in(kind: Kind, path: str) -> None:
    door = kind(path)
    with door.open() as listener:
        assert stat.S_IMODE(Path(path).stat().st_mode) == 0o600
        let_in(door, listener, b"welcome\n")
        with kind(path).connect(5) as guest:
            assert rendezvous.read_line(guest, 5) == b"welcome\n"


@pytest.mark.parametrize("kind", KINDS)
def test_behind_a_door_that_was_left_there_is_nobody(kind: Kind, path: str) -> None:
    kind(path).open().close()
    assert Path(path).exists()
    with pytest.raises(ConnectionError):
        kind(path).connect(5)
    kind(path).open().close()
    kind(path).unlink()
    with pytest.raises(FileNotFoundError):
        kind(path).connect(5)


def test_a_stranger_on_the_port_is_not_told_anything(path: str) -> None:
    TcpSocket(path).open().close()
    _, _, key = Path(path).read_bytes().partition(b"\n")
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        Path(path).write_bytes(b"%d\n" % stranger.getsockname()[1] + key)

        def listen() -> None:
            guest, _ = stranger.accept()
            with guest:
                guest.sendall(b"x" * 64)
                with suppress(ConnectionResetError):
                    while told := guest.recv(100):
                        heard.append(told)

        thread = threading.Thread(target=listen)
        thread.start()
        with pytest.raises(ConnectionRefusedError):
            TcpSocket(path).connect(5)
        thread.join(60)
    assert [len(told) for told in heard] == [32]


def test_who_cannot_read_the_door_does_not_get_in(path: str) -> None:
    door = TcpSocket(path)
    with door.open() as listener:
        thread = let_in(door, listener, b"welcome\n")
        with socket.create_connection(listener.getsockname(), timeout=60) as guest:
            guest.sendall(b"x" * 32)
            guest.recv(64)
            guest.sendall(b"x" * 32)
            assert guest.recv(64) == b""
        thread.join(60)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="modes are of POSIX")
def test_a_folder_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert stat.S_IMODE(Path(rendezvous.owned(str(folder))).stat().st_mode) == 0o700
    folder.chmod(0o755)
    with pytest.raises(PermissionError, match="open to others"):
        rendezvous.owned(str(folder))
    folder.rmdir()
    folder.symlink_to(tmp_path)
    with pytest.raises(PermissionError):
        rendezvous.owned(str(folder))


@pytest.mark.parametrize("kind", [each for each in KINDS if each is not TcpSocket])
def test_two_hundred_guests_may_come_before_the_first_is_let_in(kind: Kind, path: str) -> None:
    door = kind(path)
    with door.open(), ExitStack() as connections:
        for _ in range(200):
            connections.enter_context(door.connect(5.0))
