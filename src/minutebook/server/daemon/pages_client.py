"""Have the daemon that has store and model open already serve the web pages, if there is one.

Standard library only, and little of it: the process that a person waits in does nothing but wait.
"""

import os
import signal
import sys
import threading
from collections.abc import Mapping, Sequence

from minutebook.invocation import Invocation
from minutebook.server.daemon.command_client import DaemonEnded, run_in_daemon


def show_and_exit(invocation: Invocation, arguments: Sequence[str]) -> None:
    """Show the daemon's pages until Ctrl-C, then end the process; return if this process has to serve them."""
    # A process manager ends the pages as a person does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = _show(invocation, arguments)
    except KeyboardInterrupt:
        status = 0
    if status is not None:
        sys.stdout.flush()
        # Some browsers of a terminal keep the thread that opened them.
        os._exit(status)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _show(invocation: Invocation, arguments: Sequence[str]) -> int | None:
    """Print and open what the daemon says; return the exit status, None if it does not serve the pages."""
    try:
        return run_in_daemon(invocation, arguments, _open_link)
    except DaemonEnded as end:
        if not end.has_answered:
            return None
    sys.stderr.write(
        "The daemon has ended, and the pages with it; `minutebook ui` opens them again.\n"
    )
    return 1


def _open_link(answer: Mapping[str, str]) -> None:
    if link := answer.get("link"):
        threading.Thread(target=_open, args=(link,), daemon=True).start()


def _open(link: str) -> None:
    import webbrowser

    webbrowser.open(link)
