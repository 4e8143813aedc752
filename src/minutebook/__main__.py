"""Run `minutebook`, or `python -m minutebook`."""

import os
import sys

from minutebook import invocation


def main() -> None:
    """Serve through the daemon what can be; the command line does everything else."""
    asked = invocation.read(sys.argv[1:], os.environ)
    if asked is not None and asked.wants_daemon:
        from minutebook.server import attach

        attach.serve(asked)
    from minutebook.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
