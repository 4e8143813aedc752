"""A program that is killed before one of its steps: `python -m tests.faults.killed POINTS NUMBER MODULE [ARGUMENT…]`.

POINTS are names of `tests.faults.stepping.POINTS`, with commas; after a `=`, a pattern: only the steps in whose names
it is found are counted (`database=db$`). MODULE is run as `python -m MODULE` runs it. With NUMBER 0 it is not killed; if it
ends by itself, it says how many steps there were, in the last line of its standard error.
"""

import atexit
import os
import re
import runpy
import signal
import sys
from itertools import count

from tests.faults.stepping import stepped


def main(points: str, number: str, module: str, *arguments: str) -> None:
    """Run the module."""
    names, _, pattern = points.partition("=")
    steps = count(1)

    def before(step: str) -> None:
        if re.search(pattern, step) and next(steps) == int(number):
            os.kill(os.getpid(), signal.SIGKILL)

    stepped(names.split(","), before)
    atexit.register(lambda: sys.stderr.write(f"{next(steps) - 1} steps\n"))
    sys.argv[1:] = arguments
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
