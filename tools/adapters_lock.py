"""Leave out of a lock file what requirements.lock installs already.

    python tools/adapters_lock.py FULL OUT

The libraries of the adapters are put beside the virtual environment, which has the rest of what they need.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

_PIN = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?==")


def pins(lock: Path) -> Iterator[tuple[str, str]]:
    """Yield the name of each package that a lock file pins, and its lines."""
    for block in re.split(r"^(?=\w)", lock.read_text("utf-8"), flags=re.MULTILINE):
        if found := _PIN.match(block):
            yield found[1].lower(), block


def main(full: str, out: str) -> None:
    """Write the pins of `full` that are not in requirements.lock to `out`."""
    installed = {name for name, _ in pins(Path("requirements.lock"))}
    lines = [block for name, block in pins(Path(full)) if name not in installed]
    Path(out).write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
