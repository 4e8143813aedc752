"""A program that is killed before one of its steps: `python -m tests.faults.killed POINTS NUMBER MODULE [ARGUMENT…]`.

POINTS are names of `tests.faults.stepping.POINTS`, with commas; with `=`, a part of a step's name: only such are
counted (`database=truncate`). MODULE is run as `python -m MODULE` runs it. With NUMBER 0 it is not killed; if it
ends by itself, it says how many steps there were, in the last line of its standard error.
"""

import atexit
import os
import runpy
import signal
import sys
from itertools import count

from tests.faults.stepping import stepped


def main(points: str, number: str, module: str, *arguments: str) -> None:
    """Run the module."""
    names, _, part = points.partition("=")
    steps = count(1)

    def before(step: str) -> None:
        if part in step and next(steps) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    stepped(names.split(","), before)
    atexit.register(lambda: sys.stderr.write(f"{next(steps) - 1} steps\n"))
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
