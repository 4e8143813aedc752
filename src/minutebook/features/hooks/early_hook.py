"""Answer a client's hook by the daemon, at once or not at all.

The client waits for this process, so it ends within the setting `hook_wait`, starts no daemon, prints an
answer whole or not at all, and its exit status is always 0. If a session starts and there is no daemon yet,
this process makes the brief from the store, without a model. Else it uses the standard library only.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence

from minutebook.features.hooks import HOOK_WAIT, log
from minutebook.serve.daemon.greeting import DaemonRefuses, greet, next_answer
from minutebook.serve.daemon.rendezvous import daemon_address, send_line
from minutebook.serve.invocation import PREFIX, SERVING, Invocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import NoReturn

LARGEST_EVENT = 256 * 1024
"""Bytes of an event; a larger one is ignored."""

START_WAIT = 3.0
"""Seconds within which the hook of a session's start ends, unless `hook_wait` is more; the person does not type yet."""

_RETRY_AFTER = 0.05
"""Seconds between two tries to reach a daemon."""

_STARTS = frozenset({"SessionStart", "sessionStart"})

NOT_AWAITED = frozenset({"SessionEnd", "TurnEnd"})
"""Events that are handed over to the daemon without awaiting the answer: that takes longer than a client waits."""

HANDED_OVER = "handed over"
"""The outcome of such an event once a daemon has it."""

FOLDERS = {
    "claude-code": "CLAUDE_CONFIG_DIR",
    "codex": "CODEX_HOME",
    "gemini": "GEMINI_CLI_HOME",
    "copilot": "COPILOT_HOME",
}
"""The variables that name the folders in which clients keep their transcripts."""

CLIENTS = (*FOLDERS, "cursor", "opencode")
"""The clients that have hooks, as the command names them."""

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish"})
_SESSIONS = ("session_id", "sessionId", "conversation_id")


def run_and_exit(invocation: Invocation, words: Sequence[str]) -> None:
    """Answer the event on stdin and end the process, with a line in the log of hooks.

    Returns if the words are not one of `CLIENTS`; the command line then refuses them.
    """
    if len(words) != 1 or words[0] not in CLIENTS:
        return
    call = _Call(invocation, words[0])
    call.end_within(hook_wait(invocation))
    try:
        call.run()
    except TimeoutError:
        call.end("late")
    except Exception as error:  # noqa: BLE001 - a hook that fails must not stop what a person does
        call.end(f"failed: {type(error).__name__}")


def hook_wait(invocation: Invocation) -> float:
    """Return the seconds within which a hook ends, answered or not; the default if the setting is not a number."""
    try:
        seconds = float(str(invocation.value("hook_wait", str(HOOK_WAIT))))
    except ValueError:
        return HOOK_WAIT
    return min(60.0, max(0.01, seconds))


class _Call:
    """The call of a hook with one event; it ends once, answered or given up."""

    def __init__(self, invocation: Invocation, client: str) -> None:
        self._invocation = invocation
        self._began = time.monotonic()
        self._ending = threading.Lock()
        self._connection: socket.socket | None = None
        self._entry: dict[str, object] = {"client": client}
        self._timer: threading.Timer | None = None
        self._ends_at = 0.0
        # Whether it waits for a daemon that it has not reached yet.
        self._is_awaiting = False

    def end_within(self, seconds: float) -> None:
        """End the process at the latest this many seconds after the call began; replaces an earlier limit."""
        if self._timer is not None:
            self._timer.cancel()
        self._ends_at = self._began + seconds
        self._timer = threading.Timer(self._ends_at - time.monotonic(), self.give_up)
        self._timer.daemon = True
        self._timer.start()

    def give_up(self) -> None:
        """End the process without output, unless it is ending already."""
        self.end("no daemon" if self._is_awaiting else "late")

    def end(self, outcome: str, output: str = "") -> "NoReturn":
        """Print the output, log the outcome and end the process; of several callers only the first does so, the others wait."""
        self._ending.acquire()
        took = round((time.monotonic() - self._began) * 1000)
        if output:
            try:
                write_all(output.encode())
                self._report_printed()
            except OSError:
                outcome = "nobody reads"
        log.append(self._invocation.home, **self._entry, outcome=outcome, ms=took)
        os._exit(0)

    def _report_printed(self) -> None:
        """Tell the daemon that the answer was printed, so that it notes the records as told."""
        try:
            if self._connection is not None:
                send_line(self._connection, {"printed": True})
        except OSError:
            pass

    def run(self) -> "NoReturn":
        """Read the event, have the daemon answer it, and end."""
        data = sys.stdin.buffer.read(LARGEST_EVENT + 1)
        event = json.loads(data)
        name = str(event.get("hook_event_name") or event["hookEventName"])
        session = next((event[key] for key in _SESSIONS if event.get(key)), "")
        self._entry |= {"event": name, "session": str(session)}
        if source := event.get("source"):
            self._entry["source"] = str(source)
        self._note_process(event)
        if len(data) > LARGEST_EVENT:
            self.end("too large")
        if is_start := name in _STARTS:
            self.end_within(max(START_WAIT, hook_wait(self._invocation)))
        request = self._request(event)
        while self._invocation.wants_daemon:
            try:
                self._ask(request, is_handed_over=name in NOT_AWAITED)
            except DaemonRefuses:
                break
            if is_start or not self._is_starting():
                break
            self._is_awaiting = True
            time.sleep(_RETRY_AFTER)
        if is_start and self._invocation.has_store:
            # Reading the store takes imports that no other event needs.
            from minutebook.features.hooks.answers import brief_without_daemon

            self._end_answered(brief_without_daemon(self._invocation, request))
        self.end("no daemon")

    def _note_process(self, event: Mapping[str, object]) -> None:
        """Log the client's process and the transcript, by which `cut_short` captures a session without an event of its end."""
        transcript, variable = event.get("transcript_path"), FOLDERS.get(str(self._entry["client"]))
        # The daemon that captures the session uses the options that are logged here, and its own variables.
        own = {PREFIX + name.upper() for name in SERVING if name != "home"}
        if variable is None or self._invocation.variables.keys() & own or sys.platform == "win32":
            return
        self._entry |= {
            "pid": _client_process(),
            "transcript": transcript,
            "folder": event.get("cwd"),
            "configuration": self._invocation.environment.get(variable),
            "options": self._invocation.given,
            "started_in": self._invocation.folder,
        }

    def _is_starting(self) -> bool:
        """Tell whether a daemon is starting: it holds the lock already."""
        return os.path.exists(daemon_address(self._invocation.address).lock)

    def _ask(self, request: Mapping[str, object], *, is_handed_over: bool) -> None:
        """Ask the daemon, print its answer and end; return if it is not there, or is ending. Raises DaemonRefuses."""
        try:
            place = daemon_address(self._invocation.address).socket
            connection = place.connect(max(0.01, self._ends_at - time.monotonic()))
        except OSError:
            return
        self._connection, self._is_awaiting = connection, False
        with connection, connection.makefile("rb") as answers:
            try:
                if not greet(connection, answers, self._invocation, reads=not is_handed_over):
                    return
                send_line(connection, request)
            except DaemonRefuses:
                raise
            except ConnectionError:
                # The daemon was ending.
                return
            if is_handed_over:
                self.end(HANDED_OVER)
            message = next_answer(answers)
            if "answer" in message:
                self._end_answered(message["answer"])
            if "error" in message:
                self.end(f"failed: {message['error']['name']}")
        self.end("failed: the daemon ended")

    def _end_answered(self, answer: Mapping[str, object]) -> "NoReturn":
        self._entry |= {
            name: answer[name] for name in ("tokens", "ids", "is_briefing", "is_notice")
        }
        output = answer.get("output")
        self.end(str(answer["outcome"]), json.dumps(output) if output else "")

    def _request(self, event: Mapping[str, object]) -> dict[str, object]:
        client = str(self._entry["client"])
        folder = self._invocation.environment.get(FOLDERS.get(client, ""))
        return {"hook": client, "event": event, "client_folder": folder or None}


def _client_process() -> int:
    """Return the id of the process that runs the hook; on Linux its nearest ancestor that is not a shell."""
    pid = os.getppid()
    try:
        while True:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
            if name not in _SHELLS:
                return pid
            pid = int(rest.split()[1])
    except (OSError, ValueError, IndexError):
        return pid


def write_all(data: bytes) -> None:
    """Write all bytes to stdout. Raises OSError."""
    while data:
        data = data[os.write(1, data) :]
