"""Run `minutebook`, or `python -m minutebook`."""

import os
import sys
from io import TextIOWrapper

from minutebook.serve import invocation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def main() -> None:
    """Run the typed command; Ctrl-C ends it with 130 even while modules are imported."""
    if sys.platform == "win32":
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            use_utf8(stream)
    try:
        _run(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write(f"\n{invocation.STOPPED}\n")
        sys.exit(invocation.INTERRUPTED)


def use_utf8(stream: "TextIO") -> None:
    """Set the encoding of a pipe or file to UTF-8. On Windows a console has it already; others follow a code page."""
    if isinstance(stream, TextIOWrapper) and not stream.isatty():
        stream.reconfigure(encoding="utf-8")


def _run(arguments: list[str]) -> None:
    """Pass the invocation to the daemon if it can serve it; else run the command line."""
    request = invocation.read(arguments, os.environ)
    if request is not None and request.wants_daemon:
        from minutebook.serve.daemon import client

        client.serve(request)
    elif early := invocation.read_early(arguments, os.environ):
        module, request, words = early
        __import__(module, fromlist=["run_and_exit"]).run_and_exit(request, words)
    from minutebook.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
