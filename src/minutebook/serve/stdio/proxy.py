"""The thin proxy: a client's stdin and stdout, piped to the server.

Lines pass unchanged. The proxy remembers what another server needs if this one ends: the handshake,
the subscriptions, and the requests that are not answered. Standard library only, and little of it: a
client waits for this to start.
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
"""The beginning of a line of our server that is an answer or a request."""

_RESUMED = "minutebook-resumed"
"""The beginning of the ids of the requests that the proxy itself sends to a new server.

The client does not get the answers; after that to a subscription, whose id ends with the URI, it is told to read the resource.
"""

_CHUNK = 1 << 16


class CannotServe(Exception):
    """No server can serve this client; the message says why."""


class DaemonLink:
    """A connection to a server; `read_only` are the tools there that only read, `session` is its name."""

    def __init__(self, connection: socket.socket, read_only: frozenset[str], session: str) -> None:
        self.connection = connection
        self.read_only = read_only
        self.session = session

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that the server sends, until it ends."""
        return _lines(self._receive)

    def send(self, line: bytes) -> bool:
        """Send a line; return False if the server is gone."""
        try:
            self.connection.sendall(line)
        except OSError:
            return False
        return True

    def cut(self) -> None:
        """End the connection, and with it the iterator `lines`."""
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

    def may_be_repeated(self, read_only: frozenset[str]) -> bool:
        """Tell whether the request can be sent once more without an act being done twice; False after that."""
        if self.is_repeated:
            return False
        return not self.is_sent or self.method != "tools/call" or self.tool in read_only


class ProxyConversation:
    """The messages of a client that another server needs to go on where one ended."""

    def __init__(self) -> None:
        self.requests: dict[object, _Request] = {}
        self._initialize: dict[str, object] | None = None
        self._lasting: dict[str, bytes] = {}
        """The latest line of each lasting request: `initialized`, the log level, and each subscription."""

    @property
    def is_needed(self) -> bool:
        """Whether the client waits for something: an answer, or news of a resource."""
        return bool(self.requests) or any("resources" in name for name in self._lasting)

    def note_client_line(self, line: bytes) -> _Request | None:
        """Remember a line of the client; return it as a request, None if it is none."""
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

    def note_server_line(self, line: bytes) -> bytes:
        """Forget the request that a line of the server answers; return the line for the client, empty if there is none."""
        if not line.startswith(_ANSWER):
            return line
        try:
            text = line.decode()
            id, end = json.JSONDecoder().raw_decode(text, len(_ANSWER))
        except ValueError:
            return line
        if not text.startswith(',"method"', end):
            self.requests.pop(_key(id), None)
        if not str(id).startswith(_RESUMED):
            return line
        uri = str(id).removeprefix(_RESUMED)
        if not uri or not text.startswith(',"result"', end):
            return b""
        news = {"method": "notifications/resources/updated", "params": {"uri": uri}}
        return json.dumps({"jsonrpc": "2.0", **news}).encode() + b"\n"

    def opening_lines(self) -> Iterator[bytes]:
        """Yield the lines that bring a new server to the state of the last one."""
        if self._initialize is None or any(
            request.method == "initialize" for request in self.requests.values()
        ):
            return
        yield _with_own_id(self._initialize)
        for name, line in self._lasting.items():
            message, uri = json.loads(line), name.partition("resources ")[2]
            yield _with_own_id(message, uri) if "id" in message else line

    def unanswered(self, read_only: frozenset[str]) -> tuple[list[_Request], list[bytes]]:
        """Return the requests to repeat to a new server, and an error line for each other request.

        `read_only` are the tools that only read: a call of one can be repeated.
        """
        repeated, errors = [], []
        for key, request in list(self.requests.items()):
            if request.may_be_repeated(read_only):
                request.is_repeated = request.is_sent
                repeated.append(request)
            else:
                del self.requests[key]
                errors.append(_unknown_outcome(request))
        return repeated, errors


class Proxy:
    """Pipes between the client at stdin and stdout and the server of a link.

    `connect` is called for a link if there is none yet, or it was lost. Its argument tells whether the
    client still waits; once it does not, `connect` may return None. `early` answers what it can until
    the first link is there.
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
        self._read_only: frozenset[str] = frozenset() if link is None else link.read_only
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
        """Pipe until the client has closed stdin and has its answers, or is gone.

        Raises CannotServe when `connect` does; each request under way is answered with the reason.
        """
        threading.Thread(target=self._from_client, name="stdin", daemon=True).start()
        try:
            link = self._link or self._new_link()
            while link is not None:
                for line in link.lines():
                    with self._changed:
                        for_client = self._conversation.note_server_line(line)
                    self._write(for_client)
                link.connection.close()
                if not self._await_need():
                    return self._close()
                link = self._new_link()
            return self._close()
        except BrokenPipeError:
            # The client is gone.
            return None

    def watch(self, hangs: Callable[[], bool], patience: float) -> None:
        """Cut the link whenever a request has waited for `patience` seconds and `hangs` returns True.

        `connect` is then called for another link, as if the server had ended.
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

    def _new_link(self) -> DaemonLink | None:
        """Connect and resume the conversation there; return None if the client has ended and waits for nothing."""
        try:
            link = self._connect(self._is_awaited)
        except CannotServe as reason:
            for request in self._conversation.requests.values():
                self._write(_error(request, f"Minutebook cannot serve: {reason}"))
            raise
        if link is not None:
            self._resume(link)
        return link

    def _is_awaited(self) -> bool:
        return not self._has_ended or bool(self._conversation.requests)

    def _from_client(self) -> None:
        for line in _lines(self._read):
            with self._changed:
                request, link = self._conversation.note_client_line(line), self._link
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
        """Return the answer to a request that needs no server, which is then settled; else None."""
        answer = None if self._early is None else self._early.answer(line)
        if answer is not None:
            self._conversation.note_server_line(answer)
        return answer

    def _await_need(self) -> bool:
        """Wait until another server is needed; return False if the client ends instead."""
        with self._changed:
            self._link = None
            while not self._has_ended and not self._conversation.is_needed and not self._waiting:
                self._changed.wait()
            return not self._has_ended

    def _close(self) -> None:
        """Answer every pending request with an error, but for those that wait for no answer."""
        for request in self._conversation.requests.values():
            if request.method != ENDLESS:
                self._write(_unknown_outcome(request))

    def _resume(self, link: DaemonLink) -> None:
        """Send a new server the messages it needs, and the requests not answered yet."""
        with self._sending:
            with self._changed:
                opening = list(self._conversation.opening_lines())
                repeated, errors = self._conversation.unanswered(self._read_only)
                waiting = [line for line in self._waiting if line not in opening]
                self._waiting, self._early = [], None
                self._link, self._read_only = link, link.read_only
                has_ended = self._has_ended
            for line in opening:
                link.send(line)
            for request in repeated:
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
    """Return copies of stdin and stdout; the originals then read nothing, and print to stderr."""
    stdin, stdout = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return stdin, stdout


def _lines(receive: Callable[[], bytes]) -> Iterator[bytes]:
    """Yield whole lines with their line ends; a last line without one gets one."""
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
    """Return the key of a request's id, None if it is not valid; 1 and "1" have different keys."""
    return (type(id), id) if isinstance(id, str | int) else None


def _with_own_id(message: dict[str, object], uri: str = "") -> bytes:
    return json.dumps({**message, "id": f"{_RESUMED}{uri}"}).encode() + b"\n"


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
