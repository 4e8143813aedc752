"""The process of a daemon: what `server/daemon/spawning.py` starts.

It stands above the command line, whose commands the daemon runs for people at a terminal.
"""

import sys
from typing import TYPE_CHECKING

from minutebook.server.daemon import start

if TYPE_CHECKING:
    from minutebook.server.daemon.commands import Command, Host, Write


def _run_command(command: "Command", host: "Host", write: "Write") -> int:
    # Imported with the first command: clients that speak the protocol need nothing of it.
    from minutebook.cli import in_daemon

    return in_daemon.run(command, host, write)


if __name__ == "__main__":
    address, given, *follows = sys.argv[1:]
    start.main(address, given, _run_command, *follows)
