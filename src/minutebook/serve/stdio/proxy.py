"""The thin proxy: a client's stdin and stdout, piped to the server.

Bytes pass as they come, a whole line at a time. What the proxy must know to go on with another
server, should one end, is kept beside: the handshake, what was subscribed to, the requests that are
not answered. Standard library only, and little of it: a client waits for this to start.
"""

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator

from minutebook.serve.protocol.methods import ENDLESS, INTERNAL_ERROR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from minutebook.serve.stdio.early import EarlyAnswers

_ANSWER = b'{"jsonrpc":"2.0","id":'
"""How a line of our server begins that answers a request, or asks one."""

_RESUMED = "minutebook-resumed"
"""The id of requests that the proxy repeats on its own account."""

_CHUNK = 1 << 16


class Unserved(Exception):
    """There can be no server for this client; the message says why."""


class DaemonLink:
    """A connection to a server: the tools that only read there, and the session that it keeps."""

    def __init__(self, connection: socket.socket, reading: frozenset[str], session: str) -> None:
        self.connection = connection
        self.reading = reading
        self.session = session

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that the server sends, until it ends."""
        return _lines(self._receive)

    def send(self, line: bytes) -> bool:
        """Send a line; tell whether that went well."""
        try:
            self.connection.sendall(line)
        except OSError:
            return False
        return True

    def cut(self) -> None:
        """End the iterator `lines`, whatever the server does."""
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def end(self) -> None:
        """Tell the server that nothing more will be sent."""
        try:
            self.connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def _receive(self) -> bytes:
        try:
            return self.connection.recv(_CHUNK)
        except OSError:
            return b""


class _Request:
    """A request that is not answered yet."""

    def __init__(self, line: bytes, method: str, tool: str) -> None:
        self.line = line
        self.method = method
        self.tool = tool
        self.is_sent = False
        self.is_repeated = False
        self.since = time.monotonic()

    @property
    def name(self) -> str:
        return self.tool or self.method

    def may_be_repeated(self, reading: frozenset[str]) -> bool:
        """Tell whether nothing is done twice when the request is: once more, and not again."""
        if self.is_repeated:
            return False
        return not self.is_sent or self.method != "tools/call" or self.tool in reading


class ProxyConversation:
    """The messages that another server needs to go on where one ended."""

    def __init__(self) -> None:
        self.requests: dict[object, _Request] = {}
        self._initialize: dict[str, object] | None = None
        self._lasting: dict[str, bytes] = {}
        """Lines that hold until they are taken back: one each of these methods and resources."""

    @property
    def expects(self) -> bool:
        """Whether the client waits for something: an answer, or news of a resource."""
        return bool(self.requests) or any("resources" in name for name in self._lasting)

    def heard(self, line: bytes) -> _Request | None:
        """Note a line of the client; return the request that it is."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return None
        method, id = message["method"], message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        uri = params.get("uri")
        match method:
            case "initialize":
                self._initialize = message
            case "notifications/initialized" | "logging/setLevel":
                self._lasting[method] = line
            case "resources/subscribe":
                self._lasting[f"resources {uri}"] = line
            case "resources/unsubscribe":
                self._lasting.pop(f"resources {uri}", None)
            case "notifications/cancelled":
                self.requests.pop(_key(params.get("requestId")), None)
        if isinstance(id, str | int):
            tool = str(params.get("name", "")) if method == "tools/call" else ""
            request = self.requests[_key(id)] = _Request(line, method, tool)
            return request
        return None

    def observe(self, line: bytes) -> bool:
        """Note a line of the server; tell whether the client is to get it."""
        if not line.startswith(_ANSWER):
            return True
        try:
            text = line.decode()
            id, end = json.JSONDecoder().raw_decode(text, len(_ANSWER))
        except ValueError:
            return True
        if not text.startswith(',"method"', end):
            self.requests.pop(_key(id), None)
        return bool(id != _RESUMED)

    def opening_lines(self) -> Iterator[bytes]:
        """Yield the lines that bring a new server to the state of the last one."""
        if self._initialize is None or any(
            request.method == "initialize" for request in self.requests.values()
        ):
            return
        yield _renamed(self._initialize)
        for line in self._lasting.values():
            message = json.loads(line)
            yield _renamed(message) if "id" in message else line

    def unsettled(self, reading: frozenset[str]) -> tuple[list[_Request], list[bytes]]:
        """Return the requests to repeat to a new server, and an error line for each other one.

        `reading` names the tools that only read.
        """
        again, errors = [], []
        for key, request in list(self.requests.items()):
            if request.may_be_repeated(reading):
                request.is_repeated = request.is_sent
                again.append(request)
            else:
                del self.requests[key]
                errors.append(_unknown_outcome(request))
        return again, errors


class Proxy:
    """Pipes between the client at stdin and stdout and the server of a link.

    `connect` gives a link where there is none yet, or it was lost. It is told what says whether the
    client still waits for one, and gives None when that says no. `early` answers what it can until
    there is the first.
    """

    def __init__(
        self,
        link: DaemonLink | None,
        connect: Callable[[Callable[[], bool]], DaemonLink | None],
        stdin: int = 0,
        stdout: int = 1,
        early: "EarlyAnswers | None" = None,
    ) -> None:
        self._link = link
        self._reading: frozenset[str] = frozenset() if link is None else link.reading
        self._connect = connect
        self._stdin, self._stdout = stdin, stdout
        self._early = early
        self._conversation = ProxyConversation()
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        self._writing = threading.Lock()
        self._has_ended = False
        self._waiting: list[bytes] = []
        """Notifications that came while there was no server."""

    def run(self) -> None:
        """Pipe until the client has stopped writing and has its answers, or is gone.

        Raises Unserved when `connect` does; each request under way is answered with the reason.
        """
        threading.Thread(target=self._from_client, name="stdin", daemon=True).start()
        try:
            link = self._link or self._linked()
            while link is not None:
                for line in link.lines():
                    with self._changed:
                        is_for_client = self._conversation.observe(line)
                    if is_for_client:
                        self._write(line)
                link.connection.close()
                if not self._await_need():
                    return self._close()
                link = self._linked()
            return self._close()
        except BrokenPipeError:
            # The client is gone.
            return None

    def watch(self, hangs: Callable[[], bool], patience: float) -> None:
        """Cut the link if a request waits longer than `patience` seconds and `hangs` says so.

        Then `connect` is asked for another, as where a server ended.
        """
        work = threading.Thread(target=self._watch, args=(hangs, patience), name="watch")
        work.daemon = True
        work.start()

    def _watch(self, hangs: Callable[[], bool], patience: float) -> None:
        while True:
            time.sleep(patience / 4)
            late = time.monotonic() - patience
            with self._changed:
                link, requests = self._link, list(self._conversation.requests.values())
            is_late = any(
                request.since < late and request.method != ENDLESS for request in requests
            )
            if link is not None and is_late and hangs():
                link.cut()

    def _linked(self) -> DaemonLink | None:
        """Return another link, resumed, or None if the client has ended and waits for nothing."""
        try:
            link = self._connect(self._goes_on)
        except Unserved as reason:
            for request in self._conversation.requests.values():
                self._write(_error(request, f"Minutebook cannot serve: {reason}"))
            raise
        if link is not None:
            self._resume(link)
        return link

    def _goes_on(self) -> bool:
        return not self._has_ended or bool(self._conversation.requests)

    def _from_client(self) -> None:
        for line in _lines(self._read):
            with self._changed:
                request, link = self._conversation.heard(line), self._link
                if link is None and request is None:
                    self._waiting.append(line)
                early = self._answered_early(line) if link is None and request else None
                self._changed.notify()
            if early is not None:
                self._write(early)
                continue
            with self._sending:
                # Once the link was lost, the thread that opens another sends what was not sent.
                if link is not None and link is self._link:
                    is_sent = link.send(line)
                    if request is not None:
                        request.is_sent = is_sent
        with self._sending, self._changed:
            self._has_ended = True
            self._changed.notify()
            if self._link is not None:
                self._link.end()

    def _answered_early(self, line: bytes) -> bytes | None:
        """Return and settle the answer to a request that needs no server, else None."""
        answer = None if self._early is None else self._early.answer(line)
        if answer is not None:
            self._conversation.observe(answer)
        return answer

    def _await_need(self) -> bool:
        """Wait until there is something to ask of another server; False when there will not be."""
        with self._changed:
            self._link = None
            while not self._has_ended and not self._conversation.expects and not self._waiting:
                self._changed.wait()
            return not self._has_ended

    def _close(self) -> None:
        """Answer every pending request, but endless ones, with an error."""
        for request in self._conversation.requests.values():
            if request.method != ENDLESS:
                self._write(_unknown_outcome(request))

    def _resume(self, link: DaemonLink) -> None:
        """Send a new server the messages it needs, and the requests not answered yet."""
        with self._sending:
            with self._changed:
                opening = list(self._conversation.opening_lines())
                again, errors = self._conversation.unsettled(self._reading)
                waiting = [line for line in self._waiting if line not in opening]
                self._waiting, self._early = [], None
                self._link, self._reading, has_ended = link, link.reading, self._has_ended
            for line in opening:
                link.send(line)
            for request in again:
                request.is_sent = link.send(request.line) or request.is_sent
            for line in waiting:
                link.send(line)
            if has_ended:
                link.end()
        for line in errors:
            self._write(line)

    def _read(self) -> bytes:
        try:
            return os.read(self._stdin, _CHUNK)
        except OSError:
            return b""

    def _write(self, line: bytes) -> None:
        with self._writing:
            left = memoryview(line)
            while left:
                left = left[os.write(self._stdout, left) :]


def own_pipes() -> tuple[int, int]:
    """Take stdin and stdout away from whatever else would read or print here."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


def _lines(receive: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield whole lines with their ends; a last line without one gets one."""
    parts: list[bytes] = []
    while chunk := receive():
        *whole, rest = chunk.split(b"\n")
        for end in whole:
            yield b"".join((*parts, end, b"\n"))
            parts = []
        if rest:
            parts.append(rest)
    if parts:
        yield b"".join((*parts, b"\n"))


def _key(id: object) -> object:
    """Return the key of an id, also of one that cannot be a key itself; 1 and "1" have two."""
    return (type(id), id) if isinstance(id, str | int) else None


def _renamed(message: dict[str, object]) -> bytes:
    return json.dumps({**message, "id": _RESUMED}).encode() + b"\n"


def _unknown_outcome(request: _Request) -> bytes:
    text = (
        f"The server ended while {request.name} was under way, so it is not known whether it was "
        "done. Look at what is stored before you ask for it again."
    )
    if request.is_repeated:
        text = f"The server ended twice while {request.name} was under way; it is not tried again."
    return _error(request, text)


def _error(request: _Request, text: str) -> bytes:
    id = json.loads(request.line)["id"]
    error = {"code": INTERNAL_ERROR, "message": text}
    return json.dumps({"jsonrpc": "2.0", "id": id, "error": error}).encode() + b"\n"
