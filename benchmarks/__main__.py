"""Run benchmarks, each in a process of its own: `python -m benchmarks [--quick] [names…]`.

Each prints its method and tables and writes JSON below `benchmarks/results/`. No figure makes the run
fail; an error does, after the others have run. The short form has the processes that it starts forked from
one that has imported everything, where there is `fork`: what it finds are errors, its figures are none.
"""

import argparse
import subprocess
import sys
import time
from contextlib import nullcontext

from benchmarks.measure import ROOT
from tests import forkserver

NAMES = (
    *(
        "store",
        "engines",
        "governance",
        "ledger",
        "decisions",
        "journal",
        "summarizing",
        "retractions",
        "handovers",
        "revisions",
        "answers",
        "tidying",
        "screening",
        "encryption",
        "hooks",
        "week",
        "embedding",
        "quality",
        "journal_quality",
        "code",
        "start",
        "wire",
        "serving",
        "tool",
        "pages",
    ),
)

FRESH = frozenset({"hooks"})
"""What looks at how a process starts, which a forked one does in another way."""


def main() -> int:
    """Run what was asked for; 1 if any of it ended with an error."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Minutebook.")
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(NAMES))
    parser.add_argument("--quick", action="store_true", help="a short form; installs nothing")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in NAMES]:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if given.quick:
        forkserver.install()
    outcomes = []
    for name in given.names or NAMES:
        print(f"\n== {name} ==", flush=True)
        started = time.perf_counter()
        command = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] * given.quick)]
        with forkserver.suspended() if name in FRESH else nullcontext():
            status = subprocess.run(command, cwd=ROOT, check=False).returncode
        outcomes.append((name, status, time.perf_counter() - started))
    print()
    for name, status, seconds in outcomes:
        print(f"{name:<10} {seconds:6.1f} s  {'done' if status == 0 else f'ended with {status}'}")
    return int(any(status for _, status, _ in outcomes))


if __name__ == "__main__":
    sys.exit(main())
