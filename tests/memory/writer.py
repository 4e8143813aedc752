"""A process that writes, changes and is refused: `python -m tests.memory.writer HOME NAME`."""

import sys
from dataclasses import replace

from minutebook.app import open_app
from minutebook.config import settings_with
from minutebook.record.errors import Refused
from minutebook.record.records import MemoryType, Role
from minutebook.record.writing.drafts import Draft
from tests.homes import settings_at

OWN = 60
"""How many memories it keeps."""

REFUSED = 20
"""How many of its acts are refused."""


def main(home: str, name: str) -> None:
    """Write once told to, while others do too."""
    app = open_app(settings_at(home, embedder="none", durability="normal"))
    caller = replace(settings_with().caller(), name=name)
    viewer = replace(caller, role=Role.VIEWER)
    _say("ready")
    sys.stdin.readline()
    for number in range(OWN):
        draft = Draft(content=f"{name} {number}", type=MemoryType.FACT)
        app.memories.store(caller, draft)
        if number < REFUSED:
            try:
                app.memories.store(viewer, draft)
            except Refused:
                continue
    app.close()
    _say("done")


def _say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
